"""The speed-up of bfloat16 over float32 on this processor, for given recipes.

    .venv/bin/python benchmarks/precision.py recipes/world-transformer.toml recipes/world-rnn.toml

The data of a recipe must exist. It measures real target tokens per second of the training step of `regard train`, with
one thread per core, and prints a JSON line for each recipe with both medians and the range of their ratio.
"""

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from regard.config import Config
from regard.data.batch_order import EpochPosition
from regard.training.corpora import RankBatch, prepare_corpus, rank_batches
from regard.training.step import ThroughputMeter, Trainer, create_trainer, train_step

PRECISIONS = ("float32", "bfloat16")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="+", type=Path)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    given = parser.parse_args()
    for recipe in given.recipes:
        with TemporaryDirectory(prefix="regard-precision-") as directory:
            compare(recipe, Path(directory), given.repetitions, given.steps)


def compare(recipe: Path, directory: Path, repetitions: int, steps: int) -> None:
    """Time one recipe in both precisions and print the row."""
    runs = [_begun(recipe, directory, precision) for precision in PRECISIONS]
    for run in runs:
        _speed(*run, steps)  # not counted: what is slow the first time
    speeds = [[_speed(*run, steps) for run in runs] for _ in range(repetitions)]
    ratios = [narrow / wide for wide, narrow in speeds]
    medians = [round(statistics.median(own)) for own in zip(*speeds, strict=True)]
    spread = {"ratio": statistics.median(ratios), "low": min(ratios), "high": max(ratios)}
    row = dict(zip(PRECISIONS, medians, strict=True)) | {name: round(value, 3) for name, value in spread.items()}
    print(json.dumps({"recipe": recipe.stem} | row), flush=True)


def _begun(recipe: Path, directory: Path, precision: str) -> tuple[Trainer, Iterator[RankBatch]]:
    config = Config.load(recipe, overrides=(f"training.precision={precision}",))
    corpus = prepare_corpus(config, directory, progress=lambda *_: None)
    trainer = create_trainer(config, directory, corpus)
    return trainer, rank_batches(
        corpus, config, EpochPosition(), device=trainer.device, parts=trainer.microbatches.size
    )


def _speed(trainer: Trainer, drawn: Iterator[RankBatch], steps: int) -> float:
    taken = [next(drawn) for _ in range(steps)]
    begun = time.perf_counter()
    for one in taken:
        train_step(trainer, [one], ThroughputMeter(0.0))
    return sum(one.tokens for one in taken) / (time.perf_counter() - begun)


if __name__ == "__main__":
    main()
