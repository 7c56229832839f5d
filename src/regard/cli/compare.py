"""`regard compare`: what can be asked."""

from pathlib import Path

import click

from regard.cli.options import (
    PATH,
    beam_option,
    captions_option,
    engine_option,
    gold_base_option,
    json_option,
    lowercase_option,
    plot_option,
    quantization_option,
    reference_option,
    refuse_unfit,
    resamples_option,
    source_option,
    split_option,
    tokenize_option,
)


@click.command(
    name="compare",
    epilog="""\b
Examples:
  regard compare runs/x/model runs/y/model --source test.en --reference test.ko --gold test.align
  regard compare runs/scenes-attention/model runs/scenes-rnn/model --captions runs/scenes/data --split test""",
)
@click.argument("models", type=PATH, nargs=-1, required=True)
@source_option
@reference_option
@captions_option
@split_option
@click.option("--gold", type=PATH, help="Links between source and reference: add the error of each one's best head.")
@gold_base_option
@beam_option
@engine_option
@quantization_option
@tokenize_option
@lowercase_option
@resamples_option
@plot_option
@click.option("--quality", type=PATH, metavar="FILE", help="Write figures and translations for `regard serve`.")
@json_option
def command(
    models: tuple[Path, ...], source: Path | None, reference: Path | None, captions: Path | None, **options: object
) -> None:
    """Measure MODELS on the same text: quality, quality by length, decoding speed, parameters, bytes on disk.

    With --gold, links in the form that `regard align` takes, the alignment error rate is told of the layer, head and
    moment whose attention errs least.

    Each model but the first is told with how far it is from the first: p is how often chance alone would set them as
    far apart, by a paired bootstrap of as many resamples.

    Captioners are given --captions instead: BLEU-4, CIDEr-D, the share of captions that are exactly right and, where
    gold boxes lie beside the captions, how often attention peaks in the box.
    """
    match source, reference, captions:
        case Path(), Path(), None:
            _compare_texts(models, (source, reference), **options)  # type: ignore[arg-type]
        case None, None, Path():
            _compare_pictures(models, captions, **options)  # type: ignore[arg-type]
        case _:
            raise click.UsageError("Give --source and --reference to translators, or --captions to captioners.")


def _compare_texts(
    models: tuple[Path, ...], files: tuple[Path, Path], *, gold: Path | None, gold_base: int, **options: object
) -> None:
    from regard.cli.running.compare import Files, Report, run_comparison
    from regard.cli.running.measuring import Scoring

    if options.pop("split") is not None:
        raise click.UsageError("--split goes with --captions.")
    if gold_base and gold is None:
        raise click.UsageError("--gold-base goes with --gold.")
    report = Report(*(options.pop(name) for name in ("plot", "quality", "as_json")))  # type: ignore[arg-type]
    run_comparison(models, Files(*files, gold, gold_base), Scoring(**options), report)  # type: ignore[arg-type]


def _compare_pictures(
    models: tuple[Path, ...], captions: Path, *, split: str | None, as_json: bool, **options: object
) -> None:
    from regard.cli.running.compare_pictures import run_picture_comparison
    from regard.cli.running.evaluate_pictures import PictureSet

    how = {name: options.pop(name) for name in ("beam", "resamples")}
    refuse_unfit(options, "translators", "--captions")
    run_picture_comparison(models, PictureSet(captions, split), as_json=as_json, **how)  # type: ignore[arg-type]
