"""What does each layer know? Linear probes of every layer of several models, three seeds, with a control task.

    python -m benchmarks.probing world-en-ko world-decoder-only world-encoder-only --plot probing.svg
    python -m benchmarks.probing runs/world-transformer/model --stacks encoder decoder

The words are those of the generated world's test sentences, so their tags are known. Each seed is another split of the
sentences into training and test, and other tags of the control task. A task rises if its best layer is above the
embedding in every seed, and is deepest last if that layer is the last one.
"""

import argparse
from pathlib import Path

import msgspec
from matplotlib.figure import Figure

from regard.errors import RegardError
from regard.inference.open import load
from regard.plotting.line_plot import COLORS, DASHES, MARKERS, save_figure
from regard.tracing.layer_vectors import probed_stacks
from regard.tracing.probing import ProbeReport, TaskProbe, probe

TASKS = ("word", "position", "part of speech", "role")
PLOTTED = ("role", "part of speech")


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
    reports = {}
    for path in arguments.models:
        opened = load(path, engine="torch")
        bundle = opened.bundle
        if bundle is None:
            raise RegardError(f"{path} is an export; give the model that it was made from")
        stacks = probed_stacks(bundle.model)
        for stack in arguments.stacks or stacks:
            kept = arguments.out / f"{opened.name}-{stack}-{arguments.words}-{arguments.seeds}.json"
            if not kept.exists():
                options = {"tasks": arguments.tasks, "max_words": arguments.words, "seeds": arguments.seeds}
                kept.write_bytes(msgspec.json.encode(probe(opened, stack=stack, **options)))
            report = msgspec.json.decode(kept.read_bytes(), type=ProbeReport)
            reports[f"{opened.name}, {stack}" if len(stacks) > 1 else opened.name] = report
            print_report(opened.name, report)
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


def plot_reports(reports: dict[str, ProbeReport]) -> Figure:
    """Part of speech and role by layer, a line for each stack; bars are the range over the seeds, dots the control."""
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    panels = figure.subplots(1, len(PLOTTED), sharey=True)
    deepest = max(one.layer for report in reports.values() for one in report.tasks[0].layers)
    for panel, name in zip(panels, PLOTTED, strict=True):
        for number, (label, report) in enumerate(reports.items()):
            task = next(task for task in report.tasks if task.task == name)
            layers = [one.layer for one in task.layers]
            means = [100 * one.accuracy for one in task.layers]
            ranges = [
                [100 * (one.accuracy - min(one.accuracies)) for one in task.layers],
                [100 * (max(one.accuracies) - one.accuracy) for one in task.layers],
            ]
            style = {"color": COLORS[number], "marker": MARKERS[number], "markersize": 5}
            panel.errorbar(layers, means, yerr=ranges, label=label, linestyle=DASHES[number], capsize=3, **style)
            panel.plot(layers, [100 * one.control_accuracy for one in task.layers], linestyle="", alpha=0.35, **style)
        panel.set(title=name, xlabel="layer (0: embedding)", xticks=range(deepest + 1))
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("accuracy (%); faint: control task")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    return figure


if __name__ == "__main__":
    main()
