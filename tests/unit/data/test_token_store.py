import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.config import DataConfig
from regard.data.pair_readers import read_pairs
from regard.data.pair_readers.text import Pair, PairBlock
from regard.data.token_store import HEADER, PackedPairs, TokenStore, fingerprint, open_store, pack, write_store
from regard.errors import RegardError

texts = st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=8)


def encode(text: str) -> list[int]:
    return [ord(character) for character in text if not character.isspace()]


def row(text: str) -> bytes:
    """The same as bytes."""
    return np.array(encode(text), "<i4").tobytes()


def accepted(pairs: Iterable[Pair], config: DataConfig | None = None) -> Iterator[PackedPairs]:
    """The pairs in blocks of one."""
    for source, target, _ in pairs:
        block = PairBlock(source.encode(), target.encode())
        yield pack(block, [row(source)], [row(target)], config or DataConfig())


def built(directory: Path, *, mark: str = "mark", count: int = 3) -> TokenStore:
    pairs = [Pair(f"source {index}", f"목표 {index}", index + 1) for index in range(count)]
    return write_store(directory, accepted(pairs), fingerprint=mark)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@settings(deadline=None)  # it writes to the disk
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=5))
def test_stored_pairs_return_as_ids_and_text(scratch: Path, texts: list[tuple[str, str]]) -> None:
    texts = [("first", "첫째"), *texts]
    pairs = [Pair(source, target, 1) for source, target in texts]
    write_store(scratch / "store", accepted(pairs), fingerprint="mark")
    store = open_store(scratch / "store", "mark")
    assert store is not None
    kept = [(source, target) for source, target in texts if encode(source) and encode(target)]
    assert [store.text(index) for index in range(len(store))] == kept
    for index, (source, target) in enumerate(kept):
        assert store[index].source_ids == encode(source)
        assert store[index].target_ids == encode(target)
    assert store.source_lengths.tolist() == [len(encode(source)) for source, _ in kept]
    assert store.target_lengths.tolist() == [len(encode(target)) for _, target in kept]


def test_a_store_takes_the_indices_of_a_batch(tmp_path: Path) -> None:
    store = built(tmp_path / "store")
    assert [store.text(index)[0] for index in np.array([2, 0])] == ["source 2", "source 0"]
    assert store[np.int64(1)].source_ids == encode("source 1")


def test_report_is_stored(tmp_path: Path) -> None:
    pairs = [Pair("a", "b", 1), Pair("", "b", 2), Pair("a", "b" * 300, 3)]
    report = write_store(tmp_path / "store", accepted(pairs), fingerprint="mark").report
    assert (report.kept, report.dropped["blank"], report.dropped["too_long"]) == (1, 1, 1)
    opened = open_store(tmp_path / "store", "mark")
    assert opened is not None
    assert opened.report == report


def test_progress_counts_the_pairs_read(tmp_path: Path) -> None:
    result: list[int] = []
    pairs = (Pair("a", "b" if index % 2 else "", index) for index in range(5))
    write_store(tmp_path / "store", accepted(pairs), fingerprint="mark", progress=result.append)
    assert result == [1, 2, 3, 4, 5]  # dropped pairs are read too


def test_empty_training_set_is_an_error_with_reasons(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="kept 0 of 2 pairs; dropped 2 with a blank side"):
        write_store(tmp_path / "store", accepted([Pair("", "x", 1), Pair("x", "", 2)]), fingerprint="mark")
    assert list(tmp_path.iterdir()) == []


# --- reuse -----------------------------------------------------------------------------------------------------------


def test_a_store_is_reused_only_under_its_fingerprint(tmp_path: Path) -> None:
    built(tmp_path / "store")
    assert open_store(tmp_path / "store", "mark") is not None
    assert open_store(tmp_path / "store", "another") is None
    assert open_store(tmp_path / "absent", "mark") is None


def test_store_can_be_built_over_an_open_one(tmp_path: Path) -> None:
    old = built(tmp_path / "store", count=2)
    assert len(built(tmp_path / "store", mark="new", count=4)) == 4
    assert old.text(1) == ("source 1", "목표 1")
    assert open_store(tmp_path / "store", "mark") is None
    assert os.listdir(tmp_path) == ["store"]


def test_the_fingerprint_follows_every_input(tmp_path: Path) -> None:
    source, target = tmp_path / "a.en", tmp_path / "a.ko"
    source.write_text("one\n")
    target.write_text("two\n")
    first = fingerprint([source, target], b"tokenizer", "settings")
    assert fingerprint([str(source), str(target)], b"tokenizer", "settings") == first
    others = {
        fingerprint([target, source], b"tokenizer", "settings"),
        fingerprint([source, target], b"tokenizer2", "settings"),
        fingerprint([source, target], b"tokenizer", "settings2"),
        fingerprint([source, target], b"tokenizersettings"),
    }
    target.write_text("twO\n")
    others.add(fingerprint([source, target], b"tokenizer", "settings"))
    assert len(others) == 5
    assert first not in others


def test_fingerprint_needs_files_readable_twice(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="No such file"):
        fingerprint([tmp_path / "absent"])
    with pytest.raises(RegardError, match="not a file that can be read twice"):
        fingerprint([tmp_path])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RegardError, match="not a file that can be read twice"):
        fingerprint([tmp_path / "pipe"])


def test_foreign_directory_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis").write_text("years of work")
    for place in (tmp_path, tmp_path / "thesis"):
        with pytest.raises(RegardError, match="is not a token store"):
            built(place)
    assert (tmp_path / "thesis").read_text() == "years of work"


# --- faults ----------------------------------------------------------------------------------------------------------


def test_bit_flip_or_truncation_invalidates_the_store(tmp_path: Path) -> None:
    built(tmp_path / "store")
    files = [path for path in (tmp_path / "store").iterdir() if path.name != HEADER]
    assert len(files) == 8
    for path in files:
        whole = path.read_bytes()
        for damaged in (whole[:-1], whole + b"\0", b"", bytes([whole[0] ^ 1]) + whole[1:]):
            path.write_bytes(damaged)
            assert open_store(tmp_path / "store", "mark") is None, path.name
        path.unlink()
        assert open_store(tmp_path / "store", "mark") is None
        path.write_bytes(whole)
    assert open_store(tmp_path / "store", "mark") is not None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"{}", b'{"version": 2}'])
def test_damaged_header_invalidates_and_store_can_be_rebuilt(tmp_path: Path, content: bytes) -> None:
    built(tmp_path / "store")
    (tmp_path / "store" / HEADER).write_bytes(content)
    assert open_store(tmp_path / "store", "mark") is None
    assert len(built(tmp_path / "store")) == 3


def test_store_of_another_version_is_rebuilt(tmp_path: Path) -> None:
    built(tmp_path / "store")
    header = tmp_path / "store" / HEADER
    header.write_text(header.read_text().replace('"version": 2', '"version": 1'))
    assert open_store(tmp_path / "store", "mark") is None


def test_bad_data_half_way_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a\tb\nc\n")
    with pytest.raises(RegardError, match=r"a\.tsv:2"):
        write_store(tmp_path / "store", accepted(read_pairs([tmp_path / "a.tsv"])), fingerprint="mark")
    assert os.listdir(tmp_path) == ["a.tsv"]


PROLOGUE = """
import os, resource, signal, sys
from regard.config import DataConfig
from regard.data.pair_readers.text import Pair, pair_blocks
from regard.data.token_store import pack, write_store

def pairs(count, die_at=-1):
    for index in range(count):
        if index == die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        yield Pair(f"source {index}", f"target {index}", index + 1)

def build(mark, *arguments):
    sides = lambda block: ([text.encode("utf-32-le") for text in side] for side in block.texts())
    packed = (pack(block, *sides(block), DataConfig()) for block in pair_blocks(pairs(*arguments)))
    return write_store(sys.argv[1], packed, fingerprint=mark)
"""


def run(script: str, directory: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROLOGUE + script, str(directory)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "src")}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
def test_killed_build_is_not_opened_and_is_removed(tmp_path: Path) -> None:
    killed = run("build('mark', 20_000, 15_000)", tmp_path / "store")
    assert killed.returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 1
    assert open_store(tmp_path / "store", "mark") is None
    built(tmp_path / "store")
    assert os.listdir(tmp_path) == ["store"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("event", "place", "survivor"),
    [
        ("os.mkdir", "store.new-", "old"),
        ("open", HEADER, "old"),
        ("os.listdir", "store.new-", "old"),
        ("os.rename", "store.old-", "old"),
        ("os.rename", "store.new-", None),
        ("shutil.rmtree", "store.old-", "new"),
        ("shutil.rmtree", "store.new-", "new"),
    ],
)
def test_kill_at_any_step_leaves_whole_or_none(tmp_path: Path, event: str, place: str, survivor: str | None) -> None:
    built(tmp_path / "store", mark="old")
    killed = run(
        f"""
def die(event, arguments):
    if event == {event!r} and {place!r} in str(arguments):
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(die)
build("new", 4)
""",
        tmp_path / "store",
    )
    assert killed.returncode == -signal.SIGKILL
    assert [mark for mark in ("old", "new") if open_store(tmp_path / "store", mark)] == ([survivor] if survivor else [])
    assert len(built(tmp_path / "store", mark="newest")) == 3
    assert os.listdir(tmp_path) == ["store"]


@pytest.mark.slow
def test_full_disk_error_names_path_and_bytes(tmp_path: Path) -> None:
    built(tmp_path / "store", mark="old")
    finished = run(
        """
from regard.errors import RegardError
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    build('mark', 100_000)
except RegardError as error:
    print(error)
""",
        tmp_path / "store",
    )
    assert finished.stderr == ""
    assert f"{tmp_path}/store cannot be written: File too large (after " in finished.stdout
    assert os.listdir(tmp_path) == ["store"]
    assert open_store(tmp_path / "store", "old") is not None


@pytest.mark.slow
def test_memory_stays_constant_for_any_pair_count(tmp_path: Path) -> None:
    finished = run(
        """
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
build('small', 10_000)
before = peak()
build('large', 200_000)
print(peak() - before)
""",
        tmp_path / "store",
    )
    assert finished.stderr == ""
    assert int(finished.stdout) < 8_000  # kB; to hold the pairs, as text or as ids, would take over 50,000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux which pages are in memory")
def test_released_store_uses_no_memory_and_reopens(tmp_path: Path) -> None:
    store = built(tmp_path / "store", count=2_000)
    before = [store[index] for index in range(len(store))]
    assert mapped_kilobytes(store.directory) > 0
    store.drop_pages()
    assert mapped_kilobytes(store.directory) == 0
    assert [store[index] for index in range(len(store))] == before


def mapped_kilobytes(directory: Path) -> int:
    """How much of the files in a directory is in this process's memory."""
    found, is_ours = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first = line.split()[0]
        if not first.endswith(":"):
            is_ours = str(directory) in line
        elif is_ours and first == "Rss:":
            found += int(line.split()[1])
    return found
