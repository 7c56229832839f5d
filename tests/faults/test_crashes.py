"""However a run is ended, it ends where it would have: real processes, real signals, every system call of a save."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(1000)  # the processes may take 900 seconds beside a busy core
KILLS = 30


def driven(*words: object) -> dict[str, Any]:
    """What `tests.support.killed_runs` found out."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.support.killed_runs", *map(str, words)]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=900)
    assert finished.returncode == 0, finished.stderr
    found: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return found


@pytest.fixture
def memory_path(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory where there is one: two hundred saves are undone again, and a disk takes its time."""
    shared = Path("/dev/shm")  # noqa: S108
    if not os.access(shared, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=shared) as directory:
        yield Path(directory)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed: it is what kills at a system call")
def test_kill_at_any_system_call_is_harmless(memory_path: Path) -> None:
    found = driven("every-call", memory_path)
    calls = sum(found["calls"].values())
    assert found["ends"] == {"killed": calls}
    assert {"mkdir", "write", "fsync", "rename", "unlinkat", "rmdir"} <= set(found["calls"])  # saving, and pruning
    assert found["in_the_middle"] > calls // 4
    assert found["states"] >= 8  # nothing yet; directory, files and manifest, one by one; renamed; pruned
    assert set(found["hashes"]) == {found["whole"]}
    assert found["leftovers"] == []


def test_kills_at_random_moments_change_nothing(tmp_path: Path) -> None:
    found = driven("random", tmp_path, KILLS)
    assert found["killed"] >= KILLS
    assert found["inside_a_save"] >= 1
    assert set(found["hashes"]) == {found["whole"]}


def test_signals_save_stop_and_resume_bitwise(tmp_path: Path) -> None:
    found = driven("signals", tmp_path)
    for name, code in (("SIGTERM", 143), ("SIGINT", 130)):
        outcome = found[name]
        assert outcome["code"] == code
        assert outcome["stopped_at"] in (5, 6)  # the step that was under way is done, and no other
        assert outcome["resumed"] == 0
        assert outcome["hash"] == found["whole"]
