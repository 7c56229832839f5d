"""Everything in docs/performance.md: measured part by part, each by a command of its own, kept as rows, and drawn.

    .venv/bin/python benchmarks/performance.py --model runs/multi30k-post-norm/model \\
        --teacher runs/multi30k-transformer/model --student runs/multi30k-student        # all: half an hour or more
    .venv/bin/python benchmarks/performance.py --parts lengths                           # one part; the others stay
    .venv/bin/python benchmarks/performance.py --parts                                   # nothing: only drawn again

The machine should be idle. The rows are in docs/performance.jsonl; a measured part replaces its rows. The output of the
commands is shown at once; one that misses a target does not stop the others.
"""

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.performance_page import page, pictures

DOCS = Path(__file__).parents[1] / "docs"
ROWS = DOCS / "performance.jsonl"
CORPORA = (100_000, 1_000_000)  # pairs; each is held against 10,000
Row = dict[str, Any]


def main() -> None:
    given = _arguments()
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()] if ROWS.exists() else []
    for part in given.parts:
        new = [{"part": part} | row for row in measured(part, given)]
        rows = [row for row in rows if row["part"] != part or _is_of_other_size(row, new)] + new
        ROWS.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for name, drawing in pictures(rows).items():
        (DOCS / "images" / name).write_text(drawing)
    (DOCS / "performance.md").write_text(page(rows))


def measured(part: str, given: argparse.Namespace) -> Iterator[Row]:
    """The machine's row, then the rows that the commands of the part print."""
    yield {"machine": _processor(), "torch": torch.__version__, "day": f"{datetime.now(UTC):%Y-%m-%d}"}
    for command in commands(part, given):
        run = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
        for line in run.stdout or ():
            print(line, end="", flush=True)
            yield json.loads(line)
        run.wait()


def commands(part: str, given: argparse.Namespace) -> list[list[str]]:
    """The commands of a part."""
    here = Path(__file__).parent
    return {
        "training": [[str(here / "training.py"), "--sizes", *given.sizes]],
        "processes": [[str(here / "processes.py"), "--sizes", *(size for size in given.sizes if "width" in size)]],
        "decoding": [[str(here / "decoding.py"), "--model", str(given.model)]],
        "student": [
            [str(here / "student.py"), "--teacher", str(given.teacher), "--student", str(given.student)],
        ],
        "lengths": [[str(here / "lengths.py")]],
        "corpus": [[str(here / "corpus.py"), "--json", "--only", "memory", "--pairs", str(pairs)] for pairs in CORPORA],
    }[part]


def _is_of_other_size(row: Row, new: list[Row]) -> bool:
    """Whether a row is of a model that was not measured again."""
    return "size" in row and all(row["size"] != one.get("size") for one in new)


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} cores of {names[0]} ({_widest_instructions()})" if names else platform.processor()


def _widest_instructions() -> str:
    has = torch.cpu.get_capabilities()
    found = [name for name in ("avx512_bf16", "avx512_f", "avx2") if has.get(name, False)]
    return found[0] if found else str(has.get("architecture", "other"))


def _arguments() -> argparse.Namespace:
    parts = ["training", "processes", "decoding", "student", "lengths", "corpus"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="*", choices=parts, default=parts)
    parser.add_argument("--sizes", nargs="+", default=["width-128", "width-512", "lstm", "lstm-luong"])
    parser.add_argument("--model", type=Path, help="for decoding: a post-norm Transformer, which Marian can hold too")
    parser.add_argument("--teacher", type=Path, help="for student: the teacher's model")
    parser.add_argument("--student", type=Path, help="for student: the run that `regard distill` made")
    given = parser.parse_args()
    for part, option in (("decoding", "model"), ("student", "teacher"), ("student", "student")):
        if part in given.parts and getattr(given, option) is None:
            parser.error(f"--{option} is needed to measure {part}")
    return given


if __name__ == "__main__":
    main()
