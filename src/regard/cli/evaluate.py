"""`regard evaluate`: what can be asked."""

from pathlib import Path

import click

from regard.cli.options import (
    PATH,
    beam_option,
    engine_option,
    json_option,
    lowercase_option,
    model_argument,
    plot_option,
    quantization_option,
    reference_option,
    resamples_option,
    source_option,
    tokenize_option,
)


@click.command(name="evaluate")
@model_argument
@source_option
@reference_option
@beam_option
@engine_option
@quantization_option
@tokenize_option
@lowercase_option
@resamples_option
@plot_option
@click.option("--output", type=PATH, help="File for the translations.")
@json_option
def command(
    model: Path, source: Path, reference: Path, plot: Path | None, output: Path | None, as_json: bool, **scoring: object
) -> None:
    """Translate with MODEL and score against the reference: BLEU, chrF and TER with sacrebleu's signatures.

    Brackets hold the range in which 95 % of resampled corpora score. BLEU is given by source length too.
    """
    from regard.cli.running.evaluate import run_evaluation
    from regard.cli.running.measuring import Scoring

    run_evaluation(model, (source, reference), Scoring(**scoring), plot=plot, output=output, as_json=as_json)  # type: ignore[arg-type]
