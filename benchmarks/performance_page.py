"""The text of docs/performance.md and its plots, from the rows that benchmarks/performance.py measured."""

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from regard.plotting.line_plot import Line, figure_bytes, plot_curves

Row = dict[str, Any]
SIZES = {
    "width-128": "4 + 4 layers, width 128, feed-forward 256, 4 heads",
    "width-512": "3 + 3 layers, width 512, feed-forward 2048, 8 heads",
    "lstm": "LSTM 256 with attention (additive, previous state)",
    "lstm-luong": "LSTM 256 with attention (general, current state, input feeding)",
}
PASSES = {"unwatched": "inference", "training": "training step", "recorded": "recording all attention"}
CEILING = "ctranslate2 float32 itself / hf generate"
LARGEST, TOGETHER = "largest process (MB)", "all together (MB)"
LABELS = (  # names in the rows, and how the page spells them
    ("hf generate, lines as they come", "Hugging Face generate, unsorted"),
    ("hf generate", "Hugging Face generate"),
    ("hf marian", "Hugging Face Marian"),
    ("ctranslate2 float32 itself", "CTranslate2 float32, called directly"),
    ("ctranslate2 int8 itself", "CTranslate2 int8, called directly"),
    ("ours", "regard"),
    ("beam 5", "beam size 5"),
    ("beam 1", "greedy"),
    ("share of the limit", "share of the peak"),
    ("share of float32's limit", "share of the float32 peak"),
    ("at a limit of", "at a peak of"),
)


def page(rows: list[Row]) -> str:
    """The whole page."""
    parts = {
        "training": _training,
        "processes": _processes,
        "decoding": _decoding,
        "student": _student,
        "lengths": _lengths,
        "corpus": _corpus,
    }
    sections = [_signed(section(_of(rows, part)), _of(rows, part)) for part, section in parts.items()]
    return "\n".join([_opening(rows), *filter(None, sections)])


def pictures(rows: list[Row]) -> dict[str, str]:
    """The plots as SVG, by file name."""
    passes = [row for row in _of(rows, "lengths") if "pass" in row]
    corpora = _by_pairs(rows)
    drawn = {}
    if passes:
        drawn["length-time.svg"] = _length_plot(passes, "seconds", "Time of one pass")
        drawn["length-memory.svg"] = _length_plot(passes, "megabytes", "Memory of one pass")
    if corpora:
        drawn["corpus-memory.svg"] = _corpus_plot(corpora)
    return drawn


# --- sections --------------------------------------------------------------------------------------------------------


def _opening(rows: list[Row]) -> str:
    limits = [row["limit"] / 1e9 for row in rows if "limit" in row]
    noise = f"between {min(limits):.0f} and {max(limits):.0f} GFLOP/s" if limits else "not measured"
    return f"""# Performance

`benchmarks/performance.py` measures and writes this page; [performance.jsonl](performance.jsonl) has the raw rows. Each
section ends with its machine and date. Figures are float32 unless stated otherwise, and give the median with the lowest
and highest value.

**Noise.** The machines are virtual and share their processors. The same matrix product (2048 x 2048, two threads) ran
{noise} during the training benchmark. Ratios are more reliable than absolute values: everything that
is compared ran in turns within one session.
"""


def _signed(section: str, rows: list[Row]) -> str:
    """The section with the machine and the date of its measurement."""
    machines = [f"{row['machine']}, torch {row['torch']}, {row['day']}" for row in rows if "machine" in row]
    return f"{section}\n*{'; '.join(dict.fromkeys(machines))}.*\n" if section else ""


def _training(rows: list[Row]) -> str:
    timings = [row for row in rows if "who" in row]
    if not timings:
        return ""
    lines = [
        "## Training",
        "`benchmarks/training.py`: target tokens per second without padding, on the same batches of Multi30k",
        "(English to German, 10,000 shared pieces, batches of 4,096 padded tokens, two threads), three rounds each.",
        "*Share of the peak* is the speed of the model's matrix products (6 FLOPs per weight and token) relative to",
        "one large float32 product measured beside it. Memory is the peak of the whole process.",
        *_precisions(timings),
        "",
        *_table(
            ["model", "implementation", "tokens/s", "share of the peak", "peak memory"],
            (_timing(size, who, own) for (size, who), own in _grouped(timings, "size", "who").items()),
        ),
        "",
        *_bars(row for row in rows if "bar" in row),
    ]
    for row in rows:
        if "real_share" in row and row["size"] == "width-128":
            lines += ["", f"{row['real_share']:.1%} of all token positions are not padding."]
    return "\n".join(lines) + "\n"


def _precisions(timings: list[Row]) -> list[str]:
    if not any(row["who"].endswith("bfloat16") for row in timings):
        return []
    return [
        "This processor has bfloat16 instructions, which `regard train` uses by default, so some models were",
        "measured in both precisions; the other implementations use autocast.",
    ]


def _timing(size: str, who: str, own: list[Row]) -> list[str]:
    share = _spread([row["share_of_limit"] for row in own], "{:.0%}".format)
    speed = _spread([row["speed"] for row in own], "{:,.0f}".format)
    return [SIZES[size], _label(who), speed, "" if share.startswith("0%") else share, f"{own[-1]['memory']:,.0f} MB"]


def _processes(rows: list[Row]) -> str:
    ways = [row for row in rows if "median" in row]
    if not ways:
        return ""
    lines = [
        "## Threads or processes",
        "`benchmarks/processes.py`: the same training step in one process with one or two threads, and in two",
        "processes of one thread that sum their gradients (`regard train --processes 2`); target tokens per second",
        "without padding.",
        "",
        *_table(
            ["model", "processes and threads", "tokens/s"],
            ([SIZES[row["size"]], row["way"], _format_row(row, "{:,}".format)] for row in ways),
        ),
    ]
    return "\n".join(lines) + "\n"


def _decoding(rows: list[Row]) -> str:
    timings = [row for row in rows if "tokens_per_second" in row]
    if not timings:
        return ""
    speeds = (
        [_label(task), _label(who), _spread([row["tokens_per_second"] for row in own], "{:,.0f}".format)]
        for (task, who), own in _grouped(timings, "task", "who").items()
    )
    lines = [
        "## Decoding",
        "`benchmarks/decoding.py`: one trained model (post-norm and sinusoidal positions, as Marian requires),",
        "1,000 sentences from text to text, three rounds each; target tokens per second. Hugging Face gets its",
        "lines sorted by length, which is its best case; the table also has unsorted lines. `torch` and `auto` are",
        "choices of `regard translate --engine`; `int8` is `--quantization int8`.",
        "",
        *_table(["task", "implementation", "tokens/s"], speeds),
        "",
        *_bars(row | {"bar": f"{row['task']}: {row['ratio']}"} for row in rows if _is_judged(row)),
        "",
        *_table(
            ["from the command to the first line of output", "seconds"],
            (
                [
                    f"`regard translate --engine {row['who']}`",
                    _format_row(row, "{:.2f}".format),
                ]
                for row in rows
                if row.get("task") == "start-up"
            ),
        ),
    ]
    return "\n".join(lines) + "\n"


def _is_judged(row: Row) -> bool:
    """Whether a ratio has a target, or shows what is possible."""
    return "ratio" in row and ("holds" in row or row["ratio"] == CEILING)


def _student(rows: list[Row]) -> str:
    timings = _grouped([row for row in rows if "bleu" in row], "who")
    if not timings:
        return ""
    ratios = {row["ratio"].partition(" / ")[0]: row for row in rows if "ratio" in row}
    lines = [
        "## Student and teacher",
        "`benchmarks/student.py`: both in CTranslate2 with int8, 1,000 sentences of test2016 from text to text,",
        "three rounds each. *Speed* is relative to the teacher with beam size 5. The target is a speed of 3 at a",
        "loss of at most 0.3 BLEU.",
        "",
        *_table(
            ["model", "BLEU", "seconds", "speed", "target"],
            (_student_row(who, own, ratios.get(who)) for (who,), own in timings.items()),
        ),
    ]
    return "\n".join(lines) + "\n"


def _student_row(who: str, own: list[Row], ratio: Row | None) -> list[str]:
    seconds = _spread([row["seconds"] for row in own], "{:.2f}".format)
    if ratio is None:
        return [_label(who), f"{own[0]['bleu']:.2f}", seconds, "", ""]
    verdict = "reached" if ratio["holds"] else f"{ratio['bleu_less']:.2f} BLEU less"
    return [_label(who), f"{own[0]['bleu']:.2f}", seconds, _format_row(ratio, "{:.2f}".format), verdict]


def _lengths(rows: list[Row]) -> str:
    passes = _grouped([row for row in rows if "pass" in row], "tokens", "pass")
    if not passes:
        return ""
    cells = {key: f"{own[0]['seconds']:.2f} s, {own[0]['megabytes']:,.0f} MB" for key, own in passes.items()}
    lengths = sorted({length for length, _ in cells})
    lines = [
        "## Long inputs",
        "`benchmarks/lengths.py`: one pass of a Transformer (4 + 4 layers, width 128) over two rows with the given",
        "number of source and target tokens; half of one row is padding. For long inputs, time grows with the",
        "square of the length, as attention does. Memory grows linearly unless attention is recorded: the fused",
        "kernel stores no weights, padding is one row of the mask, and the causal rule is a flag of the kernel",
        "instead of a mask.",
        "",
        "![time](images/length-time.svg)",
        "![memory](images/length-memory.svg)",
        "",
        *_table(
            ["tokens", *PASSES.values()],
            ([f"{length:,}", *(cells.get((length, kind), "") for kind in PASSES)] for length in lengths),
        ),
    ]
    return "\n".join(lines) + "\n"


def _corpus(rows: list[Row]) -> str:
    corpora = _by_pairs(rows)
    if not corpora:
        return ""
    cells = ([f"{row['pairs']:,}", f"{row[LARGEST]:,.0f}", f"{row[TOGETHER]:,.0f}"] for row in corpora)
    lines = [
        "## Large corpora",
        "`benchmarks/corpus.py`: peak memory of `regard train`, starting from the text files, in megabytes. The",
        "token store is memory-mapped. The largest process reports its own peak. The sum of all processes is",
        "sampled five times per second and counts shared pages once, so it may be smaller.",
        "",
        "![memory](images/corpus-memory.svg)",
        "",
        *_table(["pairs", "largest process", "all processes together"], cells),
    ]
    return "\n".join(lines) + "\n"


# --- tables and plots ------------------------------------------------------------------------------------------------


def _bars(rows: Iterable[Row]) -> list[str]:
    """The targets, and whether they were reached."""
    return _table(
        ["ratio", "median (lowest to highest)", "target", "result"],
        (
            [
                _label(" ".join(filter(None, (row.get("size"), row["bar"])))),
                _format_row(row, "{:.2f}".format),
                f"{row['at_least']:.2f}" if "at_least" in row else "",
                {True: "reached", False: "**missed**", None: ""}[row.get("holds")],
            ]
            for row in rows
        ),
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def _spread(values: list[float], form: Callable[[float], str]) -> str:
    return f"{form(statistics.median(values))} ({form(min(values))} to {form(max(values))})"


def _label(text: str) -> str:
    """Names as the page spells them."""
    for name, label in LABELS:
        text = text.replace(name, label)
    return text


def _format_row(row: Row, form: Callable[[float], str]) -> str:
    return f"{form(row['median'])} ({form(row['low'])} to {form(row['high'])})"


def _length_plot(passes: list[Row], what: str, title: str) -> str:
    lengths = sorted({row["tokens"] for row in passes})
    lines = [
        Line(name, [(math.log2(row["tokens"]), row[what]) for row in passes if row["pass"] == kind])
        for kind, name in PASSES.items()
    ]
    ticks = [(math.log2(length), f"{length:,}") for length in lengths]
    figure = plot_curves(lines, title=title, x_label="tokens on each side", y_label=what, x_ticks=ticks)
    return figure_bytes(figure).decode()


def _corpus_plot(corpora: list[Row]) -> str:
    lines = [
        Line(name, [(math.log10(row["pairs"]), row[column]) for row in corpora])
        for name, column in (("largest process", LARGEST), ("all together", TOGETHER))
    ]
    ticks = [(math.log10(row["pairs"]), f"{row['pairs']:,}") for row in corpora]
    figure = plot_curves(
        lines, title="Peak memory of training", x_label="sentence pairs", y_label="megabytes", x_ticks=ticks
    )
    return figure_bytes(figure).decode()


def _by_pairs(rows: list[Row]) -> list[Row]:
    """The corpora by size, each once."""
    found = {row["pairs"]: row for row in _of(rows, "corpus") if LARGEST in row and "pairs" in row}
    return [found[pairs] for pairs in sorted(found)]


def _of(rows: list[Row], part: str) -> list[Row]:
    return [row for row in rows if row["part"] == part]


def _grouped(rows: list[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found
