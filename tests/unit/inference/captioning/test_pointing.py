from pathlib import Path

import numpy as np
import pytest

from regard.errors import RegardError
from regard.inference.captioner import Captioner
from regard.metrics.pointing_game import pointing_game
from regard.tracing.image_maps import BoxedCaption, score_pointing, word_image_maps

WORDS = ["Three", "blue", "crosses", "in", "a", "column"]
BOXES = [[(0.0, 0.0, 0.5, 0.5)], [], [(0.5, 0.0, 1.0, 1.0), (0.0, 0.0, 0.3, 0.3)], [], [], []]


def test_pointing_uses_the_maps_of_gold_words(captioners: dict[str, Captioner], pictures: list[Path]) -> None:
    captioner = captioners["attending"]
    found = {
        one.selection.at == "input": one.score
        for one in score_pointing(captioner.bundle, [BoxedCaption(captioner.load_image(pictures[0]), WORDS, BOXES)])
    }
    tokens = captioner.bundle.tokenizers.target.encode(" ".join(WORDS))
    maps = [weights for _, weights in word_image_maps(captioner.trace(pictures[0], tokens))]
    expected = pointing_game(maps, BOXES)
    assert found.keys() == {False, True}
    assert found[False].words == 2
    assert (found[False].peak, found[False].mass) == pytest.approx((expected.peak, expected.mass), abs=1e-5)


def test_every_layer_and_head_is_ranked_by_score(captioners: dict[str, Captioner], pictures: list[Path]) -> None:
    captioner = captioners["transformer"]
    boxed = [BoxedCaption(captioner.load_image(picture), WORDS, BOXES) for picture in pictures]
    found = score_pointing(captioner.bundle, boxed)
    peaks = [one.score.peak for one in found]
    assert peaks == sorted(peaks, reverse=True)
    assert {one.selection.head for one in found} == {None, 0, 1}
    assert all(one.score.words == 2 * len(pictures) for one in found)
    mean = next(one for one in found if one.selection.head is None and one.selection.at == "output")
    heads = [one for one in found if one.selection.head is not None and one.selection.at == "output"]
    assert mean.score.mass == pytest.approx(np.mean([one.score.mass for one in heads]), abs=1e-5)


def test_without_attention_or_boxes_nothing_is_scored(captioners: dict[str, Captioner], pictures: list[Path]) -> None:
    captioner = captioners["recurrent"]
    assert score_pointing(captioner.bundle, [BoxedCaption(captioner.load_image(pictures[0]), WORDS, BOXES)]) == []
    assert score_pointing(captioners["attending"].bundle, []) == []


def test_words_not_separated_by_spaces_are_reported(captioners: dict[str, Captioner], pictures: list[Path]) -> None:
    captioner = captioners["attending"]
    with pytest.raises(RegardError, match="tokenises it into"):
        score_pointing(captioner.bundle, [BoxedCaption(captioner.load_image(pictures[0]), ["two words"], [[]])])
