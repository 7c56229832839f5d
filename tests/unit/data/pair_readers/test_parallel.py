"""Two files cut into blocks give the pairs that they hold, however the lines fall."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.pair_readers import read_blocks, read_pairs
from regard.data.pair_readers.text import MAX_BLOCK_PAIRS, MAX_SIDE_BYTES, Pair, PairBlock, pair_blocks
from regard.data.text_lines import FILE_BLOCK_BYTES
from regard.errors import RegardError


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parallel")


def written(directory: Path, sources: bytes, targets: bytes) -> list[Path]:
    (directory / "s").write_bytes(sources)
    (directory / "t.gz").write_bytes(gzip.compress(targets, 1))
    return [directory / "s", directory / "t.gz"]


def pairs_of(blocks: list[PairBlock]) -> list[tuple[str, str]]:
    return [pair for block in blocks for pair in zip(*block.texts(), strict=True)]


@settings(deadline=None)  # it writes to the disk
@given(st.lists(st.tuples(*[st.text(st.sampled_from("a 한\r\x85\u2028"), max_size=3)] * 2), min_size=1))
def test_the_blocks_hold_the_pairs(scratch: Path, texts: list[tuple[str, str]]) -> None:
    sides = ("".join(f"{text}\n" for text in side).encode() for side in zip(*texts, strict=True))
    paths = written(scratch, *sides)
    expected = [(source.removesuffix("\r"), target.removesuffix("\r")) for source, target in texts]
    assert pairs_of(list(read_blocks(paths))) == expected
    assert [(pair.source, pair.target) for pair in read_pairs(paths)] == expected


def test_lines_of_very_different_lengths_keep_in_step(tmp_path: Path) -> None:
    count = 3 * MAX_BLOCK_PAIRS + 1
    sources = [f"{index} " + "x" * (index % 700) for index in range(count)]  # several times what is read at once
    paths = written(tmp_path, "\n".join(sources).encode(), b"".join(b"%d\r\n" % index for index in range(count)))
    assert paths[0].stat().st_size > 2 * FILE_BLOCK_BYTES
    blocks = list(read_blocks(paths))
    assert [len(block.texts()[0]) for block in blocks] == [MAX_BLOCK_PAIRS] * 3 + [1]
    assert pairs_of(blocks) == [(source, str(index)) for index, source in enumerate(sources)]
    assert list(pair_blocks(read_pairs(paths))) == blocks


@pytest.mark.parametrize("is_source", [True, False])
def test_long_lines_make_blocks_of_fewer_pairs(tmp_path: Path, is_source: bool) -> None:
    long, short = b"y" * (MAX_SIDE_BYTES // 4) + b"\n", b"z\n"
    sides = (long * 20, short * 20) if is_source else (short * 20, long * 20)
    blocks = list(read_blocks(written(tmp_path, *sides)))
    assert sum(len(block.texts()[0]) for block in blocks) == 20
    assert all(max(map(len, block[:2])) <= MAX_SIDE_BYTES + FILE_BLOCK_BYTES for block in blocks)
    pairs = (Pair(long.decode()[:-1], "z", number) for number in range(20))
    assert all(max(map(len, block[:2])) <= 2 * MAX_SIDE_BYTES for block in pair_blocks(pairs))


def test_pairs_before_a_bad_line_precede_its_error(tmp_path: Path) -> None:
    pairs = read_pairs(written(tmp_path, b"a\nb\nc\nd\n", b"A\nB\nC\xff\nD\n"))
    assert [next(pairs).source for _ in range(2)] == ["a", "b"]
    with pytest.raises(RegardError, match=r"t\.gz:3: byte 2 \(0xff\)"):
        next(pairs)


def test_first_bad_line_is_reported_first(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"/s:2: byte 1"):
        list(read_blocks(written(tmp_path, b"a\n\xff\nc\n", b"A\nB\n\xff\n")))
    with pytest.raises(RegardError, match=r"t\.gz:1: byte 1"):
        list(read_blocks(written(tmp_path, b"a\n\xff\nc\n", b"\xff\nB\nC\n")))


def test_bad_line_without_partner_is_reported(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"/s:3: byte 1"):
        list(read_blocks(written(tmp_path, b"a\nb\n\xff\n", b"A\n")))
