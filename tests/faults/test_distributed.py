"""Several ranks train as one process would: the same batches and gradients, whatever their number, whoever dies."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import started
from tests.support.distributed_runs import LONGER
from tests.support.killed_runs import final_hash
from tests.support.shared_results import build_once

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", "OMP_NUM_THREADS": "1"}
pytestmark = pytest.mark.timeout(1000)  # the ranks may take 900 seconds beside a busy core
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    return build_once(tmp_path_factory, "ranks", _ranks)


@pytest.fixture(scope="module")
def place(ranks: tuple[Path, dict[str, Any]]) -> Path:
    return ranks[0]


@pytest.fixture(scope="module")
def outcome(ranks: tuple[Path, dict[str, Any]]) -> dict[str, Any]:
    return ranks[1]


def _ranks(directory: Path) -> object:
    """What `tests.support.distributed_runs` found out."""
    command = [sys.executable, "-m", "tests.support.distributed_runs", str(directory)]
    ended = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=900)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


@pytest.mark.parametrize("several", ["two", "three", "fsdp"])
def test_gradients_are_those_of_one_process(outcome: dict[str, Any], several: str) -> None:
    found = outcome["gradients"][several]
    assert found["same_batches"]
    assert found["same_tokens"]
    assert found["empty_slices"] >= 1  # batches with fewer pairs than ranks were among them
    assert found["largest"] > 0.1
    assert found["gradient"] < 1e-6
    assert found["loss"] < 2e-6


def test_sharded_gradients_nearly_equal_in_bfloat16(outcome: dict[str, Any]) -> None:
    found = outcome["gradients"]["rounded"]
    assert 1e-5 < found["gradient"] < 0.05 * found["largest"]
    assert 1e-5 < found["loss"] < 0.02


def test_each_example_is_seen_once_across_world_sizes(outcome: dict[str, Any]) -> None:
    found = outcome["once"]
    assert found["steps"] > 7
    assert found["seen"] == list(range(found["pairs"]))


def test_all_ranks_skip_a_step_nonfinite_on_one(outcome: dict[str, Any]) -> None:
    assert outcome["not_finite"] == {"skipped": [2], "is_finite": True}


@pytest.mark.parametrize("parallel", ["replicated", "fsdp"])
def test_signal_to_any_rank_stops_and_resumes_bitwise(outcome: dict[str, Any], parallel: str) -> None:
    found = outcome["runs"]
    assert found[f"{parallel} stopped at"] == 5
    assert found[f"{parallel} stopped"] == found[parallel]


def test_sharded_run_resumes_in_one_process(outcome: dict[str, Any]) -> None:
    found = outcome["runs"]
    assert found["same shapes"]
    assert found["alone"] == 8
    assert any("processes was 2 and is now 1" in note for note in found["notes"])
    assert any("parallelism was fsdp and is now replicated" in note for note in found["notes"])


# --- the commands ----------------------------------------------------------------------------------------------------


def test_launcher_signal_and_killed_torchrun_rank_are_harmless(
    outcome: dict[str, Any], place: Path, tmp_path: Path
) -> None:
    words = ["regard", "train", str(place / "longer" / "recipe.toml")]
    run = tmp_path / "run"
    with launched([sys.executable, "-m", *words, "--run", str(run), "--processes", "2"]) as launcher:
        wait_for(lambda: checkpoint_of(run) >= 5, launcher)
        launcher.send_signal(signal.SIGTERM)
        output, messages = launcher.communicate(timeout=120)
    assert launcher.returncode == 143, messages
    assert f"regard train --run {run} --resume" in messages
    assert output.count("start: 60 examples") == 1  # one rank speaks
    stopped_at = checkpoint_of(run)
    assert 5 <= stopped_at < LONGER

    with launched(
        [*TORCHRUN, "--max-restarts", "1", "-m", *words, "--run-directory", str(run), "--resume"]
    ) as torchrun:
        wait_for(lambda: checkpoint_of(run) >= stopped_at + 5, torchrun)
        killed_at, began_before = checkpoint_of(run), sittings(run)
        os.kill(process_of_rank(1, run), signal.SIGKILL)
        wait_for(lambda: len(sittings(run)) > len(began_before), torchrun)
        _, messages = torchrun.communicate(timeout=120)
    assert torchrun.returncode == 0, messages
    assert sittings(run)[-1] in range(killed_at, LONGER)
    assert final_hash(run) == outcome["longer"]["whole"]


def test_killed_rank_ends_the_command_with_its_code(outcome: dict[str, Any], place: Path, tmp_path: Path) -> None:
    assert outcome
    run = tmp_path / "run"
    command = [sys.executable, "-m", "regard", "train", str(place / "longer" / "recipe.toml"), "--run", str(run)]
    with launched([*command, "--processes", "2"]) as launcher:
        wait_for(lambda: checkpoint_of(run) >= 5, launcher)
        os.kill(process_of_rank(1, run), signal.SIGKILL)
        _, messages = launcher.communicate(timeout=120)
    assert launcher.returncode == 128 + signal.SIGKILL
    assert "another process of this run has ended or cannot be reached" in messages
    assert "--resume" in messages
    assert "Traceback" not in messages


@contextmanager
def launched(command: list[str]) -> Iterator["subprocess.Popen[str]"]:
    with started(command, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        yield process


def wait_for(condition: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def checkpoint_of(run: Path) -> int:
    """The step of the newest checkpoint."""
    return max((int(path.name[5:]) for path in run.glob("checkpoints/step-????????")), default=0)


def sittings(run: Path) -> list[int]:
    """The steps at which the run began or went on, as its journal tells."""
    lines = (run / "events.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["step"] for line in lines if '"event":"start"' in line]


def process_of_rank(rank: int, run: Path) -> int:
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            words = (directory / "cmdline").read_bytes().split(b"\0")
            settings = (directory / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if str(run).encode() in words and f"RANK={rank}".encode() in settings:
            return int(directory.name)
    raise AssertionError(f"rank {rank} does not run")
