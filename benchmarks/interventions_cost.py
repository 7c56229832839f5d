"""Whether interventions cost anything while none is active: speed against an older commit, in turns in one run.

    python -m benchmarks.interventions_cost --before 02901a2          # the last commit without them; some ten minutes

Training and decoding are measured as in `benchmarks.regression`, with a stricter bound. The exit code is 1 if a median
ratio is below it. The machine should have nothing else to do.
"""

import argparse
import sys
from contextlib import ExitStack
from statistics import median

from benchmarks.regression import PARTS, prepared

BOUND = 0.98
MEASURED = ("training", "greedy", "beam-5")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", metavar="REV", default="02901a2", help="the older commit [default: %(default)s]")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured [default: %(default)s]")
    arguments = parser.parse_args()
    ratios: dict[str, list[float]] = {part: [] for part in MEASURED}
    with ExitStack() as stack:
        before, now = (stack.enter_context(prepared(name)) for name in (arguments.before, None))
        for number in range(arguments.rounds):
            for part in MEASURED:
                order = (before, now) if number % 2 == 0 else (now, before)
                speeds = {revision.name: PARTS[part](revision) for revision in order}
                ratios[part].append(speeds[now.name] / speeds[before.name])
                print(f"round {number + 1}, {part}: {ratios[part][-1]:.3f} of before", flush=True)
    print(f"\n| speed, of {arguments.before} | median | lowest | highest |\n|---|---|---|---|")
    for part, found in ratios.items():
        print(f"| {part} | {median(found):.3f} | {min(found):.3f} | {max(found):.3f} |")
    sys.exit(any(median(found) < BOUND for found in ratios.values()))


if __name__ == "__main__":
    main()
