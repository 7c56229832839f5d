"""Runs of several ranks (gloo), as forks of one process that has loaded torch once; prints what came of each, as JSON.

    python -m tests.support.distributed_runs DIRECTORY

A process of its own, with one thread: a process whose threads have begun cannot be forked safely.
"""

import json
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import torch

from regard.config import Config
from regard.data.batch_order import plan_epoch
from regard.training import checkpoint as resuming_module
from regard.training import corpora as corpus_module
from regard.training import objective as objective_module
from regard.training import step as step_module
from regard.training.checkpoint import list_checkpoints, load_checkpoint
from regard.training.corpora import rank_batches
from regard.training.distributed import ProcessGroup, full_tensor, join_process_group
from regard.training.events import EventLog, StepSkipped, TrainingStarted
from regard.training.loop import TrainingInterrupted, train
from regard.training.step import create_trainer
from tests.support.killed_runs import demanding_config, ended, final_hash, forked, prepared
from tests.support.small_run import TRANSFORMER, corpus_of, small_config, with_training, write_pairs

LONGER = 150  # steps of a run that is stopped and killed by hand: it must not be over before
Act = Callable[[ProcessGroup], object]


def in_ranks(size: int, act: Act) -> None:
    """Do something in each of several ranks, and see that each ends well."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes = [forked(partial(_as_rank, rank, size, port, act)) for rank in range(size)]
    assert [ended(process) for process in processes] == [0] * size


def _as_rank(rank: int, size: int, port: int, act: Act) -> None:
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size}
    os.environ |= {
        name: str(value) for name, value in (place | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}).items()
    }
    with join_process_group() as group:
        act(group)


# --- gradients -------------------------------------------------------------------------------------------------------


def gradients(directory: Path) -> dict[str, Any]:
    """The largest difference between the gradients of one process and those of several, over the same batches."""
    plain = small_config(directory, model={**TRANSFORMER, "dropout": 0.0}, batch_tokens=14, gradient_accumulation=2)
    corpus_of(plain, directory / "gradients")
    results: dict[str, Any] = {}
    for name, size, parallel, precision in [
        ("one", 1, "replicated", "float32"),
        ("two", 2, "replicated", "float32"),
        ("three", 3, "replicated", "float32"),
        ("fsdp", 2, "fsdp", "float32"),
        ("rounded", 2, "fsdp", "bfloat16"),
    ]:
        config = with_training(plain, parallelism=parallel, precision=precision)
        in_ranks(size, partial(_gradients, config, directory / "gradients", directory / name))
        results[name] = torch.load(directory / f"{name}-0", weights_only=True)
        results[name]["parts"] = [
            torch.load(directory / f"{name}-{rank}", weights_only=True)["parts"] for rank in range(size)
        ]
    return {name: _compared(results["one"], results[name]) for name in ("two", "three", "fsdp", "rounded")}


def _gradients(config: Config, run: Path, out: Path, group: ProcessGroup) -> None:
    parts = _recorded_slices()
    trainer = create_trainer(config, run, corpus_of(config, run), group)
    drawn = rank_batches(trainer.corpus, config, trainer.position, device="cpu", group=group)
    found = []
    for _ in range(4):
        pieces = list(islice(drawn, 2))
        tokens = int(group.sum(sum(piece.tokens for piece in pieces)))
        loss = step_module._backward(trainer, pieces, tokens)
        grads = {name: full_tensor(value.grad).clone() for name, value in trainer.model.named_parameters()}  # type: ignore[arg-type]
        found.append({"loss": loss, "tokens": tokens, "gradients": grads})
    torch.save({"steps": found, "parts": parts}, f"{out}-{group.rank}")


def _recorded_slices() -> list[list[int]]:
    """Every slice that a rank takes from now on, in order."""
    taken: list[list[int]] = []
    real = corpus_module.slice_for_rank

    def slice_for_rank(indices: Any, rank: int, size: int) -> Any:
        own = real(indices, rank, size)
        taken.append(own.tolist())
        return own

    corpus_module.slice_for_rank = slice_for_rank
    return taken


def _compared(one: dict[str, Any], many: dict[str, Any]) -> dict[str, Any]:
    pairs = list(zip(one["steps"], many["steps"], strict=True))
    differences = [
        float((left["gradients"][name] - right["gradients"][name]).abs().max())
        for left, right in pairs
        for name in left["gradients"]
    ]
    joined = [sorted(chain.from_iterable(parts)) for parts in zip(*many["parts"], strict=True)]
    return {
        "gradient": max(differences),
        "largest": max(float(value.abs().max()) for step in one["steps"] for value in step["gradients"].values()),
        "loss": max(abs(left["loss"] - right["loss"]) for left, right in pairs),
        "same_tokens": all(left["tokens"] == right["tokens"] for left, right in pairs),
        "same_batches": joined == [sorted(part) for [part] in zip(*one["parts"], strict=True)],
        "empty_slices": sum(not part for parts in many["parts"] for part in parts),
    }


# --- whole runs ------------------------------------------------------------------------------------------------------


def _run(
    config: Config, run: Path, group: ProcessGroup, *, resume: bool = False, stop_at: int = 0, stop_rank: int = 0
) -> None:
    asked = iter(range(1 if not resume else 1 + _last_step(run), 10**6))

    def stop_signal() -> int | None:
        return signal.SIGTERM if next(asked) == stop_at and group.rank == stop_rank else None

    try:
        corpus = group.rank0_first(lambda: corpus_of(config, run))
        for _ in train(config, run, corpus, resume=resume, stop_signal=stop_signal, group=group):
            pass
    except TrainingInterrupted:
        assert _last_step(run) == stop_at  # nobody ends before what was done is on the disk


def _saving_slowly(act: Act, group: ProcessGroup) -> None:
    real = resuming_module.save_checkpoint

    def save_checkpoint(*arguments: Any) -> object:
        time.sleep(0.5)
        return real(*arguments)

    resuming_module.save_checkpoint = save_checkpoint  # type: ignore[assignment]
    act(group)


def _last_step(run: Path) -> int:
    found = list_checkpoints(run / "checkpoints")
    return load_checkpoint(found[-1]).state.step if found else 0


def runs(directory: Path) -> dict[str, Any]:
    """Two ranks to the end, stopped and gone on with; the same sharded; and sharded first, by one process then."""
    config = demanding_config(directory)
    results: dict[str, Any] = {}
    for name in ("replicated", "fsdp"):
        options = with_training(config, parallelism=name)
        in_ranks(2, partial(_run, options, prepared(directory, config, name)))
        stopped = prepared(directory, config, f"{name}-stopped")
        in_ranks(2, partial(_saving_slowly, partial(_run, options, stopped, stop_at=5, stop_rank=1)))
        results[f"{name} stopped at"] = _last_step(stopped)
        shutil.copytree(stopped, directory / f"{name}-alone")
        in_ranks(2, partial(_run, options, stopped, resume=True))
        results |= {name: final_hash(directory / name), f"{name} stopped": final_hash(stopped)}
    results["same shapes"] = _shapes(directory / "replicated") == _shapes(directory / "fsdp")
    alone = directory / "fsdp-alone"
    in_ranks(1, partial(_run, config, alone, resume=True))
    began = [event for event in EventLog(alone / "events.jsonl").read() if isinstance(event, TrainingStarted)]
    return results | {"alone": _last_step(alone), "notes": began[-1].notes}


def _shapes(run: Path) -> list[dict[str, torch.Size]]:
    last = load_checkpoint(list_checkpoints(run / "checkpoints")[-1])
    return [{name: part[name].shape for name in part} for part in (last.weights, last.optimizer, last.ema)]


def longer(directory: Path) -> dict[str, Any]:
    """A run that lasts long enough to be killed by hand, and what two ranks make of it when it is not."""
    config = demanding_config(directory, steps=LONGER, validate_every=LONGER, checkpoint_every=5, average_checkpoints=0)
    (directory / "recipe.toml").write_text(config.to_toml())
    in_ranks(2, partial(_run, config, prepared(directory, config, "whole")))
    return {"whole": final_hash(directory / "whole")}


# --- each example once -----------------------------------------------------------------------------------------------


def once(directory: Path) -> dict[str, Any]:
    """An epoch taken by one process, then two, then one: which examples were seen."""
    config = small_config(directory, batch_tokens=40)
    run = directory / "once"
    store = corpus_of(config, run).prepared.store  # type: ignore[attr-defined]
    lengths = store.source_lengths, store.target_lengths
    steps = len(plan_epoch(*lengths, batch_tokens=40, seed=0, epoch=0))
    config = with_training(config, steps=steps, validate_every=steps, checkpoint_every=steps)
    seen = directory / "seen"
    for size, resume, stop_at in ((1, False, 3), (2, True, steps - 4), (1, True, 0)):
        in_ranks(size, partial(_noting, seen, partial(_run, config, run, resume=resume, stop_at=stop_at)))
    noted = [json.loads(line) for line in seen.read_text().splitlines()]
    return {"pairs": len(store), "seen": sorted(index for note in noted for index in note), "steps": _last_step(run)}


def _noting(seen: Path, act: Act, group: ProcessGroup) -> None:
    parts = _recorded_slices()
    act(group)
    with seen.open("a") as file:
        file.writelines(json.dumps(part) + "\n" for part in parts)


# --- numbers that are not finite --------------------------------------------------------------------------------------


def not_finite(directory: Path) -> dict[str, Any]:
    """One rank's loss is NaN at one step: what all ranks do."""
    config = small_config(directory, steps=4, checkpoint_every=4)
    run = directory / "not-finite"
    corpus_of(config, run)
    in_ranks(2, partial(_with_nan, config, run))
    skipped = [event.step for event in EventLog(run / "events.jsonl").read() if isinstance(event, StepSkipped)]
    weights = load_checkpoint(list_checkpoints(run / "checkpoints")[-1]).weights
    return {"skipped": skipped, "is_finite": all(bool(tensor.isfinite().all()) for tensor in weights.values())}


def _with_nan(config: Config, run: Path, group: ProcessGroup) -> None:
    real, calls = objective_module.compute_loss, iter(range(10**6))

    def batch_loss(*arguments: Any, **options: Any) -> torch.Tensor:
        is_bad = next(calls) == 1 and group.rank == 1
        return real(*arguments, **options) * (float("nan") if is_bad else 1.0)

    objective_module.compute_loss = batch_loss
    _run(config, run, group)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    found: dict[str, Any] = {}
    for kind in (gradients, once, not_finite, runs, longer):
        (place / kind.__name__).mkdir()
        write_pairs(place / kind.__name__, count=60, valid=3)
        found[kind.__name__] = kind(place / kind.__name__)
    print(json.dumps(found))
