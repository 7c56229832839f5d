"""How a score rose in training: validation scores by step, of one run or several, in one drawing.

    .venv/bin/python benchmarks/curves.py runs/a runs/b --out curves.svg
    .venv/bin/python benchmarks/curves.py runs/a=first runs/b=second --score chrf --out curves.svg

The scores are those that the event log has: of greedy search, by the weights of that step.
"""

import argparse
import json
from pathlib import Path

from regard.plotting.line_plot import Line, plot_curves, save_figure


def main() -> None:
    given = _arguments()
    lines = [curve(*_named(run), given.score) for run in given.runs]
    name = given.score.upper()
    save_figure(plot_curves(lines, title=f"{name} on the validation set", x_label="step", y_label=name), given.out)


def curve(run: Path, name: str, score: str) -> Line:
    """A run's validations, from its event log; of a step that was validated twice, the later one."""
    rows = [json.loads(row) for row in (run / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    points = {row["step"]: row[score] for row in rows if row["event"] == "validation"}
    return Line(name, sorted(points.items()))


def _named(run: str) -> tuple[Path, str]:
    """`runs/a=first` is the run in runs/a, called `first`."""
    path, _, name = run.partition("=")
    return Path(path), name or Path(path).name


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="RUN[=NAME]")
    parser.add_argument("--score", default="bleu")
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
