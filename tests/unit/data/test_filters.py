from collections.abc import Callable
from itertools import accumulate, pairwise

import pytest

from regard.config import DataConfig
from regard.data.filters import FilterReport, pair_settings
from regard.data.pair_readers.text import PairBlock
from regard.data.token_store import Column, PackedPairs, drop_duplicates, pack


def encode(text: str) -> bytes:
    """Each character that is no space, as a number of 32 bits."""
    return "".join(text.split()).encode("utf-32-le")


def packed(config: DataConfig, *texts: tuple[str, str], encode_source: Callable[[str], bytes] = encode) -> PackedPairs:
    sources, targets = [encode_source(source) for source, _ in texts], [encode(target) for _, target in texts]
    block = PairBlock(*("\n".join(side).encode() for side in zip(*texts, strict=True)))
    return pack(block, sources, targets, config)


def texts_of(block: PackedPairs) -> list[tuple[str, str]]:
    sources, targets = (rows_of(block.columns[f"{side}-text"], itemsize=1) for side in ("source", "target"))
    return [(source.decode(), target.decode()) for source, target in zip(sources, targets, strict=True)]


def rows_of(column: Column, *, itemsize: int) -> list[bytes]:
    ends = [itemsize * end for end in accumulate(column.row_lengths().tolist(), initial=0)]
    return [column.values[start:end] for start, end in pairwise(ends)]


def accepted(config: DataConfig, *texts: tuple[str, str]) -> tuple[list[tuple[str, str]], FilterReport]:
    blocks = iter([packed(config, *some) for some in (texts[:1], texts[1:]) if some])
    kept, report = [], FilterReport(0, {})
    for block in drop_duplicates(blocks) if config.deduplicate else blocks:
        kept += texts_of(block)
        report += FilterReport(block.kept, block.dropped)
    return kept, report


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (("", "x"), "blank"),
        (("x", ""), "blank"),
        (("x", " \t\u3000\u2028"), "blank"),
        (("x" * 11, "x" * 10), "too_long"),
        (("x" * 10, "x" * 11), "too_long"),
        (("x" * 7, "xxx"), "ratio"),
        (("xxx", "x" * 7), "ratio"),
        (("ab", "cd"), "duplicate"),
    ],
)
def test_each_reason_is_counted_by_its_name(pair: tuple[str, str], reason: str) -> None:
    config = DataConfig(max_tokens=10, max_length_ratio=2.0, deduplicate=True)
    kept, report = accepted(config, ("ab", "cd"), pair, ("last", "one"))
    assert kept == [("ab", "cd"), ("last", "one")]
    assert report.kept == 2
    assert {name: count for name, count in report.dropped.items() if count} == {reason: 1}


def test_pairs_at_the_limits_are_kept() -> None:
    config = DataConfig(max_tokens=10, max_length_ratio=2.0)
    kept, _ = accepted(config, ("x" * 10, "x" * 5), ("x" * 5, "x" * 10), ("x", "x"))
    assert len(kept) == 3


def test_text_without_tokens_counts_as_blank() -> None:
    block = packed(DataConfig(), ("x", "y"), encode_source=lambda _: b"")
    assert texts_of(block) == []
    assert block.dropped["blank"] == 1


def test_a_pair_with_two_faults_is_counted_once() -> None:
    _, report = accepted(DataConfig(max_tokens=5, max_length_ratio=2.0), ("x" * 6, "x"))
    assert report.dropped == {"blank": 0, "too_long": 1, "ratio": 0, "duplicate": 0, "held_out": 0}


def test_duplicates_are_kept_by_default() -> None:
    kept, _ = accepted(DataConfig(), ("a", "b"), ("a", "b"))
    assert len(kept) == 2


def test_only_the_same_pair_is_a_duplicate() -> None:
    kept, _ = accepted(DataConfig(deduplicate=True), ("a", "b"), ("a", "c"), ("d", "b"), ("b", "a"))
    assert len(kept) == 4


def test_each_side_has_its_own_ids() -> None:
    columns = pack(PairBlock(b"x", b"y"), [b"\1\0\0\0"], [b"\2\0\0\0\3\0\0\0"], DataConfig()).columns
    assert [rows_of(columns[name], itemsize=4) for name in ("source-ids", "target-ids")] == [
        [b"\1\0\0\0"],
        [b"\2\0\0\0\3\0\0\0"],
    ]


def test_the_report_is_a_sentence() -> None:
    report = FilterReport(1200, {"blank": 3, "too_long": 0, "ratio": 0, "duplicate": 34})
    assert report.read == 1237
    assert report.describe() == "kept 1,200 of 1,237 pairs; dropped 3 with a blank side, 34 seen before"
    assert FilterReport(2, {}).describe() == "kept 2 of 2 pairs; dropped none"


def test_fingerprint_depends_on_filters_but_not_paths() -> None:
    plain = pair_settings(DataConfig())
    assert pair_settings(DataConfig(train=["a", "b"], valid=["c"])) == plain
    changed = [
        DataConfig(max_tokens=9),
        DataConfig(max_length_ratio=2.0),
        DataConfig(deduplicate=True),
        DataConfig(languages=["en", "ko"]),
    ]
    assert len({plain, *map(pair_settings, changed)}) == 5
