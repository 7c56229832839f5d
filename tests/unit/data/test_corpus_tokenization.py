"""Several processes give what one gives, and a killed run continues where it stopped."""

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
from regard.data.corpus_tokenization import TokenizeJob, tokenize_corpus
from regard.data.pair_readers.text import Pair, PairBlock, pair_blocks
from regard.data.token_store import TokenStore, drop_duplicates, pack, write_store
from regard.errors import RegardError
from regard.tokenization.tokenizer import Tokenizer

COUNT = 11_000  # three parts
WORDS = [first + second for first in "bdgkmnprst" for second in ("a", "e", "i", "o", "u")]


def some_pairs(count: int = COUNT) -> Iterator[Pair]:
    chance = random.Random(1)
    for index in range(count):
        words = chance.choices(WORDS, k=chance.randint(0, 5))
        yield Pair(" ".join(words), " ".join(reversed(words)) * (1 + index % 2), index + 1)


@pytest.fixture(scope="module")
def job() -> TokenizeJob:
    model = Tokenizer.train(
        (" ".join(WORDS[start:]) for start in range(len(WORDS))), model_type="word", vocab_size=80
    ).to_bytes()
    return TokenizeJob(model, model, DataConfig(deduplicate=True, max_tokens=8))


def files_of(store: TokenStore) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in store.directory.iterdir()}


def build(directory: Path, job: TokenizeJob, *, processes: int) -> TokenStore:
    blocks = tokenize_corpus(pair_blocks(some_pairs()), job, parts=directory / "parts" / "mark", processes=processes)
    return write_store(directory / "store", blocks, fingerprint="mark")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, job: TokenizeJob) -> dict[str, bytes]:
    rows = Tokenizer.from_bytes(job.source).encode_to_bytes
    sources, targets, _ = zip(*some_pairs(), strict=True)
    lines = PairBlock("\n".join(sources).encode(), "\n".join(targets).encode())
    block = pack(lines, rows(sources), rows(targets), job.data)
    blocks = drop_duplicates(iter([block]))
    store = write_store(tmp_path_factory.mktemp("one") / "store", blocks, fingerprint="mark")
    assert all(store.report.dropped[reason] for reason in ("blank", "too_long", "duplicate"))
    return files_of(store)


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_stores_are_equal_for_any_process_count(
    tmp_path: Path, job: TokenizeJob, expected: dict[str, bytes], processes: int
) -> None:
    assert files_of(build(tmp_path, job, processes=processes)) == expected


def test_finished_parts_are_not_tokenised_again(tmp_path: Path, job: TokenizeJob, expected: dict[str, bytes]) -> None:
    build(tmp_path, job, processes=1)
    parts = sorted((tmp_path / "parts" / "mark").iterdir())
    assert len(parts) == 3
    before = [part.stat().st_mtime_ns for part in parts]
    parts[1].write_bytes(parts[1].read_bytes()[:-1] + b"?")  # damaged: it alone is made again
    damaged = parts[1].stat().st_mtime_ns
    assert files_of(build(tmp_path, job, processes=1)) == expected
    after = [part.stat().st_mtime_ns for part in parts]
    assert (after[0], after[2]) == (before[0], before[2])
    assert after[1] != damaged


def test_parts_of_other_pairs_are_not_used(tmp_path: Path, job: TokenizeJob) -> None:
    one, other = ([PairBlock(b"ba\nde", lines), PairBlock(b"gi\ngo", lines)] for lines in (b"ba\nde", b"de\nba"))
    parts = tmp_path / "parts"
    first = list(tokenize_corpus(one, job, parts=parts, processes=1))
    assert list(tokenize_corpus(one, job, parts=parts, processes=1)) == first
    assert list(tokenize_corpus(other, job, parts=parts, processes=1)) != first


@pytest.mark.parametrize("processes", [1, 2])
def test_an_unwritable_part_is_an_error(tmp_path: Path, job: TokenizeJob, processes: int) -> None:
    (tmp_path / "parts" / "mark" / "00000001").mkdir(parents=True)
    with pytest.raises(RegardError, match=r"mark/00000001 cannot be written: Is a directory \([\d,]+ bytes\)"):
        build(tmp_path, job, processes=processes)


PROLOGUE = """
import sys
from pathlib import Path
from tests.unit.data.test_corpus_tokenization import build
import msgspec
from regard.data.corpus_tokenization import TokenizeJob
if __name__ == "__main__":
    job = msgspec.msgpack.decode(Path(sys.argv[2]).read_bytes(), type=TokenizeJob)
    build(Path(sys.argv[1]), job, processes=2)
"""


@pytest.mark.slow
def test_a_killed_build_continues_without_orphans(tmp_path: Path, job: TokenizeJob, expected: dict[str, bytes]) -> None:
    (tmp_path / "job").write_bytes(msgspec.msgpack.encode(job))
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": f"{root}:{root / 'src'}"}
    command = [sys.executable, "-c", PROLOGUE, str(tmp_path), str(tmp_path / "job")]
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    parts = tmp_path / "parts" / "mark"
    deadline = time.monotonic() + 120
    while not (parts / "00000000").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    process.kill()
    assert process.wait(timeout=60) == -signal.SIGKILL
    assert not (tmp_path / "store").exists()
    assert _ends(process.pid)
    assert files_of(build(tmp_path, job, processes=1)) == expected


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


def test_a_bad_line_keeps_its_message(tmp_path: Path, job: TokenizeJob) -> None:
    def broken() -> Iterator[Pair]:
        yield from some_pairs()
        raise RegardError("file:11001: bad line")

    with pytest.raises(RegardError, match="file:11001"):
        list(tokenize_corpus(pair_blocks(broken()), job, parts=tmp_path / "parts", processes=2))


@pytest.mark.slow
def test_a_script_without_main_guard_fails(tmp_path: Path, job: TokenizeJob) -> None:
    large = msgspec.structs.replace(job, data=DataConfig(languages=["x" * 500_000]))  # more than a pipe holds
    (tmp_path / "job").write_bytes(msgspec.msgpack.encode(large))
    (tmp_path / "script.py").write_text(PROLOGUE.replace('__name__ == "__main__"', "True"))
    root = Path(__file__).parents[3]
    ended = subprocess.run(
        [sys.executable, tmp_path / "script.py", tmp_path, tmp_path / "job"],
        env={**os.environ, "PYTHONPATH": f"{root}:{root / 'src'}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 1
    assert "a process that tokenises text has died" in ended.stderr


def test_a_process_that_dies_is_an_error(tmp_path: Path, job: TokenizeJob) -> None:
    many = islice(cycle(some_pairs()), 300_000)  # so many that they cannot all be done before the processes die
    blocks = tokenize_corpus(pair_blocks(many), job, parts=tmp_path / "parts", processes=2)
    next(blocks)
    children = multiprocessing.active_children()
    assert len(children) == 2
    for child in children:
        child.kill()
    with pytest.raises(RegardError, match="has died"):
        list(blocks)
