import os
import subprocess
import sys
from pathlib import Path

import pytest

from regard.staged import staged_directory
from regard.errors import RegardError


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_nothing_is_there_until_the_block_ends(tmp_path: Path) -> None:
    final = tmp_path / "deep" / "final"
    with staged_directory(final) as staging:
        (staging / "file").write_text("content")
        assert not final.exists()
    assert (final / "file").read_text() == "content"
    assert names(final.parent) == ["final"]


def test_a_new_directory_takes_the_place_of_the_old(tmp_path: Path) -> None:
    for text in ("old", "new"):
        with staged_directory(tmp_path / "final") as staging:
            (staging / text).write_text(text)
    assert names(tmp_path) == ["final"]
    assert names(tmp_path / "final") == ["new"]


def _fill_and_fail(final: Path, error: type[BaseException]) -> None:
    with staged_directory(final) as staging:
        (staging / "new").touch()
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, RegardError])
def test_an_error_leaves_the_old_directory_and_no_other(tmp_path: Path, error: type[BaseException]) -> None:
    with staged_directory(tmp_path / "final") as staging:
        (staging / "old").touch()
    with pytest.raises(error):
        _fill_and_fail(tmp_path / "final", error)
    assert names(tmp_path) == ["final"]
    assert names(tmp_path / "final") == ["old"]


def test_what_a_dead_process_left_is_swept_and_a_living_ones_is_not(tmp_path: Path) -> None:
    (tmp_path / f"final.new-{dead_process()}").mkdir()
    (tmp_path / f"final.old-{dead_process()}").mkdir()
    kept = {f"final.new-{os.getppid()}", "final.new-words", f"other.new-{dead_process()}"}
    for name in kept:
        (tmp_path / name).mkdir()
    with staged_directory(tmp_path / "final"):
        pass
    assert set(names(tmp_path)) == {"final", *kept}


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(RegardError, match=r"final cannot be written: Not a directory"),
        staged_directory(tmp_path / "file" / "final"),
    ):
        pass
