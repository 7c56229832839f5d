"""The notes' first claim, measured: attention mends long inputs. And: digits copied, reversed and sorted.

    .venv/bin/python benchmarks/lineage.py            # three seeds, a few minutes
    .venv/bin/python benchmarks/lineage.py --json     # one JSON line for each measurement

Every line is one model trained from scratch: what share of fresh sequences it gets exactly right, and how long it took.
"""

import json
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))  # the lessons are those of the tests

from tests.learning.tasks import TASKS, Lesson, exact, learn
from tests.learning.test_digits import FIXED_CONTEXT, LEARNERS, LONG

SEEDS = (0, 1, 2)


def measure(name: str, config: object, lesson: Lesson, *, seed: int, shortest: int = 0) -> dict[str, object]:
    """Train one model on one lesson, and try it."""
    started = time.monotonic()
    model = learn(config, lesson, seed=seed)  # type: ignore[arg-type]
    seconds = time.monotonic() - started
    digits = f"{max(shortest, lesson.shortest)}-{lesson.longest} digits"
    share = exact(model, lesson, shortest=shortest)
    return {"model": name, "task": lesson.task, "tried_on": digits, "seed": seed, "exact": share, "seconds": seconds}


def main() -> None:
    torch.set_num_threads(1)
    jobs = [(name, LEARNERS[name], Lesson(task), 0) for name in LEARNERS for task in TASKS]
    jobs += [("fixed context", FIXED_CONTEXT, LONG, 25), ("attending", LEARNERS["attending"], LONG, 25)]
    for name, config, lesson, shortest in jobs:
        for seed in SEEDS:
            row = measure(name, config, lesson, seed=seed, shortest=shortest)
            if "--json" in sys.argv:
                print(json.dumps(row), flush=True)
            else:
                print(
                    f"{name:14} {lesson.task:8} {row['tried_on']:13} seed {seed}: "
                    f"{row['exact']:6.1%} exact after {row['seconds']:5.1f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
