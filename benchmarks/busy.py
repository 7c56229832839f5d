"""Speed beside other work: training and small calls, on an idle machine and beside one busy process, in one run.

    .venv/bin/python -m benchmarks.busy                     # about ten minutes on two idle cores
    .venv/bin/python -m benchmarks.busy --spins 0 1000 10000 300000 --only training

Training is the step of `regard train` at width 128 on the generated corpus. Each contender is a process of its own with
another bound for the spinning of waiting threads (GOMP_SPINCOUNT): 300,000 is the default of libgomp, the one of regard
is in `regard/process.py`. A call translates 1, 8 or 64 sentences with the engine that `regard.load` chooses, and
with torch. Turns are interleaved; a contender sleeps while the others run. The busy process is a Python loop.

There is a JSON line for each timing, then one for each bar with the median, lowest and highest of the repetitions. The
exit code is 1 if a bar is missed: busy training keeps 0.5 of its idle speed, idle training has 0.97 of the speed with
300,000 spins, and one sentence costs at most twice its share of a batch of 8 and of 64 sentences. The load of the
machine before the run is printed: the figures of a machine that is not idle mean little.
"""

import argparse
import json
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from regard.process import SPIN_COUNT

LIBGOMP_SPINS = 300_000
CALLS = (1, 8, 64)
BEAM_SIZE = 5
MIN_BUSY_SHARE, MIN_IDLE_SHARE, MAX_CALL_COST = 0.5, 0.97, 2.0
Row = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """What a contender does, and where its files are."""

    kind: str  # training, or the engine of the calls
    spins: int
    directory: Path
    model_steps: int = 0  # of training before the calls


def main() -> int:
    given = arguments()
    echo(load_average=os.getloadavg()[0], cores=len(os.sched_getaffinity(0)))
    held = []
    with TemporaryDirectory(prefix="regard-busy-") as name:
        directory = Path(name)
        with contender(Job("prepare", SPIN_COUNT, directory, given.model_steps)) as prepare:
            ask(prepare, 1)
        if given.only in (None, "training"):
            jobs = [Job("training", spins, directory) for spins in given.spins]
            held.append(training_bars(list(timings(jobs, [given.steps], given.repetitions))))
        if given.only in (None, "calls"):
            jobs = [Job(engine, SPIN_COUNT, directory) for engine in given.engines]
            held.append(call_bars(list(timings(jobs, list(CALLS), given.repetitions))))
    return 0 if all(held) else 1


def timings(jobs: list[Job], amounts: list[int], repetitions: int) -> Iterator[Row]:
    """For each repetition, state of the machine, contender and amount: seconds and CPU seconds of one unit."""
    with ExitStack() as stack:
        processes = [(job, stack.enter_context(contender(job))) for job in jobs]
        for _, process in processes:
            ask(process, amounts[-1])  # warm-up
        for repetition in range(repetitions):
            for is_busy in (False, True):
                with busy_process() if is_busy else ExitStack():
                    for job, process in processes:
                        for amount in amounts:
                            row = {"kind": job.kind, "spins": job.spins, "busy": is_busy, "amount": amount}
                            row |= {"repetition": repetition} | ask(process, amount)
                            echo(**row)
                            yield row


def training_bars(rows: list[Row]) -> bool:
    """Whether training keeps its speed beside a busy process, and on an idle machine that of libgomp's default."""

    def speeds(spins: int, *, busy: bool) -> list[float]:
        return [row["units"] / row["seconds"] for row in rows if (row["spins"], row["busy"]) == (spins, busy)]

    held = []
    for spins in sorted({row["spins"] for row in rows}):
        idle, busy = speeds(spins, busy=False), speeds(spins, busy=True)
        is_ours = spins == SPIN_COUNT
        kept = [one / other for one, other in zip(busy, idle, strict=True)]
        held.append(bar(f"busy / idle training, {spins:,} spins", kept, MIN_BUSY_SHARE if is_ours else 0.0))
        if old := speeds(LIBGOMP_SPINS, busy=False):
            share = [one / other for one, other in zip(idle, old, strict=True)]
            least = MIN_IDLE_SHARE if is_ours else 0.0
            held.append(bar(f"idle training, {spins:,} spins / {LIBGOMP_SPINS:,} spins", share, least))
    return all(held)


def call_bars(rows: list[Row]) -> bool:
    """Whether one sentence costs at most twice its share of a batch, for the engine that is chosen by default."""
    held = []
    for kind in sorted({row["kind"] for row in rows}):
        for is_busy in (False, True):
            own = [row for row in rows if (row["kind"], row["busy"]) == (kind, is_busy)]
            for amount in CALLS[1:]:
                one, batch = ([row["seconds"] for row in own if row["amount"] == size] for size in (1, amount))
                ratios = [share / single for share, single in zip(batch, one, strict=True)]
                state, least = "busy" if is_busy else "idle", 1 / MAX_CALL_COST if kind == "auto" else 0.0
                held.append(bar(f"{kind}, {state}: share of a batch of {amount} / one sentence", ratios, least))
    return all(held)


def bar(name: str, values: list[float], at_least: float) -> bool:
    """Print a bar; whether it holds."""
    middle = statistics.median(values)
    verdict = {"at_least": at_least, "holds": middle >= at_least} if at_least else {}
    echo(bar=name, median=middle, low=min(values), high=max(values), **verdict)
    return middle >= at_least


# --- contenders ------------------------------------------------------------------------------------------------------


@contextmanager
def contender(job: Job) -> Iterator[Connection]:
    """A process that waits for orders; it ends with the block."""
    os.environ["GOMP_SPINCOUNT"] = str(job.spins)  # of the process that starts now
    own, others = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(job, others))
    process.start()
    others.close()  # so that a process that dies is noticed at once
    try:
        yield own
        own.send(0)
        process.join()
    finally:
        process.kill()


def ask(process: Connection, amount: int) -> Row:
    process.send(amount)
    row: Row = process.recv()
    return row


@contextmanager
def busy_process() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(1.0)  # until the scheduler has counted it
        yield
    finally:
        process.kill()
        process.wait()


def serve(job: Job, orders: Connection) -> None:
    """In a process of its own: do what is ordered, and send how long it took; a zero ends it."""
    work = {"prepare": prepare, "training": train}.get(job.kind, translate)(job)
    while amount := orders.recv():
        started, cpu = time.perf_counter(), cpu_seconds()
        units = work(amount)
        orders.send({"units": units, "seconds": time.perf_counter() - started, "cpu_seconds": cpu_seconds() - cpu})


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def prepare(job: Job) -> Callable[[int], int]:
    """Write the corpus, tokenise it, and train the model of the calls."""
    from regard.bundle import save_bundle
    from regard.worlds.sentences import write_world

    def work(_amount: int) -> int:
        write_world(job.directory / "world")
        train_steps, trainer = training_steps(job)
        train_steps(job.model_steps)
        save_bundle(job.directory / "model", trainer.bundle)
        return 1

    return work


def train(job: Job) -> Callable[[int], int]:
    """Steps of training; returns their target tokens."""
    return training_steps(job)[0]


def training_steps(job: Job) -> tuple[Callable[[int], int], Any]:
    from regard.config import (
        Config,
        DataConfig,
        TokenizerConfig,
        TrainingConfig,
        TransformerConfig,
        TransformerStackConfig,
    )
    from regard.data.batch_order import EpochPosition
    from regard.training.corpora import prepare_corpus, rank_batches
    from regard.training.step import ThroughputMeter, create_trainer, train_step

    world, stack = job.directory / "world", TransformerStackConfig(layers=2, width=128, ffn_width=256, heads=4)
    train_files, valid = ([str(world / f"{name}.{side}") for side in ("en", "ko")] for name in ("train", "valid"))
    config = Config(
        model=TransformerConfig(encoder=stack, decoder=stack, norm="pre", share_embeddings=False, dropout=0.1),
        tokenizer=TokenizerConfig(vocab_size=2000, shared=False),
        data=DataConfig(train=train_files, valid=valid, languages=["en", "ko"]),
        training=TrainingConfig(batch_tokens=1500, learning_rate=5e-3, warmup_steps=100, precision="float32"),
    )
    corpus = prepare_corpus(config, job.directory / "run", progress=lambda *_: None)
    trainer, meter = create_trainer(config, job.directory / "run", corpus), ThroughputMeter(0.0)
    batches = rank_batches(corpus, config, EpochPosition(), device="cpu", parts=trainer.microbatches.size)

    def work(steps: int) -> int:
        drawn = [next(batches) for _ in range(steps)]
        for one in drawn:
            train_step(trainer, [one], meter)
        return sum(one.tokens for one in drawn)

    return work, trainer


def translate(job: Job) -> Callable[[int], int]:
    """Calls with this number of sentences, until the same 64 are translated."""
    from regard.inference.open import load

    translator = load(job.directory / "model", task="translation", engine=job.kind)  # type: ignore[call-overload]
    lines = (job.directory / "world" / "valid.en").read_text(encoding="utf-8").splitlines()[: CALLS[-1]]

    def work(amount: int) -> int:
        for start in range(0, len(lines), amount):
            translator.translate(lines[start : start + amount], beam_size=BEAM_SIZE)
        return len(lines)

    return work


def echo(**row: object) -> None:
    rounded = {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in row.items()}
    print(json.dumps(rounded), flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["training", "calls"])
    parser.add_argument("--spins", type=int, nargs="+", default=[SPIN_COUNT, LIBGOMP_SPINS])
    parser.add_argument("--engines", nargs="+", choices=["auto", "torch"], default=["auto", "torch"])
    parser.add_argument("--steps", type=int, default=60, help="of training in one timing")
    parser.add_argument("--model-steps", type=int, default=300, help="of training of the model that is called")
    parser.add_argument("--repetitions", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
