"""Runs that are killed, again and again, in forks of one process that has loaded torch once; prints what came of it.

    python -m tests.support.killed_runs every-call DIRECTORY      # SIGKILL at every system call of one save (strace)
    python -m tests.support.killed_runs random DIRECTORY 30       # SIGKILL at random moments of a run
    python -m tests.support.killed_runs signals DIRECTORY         # SIGTERM and SIGINT, through the command line

The tests start it as a process of its own, with one thread: a process whose threads have begun cannot be forked safely.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from regard.cli import main
from regard.config import Config, TokenizerConfig
from regard.training import loop
from regard.training.checkpoint import list_checkpoints, load_checkpoint
from regard.training.step import Trainer
from tests.support.small_run import corpus_of, run_to_the_end, small_config, write_pairs

OF_MEMORY = ("brk", "mmap", "munmap", "mprotect", "madvise")  # as many as the allocator likes; they touch no disk
_CALL = re.compile(r"^(?:\d+ +)?(\w+)\(")


def demanding_config(directory: Path, **training: Any) -> Config:
    """Everything that could go astray when a run is cut: dropout, sampling, accumulation, both kinds of averages.

    A recipe asks for one kind at most: where the config is to be one, set average_checkpoints=0.
    """
    options = {
        "steps": 8,
        "gradient_accumulation": 2,
        "ema_decay": 0.9,
        "average_checkpoints": 2,
        "checkpoint_every": 2,
    }
    config = small_config(directory, **(options | {"validate_every": 8} | training))
    return msgspec.structs.replace(
        config, tokenizer=TokenizerConfig(model_type="unigram", vocab_size=60, sampling_rate=0.5)
    )


def final_hash(run: Path) -> str:
    """A hash of all that training led to: the last checkpoint's tensors, and the bundle's weights."""
    last = load_checkpoint(list_checkpoints(run / "checkpoints")[-1])
    digest = sha256((run / "model" / "model.safetensors").read_bytes())
    for part in (last.weights, last.optimizer, last.ema):
        for name in sorted(part):
            digest.update(name.encode() + part[name].numpy().tobytes())
    return f"{last.state.step}:{digest.hexdigest()}"


def forked(action: Callable[[], object]) -> int:
    """The id of a new process that does the action and ends."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        action()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        traceback.print_exc()  # os._exit would end without it
    finally:
        os._exit(code)


def ended(process: int) -> int:
    """How a process ended: its exit code, or minus the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def prepared(directory: Path, config: Config, name: str) -> Path:
    """A run with its vocabularies and tokens, copied from one that was prepared once."""
    source = directory / "prepared"
    if not source.exists():
        corpus_of(config, source)
    shutil.copytree(source, directory / name)
    return directory / name


def uninterrupted(directory: Path, config: Config) -> str:
    run = prepared(directory, config, "whole")
    assert ended(forked(lambda: run_to_the_end(config, run))) == 0
    return final_hash(run)


def gone_on(config: Config, run: Path) -> str:
    """The final hash of a run that is taken up where it was left."""
    assert ended(forked(lambda: run_to_the_end(config, run, resume=True))) == 0
    return final_hash(run)


# --- every system call of one save -----------------------------------------------------------------------------------


def every_call(directory: Path) -> dict[str, Any]:
    config = demanding_config(directory, steps=10)
    whole = uninterrupted(directory, config)
    run = prepared(directory, config, "run")
    found: dict[str, Any] = {}
    real_save = loop.save_trainer

    def save(trainer: Trainer, seconds: float) -> object:
        if trainer.step == 8 and not found:  # the fourth checkpoint: the first is deleted
            found.update(_kill_everywhere(directory, run, lambda: real_save(trainer, seconds)))
        return real_save(trainer, seconds)

    loop.save_trainer = save  # type: ignore[assignment]
    run_to_the_end(config, run)
    loop.save_trainer = real_save
    states = sorted(directory.glob("state-*"))
    hashes = [gone_on(config, state) for state in states]
    leftovers = [str(path) for state in states for path in state.rglob("*.new-*")]
    return found | {"states": len(states), "whole": whole, "hashes": hashes, "leftovers": leftovers}


def _kill_everywhere(directory: Path, run: Path, save: Callable[[], object]) -> dict[str, Any]:
    """Kill a fork at each system call it makes while it saves; each state of the disk that this leaves is kept once."""
    before = directory / "before"
    shutil.copytree(run, before)
    _, trace = _traced(save, ["-o", str(directory / "trace")]), (directory / "trace").read_text()
    calls = Counter(match[1] for line in trace.splitlines() if (match := _CALL.match(line)))
    for name in ("exit_group", *OF_MEMORY):
        calls.pop(name, None)
    states: dict[str, Path] = {}
    ends: Counter[str] = Counter()
    in_the_middle = 0
    for name, count in sorted(calls.items()):
        for number in range(1, count + 1):
            _reset(run, before)
            code = _traced(save, ["-o", os.devnull, "-e", f"inject={name}:signal=KILL:when={number}"])
            ends["killed" if code == -signal.SIGKILL else f"{name} {number}: {code}"] += 1
            in_the_middle += any(run.glob("checkpoints/*.new-*"))
            state = _state(run)
            if state not in states:
                states[state] = directory / f"state-{len(states):03d}"
                shutil.copytree(run, states[state])
    _reset(run, before)
    return {"calls": dict(calls), "ends": dict(ends), "in_the_middle": in_the_middle}


def _traced(action: Callable[[], object], options: list[str]) -> int:
    """Do the action in a fork that strace has attached to; how the fork ended."""

    def wait_then_act() -> None:
        os.kill(os.getpid(), signal.SIGSTOP)
        action()

    process = forked(wait_then_act)
    os.waitpid(process, os.WUNTRACED)
    command = ["strace", "-p", str(process), *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr is not None
        assert "attached" in tracer.stderr.readline()
        os.kill(process, signal.SIGCONT)
        return ended(process)


def _reset(run: Path, before: Path) -> None:
    shutil.rmtree(run / "checkpoints")
    shutil.copytree(before / "checkpoints", run / "checkpoints")


def _state(run: Path) -> str:
    """What is on the disk, whatever the ids of the processes that wrote it; the clock's reading does not count."""
    whole = sha256()
    for path in sorted((run / "checkpoints").rglob("*")):
        content = path.read_bytes() if path.is_file() else b""
        content = re.sub(rb'"seconds":[\d.e-]+', b"", content)
        name = re.sub(r"-\d+(?=/|$)", "", str(path.relative_to(run)).replace("step-", "step"))
        is_manifest = path.name == "manifest.json" and content
        whole.update(f"{name}:{sha256(b'' if is_manifest else content).hexdigest()}:{len(content)};".encode())
    return whole.hexdigest()


# --- random moments --------------------------------------------------------------------------------------------------


def wait_for_a_save(run: Path, process: int) -> None:
    """Return when a checkpoint is being written, or when the process has ended by itself."""
    while not any(run.glob("checkpoints/*.new-*")):
        if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return


def random_moments(directory: Path, times: int) -> dict[str, Any]:
    config = demanding_config(directory, steps=6, validate_every=6)
    started = time.monotonic()
    whole = uninterrupted(directory, config)
    lasted = time.monotonic() - started
    chance = random.Random(11)
    results: dict[str, Any] = {"whole": whole, "hashes": [], "killed": 0, "inside_a_save": 0}
    while results["killed"] < times or (not results["inside_a_save"] and results["killed"] < 3 * times):
        run = prepared(directory, config, f"run-{len(results['hashes'])}")
        for resume, share in ((False, 1.0), (True, 0.5)):  # the run that goes on is killed once more
            process = forked(partial(run_to_the_end, config, run, resume=resume))
            if results["killed"] < times:
                time.sleep(chance.uniform(0, share * lasted))
            else:  # chance has spared every save so far: aim at one
                wait_for_a_save(run, process)
            os.kill(process, signal.SIGKILL)
            results["killed"] += ended(process) == -signal.SIGKILL
            results["inside_a_save"] += any(run.glob("checkpoints/*.new-*"))
        results["hashes"].append(gone_on(config, run))
        shutil.rmtree(run)
    return results


# --- signals ---------------------------------------------------------------------------------------------------------


def signals(directory: Path) -> dict[str, Any]:
    config = demanding_config(directory, steps=10, checkpoint_every=5, average_checkpoints=0)
    (directory / "recipe.toml").write_text(config.to_toml())
    whole = uninterrupted(directory, config)
    results: dict[str, Any] = {"whole": whole}
    for number in (signal.SIGTERM, signal.SIGINT):
        run = directory / number.name
        sent = directory / f"{number.name}-sent"
        training = partial(command, "train", directory / "recipe.toml", "--run", run)
        process = forked(partial(_held_until, sent, training))
        while not any(run.glob("checkpoints/step-*5")):
            time.sleep(0.002)
        os.kill(process, number)
        sent.touch()
        code = ended(process)
        stopped_at = load_checkpoint(list_checkpoints(run / "checkpoints")[-1]).state.step
        resumed = ended(forked(partial(command, "train", "--run", run, "--resume")))
        outcome = {"code": code, "stopped_at": stopped_at, "resumed": resumed}
        results[number.name] = outcome | {"hash": final_hash(run)}
    return results


def _held_until(sent: Path, action: Callable[[], object]) -> None:
    """Do the action, but after a save go on only once the signal has been sent: the run cannot end before it."""
    real_save = loop.save_trainer

    def save(trainer: Trainer, seconds: float) -> object:
        saved = real_save(trainer, seconds)
        while not sent.exists():
            time.sleep(0.002)
        return saved

    loop.save_trainer = save  # type: ignore[assignment]
    action()


def command(*words: object) -> None:
    sys.argv = ["regard", *map(str, words)]
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    main()


if __name__ == "__main__":
    kind, place, *numbers = sys.argv[1:]
    write_pairs(Path(place), count=60, valid=3)
    kinds = {"every-call": every_call, "random": random_moments, "signals": signals}
    print(json.dumps(kinds[kind](Path(place), *map(int, numbers))))
