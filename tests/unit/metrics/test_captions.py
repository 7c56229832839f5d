"""Caption scores by hand, by their laws, and against the COCO evaluation code on real captions and on drawn ones."""

import math
import random
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.captions import read_captioned
from regard.errors import RegardError
from regard.metrics.captions import (
    CaptionTokenization,
    cider_d,
    evaluate_captions,
    exact_match,
    rouge_l,
    tokenize_caption,
)

FLICKR = Path(__file__).parents[3].parent / "shared" / "data" / "flickr8k"
WORDS = ["a", "red", "blue", "dog", "cat", "runs", "on", "the", "grass", "with", "two", "balls"]


def values(hypotheses: list[str], references: list[list[str]]) -> dict[str, float]:
    return {s.name: s.value for s in evaluate_captions(hypotheses, references, tokenize="none", resamples=1)}


def drawn_corpus(pictures: int = 60, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """Captions over few words, so that many groups of words are common, with one to five references."""
    chance = random.Random(seed)
    hypotheses = [" ".join(chance.choices(WORDS, k=chance.randint(4, 12))) for _ in range(pictures)]
    references = [
        [" ".join(chance.choices(WORDS, k=chance.randint(4, 12))) for _ in range(chance.randint(1, 5))]
        for _ in range(pictures)
    ]
    for index in range(0, pictures, 3):  # some nearly right, so that groups of four are met
        references[index][0] = hypotheses[index] + " today"
    return hypotheses, references


def published(hypotheses: list[str], references: list[list[str]]) -> dict[str, float]:
    """The figures of the COCO evaluation code for text that is cut already."""
    bleu = pytest.importorskip("pycocoevalcap.bleu.bleu", reason="pycocoevalcap is not installed").Bleu(4)
    rouge = pytest.importorskip("pycocoevalcap.rouge.rouge").Rouge()
    cider = pytest.importorskip("pycocoevalcap.cider.cider").Cider()
    gold = dict(enumerate(references))
    output = {index: [caption] for index, caption in enumerate(hypotheses)}
    bleus, _ = bleu.compute_score(gold, output, verbose=0)
    names = ["BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr-D"]
    scores = [*bleus, rouge.compute_score(gold, output)[0], cider.compute_score(gold, output)[0]]
    return {name: 100 * float(score) for name, score in zip(names, scores, strict=True)}


@pytest.mark.parametrize("seed", range(4))
def test_all_six_scores_equal_the_coco_code(seed: int) -> None:
    hypotheses, references = drawn_corpus(seed=seed)
    assert values(hypotheses, references) == pytest.approx(published(hypotheses, references), abs=1e-4)


def test_real_captions_score_as_in_coco_code() -> None:
    if not FLICKR.is_dir():
        pytest.skip("shared/data/flickr8k is not there")
    captioned = [one for one in read_captioned(FLICKR, split="dev")[:150] if len(one.captions) == 5]
    cut = [[" ".join(tokenize_caption(caption)) for caption in one.captions] for one in captioned]
    hypotheses, references = [captions[0] for captions in cut], [captions[1:] for captions in cut]
    found = values(hypotheses, references)
    assert found == pytest.approx(published(hypotheses, references), abs=1e-4)
    assert 10 < found["BLEU-4"] < 40  # one person against four others


def test_cutting_changes_case_and_punctuation_and_nothing_else() -> None:
    output, wanted = ["A dog's T-shirt ."], [["a dog 's t-shirt"]]
    assert evaluate_captions(output, wanted, resamples=1)[0].value == pytest.approx(100)
    assert evaluate_captions(output, wanted, tokenize="none", resamples=1)[0].value < 100


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A man, in a T-shirt!", ["a", "man", "in", "a", "t-shirt"]),
        ("it doesn't; they're", ["it", "does", "n't", "they", "'re"]),
        ("the dog’s ball .", ["the", "dog", "'s", "ball"]),
        ("빨간 원이 있다.", ["빨간", "원이", "있다"]),
        (unicodedata.normalize("NFD", "어느 café"), ["어느", "café"]),
        ("हिन्दी भाषा में।", ["हिन्दी", "भाषा", "में"]),
        ("கடற்கரை", ["கடற்கரை"]),
        ("ශ්\u200dරී ලංකා", ["ශ්\u200dරී", "ලංකා"]),
        ("\u2764\ufe0f dogs", ["dogs"]),
        ("...", []),
    ],
)
def test_captions_are_tokenised_like_the_coco_code(text: str, words: list[str]) -> None:
    assert tokenize_caption(text) == words


def test_caption_equal_to_reference_scores_maximum() -> None:
    captions = ["a red dog runs fast", "two blue cats sleep here", "three birds sit on wires"]
    found = values(captions, [[caption] for caption in captions])
    assert found == pytest.approx(
        dict.fromkeys(["BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L"], 100.0) | {"CIDEr-D": 1000.0}
    )


def test_caption_of_other_words_scores_zero() -> None:
    found = values(["x y z w v"], [["a b c d e"]])
    assert set(found.values()) == {0.0}


def test_rouge_by_hand() -> None:
    """Common to `a b c d` and `a x c`: a c. Precision 2/4; recall 2/3."""
    precision, recall, weight = 2 / 4, 2 / 3, 1.2**2
    expected = (1 + weight) * precision * recall / (recall + weight * precision)
    assert rouge_l([["a", "b", "c", "d"]], [[["a", "x", "c"]]]).tolist() == pytest.approx([expected])


def test_cider_by_hand() -> None:
    """Two pictures, one word each: rarity log 2 for all; `a b` against `a`: cosine 1/sqrt 2, and one pair apart."""
    found = cider_d([["a", "b"], ["c"]], [[["a"]], [["c"]]])
    assert found[0] == pytest.approx(10 * (1 / math.sqrt(2) / 4) * math.exp(-1 / 72))
    assert found[1] == pytest.approx(10 / 4)


@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8), min_size=2, max_size=6))
def test_more_references_never_lower_rouge_and_bounds_hold(captions: list[list[str]]) -> None:
    output, first, others = captions[0], captions[1], captions[1:]
    one, all_of_them = rouge_l([output], [[first]])[0], rouge_l([output], [others])[0]
    assert 0 <= one <= all_of_them <= 1
    likeness = cider_d([output, first], [others, [output]])
    assert ((likeness >= 0) & (likeness <= 10 + 1e-9)).all()


def test_empty_caption_scores_zero_without_error() -> None:
    found = values(["", "a dog runs on grass"], [["a cat"], ["a dog runs on grass"]])
    assert found["ROUGE-L"] == pytest.approx(50)
    assert all(math.isfinite(value) for value in found.values())


def test_intervals_contain_value_and_single_sample_has_none() -> None:
    hypotheses, references = drawn_corpus()
    for score in evaluate_captions(hypotheses, references, tokenize="none", resamples=200):
        assert score.low < score.value < score.high
        assert "tok:none" in score.signature
    for score in evaluate_captions(hypotheses, references, resamples=1):
        assert score.low == score.value == score.high


def test_exact_match_needs_every_word_of_one_reference() -> None:
    output = ["a red circle", "a red  circle ", "a red", "A red circle"]
    assert exact_match(output, [["a blue circle", "a red circle"]] * 4) == pytest.approx(0.5)


@pytest.mark.parametrize("tokenize", ["words", "none"])
def test_both_normalisations_of_a_caption_score_the_same(tokenize: CaptionTokenization) -> None:
    composed, apart = (
        [unicodedata.normalize(form, text) for text in ("빨간 원이 왼쪽에 하나 있다", "두 개의 별이 café 위에 있다")]
        for form in ("NFC", "NFD")
    )
    assert composed != apart
    perfect = evaluate_captions(composed, [[text] for text in composed], tokenize=tokenize)
    for output, wanted in ((composed, apart), (apart, composed)):
        assert evaluate_captions(output, [[text] for text in wanted], tokenize=tokenize) == perfect
        assert exact_match(output, [[text] for text in wanted]) == 1


@pytest.mark.parametrize(
    ("hypotheses", "references", "part"),
    [(["a"], [], "1 captions for 0"), ([], [], "at least one"), (["a", "b"], [["a"], []], "image 2 has no")],
)
def test_unscorable_input_is_refused_with_an_explanation(
    hypotheses: list[str], references: list[list[str]], part: str
) -> None:
    with pytest.raises(RegardError, match=part):
        evaluate_captions(hypotheses, references)


def test_unknown_tokenisation_is_refused() -> None:
    with pytest.raises(RegardError, match="'ptb'"):
        evaluate_captions(["a"], [["a"]], tokenize="ptb")  # type: ignore[arg-type]


def test_the_same_captions_score_the_same_twice() -> None:
    hypotheses, references = drawn_corpus()
    first, second = (evaluate_captions(hypotheses, references, resamples=50) for _ in range(2))
    assert first == second
    assert np.isfinite([score.value for score in first]).all()
