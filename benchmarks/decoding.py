"""Decoding speed of one model, interleaved in one run: our engines, CTranslate2 alone, and Hugging Face generate.

    .venv/bin/python benchmarks/decoding.py --model runs/multi30k-transformer/model

Every time is from input lines to output lines. Repetitions are interleaved, so that other load affects all alike;
compare the ratios, each with its lowest and highest. It prints a JSON line for each timing, then one for each ratio.
The exit code is 1 if a target is missed: torch at least 5 times Hugging Face, auto and int8 at least 0.95 of
CTranslate2, one sentence in at most 1.5 times CTranslate2's time, first line after at most 1.5 s.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from regard.inference.open import load
from regard.inference.translator import Translator
from regard.process import configure_malloc

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.peers import Translate, huggingface, raw_ctranslate2

BARS = {  # a contender, its peer, and the least that the first reaches of the second's speed
    "lines": [
        ("torch", "hf generate", 5.0),
        ("auto", "ctranslate2 float32 itself", 0.95),
        ("int8", "ctranslate2 int8 itself", 0.95),
    ],
    "single": [("auto", "ctranslate2 float32 itself", 1 / 1.5), ("int8", "ctranslate2 int8 itself", 1 / 1.5)],
}
CEILING = ("ctranslate2 float32 itself", "hf generate")  # what C++ written for it makes of the same numbers
START_UP_SECONDS = 1.5


@dataclass(frozen=True)
class Task:
    """The lines to translate, and the options."""

    name: str
    kind: str  # "lines": all at once; "single": one after the other
    lines: list[str]
    beam: int

    def run(self, translate: Translate) -> float:
        """Seconds that it takes."""
        begun = time.perf_counter()
        for part in [self.lines] if self.kind == "lines" else [[line] for line in self.lines]:
            translate(part, self.beam)
        return time.perf_counter() - begun


def main() -> int:
    given = _arguments()
    lines = given.source.read_text(encoding="utf-8").splitlines()[: given.lines]
    configure_malloc()  # as `regard translate` does; all contenders have it
    with TemporaryDirectory() as directory:
        translator = load(given.model, task="translation", engine="torch")
        contenders = make_contenders(translator, given.model, Path(directory), given.workers)
        torch.set_num_threads(given.threads)  # again, because CTranslate2 sets OpenMP to one thread
        held = [measure(task, contenders, translator, given.repetitions) for task in tasks(lines)]
        held.append(start_up(Path(directory) / "model", lines[0], given.repetitions))
    return 0 if all(held) else 1


def tasks(lines: list[str]) -> Iterator[Task]:
    """Greedy and beam search over all lines, and single sentences."""
    yield Task("greedy", "lines", lines, 1)
    yield Task("beam 5", "lines", lines, 5)
    yield Task("one sentence, greedy", "single", lines[:50], 1)


def make_contenders(translator: Translator, model: Path, directory: Path, workers: int) -> dict[str, Translate]:
    """Every contender, by name, ready to run."""
    copied = Path(shutil.copytree(model, directory / "model", ignore=shutil.ignore_patterns("engines")))
    found: dict[str, Translate] = {"torch": _ours(translator)}
    found["auto"] = _ours(load(copied, task="translation"))
    found["int8"] = _ours(load(copied, task="translation", quantization="int8"))
    for quantization in ("float32", "int8"):
        found[f"ctranslate2 {quantization} itself"] = raw_ctranslate2(
            translator.require_bundle("exports"), directory / quantization, quantization=quantization, workers=workers
        )
    for name, is_sorted in (("hf generate", True), ("hf generate, lines as they come", False)):
        if peer := huggingface(translator.require_bundle("exports"), directory / name, is_sorted=is_sorted):
            found[name] = peer
    return found


def _ours(translator: Translator) -> Translate:
    """As `regard translate` does it: lines in, lines out, no scores."""

    def translate(lines: Sequence[str], beam: int) -> list[str]:
        config = translator.decoding_config(beam_size=beam, nbest=1)
        return [own[0].text for own in translator.translate_lines(lines, config, scores=False)]

    return translate


def measure(task: Task, contenders: dict[str, Translate], translator: Translator, repetitions: int) -> bool:
    """Time every contender in turn, print the rows, and return whether all targets are met."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    tokens = {name: _tokens(translator, translate(task.lines, task.beam)) for name, translate in contenders.items()}
    for repetition in range(repetitions):
        for name, translate in contenders.items():
            seconds[name].append(task.run(translate))
            speed = tokens[name] / seconds[name][-1]
            _tell(task=task.name, who=name, repetition=repetition, seconds=seconds[name][-1], tokens_per_second=speed)
    speeds = {name: [tokens[name] / one for one in own] for name, own in seconds.items()}
    held = [_ratio(task, *bar, speeds) for bar in _pairs(task, contenders)]
    return all(held)


def _pairs(task: Task, contenders: dict[str, Translate]) -> list[tuple[str, str, float]]:
    """The targets whose contenders were timed, and the other ratios."""
    bars = [bar for bar in BARS[task.kind] if bar[1] in contenders]
    known = {bar[:2] for bar in bars}
    wanted = [(own, peer, 0.0) for own in ("torch", "auto", "int8") for peer in contenders if peer != own]
    others = [row for row in wanted if row[:2] not in known and row[1] not in ("torch", "auto", "int8")]
    return bars + others + [(*CEILING, 0.0)] * (CEILING[1] in contenders)


def _ratio(task: Task, own: str, peer: str, least: float, speeds: dict[str, list[float]]) -> bool:
    ratios = [mine / theirs for mine, theirs in zip(speeds[own], speeds[peer], strict=True)]
    middle = statistics.median(ratios)
    holds = middle >= least
    bar = {"at_least": round(least, 3), "holds": holds} if least else {}
    _tell(task=task.name, ratio=f"{own} / {peer}", median=middle, low=min(ratios), high=max(ratios), **bar)
    return holds


def start_up(model: Path, line: str, repetitions: int) -> bool:
    """Seconds from the command to the first line, by the median."""
    found = {}
    for engine in ("torch", "auto"):
        command = [sys.executable, "-m", "regard", "translate", str(model), "--engine", engine]
        seconds = [_seconds_of(lambda: _run(command, line)) for _ in range(repetitions)]  # noqa: B023
        found[engine] = statistics.median(seconds)
        holds = found[engine] <= START_UP_SECONDS
        _tell(task="start-up", who=engine, median=found[engine], low=min(seconds), high=max(seconds), holds=holds)
    return found["torch"] <= START_UP_SECONDS


def _run(command: list[str], line: str) -> None:
    subprocess.run(command, input=f"{line}\n", text=True, capture_output=True, check=True, env=os.environ)


def _seconds_of(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _tokens(translator: Translator, outputs: list[str]) -> int:
    return sum(len(translator.tokenizers.target.encode(output)) + 1 for output in outputs)  # END is a token too


def _tell(**row: object) -> None:
    print(
        json.dumps({key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}),
        flush=True,
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--source", type=Path, default=Path("data/multi30k/test2016.lc.tok.en"))
    parser.add_argument("--lines", type=int, default=None)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument(
        "--threads", type=int, default=len(os.sched_getaffinity(0)), help="of torch, ours and the peer's"
    )
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    return given


if __name__ == "__main__":
    sys.exit(main())
