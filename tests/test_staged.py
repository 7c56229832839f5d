import os
import subprocess
import sys
from pathlib import Path

import pytest

from regard.errors import RegardError
from regard.staged import staged_directory, staged_file


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


def test_a_file_appears_when_its_block_ends(tmp_path: Path) -> None:
    final = tmp_path / "lines"
    final.write_bytes(b"old")
    with staged_file(final) as file:
        file.write(b"new")
        assert final.read_bytes() == b"old"
    assert final.read_bytes() == b"new"
    assert names(tmp_path) == ["lines"]


def test_a_file_whose_block_fails_leaves_what_was_there(tmp_path: Path) -> None:
    final = tmp_path / "lines"
    final.write_bytes(b"old")
    with pytest.raises(TypeError), staged_file(final) as file:
        file.writelines([b"new", "text is not bytes"])  # type: ignore[list-item]
    assert final.read_bytes() == b"old"
    assert names(tmp_path) == ["lines"]


def test_the_half_file_of_a_killed_process_is_swept_away(tmp_path: Path) -> None:
    (tmp_path / f"lines.new-{dead_process()}").write_bytes(b"half")
    with staged_file(tmp_path / "lines"):
        pass
    assert names(tmp_path) == ["lines"]


def test_a_device_is_written_as_it_is() -> None:
    with staged_file(Path(os.devnull)) as file:
        file.write(b"text")
    assert not Path(os.devnull).is_file()


def test_a_file_that_cannot_be_made_is_told_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="cannot be written: No such file"), staged_file(tmp_path / "no" / "file"):
        raise AssertionError("the block must not be entered")
