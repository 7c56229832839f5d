"""Cutting by several processes gives what one gives, and goes on where a killed process stopped."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import msgspec
import pytest

from regard.config import DataConfig
from regard.data import Cutting, Pair, PairBlock, TokenStore, in_blocks, tokenised, write_store
from regard.data.packed import pack, without_duplicates
from regard.errors import RegardError
from regard.tokens import Tokenizer

COUNT = 11_000  # three parts
WORDS = [first + second for first in "bdgkmnprst" for second in ("a", "e", "i", "o", "u")]


def some_pairs(count: int = COUNT) -> Iterator[Pair]:
    chance = random.Random(1)
    for index in range(count):
        words = chance.choices(WORDS, k=chance.randint(0, 5))
        yield Pair(" ".join(words), " ".join(reversed(words)) * (1 + index % 2), index + 1)


@pytest.fixture(scope="module")
def cutting() -> Cutting:
    model = Tokenizer.train((" ".join(WORDS[start:]) for start in range(len(WORDS))), kind="word", size=80).to_bytes()
    return Cutting(model, model, DataConfig(deduplicate=True, maximum_length=8))


def files_of(store: TokenStore) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in store.directory.iterdir()}


def build(directory: Path, cutting: Cutting, *, processes: int) -> TokenStore:
    blocks = tokenised(in_blocks(some_pairs()), cutting, parts=directory / "parts" / "mark", processes=processes)
    return write_store(directory / "store", blocks, fingerprint="mark")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, cutting: Cutting) -> dict[str, bytes]:
    rows = Tokenizer.from_bytes(cutting.source).encode_rows
    sources, targets, _ = zip(*some_pairs(), strict=True)
    lines = PairBlock("\n".join(sources).encode(), "\n".join(targets).encode())
    block = pack(lines, rows(sources), rows(targets), cutting.data)
    blocks = without_duplicates(iter([block]))
    store = write_store(tmp_path_factory.mktemp("one") / "store", blocks, fingerprint="mark")
    assert all(store.report.dropped[reason] for reason in ("blank", "too_long", "duplicate"))
    return files_of(store)


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_the_store_is_the_same_to_the_last_byte(
    tmp_path: Path, cutting: Cutting, expected: dict[str, bytes], processes: int
) -> None:
    assert files_of(build(tmp_path, cutting, processes=processes)) == expected


def test_finished_parts_are_not_cut_again(tmp_path: Path, cutting: Cutting, expected: dict[str, bytes]) -> None:
    build(tmp_path, cutting, processes=1)
    parts = sorted((tmp_path / "parts" / "mark").iterdir())
    assert len(parts) == 3
    before = [part.stat().st_mtime_ns for part in parts]
    parts[1].write_bytes(parts[1].read_bytes()[:-1] + b"?")  # damaged: it alone is made anew
    damaged = parts[1].stat().st_mtime_ns
    assert files_of(build(tmp_path, cutting, processes=1)) == expected
    after = [part.stat().st_mtime_ns for part in parts]
    assert (after[0], after[2]) == (before[0], before[2])
    assert after[1] != damaged


def test_parts_that_were_cut_from_other_pairs_are_not_taken(tmp_path: Path, cutting: Cutting) -> None:
    one, other = ([PairBlock(b"ba\nde", lines), PairBlock(b"gi\ngo", lines)] for lines in (b"ba\nde", b"de\nba"))
    parts = tmp_path / "parts"
    first = list(tokenised(one, cutting, parts=parts, processes=1))
    assert list(tokenised(one, cutting, parts=parts, processes=1)) == first
    assert list(tokenised(other, cutting, parts=parts, processes=1)) != first


@pytest.mark.parametrize("processes", [1, 2])
def test_a_part_that_cannot_be_written_is_an_error_with_path_and_bytes(
    tmp_path: Path, cutting: Cutting, processes: int
) -> None:
    (tmp_path / "parts" / "mark" / "00000001").mkdir(parents=True)
    with pytest.raises(RegardError, match=r"mark/00000001 cannot be written: Is a directory \([\d,]+ bytes\)"):
        build(tmp_path, cutting, processes=processes)


PROLOGUE = """
import sys
from pathlib import Path
from tests.data.test_tokenising import build
import msgspec
from regard.data import Cutting
if __name__ == "__main__":
    cutting = msgspec.msgpack.decode(Path(sys.argv[2]).read_bytes(), type=Cutting)
    build(Path(sys.argv[1]), cutting, processes=2)
"""


def test_a_killed_build_goes_on_and_leaves_no_process_behind(
    tmp_path: Path, cutting: Cutting, expected: dict[str, bytes]
) -> None:
    (tmp_path / "cutting").write_bytes(msgspec.msgpack.encode(cutting))
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root}:{root / 'src'}"}
    command = [sys.executable, "-c", PROLOGUE, str(tmp_path), str(tmp_path / "cutting")]
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    parts = tmp_path / "parts" / "mark"
    deadline = time.monotonic() + 120
    while not (parts / "00000000").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "store").exists()
    assert _ends(process.pid)
    assert files_of(build(tmp_path, cutting, processes=1)) == expected


def _ends(session: int) -> bool:
    """Whether every process of a session ends soon."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            os.killpg(session, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_a_bad_line_ends_the_work_with_its_own_message(tmp_path: Path, cutting: Cutting) -> None:
    def broken() -> Iterator[Pair]:
        yield from some_pairs()
        raise RegardError("file:11001: bad line")

    with pytest.raises(RegardError, match="file:11001"):
        list(tokenised(in_blocks(broken()), cutting, parts=tmp_path / "parts", processes=2))


def test_a_script_whose_processes_cannot_start_is_told_so(tmp_path: Path, cutting: Cutting) -> None:
    large = msgspec.structs.replace(cutting, data=DataConfig(languages=["x" * 500_000]))  # more than a pipe holds
    (tmp_path / "cutting").write_bytes(msgspec.msgpack.encode(large))
    (tmp_path / "script.py").write_text(PROLOGUE.replace('__name__ == "__main__"', "True"))
    root = Path(__file__).parents[2]
    ended = subprocess.run(
        [sys.executable, tmp_path / "script.py", tmp_path, tmp_path / "cutting"],
        env={**os.environ, "PYTHONPATH": f"{root}:{root / 'src'}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 1
    assert "a process that cuts text into tokens has died" in ended.stderr


def test_a_process_that_dies_is_an_error_and_not_a_silence(tmp_path: Path, cutting: Cutting) -> None:
    many = islice(cycle(some_pairs()), 300_000)  # so many that they cannot all be done before the processes die
    blocks = tokenised(in_blocks(many), cutting, parts=tmp_path / "parts", processes=2)
    next(blocks)
    children = multiprocessing.active_children()
    assert len(children) == 3  # one more than the cores that were asked for
    for child in children:
        child.kill()
    with pytest.raises(RegardError, match="has died"):
        list(blocks)
