"""A decoder-only model continues a text as it has learnt to, and scores a text as it would generate it."""

import math
from pathlib import Path

import pytest
import torch

from regard.errors import RegardError
from regard.inference.open import load
from regard.inference.text_generator import TextGenerator
from tests.support.small_language import turns


def test_completion_follows_the_language(writer: TextGenerator) -> None:
    for start in range(6):
        [found] = writer.generate([turns(start, 2)])
        assert found.text.startswith(turns(start, 3))
        assert turns(start, 20).startswith(found.text)


def test_empty_text_is_started_and_order_kept(writer: TextGenerator) -> None:
    texts = ["", turns(3, 4), turns(1, 1), ""]
    together = [one.text for one in writer.generate(texts)]
    assert together == [writer.generate([text])[0].text for text in texts]
    assert together[0] == together[3] != ""
    assert all(found.startswith(text) for text, found in zip(texts, together, strict=True))


def test_stream_ends_with_the_complete_output(writer: TextGenerator) -> None:
    *_, last = writer.stream(turns(2, 2))
    assert last == writer.generate([turns(2, 2)])[0].text


def test_samples_follow_the_seed(writer: TextGenerator) -> None:
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        [own] = writer.nbest([""], do_sample=True, nbest=8, temperature=2.0)
        drawn.append([one.text for one in own])
    assert drawn[0] == drawn[1] != drawn[2]


def test_score_is_log_probability_of_whole_text(writer: TextGenerator) -> None:
    [found] = writer.generate([turns(0, 2)])
    [known] = writer.log_likelihoods([found.text])
    assert found.is_finished
    assert math.isclose(found.log_probability, known.log_probability, abs_tol=1e-4)
    assert known.tokens == len(found.tokens) + 1


def test_known_text_is_likelier_than_unknown_text(writer: TextGenerator) -> None:
    usual, strange = writer.log_likelihoods([turns(0, 6), "마 나 바 가 라 다"])
    assert usual.correct >= 4
    assert usual.log_probability > strange.log_probability + 5
    batched = list(writer.log_likelihoods([turns(0, 6), turns(1, 2), turns(0, 6)]))
    assert math.isclose(batched[0].log_probability, batched[2].log_probability, abs_tol=1e-4)
    assert math.isclose(batched[0].log_probability, usual.log_probability, abs_tol=1e-4)


def test_trace_has_one_side_and_sees_only_back(writer: TextGenerator) -> None:
    trace = writer.trace(turns(0, 4))
    assert trace.source.pieces == []
    assert trace.target.words == ["<s>", *turns(0, 4).split()]
    assert [layer.role for layer in trace.layers] == ["decoder-self"] * 2
    weights = trace.weights(1, head=0)
    assert weights.shape == (5, 5)
    assert (weights[0, 1:] == 0).all()
    assert trace.title == turns(0, 4)
    [known] = writer.log_likelihoods([turns(0, 4)])
    assert math.isclose(sum(trace.log_probabilities), known.log_probability, abs_tol=1e-4)


def test_trace_of_empty_or_long_text_is_refused(writer: TextGenerator) -> None:
    for text in ("", turns(0, 600)):
        with pytest.raises(RegardError, match=r"tokens; a trace of this model holds 1 to 512"):
            writer.trace(text)


def test_other_model_kinds_are_named(texts: Path, writer: TextGenerator) -> None:
    with pytest.raises(RegardError, match=r"not for translation. Use `regard complete`"):
        load(texts / "writer", task="translation")
    with pytest.raises(RegardError, match=r"is a model for text-generation, not for fill-mask"):
        load(texts / "writer", task="fill-mask")
    with pytest.raises(RegardError, match=r"Write \[text\]"):
        writer.generate("가")
    with pytest.raises(RegardError, match="nbest"):
        writer.generate(["가"], nbest=2, beam_size=2)
    assert load(texts / "writer", task="text-generation").generate(["가"]) == writer.generate(["가"])
