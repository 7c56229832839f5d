import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.config import DataConfig
from regard.data.corpus_tokenization import TokenizeJob, tokenize_corpus
from regard.data.held_out import MAX_HELD_OUT, held_out_hash, hold_out
from regard.data.pair_readers.text import Pair, pair_blocks
from regard.data.token_store import TokenStore, write_store
from regard.tokenization.tokenizer import Tokenizer

WORDS = [first + second for first in "bdgkm" for second in "aeiou"]


def some_pairs(count: int) -> list[Pair]:
    return [Pair(f"{WORDS[index % 25]} {index}", f"{index} {WORDS[index % 23]}", index + 1) for index in range(count)]


def decomposed(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def texts(pairs: list[Pair]) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in pairs]


@given(order=st.permutations(range(300)), again=st.lists(st.integers(0, 299)))
def test_order_and_duplicates_do_not_change_held_out(order: list[int], again: list[int]) -> None:
    pairs = some_pairs(300)
    expected = texts(hold_out(pairs))
    assert len(set(expected)) == len(expected)
    assert texts(hold_out([pairs[index] for index in [*order, *again]])) == expected


def test_two_percent_is_held_out_up_to_limit() -> None:
    assert 150 < len(hold_out(some_pairs(10_000))) < 250
    assert len(hold_out(some_pairs(60_000))) == MAX_HELD_OUT
    assert len(hold_out(some_pairs(3))) == 1


def test_held_out_pairs_stay_in_a_growing_corpus() -> None:
    before = texts(hold_out(some_pairs(10_000)))
    assert [text for text in texts(hold_out(some_pairs(10_100))) if text in set(before)] == before


def test_a_pair_without_words_is_not_held_out() -> None:
    assert hold_out([Pair(" ", "a", 1), Pair("b", "", 2)]) == []


@pytest.mark.parametrize(("processes", "deduplicate"), [(1, False), (2, False), (2, True)])
def test_no_copy_of_held_out_pair_is_trained(tmp_path: Path, processes: int, deduplicate: bool) -> None:
    pairs = some_pairs(4_500)
    vocabulary = Tokenizer.train((pair.source for pair in pairs), model_type="char", vocab_size=64).to_bytes()
    held_out = hold_out(pairs)
    cutting = TokenizeJob(vocabulary, vocabulary, DataConfig(deduplicate=deduplicate), [*map(held_out_hash, held_out)])
    packed = tokenize_corpus(pair_blocks([*pairs, *pairs]), cutting, parts=tmp_path / "parts", processes=processes)
    store = write_store(tmp_path / "store", packed, fingerprint="mark")
    left = [pair for pair in pairs if pair not in held_out]
    assert read_back(store) == texts(left if deduplicate else [*left, *left])
    assert store.report.dropped["held_out"] == 2 * len(held_out) > 0
    assert store.report.read == 9_000
    assert f"{2 * len(held_out)} held out for validation" in store.report.describe()


@pytest.mark.parametrize("other", [("cat", decomposed("고양이")), ("cat ", "고양이"), ("\tcat", "\u3000고양이\r")])
def test_equal_looking_copies_are_held_out_together(tmp_path: Path, other: tuple[str, str]) -> None:
    pairs = [Pair("cat", "고양이", 1), Pair(*other, 2), Pair("dog", "개", 3), Pair("dog", decomposed("개"), 4)]
    assert len(hold_out(pairs[:2])) == 1
    vocabulary = Tokenizer.train(["cat dog 고양이 개"], model_type="char", vocab_size=64).to_bytes()
    cutting = TokenizeJob(vocabulary, vocabulary, DataConfig(deduplicate=True), [held_out_hash(pairs[0])])
    packed = tokenize_corpus(pair_blocks(pairs), cutting, parts=tmp_path / "parts", processes=1)
    store = write_store(tmp_path / "store", packed, fingerprint="mark")
    assert read_back(store) == [("dog", "개")]
    assert (store.report.dropped["held_out"], store.report.dropped["duplicate"]) == (2, 1)


def read_back(store: TokenStore) -> list[tuple[str, str]]:
    return [store.text(index) for index in range(len(store))]
