"""`regard translate` on a large file, killed at random points and repeated, against an undisturbed run.

    .venv/bin/python -m benchmarks.kill_translate world-en-ko --source test.en --lines 1000000 --beam 1
    .venv/bin/python -m benchmarks.kill_translate world-en-ko --source test.en --lines 1000000 --beam 1 --ray

The input repeats the lines of --source in random order. A beam of 1 is several times faster. A kill is SIGKILL to the
command, which is then repeated. With --ray the command uses a cluster of two nodes on this machine, and after the first
kill one of the nodes is killed, too. It prints a JSON line for each event. The exit code is 1 if the bytes differ, if
lines are missing, or if in the second half of the undisturbed run the command needs over 10 % more memory than in the
first half.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

POLL_SECONDS = 0.05
MAX_MEMORY_GROWTH = 1.10
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def main() -> int:
    given = arguments()
    chance = random.Random(given.seed)
    with TemporaryDirectory(dir=given.directory) as name, cluster(is_wanted=given.ray) as (options, kill_node):
        source, output = Path(name) / "source", Path(name) / "output"
        lines = given.source.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        with source.open("w", encoding="utf-8") as file:
            file.writelines(f"{chance.choice(lines)}\n" for _ in range(given.lines))
        search = ["--beam", given.beam] if given.beam else []
        command = Command([given.model, "--input", source, "--output", output, *options, *search], output)
        started = time.monotonic()
        memory = command.run_to_the_end()
        whole = describe(output)
        echo("undisturbed", **whole, **memory, seconds=round(time.monotonic() - started))
        output.unlink()
        for number, point in enumerate(sorted(chance.sample(range(given.lines * 9 // 10), given.kills))):
            echo("killed", wanted=point, after=command.run_until(point))
            if given.ray and number == 0:
                echo("node killed", after=command.run_until(point + 1, kill_node))
        command.run_to_the_end()
        disturbed = describe(output)
        echo("disturbed", **disturbed)
    is_flat = memory["second_half_mb"] <= MAX_MEMORY_GROWTH * memory["first_half_mb"]
    is_same = whole == disturbed and whole["lines"] == given.lines
    echo("verdict", identical=is_same, flat=is_flat)
    return 0 if is_same and is_flat else 1


class Command:
    """One `regard translate` command, which is started again and again."""

    def __init__(self, words: Sequence[object], output: Path) -> None:
        self.words = [sys.executable, "-m", "regard", "translate", *map(str, words)]
        self.progress_file = output.with_name(f"{output.name}.progress.json")

    def run_to_the_end(self) -> dict[str, float]:
        """Run it; returns the largest memory of the first and of the second half of the lines, in MB."""
        process = self._start()
        samples: list[tuple[int, float]] = []
        while process.poll() is None:
            samples.append((self.lines_done(), resident_megabytes(process.pid)))
            time.sleep(POLL_SECONDS)
        if process.returncode:
            raise SystemExit(f"the command failed with {process.returncode}")
        samples = [sample for sample in samples if sample[0]] or [(0, 0.0)]
        middle = samples[-1][0] / 2
        first = [memory for lines, memory in samples if lines <= middle] or [samples[0][1]]
        second = [memory for lines, memory in samples if lines > middle] or [samples[-1][1]]
        return {"first_half_mb": max(first), "second_half_mb": max(second)}

    def run_until(self, point: int, kill: Any = None) -> int:
        """Run it until this number of lines is done, and kill it; returns how many were done.

        With another way to kill, what is killed is not the command itself, which then stops only later.
        """
        process = self._start()
        while self.lines_done() < point:
            if process.poll() is not None:
                raise SystemExit(f"the command ended before line {point}")
            time.sleep(POLL_SECONDS)
        if kill is not None:
            kill()
            return self._wait_and_stop(process, self.lines_done())
        process.send_signal(signal.SIGKILL)
        process.wait()
        return self.lines_done()

    def lines_done(self) -> int:
        """How many lines are saved; 0 before the first."""
        try:
            return int(json.loads(self.progress_file.read_bytes())["lines"])
        except (OSError, ValueError):
            return 0

    def _wait_and_stop(self, process: "subprocess.Popen[bytes]", done: int) -> int:
        """Kill the command after it has saved more lines than these."""
        while self.lines_done() <= done and process.poll() is None:
            time.sleep(POLL_SECONDS)
        if process.poll() is not None:
            raise SystemExit(f"the command ended with {process.returncode} after a node was killed")
        process.send_signal(signal.SIGKILL)
        process.wait()
        return done

    def _start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(self.words, stderr=subprocess.DEVNULL)


@contextmanager
def cluster(*, is_wanted: bool) -> Iterator[tuple[list[str], Any]]:
    """The options for a Ray cluster of two nodes, and a function that kills one node and starts another."""
    if not is_wanted:
        yield [], None
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    worker = nodes.add_node(num_cpus=1)
    try:
        yield ["--ray", nodes.address], lambda: nodes.remove_node(worker, allow_graceful=False)
    finally:
        nodes.shutdown()


def resident_megabytes(process: int) -> float:
    """The memory of a process; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE_BYTES / 1e6
    except (OSError, IndexError):
        return 0.0


def describe(output: Path) -> dict[str, Any]:
    """The lines of a file and its hash."""
    content = output.read_bytes()
    return {"lines": content.count(b"\n"), "sha256": sha256(content).hexdigest()}


def echo(event: str, **values: object) -> None:
    print(json.dumps({"event": event, **values}), flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--source", type=Path, required=True, help="sentences of the model's source language")
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--beam", type=int, help="beam size [default: the model's own]")
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--ray", action="store_true", help="on a cluster of two nodes, one of which is killed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--directory", type=Path, help="for the files [default: the system's]")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
