import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.data.filters import HashSet, hash_pair

HASHES = st.lists(st.one_of(st.integers(0, 50), st.integers(2**64 - 50, 2**64 - 1), st.integers(0, 2**64 - 1)))


@given(st.lists(HASHES))
def test_duplicate_hashes_are_a_set(blocks: list[list[int]]) -> None:
    seen, reference = HashSet(), set[int]()
    for block in blocks:
        expected = [value not in reference and value not in block[:index] for index, value in enumerate(block)]
        assert seen.add(np.array(block, np.uint64)).tolist() == expected
        reference.update(block)
    assert len(seen) == len(reference)


def test_merged_runs_keep_every_hash() -> None:
    seen = HashSet()
    blocks = np.random.PCG64(0).random_raw(50_000).reshape(500, 100)
    assert all(seen.add(block).all() for block in blocks)
    assert not any(seen.add(block).any() for block in blocks)
    assert len(seen) == blocks.size


def test_the_boundary_between_the_sides_counts() -> None:
    assert hash_pair(b"a b", b"c") != hash_pair(b"a", b"b c")
    assert hash_pair(b"a", b"b") != hash_pair(b"b", b"a")
    assert hash_pair(b"a", b"b") == hash_pair(b"a", b"b")
