"""A writer goes on with a text as it has learnt to, and what it says of a text is what it would have said."""

import math
from pathlib import Path

import pytest
import torch

from regard.errors import RegardError
from regard.language.reader import load_reader
from regard.language.writer import Writer, load_writer
from regard.translation.translator import load
from tests.language.small_language import turns


def test_it_goes_on_as_the_language_does(writer: Writer) -> None:
    for start in range(6):
        [found] = writer.complete([turns(start, 2)])
        assert found.text.startswith(turns(start, 3))
        assert turns(start, 20).startswith(found.text)


def test_an_empty_text_is_begun_and_texts_keep_their_order(writer: Writer) -> None:
    texts = ["", turns(3, 4), turns(1, 1), ""]
    together = [one.text for one in writer.complete(texts)]
    assert together == [writer.complete([text])[0].text for text in texts]
    assert together[0] == together[3] != ""
    assert all(found.startswith(text) for text, found in zip(texts, together, strict=True))


def test_a_stream_ends_with_what_is_said_at_once(writer: Writer) -> None:
    *_, last = writer.stream(turns(2, 2))
    assert last == writer.complete([turns(2, 2)])[0].text


def test_what_is_drawn_follows_the_seed(writer: Writer) -> None:
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        [own] = writer.nbest([""], sample=True, nbest=8, temperature=2.0)
        drawn.append([one.text for one in own])
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_score_is_the_log_probability_of_the_whole_text(writer: Writer) -> None:
    [found] = writer.complete([turns(0, 2)])
    [known] = writer.known([found.text])
    assert found.is_ended
    assert math.isclose(found.log_probability, known.log_probability, abs_tol=1e-4)
    assert known.tokens == len(found.tokens) + 1


def test_known_text_is_named_and_strange_text_is_not(writer: Writer) -> None:
    usual, strange = writer.known([turns(0, 6), "마 나 바 가 라 다"])
    assert usual.right >= 4
    assert usual.log_probability > strange.log_probability + 5
    batched = list(writer.known([turns(0, 6), turns(1, 2), turns(0, 6)]))
    assert math.isclose(batched[0].log_probability, batched[2].log_probability, abs_tol=1e-4)
    assert math.isclose(batched[0].log_probability, usual.log_probability, abs_tol=1e-4)


def test_a_trace_has_one_side_and_looks_back_only(writer: Writer) -> None:
    trace = writer.trace(turns(0, 4))
    assert trace.source.pieces == []
    assert trace.target.spelled == ["<s>", *turns(0, 4).split()]
    assert [layer.use for layer in trace.layers] == ["decoder-self"] * 2
    weights = trace.weights(1, head=0)
    assert weights.shape == (5, 5)
    assert (weights[0, 1:] == 0).all()
    assert trace.title == turns(0, 4)
    [known] = writer.known([turns(0, 4)])
    assert math.isclose(sum(trace.log_probabilities), known.log_probability, abs_tol=1e-4)


def test_a_trace_of_nothing_or_of_too_much_is_refused(writer: Writer) -> None:
    for text in ("", turns(0, 600)):
        with pytest.raises(RegardError, match=r"tokens; a trace of this model holds 1 to 512"):
            writer.trace(text)


def test_other_models_are_told_apart_in_words(texts: Path, writer: Writer) -> None:
    with pytest.raises(RegardError, match=r"goes on with a text.*regard complete.*load_writer"):
        load(texts / "writer")
    with pytest.raises(RegardError, match=r"'decoder-only', which fills no blanks. Give an encoder-only model"):
        load_reader(texts / "writer")
    with pytest.raises(RegardError, match=r"write \[text\]"):
        writer.complete("가")
    with pytest.raises(RegardError, match="nbest"):
        writer.complete(["가"], nbest=2, beam=2)
    assert load_writer(texts / "writer").complete(["가"]) == writer.complete(["가"])
