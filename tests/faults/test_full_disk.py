"""No room, no right, no memory: a clear message, an exit that is not zero, and what was saved is as it was."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(1000)  # the processes may take 900 seconds beside a busy core
POINTS = 20


@pytest.fixture(scope="module")
def outcome() -> Iterator[dict[str, Any]]:
    """What `tests.support.low_resources` found out, in a directory that anyone may enter."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        command = [sys.executable, "-m", "tests.support.low_resources", directory, str(POINTS)]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=900)
        assert ended.returncode == 0, ended.stderr
        yield json.loads(ended.stdout.splitlines()[-1])


def mounted(found: Any) -> Any:
    if found is None:
        pytest.skip("a small disk may not be mounted here: that needs root")
    return found


def test_disk_full_while_saving_keeps_older_checkpoint(outcome: dict[str, Any]) -> None:
    points = [one for one in mounted(outcome["filling"]) if "left" in one]
    assert len(points) == POINTS
    for point in points:
        assert point["fired"]
        assert "checkpoints/step-00000002 cannot be written: No space left on device (after " in point["message"]
        assert (point["step"], point["is_right"], point["names"]) == (1, True, ["step-00000001"])
    written = [point["message"].partition("after ")[2].partition(" bytes")[0] for point in points]
    assert len(set(written)) == POINTS  # each stopped at another place


def test_too_small_disk_is_reported_before_writing(outcome: dict[str, Any]) -> None:
    *_, checked, emptied = mounted(outcome["filling"])
    assert "step-00000002 needs 665,536 bytes, but the disk has 98,304 free" in checked["message"]
    assert (checked["step"], checked["names"]) == (1, ["step-00000001"])
    assert (emptied["step"], emptied["message"]) == (2, "")


def test_file_size_limit_keeps_older_checkpoint(outcome: dict[str, Any]) -> None:
    assert len(outcome["limited"]) == POINTS
    for point in outcome["limited"]:
        assert f"step-00000002 cannot be written: File too large (after {point['limit']:,} bytes)" in point["message"]
        assert (point["step"], point["is_right"], point["names"]) == (1, True, ["step-00000001"])


def test_run_stopped_by_full_disk_resumes_bitwise(outcome: dict[str, Any]) -> None:
    found = mounted(outcome["resumed"])
    assert found["stopped"]["code"] == 2
    assert "bytes" in found["stopped"]["message"]
    assert "Traceback" not in found["stopped"]["message"]
    assert found["saved"]
    assert max(found["saved"]) < 8
    assert found["went_on"]["code"] == 0
    assert found["hash"] == found["whole"]


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("read-only", "run/lock cannot be written: Read-only file system"),
        ("read-only, new", "new cannot be created: Read-only file system"),
        ("denied", "whole/lock cannot be written: Permission denied"),
        ("denied, new", "new cannot be created: Permission denied"),
    ],
)
def test_unwritable_place_is_named(outcome: dict[str, Any], where: str, reason: str) -> None:
    found = mounted(outcome["refused"])
    assert found[where]["code"] == 2
    assert reason in found[where]["message"]
    assert "Traceback" not in found[where]["message"]
    assert found["after read-only"] == found["after denied"] == found["before"]


def test_low_memory_error_gives_advice(outcome: dict[str, Any]) -> None:
    found = outcome["memory"]
    assert found["code"] == 2
    assert "there is not enough memory: " in found["message"]
    assert "Lower training.batch_tokens" in found["message"]
    assert "Traceback" not in found["message"]
    assert not [name for name in found["left"] if ".new-" in name]
