"""`regard evaluate`: what can be asked."""

from pathlib import Path

import click

from regard.cli.options import (
    PATH,
    beam_option,
    captions_option,
    engine_option,
    json_option,
    lowercase_option,
    model_argument,
    plot_option,
    quantization_option,
    reference_option,
    refuse_unfit,
    resamples_option,
    source_option,
    split_option,
    tokenize_option,
)


@click.command(name="evaluate")
@model_argument
@source_option
@reference_option
@captions_option
@split_option
@click.option("--text", type=PATH, help="For a decoder-only or encoder-only model: plain text, a line a text.")
@beam_option
@engine_option
@quantization_option
@tokenize_option
@lowercase_option
@resamples_option
@plot_option
@click.option("--output", type=PATH, help="File for the translations, or the captions.")
@json_option
def command(
    model: Path,
    source: Path | None,
    reference: Path | None,
    captions: Path | None,
    text: Path | None,
    **wish: object,
) -> None:
    """Translate with MODEL and score against the reference: BLEU, chrF and TER with sacrebleu's signatures.

    A captioner is given --captions instead: BLEU-1 to 4, ROUGE-L, CIDEr-D, the share of captions that are exactly right
    and, where gold boxes lie beside the captions, how often its attention peaks in the box.

    A language model is given --text: perplexity of a token and of a word, bits of a character, and the share of tokens
    that it names right; each token from those before it or, by an encoder-only model, from all others.

    Brackets hold the range in which 95 % of resampled corpora score. BLEU is given by source length too.
    """
    match source, reference, captions, text:
        case Path(), Path(), None, None:
            _evaluate_text(model, (source, reference), **wish)  # type: ignore[arg-type]
        case None, None, Path(), None:
            _evaluate_pictures(model, captions, **wish)  # type: ignore[arg-type]
        case None, None, None, Path():
            _evaluate_language(model, text, **wish)  # type: ignore[arg-type]
        case _:
            raise click.UsageError(
                "Give --source and --reference to a translator, --captions to a captioner, or --text to a language "
                "model."
            )


def _evaluate_text(
    model: Path, files: tuple[Path, Path], *, plot: Path | None, output: Path | None, as_json: bool, **scoring: object
) -> None:
    from regard.cli.running.evaluate import run_evaluation
    from regard.cli.running.measuring import Scoring

    if scoring.pop("split") is not None:
        raise click.UsageError("--split goes with --captions.")
    run_evaluation(model, files, Scoring(**scoring), plot=plot, output=output, as_json=as_json)  # type: ignore[arg-type]


def _evaluate_pictures(
    model: Path, captions: Path, *, split: str | None, output: Path | None, as_json: bool, **wish: object
) -> None:
    from regard.cli.running.evaluate_pictures import PictureSet, run_picture_evaluation

    how = {name: wish.pop(name) for name in ("beam", "resamples")}
    refuse_unfit(wish, "translators", "--captions")
    run_picture_evaluation(model, PictureSet(captions, split), output=output, as_json=as_json, **how)  # type: ignore[arg-type]


def _evaluate_language(model: Path, text: Path, *, resamples: int, as_json: bool, **wish: object) -> None:
    from regard.cli.running.evaluate_language import run_language_evaluation

    refuse_unfit(wish, "models that say something", "--text")
    run_language_evaluation(model, text, resamples=resamples, as_json=as_json)
