"""Attention against a fixed context on long inputs; and digits copied, reversed and sorted.

    .venv/bin/python benchmarks/lineage.py            # three seeds, a few minutes
    .venv/bin/python benchmarks/lineage.py --json     # one JSON line for each measurement

Every line is one model trained from scratch: its exact-match rate on new sequences, and the training time.
The exit code is 1 if a target is missed: 98 % for each task, under 60 % (fixed context) and over 95 % (attending) for
long reversals, 90 seconds for each.
"""

import json
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))  # the lessons are those of the tests

from tests.learning.test_digits import FIXED_CONTEXT, LEARNERS, LONG
from tests.support.digit_tasks import TASKS, DigitTask, exact, learn

SEEDS = (0, 1, 2)


def measure(name: str, config: object, task: DigitTask, *, seed: int, shortest: int = 0) -> dict[str, object]:
    """Train one model on one task and test it."""
    started = time.monotonic()
    model = learn(config, task, seed=seed)  # type: ignore[arg-type]
    seconds = time.monotonic() - started
    digits = f"{max(shortest, task.shortest)}-{task.longest} digits"
    share = exact(model, task, shortest=shortest)
    return {"model": name, "task": task.name, "tried_on": digits, "seed": seed, "exact": share, "seconds": seconds}


def holds(row: dict[str, object]) -> bool:
    """Whether a measurement meets its target."""
    share, seconds = float(str(row["exact"])), float(str(row["seconds"]))
    if row["model"] == "fixed context":
        return share < 0.60 and seconds < 90
    return share >= (0.95 if row["tried_on"] == "25-30 digits" else 0.98) and seconds < 90


def main() -> int:
    torch.set_num_threads(1)
    all_hold = True
    jobs = [(name, LEARNERS[name], DigitTask(task), 0) for name in LEARNERS for task in TASKS]
    jobs += [("fixed context", FIXED_CONTEXT, LONG, 25), ("attending", LEARNERS["attending"], LONG, 25)]
    for name, config, task, shortest in jobs:
        for seed in SEEDS:
            row = measure(name, config, task, seed=seed, shortest=shortest)
            all_hold = all_hold and holds(row)
            if "--json" in sys.argv:
                print(json.dumps(row), flush=True)
            else:
                print(
                    f"{name:14} {task.name:8} {row['tried_on']:13} seed {seed}: "
                    f"{row['exact']:6.1%} exact after {row['seconds']:5.1f} s",
                    flush=True,
                )
    return 0 if all_hold else 1


if __name__ == "__main__":
    sys.exit(main())
