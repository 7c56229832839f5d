"""What does each layer know? Linear probes of every layer of several models, three seeds, with a control task.

    python -m benchmarks.probing world-en-ko world-decoder-only world-encoder-only --plot probing.svg
    python -m benchmarks.probing runs/world-transformer/model --stacks encoder decoder

The words are those of the generated world's test sentences, so their tags are known. Each seed is another split of the
sentences into training and test, and other tags of the control task. A task rises if its best layer is above the
embedding in every seed, and is deepest last if that layer is the last one.
"""

import argparse
import json
from pathlib import Path

from matplotlib.figure import Figure

from regard.errors import RegardError
from regard.inference.open import load
from regard.plotting.curves import Line, plot_curves, save_figure
from regard.tracing.layer_vectors import probed_stacks
from regard.tracing.probing import ProbeReport, TaskProbe, probe

TASKS = ("word", "position", "part of speech", "role")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", help="paths or names of models")
    parser.add_argument("--stacks", nargs="+", choices=["encoder", "decoder"], help="[default: all of each model]")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--words", type=int, default=3_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("runs/probing"), help="finished reports are kept here")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    reports = []
    for path in arguments.models:
        opened = load(path, engine="torch")
        bundle = opened.bundle
        if bundle is None:
            raise RegardError(f"{path} is an export; give the model that it was made from")
        for stack in arguments.stacks or probed_stacks(bundle.model):
            report = probe(opened, stack=stack, tasks=arguments.tasks, max_words=arguments.words, seeds=arguments.seeds)
            reports.append(report)
            print_report(opened.name, report)
            (arguments.out / f"{opened.name}-{stack}.json").write_text(json.dumps(as_record(report), indent=1))
    if arguments.plot:
        save_figure(plot_reports(reports), arguments.plot)


def print_report(name: str, report: ProbeReport) -> None:
    print(f"\n{name}, {report.stack}: accuracy ± half of the range over {report.seeds} seeds (control task), %")
    for task in report.tasks:
        print(f"  {task.task}: {task.classes} classes, {task.words} words -> {shape(task)}")
        print(
            f"    without a model: commonest tag {task.majority:.1%}, commonest of each word {task.word_baseline:.1%}"
        )
        for one in task.layers:
            accuracy, control = 100 * one.accuracy, 100 * one.control_accuracy
            half_range = 50 * (max(one.accuracies) - min(one.accuracies))
            print(f"    {one.name}: {accuracy:.1f} ± {half_range:.1f} ({control:.1f})", flush=True)


def shape(task: TaskProbe) -> str:
    """Whether a task becomes easier to read above the embedding, and whether the last layer is the best."""
    best = max(task.layers, key=lambda one: one.accuracy)
    first = task.layers[0]
    gains = [mine - own for mine, own in zip(best.accuracies, first.accuracies, strict=True)]
    if min(gains) <= 0:
        return "does not rise in every seed"
    return "rises to the last layer" if best is task.layers[-1] else f"rises, and is best in {best.name}"


def as_record(report: ProbeReport) -> dict[str, object]:
    layers = {
        task.task: [
            {"name": one.name, "accuracies": one.accuracies, "control_accuracies": one.control_accuracies}
            for one in task.layers
        ]
        for task in report.tasks
    }
    return {"model": report.model, "stack": report.stack, "seeds": report.seeds, "tasks": layers}


def plot_reports(reports: list[ProbeReport]) -> Figure:
    """The accuracy of part of speech and role above their control tasks (selectivity), a line for each stack."""
    lines = []
    for report in reports:
        for task in report.tasks:
            if task.task in ("part of speech", "role"):
                points = [(one.layer / (len(task.layers) - 1), 100 * one.accuracy) for one in task.layers]
                lines.append(Line(f"{report.model} {report.stack}: {task.task}", points))
    return plot_curves(
        lines,
        title="Linear probes, three seeds",
        x_label="depth (0: embedding, 1: last layer)",
        y_label="accuracy (%)",
    )


if __name__ == "__main__":
    main()
