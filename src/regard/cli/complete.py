"""`regard complete`: continue texts with a decoder-only model."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from regard.cli.console import print_outputs, progress_bar
from regard.cli.inputs import text_batches
from regard.cli.options import PATH, beam_option, json_option, model_argument, nbest_option
from regard.config import decode_options
from regard.errors import RegardError


@click.command(
    name="complete",
    epilog="""\b
Examples:
  regard complete runs/world-decoder-only/model "AI가"
  regard complete runs/world-decoder-only/model "AI가" --sample --nbest 5 --seed 1
  regard complete runs/x/model --input prompts.txt""",
)
@model_argument
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("--input", "source", type=PATH, help="File of texts to continue, one per line; - is standard input.")
@beam_option
@nbest_option
@click.option("--sample", "do_sample", is_flag=True, help="Sample each next token from the model's distribution.")
@click.option("--temperature", type=click.FloatRange(0, min_open=True), help="With --sample: below 1 is more careful.")
@click.option("--top-k", type=click.IntRange(1), help="With --sample: only among the k most probable tokens.")
@click.option(
    "--top-p",
    type=click.FloatRange(0, 1, min_open=True),
    help="With --sample: only among the most probable tokens whose probabilities sum to p.",
)
@click.option("--seed", type=click.IntRange(0), help="With --sample: the same seed gives the same texts.")
@click.option("--max-new-tokens", type=click.IntRange(1), help="Most tokens to add. [default: the model's own]")
@json_option
def command(
    model: Path,
    texts: tuple[str, ...],
    source: Path | None,
    beam_size: int | None,
    nbest: int,
    do_sample: bool,
    temperature: float | None,
    top_k: int | None,
    top_p: float | None,
    seed: int | None,
    max_new_tokens: int | None,
    as_json: bool,
) -> None:
    """Continue each TEXT with MODEL, a decoder-only model: the text and its continuation, on one line.

    An empty text is continued from its start. With --nbest, several lines for each text: NUMBER ||| TEXT ||| SCORE.
    """

    from regard.inference.open import load

    sampling = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    unfit = [f"--{name.replace('_', '-')}" for name, value in (sampling | {"seed": seed}).items() if value is not None]
    if unfit and not do_sample:
        raise RegardError(f"{', '.join(unfit)} has an effect with --sample only. Add --sample, or remove the option.")
    if not do_sample and beam_size is None and nbest > 1:
        beam_size = nbest  # the search has to be as wide as the number of outputs
    options = decode_options(
        nbest=nbest, do_sample=do_sample, beam_size=beam_size, max_length_extra=max_new_tokens, **sampling
    )
    generator, number = load(model, task="text-generation"), 0
    decoding = generator.decoding_config(**options)
    if seed is not None:
        import torch

        torch.manual_seed(seed)
    with progress_bar("generating", None, is_shown=not sys.stdout.isatty()) as progress:
        for batch in text_batches(texts, source):
            for outputs in generator.iter_texts(batch, decoding):
                print_outputs(number, outputs, nbest=nbest, record={"line": number + 1} if as_json else None)
                number += 1
                progress(1)
