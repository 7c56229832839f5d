"""The page docs/performance.md and its pictures, from the rows that benchmarks/performance.py has measured."""

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from regard.view.plots import Line, Plot, draw

Row = dict[str, Any]
SIZES = {
    "width-128": "4 + 4 layers, width 128, inner 256, 4 heads",
    "width-512": "3 + 3 layers, width 512, inner 2048, 8 heads",
    "lstm": "LSTM 256 that attends (additive, previous state)",
    "lstm-luong": "LSTM 256 that attends (general, current state, input feeding)",
}
PASSES = {"unwatched": "nobody watches", "training": "a training step", "recorded": "all maps recorded"}
CEILING = "ctranslate2 float32 itself / hf generate"
LARGEST, TOGETHER = "largest process (MB)", "all together (MB)"


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
    """SVG texts by the names of their files."""
    passes = [row for row in _of(rows, "lengths") if "pass" in row]
    corpora = _by_pairs(rows)
    drawn = {}
    if passes:
        drawn["length-time.svg"] = draw(_length_plot(passes, "seconds", "Time of one pass"))
        drawn["length-memory.svg"] = draw(_length_plot(passes, "megabytes", "Memory of one pass"))
    if corpora:
        drawn["corpus-memory.svg"] = draw(_corpus_plot(corpora))
    return drawn


# --- sections --------------------------------------------------------------------------------------------------------


def _opening(rows: list[Row]) -> str:
    limits = [row["limit"] / 1e9 for row in rows if "limit" in row]
    noise = f"between {min(limits):.0f} and {max(limits):.0f} GFLOP/s" if limits else "not measured"
    return f"""# Performance

Made by `benchmarks/performance.py`; the rows behind it are in [performance.jsonl](performance.jsonl). Each section ends
with the machine and the day that it was measured on. Numbers are float32 where nothing else is said.

**How noisy.** Machines are virtual ones, which share their processors with others: one and the same product of
matrices (2048 x 2048, two threads) ran {noise} while the training was timed. So believe
ratios, not absolutes: whatever is compared was run by turns in one sitting, and every ratio has its lowest and highest.
"""


def _signed(section: str, rows: list[Row]) -> str:
    """The section with where and when it was measured."""
    told = [f"{row['machine']}, torch {row['torch']}, {row['day']}" for row in rows if "machine" in row]
    return f"{section}\n*{'; '.join(dict.fromkeys(told))}.*\n" if section else ""


def _training(rows: list[Row]) -> str:
    timings = [row for row in rows if "who" in row]
    if not timings:
        return ""
    lines = [
        "## Training",
        "`benchmarks/training.py`: real target tokens a second, on the same batches of Multi30k (English to German,",
        "10,000 pieces shared, batches of 4,096 padded tokens, two threads), three turns each. *Share of the limit* is",
        "the FLOPs of the model's matrices (6 for each weight and token) over what the large product reached right",
        "beside it, in float32. Memory is the peak of the whole process.",
        *_precisions(timings),
        "",
        *_table(
            ["model", "who", "tokens/s", "share of the limit", "peak memory"],
            (_timing(size, who, own) for (size, who), own in _grouped(timings, "size", "who").items()),
        ),
        "",
        *_bars(row for row in rows if "bar" in row),
    ]
    for row in rows:
        if "real_share" in row and row["size"] == "width-128":
            lines += ["", f"Of all token places {row['real_share']:.1%} hold a token and not padding."]
    return "\n".join(lines) + "\n"


def _precisions(timings: list[Row]) -> list[str]:
    if not any(row["who"].endswith("bfloat16") for row in timings):
        return []
    return [
        "This processor has instructions for products of bfloat16 numbers, which `regard train` uses by default where",
        "there are any, so everyone was timed in both precisions, the peers by autocast.",
    ]


def _timing(size: str, who: str, own: list[Row]) -> list[str]:
    share = _spread([row["share_of_limit"] for row in own], "{:.0%}".format)
    speed = _spread([row["speed"] for row in own], "{:,.0f}".format)
    return [SIZES[size], who, speed, "" if share.startswith("0%") else share, f"{own[-1]['memory']:,.0f} MB"]


def _processes(rows: list[Row]) -> str:
    ways = [row for row in rows if "median" in row]
    if not ways:
        return ""
    lines = [
        "## Threads or processes",
        "`benchmarks/processes.py`: the same step by one process with one or two threads, and by two processes of one",
        "thread that add up their gradients (`regard train --processes 2`); real target tokens a second.",
        "",
        *_table(
            ["model", "way", "tokens/s"],
            ([SIZES[row["size"]], row["way"], _told(row, "{:,}".format)] for row in ways),
        ),
    ]
    return "\n".join(lines) + "\n"


def _decoding(rows: list[Row]) -> str:
    timings = [row for row in rows if "tokens_per_second" in row]
    if not timings:
        return ""
    speeds = (
        [task, who, _spread([row["tokens_per_second"] for row in own], "{:,.0f}".format)]
        for (task, who), own in _grouped(timings, "task", "who").items()
    )
    lines = [
        "## Decoding",
        "`benchmarks/decoding.py`: one trained model (post-norm and sinusoidal, so that Marian's classes hold it too),",
        "1,000 sentences from lines to lines, three turns each; target tokens a second. Hugging Face is given lines",
        "sorted by length, which is best for it; how it does with lines as they come is shown as well.",
        "",
        *_table(["task", "who", "tokens/s"], speeds),
        "",
        *_bars(row | {"bar": f"{row['task']}: {row['ratio']}"} for row in rows if _is_judged(row)),
        "",
        *_table(
            ["from the command to the first line", "seconds"],
            (
                [
                    f"`regard translate --engine {row['who']}`",
                    _told(row, "{:.2f}".format),
                ]
                for row in rows
                if row.get("task") == "start-up"
            ),
        ),
    ]
    return "\n".join(lines) + "\n"


def _is_judged(row: Row) -> bool:
    """Whether a ratio has a bar, or tells how high a bar is."""
    return "ratio" in row and ("holds" in row or row["ratio"] == CEILING)


def _student(rows: list[Row]) -> str:
    timings = _grouped([row for row in rows if "bleu" in row], "who")
    if not timings:
        return ""
    ratios = {row["ratio"].partition(" / ")[0]: row for row in rows if "ratio" in row}
    lines = [
        "## A student and its teacher",
        "`benchmarks/student.py`: both by CTranslate2 itself in int8, 1,000 sentences of test2016 from lines to lines,",
        "three turns each. *Times* is the speed in the teacher's with a beam of 5; due are 3, at most 0.3 BLEU below.",
        "",
        *_table(
            ["who", "BLEU", "seconds", "times", ""],
            (_student_row(who, own, ratios.get(who)) for (who,), own in timings.items()),
        ),
    ]
    return "\n".join(lines) + "\n"


def _student_row(who: str, own: list[Row], ratio: Row | None) -> list[str]:
    seconds = _spread([row["seconds"] for row in own], "{:.2f}".format)
    if ratio is None:
        return [who, f"{own[0]['bleu']:.2f}", seconds, "", ""]
    verdict = "reached" if ratio["holds"] else f"{ratio['bleu_less']:.2f} BLEU less"
    return [who, f"{own[0]['bleu']:.2f}", seconds, _told(ratio, "{:.2f}".format), verdict]


def _lengths(rows: list[Row]) -> str:
    passes = _grouped([row for row in rows if "pass" in row], "tokens", "pass")
    if not passes:
        return ""
    cells = {key: f"{own[0]['seconds']:.2f} s, {own[0]['megabytes']:,.0f} MB" for key, own in passes.items()}
    lengths = sorted({length for length, _ in cells})
    lines = [
        "## Long inputs",
        "`benchmarks/lengths.py`: one pass of a Transformer (4 + 4 layers, width 128) over two rows of so many",
        "source and target tokens, one of them half padding. Time grows with the square of the length at last, as",
        "attention does; memory does not, unless somebody records: the fused kernel writes down no weights, padding is",
        "one row of the mask, and the causal rule is told to the kernel instead of written as a table.",
        "",
        "![time](pictures/length-time.svg)",
        "![memory](pictures/length-memory.svg)",
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
        "`benchmarks/corpus.py`: peak memory of `regard train` from the text files on, in megabytes; tokens lie in a",
        "file that is mapped, not read. The largest process is told by its own peak; all processes together are looked",
        "at five times a second, and a page that several have is counted once, so that it may be less.",
        "",
        "![memory](pictures/corpus-memory.svg)",
        "",
        *_table(["pairs", "largest process", "all processes together"], cells),
    ]
    return "\n".join(lines) + "\n"


# --- tables and plots ------------------------------------------------------------------------------------------------


def _bars(rows: Iterable[Row]) -> list[str]:
    """What was to be reached, and whether it was."""
    return _table(
        ["", "median (lowest to highest)", "due", ""],
        (
            [
                " ".join(filter(None, (row.get("size"), row["bar"]))),
                _told(row, "{:.2f}".format),
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


def _told(row: Row, form: Callable[[float], str]) -> str:
    return f"{form(row['median'])} ({form(row['low'])} to {form(row['high'])})"


def _length_plot(passes: list[Row], what: str, title: str) -> Plot:
    lengths = sorted({row["tokens"] for row in passes})
    lines = [
        Line(name, [(math.log2(row["tokens"]), row[what]) for row in passes if row["pass"] == kind])
        for kind, name in PASSES.items()
    ]
    ticks = [(math.log2(length), f"{length:,}") for length in lengths]
    return Plot(title, "tokens on each side", what, lines, x_ticks=ticks)


def _corpus_plot(corpora: list[Row]) -> Plot:
    lines = [
        Line(name, [(math.log10(row["pairs"]), row[column]) for row in corpora])
        for name, column in (("largest process", LARGEST), ("all together", TOGETHER))
    ]
    ticks = [(math.log10(row["pairs"]), f"{row['pairs']:,}") for row in corpora]
    return Plot("Peak memory of training", "sentence pairs", "megabytes", lines, x_ticks=ticks)


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
