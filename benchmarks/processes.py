"""Threads or processes: how fast one model is trained by one process with one thread, by one with two, and by two.

    .venv/bin/python benchmarks/processes.py                       # widths 128 and 512; about six minutes
    .venv/bin/python benchmarks/processes.py --sizes width-128

Real target tokens per second of the training step of `regard train`, with the data of benchmarks/training.py; turns
are interleaved. It prints a JSON line for each timing, then one for each setup with median, lowest and highest.
"""

import argparse
import json
import multiprocessing
import os
import socket
import statistics
import sys
import time
from dataclasses import dataclass
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from tempfile import TemporaryDirectory

from regard.config import Config, TokenizerConfig, TrainingConfig
from regard.data.batch_order import EpochPosition
from regard.training.corpora import prepare_corpus, rank_batches
from regard.training.distributed import join_process_group
from regard.training.step import ThroughputMeter, create_trainer, train_step

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.training import PIECES, SIZES, WARM_UP, training_data

WAYS = {"1 process, 1 thread": (1, 1), "1 process, 2 threads": (1, 2), "2 processes, 1 thread each": (2, 1)}


@dataclass(frozen=True)
class Task:
    """A model, its data and the number of steps."""

    config: Config
    run: Path
    steps: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", choices=list(SIZES), default=["width-128", "width-512"])
    parser.add_argument("--repetitions", type=int, default=3)
    given = parser.parse_args()
    with TemporaryDirectory(prefix="regard-processes-") as directory:
        data = training_data(Path(directory))
        for name in given.sizes:
            config = Config(
                model=SIZES[name].model, tokenizer=TokenizerConfig(model_type="bpe", vocab_size=PIECES), data=data
            )
            prepare_corpus(config, Path(directory) / name, progress=lambda *_: None)
            compare(name, Task(config, Path(directory) / name, SIZES[name].steps), given.repetitions)


def compare(size: str, task: Task, repetitions: int) -> None:
    """Time each setup in turn and print the rows."""
    speeds: dict[str, list[float]] = {way: [] for way in WAYS}
    for repetition in range(repetitions):
        for way, (processes, threads) in WAYS.items():
            speeds[way].append(speed(task, processes, threads))
            print(json.dumps({"size": size, "way": way, "repetition": repetition, "speed": round(speeds[way][-1])}))
    for way, own in speeds.items():
        middle = {"median": round(statistics.median(own)), "low": round(min(own)), "high": round(max(own))}
        print(json.dumps({"size": size, "way": way} | middle), flush=True)


def speed(task: Task, processes: int, threads: int) -> float:
    """Real target tokens a second, by so many processes together."""
    spawned = multiprocessing.get_context("spawn")
    found: SimpleQueue[float] = spawned.SimpleQueue()
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": _free_port(), "WORLD_SIZE": processes, "threads": threads}
    members = [
        spawned.Process(target=_train, args=(task, place | {"RANK": rank, "LOCAL_RANK": rank}, found))
        for rank in range(processes)
    ]
    for member in members:
        member.start()
    reached = found.get()
    for member in members:
        member.join()
    return reached


def _train(task: Task, place: dict[str, str | int], found: "SimpleQueue[float]") -> None:
    os.environ |= {name: str(value) for name, value in place.items()}
    training = TrainingConfig(threads=int(place["threads"]), precision="float32")
    config = Config(model=task.config.model, tokenizer=task.config.tokenizer, data=task.config.data, training=training)
    with join_process_group() as world:
        corpus = prepare_corpus(config, task.run, progress=lambda *_: None)
        trainer, meter = create_trainer(config, task.run, corpus, world), ThroughputMeter(0.0)
        drawn = rank_batches(
            corpus, config, EpochPosition(), device="cpu", world=world, parts=trainer.microbatches.size
        )
        for _ in range(WARM_UP):
            train_step(trainer, [next(drawn)], ThroughputMeter(0.0))
        world.wait()
        begun = time.perf_counter()
        for _ in range(task.steps):
            train_step(trainer, [next(drawn)], meter)
        if world.is_first:
            found.put(meter.tokens / (time.perf_counter() - begun))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
