from hypothesis import given
from hypothesis import strategies as st

from regard.data.seen import SeenHashes, hash_of


@given(st.lists(st.one_of(st.integers(1, 50), st.integers(2**64 - 50, 2**64 - 1), st.integers(1, 2**64 - 1))))
def test_it_is_a_set(values: list[int]) -> None:
    seen, reference = SeenHashes(), set[int]()
    for value in values:
        assert seen.add(value) == (value not in reference)
        reference.add(value)
    assert len(seen) == len(reference)


def test_it_still_knows_every_hash_after_it_has_grown() -> None:
    seen = SeenHashes()
    values = [index * 64 for index in range(1, 5000)]  # in a small table many fall on the same slot
    assert all(seen.add(value) for value in values)
    assert not any(seen.add(value) for value in values)


def test_the_place_of_the_border_counts() -> None:
    assert hash_of(b"a b", b"c") != hash_of(b"a", b"b c")
    assert hash_of(b"a", b"b") != hash_of(b"b", b"a")
    assert hash_of(b"a", b"b") == hash_of(b"a", b"b")
