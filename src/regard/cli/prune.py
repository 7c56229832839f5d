"""`regard prune`: a smaller model without the heads that a translator needs least."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.console import echo, print_json, print_table
from regard.cli.head_options import read_evaluation_set, role_option, test_reference_option, test_source_option
from regard.cli.inputs import check_new_directory, check_outputs, load_translator
from regard.cli.options import PATH, beam_option, json_option, model_argument, plot_option
from regard.config import decode_options
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.inference.head_ablation import Head
    from regard.inference.head_pruning import PruningStep
    from regard.interventions import AttentionRole


@click.command(
    name="prune",
    epilog="""\b
Examples:
  regard prune runs/x/model --heads 4 --source valid.en --reference valid.ko --out pruned
  regard prune runs/x/model --max-loss 0.2 --source valid.en --reference valid.ko --out pruned --plot bleu.svg""",
)
@model_argument
@click.option("--heads", type=click.IntRange(1), help="How many heads to remove.")
@click.option("--max-loss", type=click.FloatRange(0), help="Remove as many as cost at most so much BLEU.")
@test_source_option
@test_reference_option
@role_option
@beam_option
@click.option("--out", type=PATH, required=True, metavar="DIRECTORY", help="Directory for the smaller model.")
@plot_option("BLEU by removed heads")
@json_option
def command(
    model: Path,
    heads: int | None,
    max_loss: float | None,
    source: Path,
    reference: Path,
    roles: tuple[AttentionRole, ...],
    beam_size: int | None,
    out: Path,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Remove heads of MODEL, a Transformer, and write the smaller model: it equals MODEL with these heads set to zero.

    Of the heads to which the loss is least sensitive (Michel et al., 2019), those go first without which it is lowest.
    The last head of an attention stays. Measure the result on other sentences than those it was pruned on.
    """
    from regard.bundle import save_bundle
    from regard.inference.head_pruning import PruningStep, count_removable, prune_by_count, prune_by_loss, without_heads
    from regard.inference.translator import Translator

    if (heads is None) == (max_loss is None):
        raise click.UsageError("Give either --heads or --max-loss.")
    check_outputs({"--plot": plot}, [source, reference])
    check_new_directory(out)
    tests = read_evaluation_set(model, source, reference, None, 0)
    translator = load_translator(model, "torch")
    bundle = translator.require_bundle("pruning")
    config = translator.decoding_config(**decode_options(beam_size=beam_size))
    removable = count_removable(bundle, roles)
    removed: list[Head] = []
    steps: list[PruningStep] = []
    if heads is not None:
        if heads > removable:
            advice = f"Give --heads {removable}." if removable else "Choose a model with several heads in a layer."
            raise RegardError(
                f"--heads is {heads}, and {removable} heads can be removed: each layer keeps one. {advice}"
            )
        removed = prune_by_count(bundle, tests, heads, roles)
        steps.append(PruningStep(0, tests.measure(translator, config)))
    elif max_loss is not None:
        for step, candidates in prune_by_loss(translator, tests, max_loss, config=config, roles=roles):
            steps.append(step)
            if steps[0].quality.bleu - step.quality.bleu <= max_loss:
                removed = candidates
            echo(f"heads removed: {step.removed}, BLEU {step.quality.bleu:.2f}", to_error=True)
    pruned = without_heads(bundle, removed)
    final = PruningStep(len(removed), tests.measure(Translator(pruned), config))
    save_bundle(out, pruned)
    if plot is not None:
        _plot_bleu([*steps, final], plot)
    if as_json:
        record = {"removed": [str(one) for one in removed], "steps": steps, "final": final}
        print_json(record | {"parameters": [bundle.num_parameters, pruned.num_parameters]})
        return
    sizes = [(0, steps[0].quality, bundle), (final.removed, final.quality, pruned)]
    rows = [[str(n), f"{own.bleu:.2f}", f"{own.chrf:.2f}", f"{one.num_parameters:,}"] for n, own, one in sizes]
    print_table(["heads removed", "BLEU", "chrF", "parameters"], rows)
    echo(f"removed: {', '.join(map(str, removed)) or 'none'}")
    echo(f"{out} is the smaller model; {removable - len(removed)} more heads could be removed")


def _plot_bleu(steps: list[PruningStep], path: Path) -> None:
    from regard.plotting.line_plot import Line, plot_curves, save_figure

    by_count = {step.removed: step.quality.bleu for step in steps}  # the last measurement of a count
    points = [(float(count), bleu) for count, bleu in sorted(by_count.items())]
    save_figure(plot_curves([Line("BLEU", points)], x_label="heads removed", y_label="BLEU"), path)
