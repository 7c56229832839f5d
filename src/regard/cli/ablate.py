"""`regard ablate`: which heads a translator needs, measured on a test set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli.console import print_json, print_table, progress_bar
from regard.cli.head_options import read_evaluation_set, role_option, test_reference_option, test_source_option
from regard.cli.inputs import check_outputs, load_translator
from regard.cli.options import PATH, beam_option, gold_index_base_option, json_option, model_argument, plot_option
from regard.config import decode_options

if TYPE_CHECKING:
    from regard.inference.head_ablation import AblationReport
    from regard.interventions import AttentionRole, HeadAction


@click.command(
    name="ablate",
    epilog="""\b
Examples:
  regard ablate runs/x/model --source test.en --reference test.ko
  regard ablate runs/x/model --source test.en --reference test.ko --gold test.align --plot heads.svg""",
)
@model_argument
@test_source_option
@test_reference_option
@click.option("--gold", type=PATH, help="Gold links in Pharaoh format, for the change of the AER.")
@gold_index_base_option
@role_option
@click.option(
    "--action",
    type=click.Choice(["zero", "mean", "uniform"]),
    default="zero",
    show_default=True,
    help="What replaces the head: zeros, its mean over the sources, or uniform weights.",
)
@beam_option
@plot_option("the change of BLEU by head")
@json_option
def command(
    model: Path,
    source: Path,
    reference: Path,
    gold: Path | None,
    gold_index_base: int,
    roles: tuple[AttentionRole, ...],
    action: HeadAction,
    beam_size: int | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Measure MODEL on a test set without each of its heads: the change of BLEU and chrF, and of the AER with --gold.

    Each head is removed alone and the sources are translated again. The head whose absence costs most is first.
    """
    from regard.inference.head_ablation import ablate_heads, heads_of

    check_outputs({"--plot": plot}, [source, reference, gold])
    tests = read_evaluation_set(model, source, reference, gold, gold_index_base)
    translator = load_translator(model, "torch")
    count = len(heads_of(translator.require_bundle("ablations"), roles))
    with progress_bar("removing heads", count) as advance:
        report = ablate_heads(
            translator,
            tests,
            config=translator.decoding_config(**decode_options(beam_size=beam_size)),
            action=action,
            roles=roles,
            progress=advance,
        )
    if plot is not None:
        _plot(report, plot)
    if as_json:
        print_json(report)
        return
    baseline = report.baseline
    figures = [f"{baseline.bleu:.2f}", f"{baseline.chrf:.2f}"]
    figures += [] if baseline.aer is None else [f"{baseline.aer:.4f}"]
    rows = [["whole model", "", *figures]]
    for one in report.heads:
        changes = [f"{one.quality.bleu - baseline.bleu:+.2f}", f"{one.quality.chrf - baseline.chrf:+.2f}"]
        if one.quality.aer is not None and baseline.aer is not None:
            changes.append(f"{one.quality.aer - baseline.aer:+.4f}")
        rows.append([f"{one.role} {one.layer}", str(one.head), *changes])
    names = ["without", "head", "BLEU", "chrF", *(["AER"] if baseline.aer is not None else [])]
    print_table(names, rows)


def _plot(report: AblationReport, path: Path) -> None:
    """One line for each layer of each attention, over its heads."""
    from regard.plotting.line_plot import Line, plot_curves, save_figure

    points: dict[str, list[tuple[float, float]]] = {}
    for one in sorted(report.heads, key=lambda one: (one.role, one.layer, one.head)):
        points.setdefault(f"{one.role} {one.layer}", []).append((one.head, one.quality.bleu - report.baseline.bleu))
    heads: Any = sorted({head for own in points.values() for head, _ in own})
    figure = plot_curves(
        [Line(name, own) for name, own in points.items()],
        title=f"{report.model} without one head ({report.action})",
        x_label="head",
        y_label="change of BLEU",
        x_ticks=[(head, str(head)) for head in heads],
    )
    save_figure(figure, path)
