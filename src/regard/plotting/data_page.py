"""The report of a corpus as one self-contained page: pictures first, then the figures and examples behind them.

The page has no script: the language is chosen by two radio buttons, and the colours follow the system.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from regard.data.inspection import RATIO_BINS, CorpusReport, DataReport
from regard.languages import language_name

if TYPE_CHECKING:
    from regard.training.cost_estimate import CostEstimate

BAR_WIDTH, BAR_HEIGHT, LABEL_WIDTH, PLOT_HEIGHT = 780, 22, 290, 150
SHOWN_CLASSES, SHOWN_CHARACTERS = 50, 36  # of a label
COLORS = {
    "kept": "var(--accent)",
    "blank": "#8a8f99",
    "too_long": "#b04a00",
    "ratio": "#d98b3a",
    "duplicate": "#7a5aa6",
    "held_out": "#2f8f6b",
}
TEXTS = {  # English and Korean
    "title": ("The data before training", "학습 전 데이터"),
    "kept": ("kept", "사용"),
    "blank": ("with a blank side", "한쪽이 비어 있음"),
    "too_long": ("too long", "너무 김"),
    "ratio": ("lengths too far apart", "길이 차이가 너무 큼"),
    "duplicate": ("duplicates", "중복"),
    "held_out": ("held out for validation", "검증용으로 분리"),
    "drops": ("What is kept, and what is dropped", "무엇을 쓰고 무엇을 버리는지"),
    "findings": ("What to look at", "살펴볼 것"),
    "findings_note": (
        "Share of the pairs that were checked one by one.",
        "하나씩 확인한 쌍 가운데 차지하는 비율이에요.",
    ),
    "copy": ("untranslated copies", "번역되지 않은 복사본"),
    "wrong_language": ("in the wrong language", "다른 언어로 쓰임"),
    "numbers": ("numbers differ", "숫자가 다름"),
    "placeholders": ("placeholders, tags or addresses differ", "자리표시자, 태그, 주소가 다름"),
    "near_duplicate": ("near duplicates", "거의 같은 쌍"),
    "classes": ("Examples of each class", "클래스별 예문 수"),
    "ratios": ("Target tokens for each source token", "원문 토큰 하나에 대한 번역문 토큰 수"),
    "validation": ("Validation", "검증 데이터"),
    "valid": ("validation examples", "검증 예문"),
    "overlap": ("are training examples too", "학습 예문과 같음"),
    "source_overlap": ("have the source of a training pair", "학습 쌍과 원문이 같음"),
    "cost": ("What the run costs, from a few real steps", "학습 비용: 실제 몇 단계로 잰 값"),
    "parameters": ("parameters", "파라미터"),
    "time": ("hours of training", "학습 시간(시간)"),
    "step": ("seconds per step", "단계당 초"),
    "memory": ("GB of memory", "메모리(GB)"),
    "disk": ("GB of disk", "디스크(GB)"),
    "figures": ("The figures", "수치"),
    "corpus": ("corpus", "말뭉치"),
    "read": ("read", "읽음"),
    "weight": ("weight", "가중치"),
    "checked": ("checked", "확인"),
    "examples": ("Examples", "예"),
    "none": ("Nothing was found.", "찾은 것이 없어요."),
}
FINDING_NAMES = ("copy", "wrong_language", "numbers", "placeholders", "duplicate", "near_duplicate")
STYLE = """
:root { --paper: #f6f5f1; --surface: #fff; --ink: #1b1f27; --faint: #5a6372; --line: #dcdbd4; --accent: #0b4f94;
  --gold: #b04a00; color-scheme: light dark }
@media (prefers-color-scheme: dark) { :root { --paper: #101318; --surface: #171a21; --ink: #e9edf4; --faint: #98a2b3;
  --line: #2c323d; --accent: #84bdf5; --gold: #f0a04b } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.6 system-ui, "Noto Sans KR",
  "Noto Sans CJK KR", "Apple SD Gothic Neo", "Malgun Gothic", sans-serif; overflow-wrap: anywhere }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem }
section { background: var(--surface); border: 1px solid var(--line); border-radius: 14px; padding: 1rem 1.25rem;
  margin: 1rem 0; overflow-x: auto }
h1 { font-size: 1.5rem; line-height: 1.25 } h2 { font-size: 1.1rem; margin: 0 0 .5rem }
svg { max-width: 100%; height: auto } svg text { fill: var(--ink); font-size: 13px } .faint, svg .faint {
  color: var(--faint); fill: var(--faint) }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .3rem .6rem; border-bottom:
  1px solid var(--line); vertical-align: top } td.number, th.number { text-align: right; font-variant-numeric:
  tabular-nums }
.cards { display: flex; flex-wrap: wrap; gap: .75rem 2rem } .cards b { display: block; font-size: 1.4rem }
.legend span { margin-right: 1rem; white-space: nowrap }
body:has(#ko:checked) [lang=en], body:has(#en:checked) [lang=ko] { display: none }
fieldset { border: 0; padding: 0; margin: 0; float: right } label { margin-left: .75rem }
"""


def render_data_page(
    report: DataReport, cost: "CostEstimate | None" = None, class_counts: Mapping[str, int] | None = None
) -> str:
    """The page as HTML; its policy allows no script and no request."""
    style_hash = b64encode(sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{style_hash}'; base-uri 'none'; form-action 'none'"
    direction = " → ".join(map(language_name, report.languages))
    sections = "\n".join(f"<section>{part}</section>" for part in _sections(report, cost, class_counts or {}))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(TEXTS["title"][0])}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<fieldset aria-label="Language"><label><input type="radio" name="language" id="en" checked> English</label>
<label><input type="radio" name="language" id="ko"> 한국어</label></fieldset>
<h1>{_text("title")}</h1>
<p class="faint">{escape(direction)} {escape(report.vocabulary)}</p>
{sections}
</main>
</body>
</html>
"""


def _sections(report: DataReport, cost: "CostEstimate | None", class_counts: Mapping[str, int]) -> Iterator[str]:
    corpora = report.corpora
    yield _heading("drops") + _drop_bars(corpora)
    if class_counts:
        yield _heading("classes") + _class_bars(class_counts)
    yield _heading("findings") + f'<p class="faint">{_text("findings_note")}</p>' + _finding_bars(corpora)
    if any(one.ratios for one in corpora):
        yield _heading("ratios") + _ratio_plot([sum(own) for own in zip(*(one.ratios for one in corpora), strict=True)])
    counts = {"valid": report.valid, "overlap": report.overlap, "source_overlap": report.source_overlap}
    yield _heading("validation") + _cards({name: f"{count:,}" for name, count in counts.items()})
    if cost is not None:
        figures = {
            "parameters": f"{cost.parameters:,}",
            "step": f"{cost.seconds_per_step:.3f}",
            "time": f"{cost.training_seconds / 3600:.2f}",
            "memory": f"{cost.memory_bytes / 1e9:.2f}",
            "disk": f"{cost.disk_bytes / 1e9:.2f}",
        }
        yield _heading("cost") + _cards(figures)
    yield _heading("figures") + _figures_table(corpora)
    yield _heading("examples") + _examples_table(corpora)


def _text(name: str) -> str:
    english, korean = TEXTS[name]
    return f'<span lang="en">{escape(english)}</span><span lang="ko">{escape(korean)}</span>'


def _heading(name: str) -> str:
    return f"<h2>{_text(name)}</h2>"


def _cards(figures: dict[str, str]) -> str:
    return (
        '<div class="cards">'
        + "".join(f"<div><b>{value}</b>{_text(name)}</div>" for name, value in figures.items())
        + "</div>"
    )


def _drop_bars(corpora: Sequence[CorpusReport]) -> str:
    """One bar for each corpus, divided into what is kept and what is dropped for each reason."""
    marks = []
    for row, corpus in enumerate(corpora):
        parts = {"kept": corpus.kept, **{name: corpus.dropped.get(name, 0) for name in COLORS if name != "kept"}}
        top, x = row * (BAR_HEIGHT + 26), 0.0
        label = f"{_short_name(corpus)} ({corpus.read:,})"
        marks.append(f'<text x="0" y="{top + 14}">{escape(label)}</text>')
        for name, count in parts.items():
            width = BAR_WIDTH * count / max(1, corpus.read)
            if count:
                title = f"<title>{escape(TEXTS[name][0])}: {count:,}</title>"
                place = f'x="{x:.1f}" y="{top + 20}" width="{max(width, 1):.1f}" height="{BAR_HEIGHT}"'
                marks.append(f'<rect {place} fill="{COLORS[name]}">{title}</rect>')
            x += width
    used = [name for name in COLORS if name == "kept" or any(one.dropped.get(name) for one in corpora)]
    square = '<svg width="12" height="12"><rect width="12" height="12" fill="{}"/></svg>'
    legend = "".join(f"<span>{square.format(COLORS[name])} {_text(name)}</span>" for name in used)
    return _svg(BAR_WIDTH, len(corpora) * (BAR_HEIGHT + 26), marks) + f'<p class="legend">{legend}</p>'


def _class_bars(counts: Mapping[str, int]) -> str:
    """A bar for each class, the largest first."""
    ranked, marks = sorted(counts.items(), key=lambda one: -one[1])[:SHOWN_CLASSES], []
    for row, (label, count) in enumerate(ranked):
        top, width = row * (BAR_HEIGHT + 6), (BAR_WIDTH - LABEL_WIDTH - 110) * count / max(1, ranked[0][1])
        marks.append(f'<text x="0" y="{top + 16}">{escape(label[:SHOWN_CHARACTERS])}</text>')
        marks.append(
            f'<rect x="{LABEL_WIDTH}" y="{top}" width="{width:.1f}" height="{BAR_HEIGHT}" fill="var(--accent)"/>'
        )
        share = count / max(1, sum(counts.values()))
        marks.append(f'<text x="{LABEL_WIDTH + width + 6:.1f}" y="{top + 16}">{count:,} ({share:.1%})</text>')
    return _svg(BAR_WIDTH, len(ranked) * (BAR_HEIGHT + 6), marks)


def _finding_bars(corpora: Sequence[CorpusReport]) -> str:
    """A bar for each problem: its share of the pairs that were checked."""
    checked = max(1, sum(one.inspected for one in corpora))
    counts = {name: sum(one.findings[name].count for one in corpora) for name in FINDING_NAMES}
    longest, marks = max(1, *counts.values()), []
    for row, (name, count) in enumerate(counts.items()):
        top, width = row * (BAR_HEIGHT + 6), (BAR_WIDTH - LABEL_WIDTH - 110) * count / longest
        for code, text in zip(("en", "ko"), TEXTS[name], strict=True):
            marks.append(f'<text lang="{code}" x="0" y="{top + 16}">{escape(text)}</text>')
        marks.append(
            f'<rect x="{LABEL_WIDTH}" y="{top}" width="{width:.1f}" height="{BAR_HEIGHT}" fill="var(--gold)"/>'
        )
        marks.append(f'<text x="{LABEL_WIDTH + width + 6:.1f}" y="{top + 16}">{count:,} ({count / checked:.1%})</text>')
    return _svg(BAR_WIDTH, len(counts) * (BAR_HEIGHT + 6), marks)


def _ratio_plot(counts: Sequence[int]) -> str:
    """A histogram of the ratios of lengths."""
    step, highest, marks = BAR_WIDTH / len(counts), max(1, *counts), []
    for index, count in enumerate(counts):
        height = (PLOT_HEIGHT - 30) * count / highest
        place = f'x="{index * step + 1:.1f}" y="{PLOT_HEIGHT - 20 - height:.1f}" width="{step - 2:.1f}"'
        marks.append(f'<rect {place} height="{height:.1f}" fill="var(--accent)"><title>{count:,}</title></rect>')
        middle = (RATIO_BINS[index] + RATIO_BINS[index + 1]) / 2
        if index % 2 == 0:
            x = index * step + step / 2
            marks.append(
                f'<text class="faint" x="{x:.1f}" y="{PLOT_HEIGHT - 4}" text-anchor="middle">{2**middle:.2g}</text>'
            )
    return _svg(BAR_WIDTH, PLOT_HEIGHT, marks)


def _short_name(corpus: CorpusReport) -> str:
    """The names of the files without their directories."""
    return ", ".join(Path(path).name for path in corpus.name.split(", "))


def _svg(width: float, height: float, marks: Sequence[str]) -> str:
    return f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">{"".join(marks)}</svg>'


def _figures_table(corpora: Sequence[CorpusReport]) -> str:
    figures = [
        {"read": one.read, "kept": one.kept, "weight": one.weight, "checked": one.inspected} | one.dropped
        for one in corpora
    ]
    head = "".join(f'<th class="number">{escape(_short_name(one))}</th>' for one in corpora)
    rows = [
        f"<tr><td>{_text(name)}</td>" + "".join(f'<td class="number">{own.get(name, 0):,}</td>' for own in figures)
        for name in ("read", "kept", *(name for name in COLORS if name != "kept"), "weight", "checked")
    ]
    return f"<table><tr><th>{_text('corpus')}</th>{head}</tr>{''.join(rows)}</table>"


def _examples_table(corpora: Sequence[CorpusReport]) -> str:
    rows = [
        f"<tr><td>{_text(name)}</td><td>{escape(source)}</td><td>{escape(target)}</td></tr>"
        for corpus in corpora
        for name in FINDING_NAMES
        for source, target in corpus.findings[name].examples
    ]
    return f"<table>{''.join(rows)}</table>" if rows else f"<p>{_text('none')}</p>"
