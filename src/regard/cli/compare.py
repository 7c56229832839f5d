"""`regard compare`: what can be asked."""

from pathlib import Path

import click

from regard.cli.options import (
    PATH,
    beam_option,
    json_option,
    lowercase_option,
    plot_option,
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
@tokenize_option
@lowercase_option
@resamples_option
@plot_option
@json_option
def command(
    models: tuple[Path, ...], source: Path, reference: Path, plot: Path | None, as_json: bool, **scoring: object
) -> None:
    """Measure MODELS on the same text: quality, quality by length, decoding speed, parameters, bytes on disk."""
    from regard.cli.running.compare import run_comparison
    from regard.cli.running.measuring import Scoring

    run_comparison(models, (source, reference), Scoring(**scoring), plot=plot, as_json=as_json)  # type: ignore[arg-type]
