"""Tokens taken out: as many as wished, told apart from the others, and the same ones for the same chance."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.inference.mask_filler import encode_masked
from regard.special_tokens import MASK, PADDING, RESERVED
from regard.tokenization.sentencepiece_training import ModelType
from regard.tokenization.tokenizer import Tokenizer
from regard.training.objective import mask_tokens

ROWS = st.lists(st.integers(len(RESERVED), 40), min_size=1, max_size=60)


@given(ROWS, st.integers(0, 10**6), st.floats(0.01, 0.99))
def test_only_masked_tokens_change_and_targets_match_them(row: list[int], seed: int, share: float) -> None:
    given_row, wanted = mask_tokens(row, Random(seed), mask_rate=share, vocabulary=41)
    assert len(given_row) == len(wanted) == len(row)
    asked = [place for place, token in enumerate(wanted) if token != PADDING]
    assert len(asked) == max(1, round(share * len(row)))
    assert [wanted[place] for place in asked] == [row[place] for place in asked]
    assert all(given_row[place] == row[place] for place in range(len(row)) if place not in asked)
    assert all(token == MASK or len(RESERVED) <= token < 41 for token in given_row)
    assert mask_tokens(row, Random(seed), mask_rate=share, vocabulary=41) == (given_row, wanted)


def test_most_are_masked_some_replaced_and_some_stay() -> None:
    row = [7] * 20_000
    given_row, wanted = mask_tokens(row, Random(0), mask_rate=0.5, vocabulary=1000)
    asked = [given_row[place] for place, token in enumerate(wanted) if token != PADDING]
    assert 0.78 < asked.count(MASK) / len(asked) < 0.82
    assert 0.08 < asked.count(7) / len(asked) < 0.12


@pytest.mark.parametrize("blank", ["___", "__", "________", "<mask>"])
def test_blank_is_one_mask_at_any_position(blank: str) -> None:
    tokenizer = Tokenizer.train(["가 나 다"], model_type="word", vocab_size=16)
    first, second, third = tokenizer.encode("가 나 다")
    assert encode_masked(f"가 {blank} 다", tokenizer) == [first, MASK, third]
    assert encode_masked(f"{blank} 나", tokenizer) == [MASK, second]
    assert encode_masked(f"나 {blank}", tokenizer) == [second, MASK]
    assert encode_masked("가 나_다", tokenizer).count(MASK) == 0


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
@pytest.mark.parametrize("text", ["a man runs.", "a man, a dog", "the man's dog runs!"])
def test_text_after_a_mask_is_tokenised_as_usual(kind: ModelType, text: str) -> None:
    lines = ["a man runs.", "the dog runs.", "a man, a dog", "the man's dog runs!", "runs, runs!"] * 4
    tokenizer = Tokenizer.train(lines, model_type=kind, vocab_size=64)
    whole = tokenizer.encode(text)
    for word in ("man", "runs"):
        before, found, after = text.partition(word)
        if found:
            expected = tokenizer.encode(before)
            rest = whole[len(tokenizer.encode(before + word)) :]
            assert encode_masked(f"{before}___{after}", tokenizer) == [*expected, MASK, *rest]
