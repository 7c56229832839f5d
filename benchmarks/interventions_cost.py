"""Whether interventions cost anything while none is active: the speed with them as a share of the speed without them.

    python -m benchmarks.interventions_cost                    # the hooks alone, by CPU time: about two minutes
    python -m benchmarks.interventions_cost --before 02901a2   # against the last commit without them: some ten minutes

Without --before, one process turns the hooks on and off: off, `edit` returns its value and `has_edits` is False, as if
no layer exposed anything. With it, both commits run `regard train` and `regard translate` in turns, as in
`benchmarks.regression`; the ratio then includes every other change since that commit. The exit code is 1 if a median
ratio is below 0.98.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from statistics import median
from typing import Any

import torch
from benchmarks.regression import PARTS, prepared

from regard.attention import hooks
from regard.inference.head_ablation import EvaluationSet
from regard.inference.head_pruning import sample_batches, sentence_losses
from regard.inference.open import load
from regard.inference.translator import Translator

BOUND = 0.98
MEASURED = ("training", "greedy", "beam-5")
SENTENCES = [
    "Anna and the neighbor sing a song in Japan",
    "the king reads a book in the old house",
    "robots must obey orders because the small dog sleeps",
    "AI changes the world",
] * 8
REPETITIONS = {"training": 2, "greedy": 2, "beam-5": 1}  # in one round: a tenth of a second and more for each


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", metavar="REV", help="an older commit; without it, the hooks alone are measured")
    parser.add_argument("--rounds", type=int, help="how often each is measured [default: 5 with --before, else 80]")
    parser.add_argument("--model", default="world-en-ko", help="for the hooks [default: %(default)s]")
    arguments = parser.parse_args()
    if arguments.before:
        ratios = compare_commits(arguments.before, arguments.rounds or 5)
    else:
        ratios = compare_hooks(arguments.model, arguments.rounds or 80)
    print(f"\n| speed, of {arguments.before or 'that without hooks'} | median | lowest | highest |\n|---|---|---|---|")
    for part, found in ratios.items():
        print(f"| {part} | {median(found):.3f} | {min(found):.3f} | {max(found):.3f} |")
    sys.exit(any(median(found) < BOUND for found in ratios.values()))


def compare_commits(name: str, rounds: int) -> dict[str, list[float]]:
    """The speeds of the working tree over those of the commit."""
    ratios: dict[str, list[float]] = {part: [] for part in MEASURED}
    with ExitStack() as stack:
        before, now = (stack.enter_context(prepared(revision)) for revision in (name, None))
        for number in range(rounds):
            for part in MEASURED:
                order = (before, now) if number % 2 == 0 else (now, before)
                speeds = {revision.name: PARTS[part](revision) for revision in order}
                ratios[part].append(speeds[now.name] / speeds[before.name])
                print(f"round {number + 1}, {part}: {ratios[part][-1]:.3f} of before", flush=True)
    return ratios


def compare_hooks(model: str, rounds: int) -> dict[str, list[float]]:
    """The CPU time without hooks over that with them, in one thread; each round measures both, in changing order."""
    torch.set_num_threads(1)
    work = hooked_work(load(model, task="translation", engine="torch"))
    ratios: dict[str, list[float]] = {part: [] for part in MEASURED}
    for number in range(-1, rounds):  # the first round warms up
        for part in MEASURED:
            seconds = {}
            for is_off in (True, False) if number % 2 else (False, True):
                with without_hooks() if is_off else ExitStack():
                    start = time.process_time()
                    for _ in range(REPETITIONS[part]):
                        work[part]()
                    seconds[is_off] = time.process_time() - start
            if number >= 0:
                ratios[part].append(seconds[True] / seconds[False])
    return ratios


def hooked_work(translator: Translator) -> dict[str, Callable[[], object]]:
    bundle = translator.require_bundle("training")
    pairs = EvaluationSet(SENTENCES, [best.text for best, *_ in translator.translate_lines(SENTENCES)])
    [batch] = sample_batches(bundle, pairs)
    greedy, beam = (translator.decoding_config(beam_size=size) for size in (1, 5))
    return {
        "training": lambda: sentence_losses(bundle.model, batch).sum().backward(),
        "greedy": lambda: list(translator.translate_lines(SENTENCES, greedy, scores=False)),
        "beam-5": lambda: list(translator.translate_lines(SENTENCES, beam, scores=False)),
    }


@contextmanager
def without_hooks() -> Iterator[None]:
    """Every module that imported the hooks has functions that do nothing instead."""
    nothing: dict[str, Any] = {
        "edit": lambda layer, site, value, *rest, **options: value,  # noqa: ARG005
        "has_edits": lambda layer: False,  # noqa: ARG005
    }
    replaced = [
        (module, name, getattr(module, name))
        for module in list(sys.modules.values())
        for name in nothing
        if getattr(module, "__name__", "").startswith("regard.")
        and getattr(module, name, None) is getattr(hooks, name)
        and module is not hooks
    ]
    for module, name, _ in replaced:
        setattr(module, name, nothing[name])
    try:
        yield
    finally:
        for module, name, function in replaced:
            setattr(module, name, function)


if __name__ == "__main__":
    main()
