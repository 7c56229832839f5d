"""`regard compare`: what can be asked."""

from pathlib import Path

import click

from regard.cli.options import (
    PATH,
    beam_option,
    engine_option,
    json_option,
    lowercase_option,
    plot_option,
    quantization_option,
    reference_option,
    resamples_option,
    source_option,
    tokenize_option,
)


@click.command(name="compare")
@click.argument("models", type=PATH, nargs=-1, required=True)
@source_option
@reference_option
@beam_option
@engine_option
@quantization_option
@tokenize_option
@lowercase_option
@resamples_option
@plot_option
@click.option("--quality", type=PATH, metavar="FILE", help="Write figures and translations for `regard serve`.")
@json_option
def command(models: tuple[Path, ...], source: Path, reference: Path, **options: object) -> None:
    """Measure MODELS on the same text: quality, quality by length, decoding speed, parameters, bytes on disk.

    Each model but the first is told with how far it is from the first: p is how often chance alone would set them as
    far apart, by a paired bootstrap of as many resamples.
    """
    from regard.cli.running.compare import Report, run_comparison
    from regard.cli.running.measuring import Scoring

    report = Report(*(options.pop(name) for name in ("plot", "quality", "as_json")))  # type: ignore[arg-type]
    run_comparison(models, (source, reference), Scoring(**options), report)  # type: ignore[arg-type]
