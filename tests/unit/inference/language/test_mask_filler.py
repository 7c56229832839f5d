"""A reader names what is missing, from both sides."""

from pathlib import Path

import pytest

from regard.errors import RegardError
from regard.inference.mask_filler import MaskFiller
from regard.inference.open import load
from tests.support.small_language import WORDS, turns


@pytest.mark.parametrize("place", range(4))
def test_mask_is_filled_at_any_position(reader: MaskFiller, place: int) -> None:
    for start in range(len(WORDS)):
        words = turns(start, 4).split()
        given = " ".join([*words[:place], "___", *words[place + 1 :]])
        [filled] = reader.fill([given])
        assert filled.text == turns(start, 4)
        assert filled.predictions[0][0].token == words[place]


def test_guesses_are_probabilities_in_descending_order(reader: MaskFiller) -> None:
    [filled] = reader.fill(["가 ___ 다"], top_k=100)
    values = [guess.probability for guess in filled.predictions[0]]
    assert values == sorted(values, reverse=True)
    assert sum(values) == pytest.approx(1.0, abs=1e-4)
    assert {guess.token for guess in filled.predictions[0]} >= set(WORDS)
    assert not any("<" in guess.token and value for guess, value in zip(filled.predictions[0], values, strict=True))


def test_several_masks_are_filled_given_the_others(reader: MaskFiller) -> None:
    [filled] = reader.fill(["가 ___ 다 ___ 마"])
    assert filled.text == turns(0, 5)
    assert len(filled.predictions) == 2


def test_unfillable_text_is_refused_with_an_explanation(reader: MaskFiller, texts: Path) -> None:
    with pytest.raises(RegardError, match=r"has no mask. Write ___ where a word is missing"):
        reader.fill([turns(0, 3)])
    with pytest.raises(RegardError, match="has 0 tokens; the model reads 1 to 1024"):
        reader.fill([""])
    with pytest.raises(RegardError, match=r"is a model for fill-mask, not for translation. Use `regard fill`"):
        load(texts / "reader", task="translation")
    with pytest.raises(RegardError, match="is a model for fill-mask, not for text-generation"):
        load(texts / "reader", task="text-generation")


def test_each_token_is_scored_from_all_others(reader: MaskFiller) -> None:
    usual, strange = reader.log_likelihoods([turns(0, 6), "마 나 바 가 라 다"])
    assert (usual.tokens, usual.correct) == (6, 6)
    assert usual.log_probability > strange.log_probability + 5
    for place in range(6):
        words = turns(0, 6).split()
        [filled] = reader.fill([" ".join([*words[:place], "___", *words[place + 1 :]])], top_k=1)
        assert filled.predictions[0][0].token == words[place]


def test_trace_has_one_side_and_sees_both_directions(reader: MaskFiller) -> None:
    trace = reader.trace("가 ___ 다")
    assert trace.source.words == ["가", "<mask>", "다", "</s>"]
    assert trace.target.pieces == []
    assert trace.title == "가 ___ 다"
    assert [layer.role for layer in trace.layers] == ["encoder-self"] * 2
    assert (trace.weights(0, head=0) > 0).all()
    assert trace.rollout().shape == (4, 4)
    assert max(layer.deviation for layer in trace.layers) < 1e-5
