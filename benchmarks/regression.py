"""Whether this working tree is as fast as an older commit: both measured in turns in one run, as ratios.

    python -m benchmarks.regression            # against ea3c505, all parts: about a quarter of an hour
    python -m benchmarks.regression --before HEAD~5 --parts training greedy --rounds 5

Each revision trains its own model by its own commands and its own copy of a recipe, in a temporary folder. Then the
revisions take turns, so that what else the machine does falls on both. A ratio is new speed over old speed: above 1 is
faster. The exit code is 1 if a median ratio is below the bound. The machine should have nothing else to do.

    training    target tokens per second of `regard train` at width 128 (the recipe world-transformer)
    greedy      lines per second of `regard translate --engine torch`, without the start and the first lines
    beam-5      the same with a beam of five
    help        starts per second of `regard --help`
    translate   starts per second of `regard translate` with one sentence
    server      answers per second to 16 clients of POST /api/v1/translate
    overload    good answers per second while five times as many requests come in
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.http_load import serving
from benchmarks.serving import Load, open_loop, rate_of
from benchmarks.structure import tree_at
from benchmarks.walks import first_that_works, regard

ROOT = Path(__file__).parent.parent
BOUND = 0.97
STEPS = {"model": 800, "timed": 150}  # the first are for a model that ends its sentences
LINES, MORE = 1000, 3  # lines of the shorter file, and how many times as many the longer one has
CLIENTS, SECONDS = 16, 5.0


@dataclass(frozen=True)
class Revision:
    """A commit that is unpacked, with a corpus and a model that it made itself."""

    name: str
    tree: Path
    folder: Path

    @property
    def model(self) -> Path:
        return self.folder / "model-run" / "model"

    def seconds(self, *arguments: str) -> float:
        """How long a command takes."""
        start = time.monotonic()
        regard(list(arguments), self.tree, self.folder)
        return time.monotonic() - start


def main() -> None:
    arguments = parse_arguments()
    with ExitStack() as stack:
        revisions = [stack.enter_context(prepared(name)) for name in (arguments.before, None)]
        rounds = {part: [] for part in arguments.parts}
        for number in range(arguments.rounds):
            for part in arguments.parts:
                order = revisions if number % 2 == 0 else revisions[::-1]
                speeds = {revision.name: PARTS[part](revision) for revision in order}
                rounds[part].append(tuple(speeds[revision.name] for revision in revisions))
                figures = ", ".join(f"{name} {speed:,.2f}" for name, speed in speeds.items())
                print(f"round {number + 1}, {part}: {figures}", flush=True)
    sys.exit(print_table(rounds, arguments.before))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", metavar="REV", default="ea3c505", help="the older commit [default: %(default)s]")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="what to measure [default: all]")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured [default: %(default)s]")
    return parser.parse_args()


def print_table(rounds: dict[str, list[tuple[float, float]]], before: str) -> int:
    print(f"\n| per second | {before} | working tree | ratio (lowest to highest) | |\n|---|---|---|---|---|")
    is_slower = False
    for part, pairs in rounds.items():
        ratios = sorted(new / old for old, new in pairs)
        is_slower |= median(ratios) < BOUND
        old, new = (median(column) for column in zip(*pairs, strict=True))
        verdict = "ok" if median(ratios) >= BOUND else f"below {BOUND}"
        spread = f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        print(f"| {part} | {old:,.2f} | {new:,.2f} | {spread} | {verdict} |")
    return int(is_slower)


@contextmanager
def prepared(name: str | None) -> Iterator[Revision]:
    """A revision with its corpus and a model, each made by its own commands."""
    with tree_at(name) as tree, tempfile.TemporaryDirectory() as folder:
        revision = Revision(name or "working tree", tree, Path(folder))
        data = ["sentences", "--out", "runs/world/data", "--train", "20000"]
        # The first word is the present name of the command, the second the name it had before.
        first_that_works([["data", word, *data] for word in ("generate", "world")], tree, revision.folder)
        revision.seconds(*training_command(revision, STEPS["model"], "model-run"))
        sentences = (revision.folder / "runs/world/data/valid.en").read_text(encoding="utf-8").splitlines()
        lines = [sentences[index % len(sentences)] for index in range(LINES)]
        (revision.folder / "many.en").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (revision.folder / "more.en").write_text("\n".join(lines * MORE) + "\n", encoding="utf-8")
        (revision.folder / "one.en").write_text("AI changes the world\n", encoding="utf-8")
        yield revision


def training_command(revision: Revision, steps: int, run: str) -> list[str]:
    options = {"training.steps": steps, "training.validate_every": steps, "training.checkpoint_every": steps}
    changes = [part for key, value in options.items() for part in ("--set", f"{key}={value}")]
    return ["train", str(revision.tree / "recipes/world-transformer.toml"), "--run", run, *changes]


# ---- the parts: each returns a speed ----


def training_speed(revision: Revision) -> float:
    """The speed between the first and the last progress event, which leaves out the start of the process."""
    run = revision.folder / f"timed-{time.monotonic_ns()}"
    regard(training_command(revision, STEPS["timed"], str(run)), revision.tree, revision.folder)
    [log] = [path for path in run.glob("*.jsonl") if "tokens_per_second" in path.read_text(encoding="utf-8")]
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return median(event["tokens_per_second"] for event in events if "tokens_per_second" in event)


def decoding_speed(revision: Revision, beam: int) -> float:
    """Lines per second, from the difference of the times of two files, in which start-up and first lines cancel.

    The time of one line cannot stand for the start-up: at ea3c505 it was 0.33 s of CPU, in threads that waited for each
    other, and is 0.02 s now. Subtracted from the time of a file, it made the older greedy search look a third faster.
    """
    command = ["translate", str(revision.model), "--engine", "torch", "--beam", str(beam), "--output", "out.ko"]
    few = revision.seconds(*command, "--input", "many.en")
    return (MORE - 1) * LINES / (revision.seconds(*command, "--input", "more.en") - few)


def start_speed(revision: Revision, *arguments: str) -> float:
    return 1 / median(revision.seconds(*arguments) for _ in range(5))


def help_speed(revision: Revision) -> float:
    return start_speed(revision, "--help")


def translate_speed(revision: Revision) -> float:
    return start_speed(revision, "translate", str(revision.model), "--input", "one.en", "--output", "out.ko")


def server_speed(revision: Revision) -> float:
    async def measure(load: Load) -> float:
        await rate_of(load, CLIENTS, 1.0)  # the first requests warm the server up
        return await rate_of(load, CLIENTS, SECONDS)

    return served(revision, measure)


def overload_speed(revision: Revision) -> float:
    async def measure(load: Load) -> float:
        peak = await rate_of(load, CLIENTS, SECONDS)
        answers = await open_loop(load, 5 * peak, SECONDS)
        return sum(answer.status == 200 for answer in answers) / SECONDS

    return served(revision, measure)


def served(revision: Revision, measure: Callable[[Load], "asyncio.Future[float]"]) -> float:
    sentences = (revision.folder / "many.en").read_text(encoding="utf-8").splitlines()
    log = revision.folder / "server.log"
    with (
        first_on_path(revision.tree),
        serving([revision.model], log, "--engine", "torch", "--limit", "rate=0") as server,
    ):
        return asyncio.run(measure(Load(server, lambda chance: chance.choice(sentences))))


@contextmanager
def first_on_path(tree: Path) -> Iterator[None]:
    """Processes that start meanwhile import regard from this tree."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(tree / "src")
    try:
        yield
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before


PARTS: dict[str, Callable[[Revision], float]] = {
    "training": training_speed,
    "greedy": lambda revision: decoding_speed(revision, 1),
    "beam-5": lambda revision: decoding_speed(revision, 5),
    "help": help_speed,
    "translate": translate_speed,
    "server": server_speed,
    "overload": overload_speed,
}

if __name__ == "__main__":
    main()
