import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from regard.errors import RegardError
from regard.files import (
    MANIFEST_NAME,
    MODEL,
    MODEL_VERSION,
    atomic_directory,
    atomic_file,
    check_writable,
    read_manifest,
)


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(timeout=60)
    return process.pid


def test_nothing_exists_until_the_block_ends(tmp_path: Path) -> None:
    final = tmp_path / "deep" / "final"
    with atomic_directory(final) as staging:
        (staging / "file").write_text("content")
        assert not final.exists()
    assert (final / "file").read_text() == "content"
    assert names(final.parent) == ["final"]


def test_new_directory_replaces_the_old(tmp_path: Path) -> None:
    for text in ("old", "new"):
        with atomic_directory(tmp_path / "final") as staging:
            (staging / text).write_text(text)
    assert names(tmp_path) == ["final"]
    assert names(tmp_path / "final") == ["new"]


def _fill_and_fail(final: Path, error: type[BaseException]) -> None:
    with atomic_directory(final) as staging:
        (staging / "new").touch()
        raise error("it failed")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, RegardError])
def test_error_keeps_only_the_old_directory(tmp_path: Path, error: type[BaseException]) -> None:
    with atomic_directory(tmp_path / "final") as staging:
        (staging / "old").touch()
    with pytest.raises(error):
        _fill_and_fail(tmp_path / "final", error)
    assert names(tmp_path) == ["final"]
    assert names(tmp_path / "final") == ["old"]


def test_leftovers_of_dead_processes_only_are_removed(tmp_path: Path) -> None:
    (tmp_path / f"final.new-{dead_process()}").mkdir()
    (tmp_path / f"final.old-{dead_process()}").mkdir()
    kept = {f"final.new-{os.getppid()}", "final.new-words", f"other.new-{dead_process()}"}
    for name in kept:
        (tmp_path / name).mkdir()
    with atomic_directory(tmp_path / "final"):
        pass
    assert set(names(tmp_path)) == {"final", *kept}


def test_unwritable_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(RegardError, match=r"final cannot be written: Not a directory"),
        atomic_directory(tmp_path / "file" / "final"),
    ):
        pass


def test_file_appears_when_its_block_ends(tmp_path: Path) -> None:
    final = tmp_path / "lines"
    final.write_bytes(b"old")
    with atomic_file(final) as file:
        file.write(b"new")
        assert final.read_bytes() == b"old"
    assert final.read_bytes() == b"new"
    assert names(tmp_path) == ["lines"]


def test_failed_file_block_keeps_previous_content(tmp_path: Path) -> None:
    final = tmp_path / "lines"
    final.write_bytes(b"old")
    with pytest.raises(TypeError), atomic_file(final) as file:
        file.writelines([b"new", "text is not bytes"])  # type: ignore[list-item]
    assert final.read_bytes() == b"old"
    assert names(tmp_path) == ["lines"]


def test_partial_file_of_killed_process_is_removed(tmp_path: Path) -> None:
    (tmp_path / f"lines.new-{dead_process()}").write_bytes(b"half")
    with atomic_file(tmp_path / "lines"):
        pass
    assert names(tmp_path) == ["lines"]


def test_a_device_is_written_as_it_is() -> None:
    with atomic_file(Path(os.devnull)) as file:
        file.write(b"text")
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("was_there", [True, False])
def test_symlink_target_is_replaced_and_links_stay(tmp_path: Path, was_there: bool) -> None:
    real, link = tmp_path / "disk" / "lines", tmp_path / "link"
    real.parent.mkdir()
    if was_there:
        real.write_bytes(b"old")
    (tmp_path / "near").symlink_to("disk/lines")
    link.symlink_to(tmp_path / "near")
    with atomic_file(link) as file:
        file.write(b"new")
    assert link.readlink() == tmp_path / "near"
    assert real.read_bytes() == b"new"
    assert (names(tmp_path), names(real.parent)) == (["disk", "link", "near"], ["lines"])


def test_open_file_descriptor_is_written_in_place(tmp_path: Path) -> None:
    """As /dev/stdout is, which links to /proc/self/fd/1, behind `> got` or `>> got`."""
    got, link = tmp_path / "got", tmp_path / "link"
    with got.open("wb", buffering=0) as already:
        link.symlink_to(f"/proc/self/fd/{already.fileno()}")
        already.write(b"before ")
        with atomic_file(link) as file:
            file.write(b"text ")
        already.write(b"after")
    assert got.read_bytes() == b"before text after"
    assert link.is_symlink()
    assert names(tmp_path) == ["got", "link"]


def test_circular_links_are_replaced_by_the_file(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    with atomic_file(tmp_path / "one") as file:
        file.write(b"new")
    assert (tmp_path / "one").read_bytes() == b"new"
    assert not (tmp_path / "one").is_symlink()


def test_named_pipe_without_a_reader_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for check in (check_writable, lambda path: atomic_file(path).__enter__()):
        with pytest.raises(RegardError, match="a named pipe that no program reads"):
            check(tmp_path / "pipe")


def test_named_pipe_gets_everything_after_a_check(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "got").open("wb") as got, subprocess.Popen(["cat", tmp_path / "pipe"], stdout=got) as reader:
        while not is_writable(tmp_path / "pipe"):
            time.sleep(0.01)
        with atomic_file(tmp_path / "pipe") as file:
            file.write(b"text " * 50_000)  # more than a pipe holds
        while (tmp_path / "got").stat().st_size < 250_000:
            time.sleep(0.01)
        reader.terminate()  # the check keeps the pipe open until this process ends
    assert (tmp_path / "got").read_bytes() == b"text " * 50_000


def is_writable(path: Path) -> bool:
    try:
        check_writable(path)
    except RegardError:
        return False
    return True


def test_uncreatable_file_fails_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="cannot be written: No such file"), atomic_file(tmp_path / "no" / "file"):
        raise AssertionError("the block must not be entered")


def test_reason_is_reported_even_without_cleanup(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    final = tmp_path / "file" / "final"
    with pytest.raises(RegardError, match="final cannot be written: Not a directory"), atomic_file(final):
        raise AssertionError("the block must not be entered")


def test_writability_check_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "link").symlink_to("far")
    for name in ("old", "new", "link"):
        check_writable(tmp_path / name)
    check_writable(Path(os.devnull))
    assert names(tmp_path) == ["link", "old"]
    assert (tmp_path / "old").read_bytes() == b"old"


@pytest.mark.parametrize(
    ("name", "problem"), [("no/file", "No such file"), ("file/under", "Not a directory"), (".", "is a directory")]
)
def test_unwritable_file_is_refused_on_request(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RegardError, match=problem):
        check_writable(tmp_path / name)
    assert names(tmp_path) == ["file"]


def test_error_is_short_whatever_a_field_is_called(tmp_path: Path) -> None:
    manifest = {"kind": "model", "version": 1, "files": {}, "x" * 300_000: 0}
    (tmp_path / MANIFEST_NAME).write_text(json.dumps(manifest))
    with pytest.raises(RegardError, match=r"is damaged: Object contains unknown field `x.*Restore it") as raised:
        read_manifest(tmp_path, MODEL, MODEL_VERSION)
    assert len(str(raised.value)) < 5000
