"""Runs that lack room on the disk, the right to write, or memory; prints what came of each, as JSON.

    python -m tests.support.low_resources DIRECTORY POINTS

One process for all, with one thread: it loads torch once, and is forked where a command has to end. What needs a disk
of its own is left out (null) where disks may not be mounted.
"""

import codecs
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

import regard.training.plan_checks  # noqa: F401  (see below)
from regard.errors import RegardError
from regard.files import CONFIG_FILE
from regard.training.checkpoint import (
    Checkpoint,
    TrainerState,
    latest_valid_checkpoint,
    list_checkpoints,
    load_checkpoint,
    save_checkpoint,
)
from tests.support.killed_runs import command, demanding_config, ended, final_hash, forked, uninterrupted
from tests.support.small_run import write_pairs

DISK = 2**21  # bytes
NOBODY = 65534

# As nobody, Python may not read its own files: what a command imports late is imported here.
codecs.lookup("utf-8-sig")


def checkpoint_of(step: int) -> Checkpoint:
    """A checkpoint of 600 kB."""
    tensors = {f"{name}": torch.full((50_000,), float(step)) for name in ("a", "b")}
    state = TrainerState(
        step=step,
        epoch=0,
        cursor=0,
        seconds=0.0,
        best_metric=None,
        best_step=0,
        validations_without_improvement=0,
        consecutive_skips=0,
        environment={},
    )
    return Checkpoint(tensors, {"a/exp_avg": tensors["a"]}, {}, state)


@contextmanager
def small_disk(place: Path, options: str = f"size={DISK}") -> Iterator[Path]:
    place.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], check=True, capture_output=True, timeout=300
    )
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True, timeout=300)


class Ballast:
    """A file that takes all room but so many bytes, at the moment when a checkpoint's first file is opened."""

    def __init__(self, disk: Path) -> None:
        self.path = disk / "ballast"
        self.left: int | None = None
        sys.addaudithook(self.watch)

    def watch(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and self.left is not None and ".new-" in str(arguments[0]):
            left, self.left = self.left, None
            self.fill(left)

    def fill(self, left: int) -> None:
        self.path.write_bytes(bytes(max(0, shutil.disk_usage(self.path.parent).free - left)))


def attempt(parent: Path, step: int) -> dict[str, Any]:
    """Try to save, then see what is there."""
    message = ""
    try:
        save_checkpoint(parent, checkpoint_of(step))
    except RegardError as error:
        message = str(error)
    found, passed_over = latest_valid_checkpoint(parent)
    assert found is not None
    return {
        "message": message,
        "step": found.state.step,
        "is_right": all(bool((tensor == found.state.step).all()) for tensor in found.weights.values()),
        "passed_over": passed_over,
        "names": sorted(path.name for path in parent.iterdir()),
    }


def filling(directory: Path, points: int) -> list[dict[str, Any]]:
    results = []
    with small_disk(directory / "disk") as disk:
        ballast, parent = Ballast(disk), disk / "checkpoints"
        save_checkpoint(parent, checkpoint_of(1))
        for point in range(points):
            ballast.left = 620_000 * point // points
            results.append({"left": ballast.left, "fired": False} | attempt(parent, 2))
            results[-1]["fired"] = ballast.path.exists()
            ballast.path.unlink()
        ballast.fill(100_000)
        results.append({"checked": True} | attempt(parent, 2))
        ballast.path.unlink()
        results.append({"emptied": True} | attempt(parent, 2))
    return results


def limited(directory: Path, points: int) -> list[dict[str, Any]]:
    parent = directory / "checkpoints"
    save_checkpoint(parent, checkpoint_of(1))

    results = []
    for point in range(points):
        limit = 400_000 * point // points
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        results.append({"limit": limit} | attempt(parent, 2))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return results


def resumed(directory: Path) -> dict[str, Any]:
    config = demanding_config(directory, average_checkpoints=0)
    (directory / "recipe.toml").write_text(config.to_toml())
    whole = uninterrupted(directory, config)
    with small_disk(directory / "disk", "size=64m") as disk:
        run = disk / "run"
        shutil.copytree(directory / "prepared", run)
        room = (size_of(directory / "whole") - size_of(run)) * 2 // 3
        (disk / "ballast").write_bytes(bytes(shutil.disk_usage(disk).free - room))
        stopped = run_in_fork(directory, "train", directory / "recipe.toml", "--run", run)
        saved = [load_checkpoint(path).state.step for path in list_checkpoints(run / "checkpoints")]
        (disk / "ballast").unlink()
        went_on = run_in_fork(directory, "train", "--run", run, "--resume")
        return {"stopped": stopped, "saved": saved, "went_on": went_on, "whole": whole, "hash": final_hash(run)}


def size_of(directory: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in directory.rglob("*"))


def run_in_fork(directory: Path, *words: object, before: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """How a command ended, and its message."""

    def speak() -> None:
        os.dup2(os.open(directory / "message", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), 2)
        before()
        command(*words)

    code = ended(forked(speak))
    return {"code": code, "message": (directory / "message").read_text()}


def refused(directory: Path) -> dict[str, Any]:
    config = demanding_config(directory, steps=2, average_checkpoints=0)
    recipe = directory / "recipe.toml"
    recipe.write_text(config.to_toml())
    whole = uninterrupted(directory, config)
    run = directory / "whole"
    shutil.copyfile(recipe, run / CONFIG_FILE)
    results: dict[str, Any] = {"before": whole}
    more = ["--resume", "--set", "training.steps=4"]
    with small_disk(directory / "disk", "size=64m") as disk:
        shutil.copytree(run, disk / "run")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True, timeout=300)
        results["read-only"] = run_in_fork(directory, "train", "--run", disk / "run", *more)
        results["read-only, new"] = run_in_fork(directory, "train", recipe, "--run", disk / "new")
        results["after read-only"] = final_hash(disk / "run")
    results["denied"] = run_in_fork(directory, "train", "--run", run, *more, before=lambda: os.setuid(NOBODY))
    words = ["train", recipe, "--run", directory / "new"]
    results["denied, new"] = run_in_fork(directory, *words, before=lambda: os.setuid(NOBODY))
    results["after denied"] = final_hash(run)
    return results


def memory(directory: Path) -> dict[str, Any]:
    config = demanding_config(directory, steps=4, average_checkpoints=0)
    (directory / "recipe.toml").write_text(config.to_toml())

    def leave_little() -> None:
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + 2**25, held + 2**25))

    wide = "{layers = 1, width = 4096, heads = 2, ffn_width = 4096}"
    words = ["train", directory / "recipe.toml", "--run", directory / "new"]
    settings = ["--set", f"model.encoder={wide}", "--set", f"model.decoder={wide}"]
    failed = run_in_fork(directory, *words, *settings, before=leave_little)
    return failed | {"left": sorted(path.name for path in (directory / "new").iterdir())}


def tried(kind: Callable[..., Any], directory: Path, *numbers: int) -> Any:
    directory.mkdir()
    write_pairs(directory, count=60, valid=3)
    try:
        return kind(directory, *numbers)
    except (subprocess.CalledProcessError, FileNotFoundError):
        return None


def main(directory: Path, points: int) -> dict[str, Any]:
    """Everything that can be tried on this machine."""
    results = {kind.__name__: tried(kind, directory / kind.__name__, points) for kind in (filling, limited)}
    return results | {kind.__name__: tried(kind, directory / kind.__name__) for kind in (resumed, refused, memory)}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]))))
