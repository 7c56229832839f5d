"""Running `regard evaluate`."""

from pathlib import Path

from regard.cli.running.measuring import (
    Measured,
    Scoring,
    TestSet,
    check_plot,
    measure,
    shown,
    warn_of_cut_words,
    with_tokenization,
    words,
    write_length_plot,
)
from regard.cli.running.outputs import check_outputs, write_texts
from regard.cli.running.telling import tell, tell_json, tell_table


def run_evaluation(
    model: Path, files: tuple[Path, Path], scoring: Scoring, *, plot: Path | None, output: Path | None, as_json: bool
) -> None:
    """Measure a model and tell its figures."""
    check_plot(plot)
    check_outputs({"--output": output, "--plot": plot}, files)
    test = TestSet.read(*files, [model])
    scoring = with_tokenization(scoring, [model], test)
    measured, texts = measure(model, test, scoring)
    warn_of_cut_words(test.references, [texts], scoring.tokenize)
    try:  # files first: whoever reads the figures may have left; and the figures though a disk be full
        if output is not None:
            write_texts(output, texts)
        if plot is not None:
            write_length_plot(plot, [measured])
    finally:
        tell_json(measured) if as_json else _tell_figures(measured)


def _tell_figures(measured: Measured) -> None:
    tell_table(
        [f"{measured.sentences:,} sentences", "score [95 %]"], [[one.name, shown(one)] for one in measured.scores]
    )
    rows = [[words(one), f"{one.count:,}", f"{one.score:.1f}"] for one in measured.lengths]
    tell_table(["source words", "sentences", "BLEU"], rows)
    for score in measured.scores:
        tell(f"{score.name:<6} {score.signature}")
