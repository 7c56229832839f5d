"""The report of a corpus in the terminal and as a page, for `regard train` and `regard data inspect`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from regard.cli.console import echo, format_table, print_json
from regard.cli.inputs import check_outputs
from regard.cli.training_display import make_display
from regard.errors import RegardError
from regard.files import atomic_file
from regard.languages import language_name

if TYPE_CHECKING:
    from regard.data.inspection import DataReport
    from regard.training.cost_estimate import CostEstimate
    from regard.training.plan import TrainOptions

MAX_SHOWN_CHARACTERS = 90  # of a side of an example
# The share of a corpus's pairs above which a finding is a warning, and what to do about it. In corpora that are aligned
# line by line the numbers of 1 to 4 % of the pairs differ, in one that is shifted by a line those of 20 %.
WARNED_FINDINGS = {
    "wrong_language": (0.05, "Check the columns and the languages, or filter the corpus."),
    "copy": (0.05, "Check the columns and the languages, or filter the corpus."),
    "numbers": (0.1, "Check that line n of the targets translates line n of the sources."),
}


def check_report_path(path: Path | None) -> None:
    """An error before the long work if the page cannot be written."""
    if path is not None and path.suffix.lower() != ".html":
        raise RegardError(f"--report {path}: the report is a page. Give a name that ends with .html.")
    check_outputs({"--report": path}, [])


def inspect_run(options: TrainOptions, *, with_cost: bool, report: Path | None, as_json: bool) -> None:
    """Prepare the data as training does, in a temporary directory, and print the report, and with it the cost."""
    from regard.training.plan import make_plan, prepare_run

    with TemporaryDirectory(prefix="regard-") as folder:
        plan = make_plan(options if options.resume else replace(options, run=Path(folder)))
        plan = replace(plan, run=Path(folder))
        with closing(make_display(as_json=as_json, steps=plan.config.training.steps)) as display:
            for note in plan.notes:
                display.note(note)
            corpus = prepare_run(plan, resume=False, progress=display.preparing)
            data_report, cost = corpus.inspect(plan.config), None
            if data_report is None and not with_cost and not corpus.class_counts:
                raise RegardError("captions have no text to inspect. Give pairs, text or labels.")
            if with_cost:
                from regard.training.cost_estimate import estimate_cost

                display.preparing("taking a few steps", 0)
                cost = estimate_cost(plan.config, corpus, plan.run)
        if as_json:
            print_json({"data": data_report, "classes": corpus.class_counts or None, "cost": cost})
        else:
            about = describe_report(data_report) if data_report else []
            echo("\n".join([corpus.describe(), *about, *(describe_cost(cost) if cost else [])]))
    if data_report is not None:
        write_report(report, data_report, cost, corpus.class_counts)


def describe_report(report: DataReport) -> list[str]:
    """The report as a table, an example of each finding, and warnings."""
    from regard.data.filters import DROP_REASONS
    from regard.data.inspection import FINDINGS

    corpora, several = report.corpora, len(report.corpora) > 1
    columns = [Path(one.name.split(", ")[0]).name for one in corpora]
    reasons = [reason for reason in DROP_REASONS if any(one.dropped.get(reason) for one in corpora)]
    found = [name for name in FINDINGS if any(one.findings[name].count for one in corpora)]
    cut = MAX_SHOWN_CHARACTERS
    used = sum(one.kept * one.weight for one in corpora) or 1
    rows = [
        [f"{report.examples} read", *(f"{one.read:,}" for one in corpora)],
        ["kept", *(f"{one.kept:,}" for one in corpora)],
        *(
            [f"dropped: {DROP_REASONS[name]}", *(f"{one.dropped.get(name, 0):,}" for one in corpora)]
            for name in reasons
        ),
        *([["weight", *(f"{one.weight:g}" for one in corpora)]] if several else []),
        *([["share of an epoch", *(f"{one.kept * one.weight / used:.0%}" for one in corpora)]] if several else []),
        ["checked one by one", *(f"{one.inspected:,}" for one in corpora)],
    ]
    for name in found:
        counts = [(one.findings[name].count, max(1, one.inspected)) for one in corpora]
        rows.append([FINDINGS[name], *(f"{count:,} ({count / inspected:.1%})" for count, inspected in counts)])
    direction = " to ".join(map(language_name, report.languages)) or "languages unknown"
    lines = [format_table([f"the data ({direction})", *columns], rows)]
    for name in found:
        source, target = next(one.findings[name].examples[0] for one in corpora if one.findings[name].count)
        texts = [text for text in (source, target) if text]
        shown = " | ".join(text[:cut] + "…" * (len(text) > cut) for text in texts)
        lines.append(f"  {FINDINGS[name]}: {shown}")
    origin = "held out of the training files" if report.is_held_out else "in files of their own"
    return [*lines, f"validation: {report.valid:,} {report.examples}, {origin}", *_warnings(report)]


def describe_cost(cost: CostEstimate) -> list[str]:
    """The size, time, memory and disk of a run."""
    hours, minutes = divmod(round(cost.training_seconds / 60), 60)
    rows = [
        ["parameters", f"{cost.parameters:,} ({format_bytes(cost.model_bytes)})"],
        ["seconds per step", f"{cost.seconds_per_step:.3f} ({cost.tokens_per_second:,.0f} target tokens/s)"],
        [f"time of {cost.steps:,} steps", f"{hours} h {minutes:02d} min, and {cost.validations:,} validations"],
        ["memory", format_bytes(cost.memory_bytes)],
        ["disk", format_bytes(cost.disk_bytes)],
    ]
    return [format_table(["the run, from a few real steps", "here"], rows), "Nothing was trained: this was a dry run."]


def write_report(
    path: Path | None,
    report: DataReport,
    cost: CostEstimate | None = None,
    class_counts: Mapping[str, int] | None = None,
) -> None:
    """Write the page, if a path is given."""
    from regard.plotting.data_page import render_data_page

    if path is not None:
        with atomic_file(path) as file:
            file.write(render_data_page(report, cost, class_counts or {}).encode())
        echo(f"The report of the data is in {path}.", to_error=True)


def _warnings(report: DataReport) -> list[str]:
    from regard.data.inspection import FINDINGS

    warnings = []
    if report.overlap:
        warnings.append(
            f"warning: {report.overlap:,} of the {report.valid:,} validation {report.examples} are training "
            f"{report.examples} too: their scores measure memorisation. Remove them from one side."
        )
    if report.source_overlap > report.overlap:
        others = report.source_overlap - report.overlap
        warnings.append(
            f"warning: {others:,} of the {report.valid:,} validation pairs have the source of a training pair, with "
            "another target."
        )
    for corpus in report.corpora:
        for name, (share, advice) in WARNED_FINDINGS.items():
            count = corpus.findings[name].count
            if count > share * corpus.inspected:
                warnings.append(
                    f"warning: {corpus.name}: {count / corpus.inspected:.0%} of the checked pairs: {FINDINGS[name]}. "
                    f"{advice}"
                )
    return warnings


def format_bytes(count: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if count < 1000:
            return f"{count:,.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} GB"
