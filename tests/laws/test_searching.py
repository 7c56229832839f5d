"""What a search finds, held against searches so simple that they cannot be wrong."""

from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.batch import Images, PaddedTokens, encode_source_rows
from regard.config import DecodingConfig
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.loop import generate, rescore
from regard.special_tokens import BEGIN, END, MASK, PADDING, UNKNOWN
from tests.support.small_models import CAPTIONERS, GENERATORS, SMALLEST, Case, Small, cases, for_every, one_row

LIMIT = 3
WORDS = (UNKNOWN, 5)  # all that the smallest vocabulary can say besides END
EVERY_OUTPUT = [output for length in range(LIMIT + 1) for output in product(WORDS, repeat=length)]

single = settings(max_examples=1)  # of every kind in every precision
penalties = st.sampled_from([0.6, 0.0, 1.0, 2.0])


@for_every(GENERATORS)
@given(cases(), penalties)
@single
def test_a_wide_beam_is_an_exhaustive_search(small: Small, case: Case, penalty: float) -> None:
    model, source = small.build(case.seed, vocabulary=SMALLEST), source_of_few_words(small, case)
    width = len(EVERY_OUTPUT)
    config = DecodingConfig(
        beam_size=width, nbest=width, length_penalty=penalty, max_length_ratio=0, max_length_extra=LIMIT
    )
    for sentence, found in enumerate(generate(model, source, config)):
        expected = sorted(score_every_output(model, source, sentence, penalty), reverse=True)
        assert sorted(tuple(one.tokens) for one in found) == sorted(EVERY_OUTPUT)
        assert [one.score for one in found] == pytest.approx([score for score, _ in expected], abs=small.tolerance)
        scores = {output: score for score, output in expected}
        assert [scores[tuple(one.tokens)] for one in found] == pytest.approx([one.score for one in found], abs=1e-4)


@for_every(GENERATORS)
@given(cases(), penalties)
@single
def test_beam_score_equals_rescored_log_probability(small: Small, case: Case, penalty: float) -> None:
    model = small.build(case.seed)
    config = DecodingConfig(beam_size=3, nbest=3, length_penalty=penalty, max_length_ratio=0, max_length_extra=3)
    found = generate(model, small.source(case), config)
    for sentence, own in enumerate(found):
        for hypothesis, answer in zip(own, rescored(model, small.source(case), sentence, own), strict=True):
            assert hypothesis.log_probability == pytest.approx(answer, abs=10 * small.tolerance)
            length = len(hypothesis.tokens) + hypothesis.is_finished
            assert hypothesis.score == pytest.approx(hypothesis.log_probability / length**penalty)


@for_every(GENERATORS)
@given(cases(), penalties)
@single
def test_the_best_outputs_are_sorted_and_distinct(small: Small, case: Case, penalty: float) -> None:
    config = DecodingConfig(beam_size=4, nbest=3, length_penalty=penalty, max_length_ratio=0, max_length_extra=3)
    for own in generate(small.build(case.seed), small.source(case), config):
        assert len(own) == 3
        assert [one.score for one in own] == sorted((one.score for one in own), reverse=True)
        assert len({tuple(one.tokens) for one in own}) == len(own)
        assert not {PADDING, BEGIN, END, MASK} & {token for one in own for token in one.tokens}


@for_every(GENERATORS)
@given(cases())
@single
def test_beam_of_one_equals_the_greedy_token(small: Small, case: Case) -> None:
    model, source = small.build(case.seed), small.source(case)
    found = generate(model, source, DecodingConfig(beam_size=1, max_length_ratio=0, max_length_extra=3))
    for row, (hypothesis,) in enumerate(found):
        assert (hypothesis.tokens, hypothesis.is_finished) == likeliest(model, source, row, limit=3)


def source_of_few_words(small: Small, case: Case) -> PaddedTokens | Images:
    if small.name in CAPTIONERS:
        return small.source(case)
    return encode_source_rows([[WORDS[place % 2] for place in range(length)] for length in case.sources])


@torch.no_grad()
def likeliest(model: Any, source: PaddedTokens | Images, row: int, limit: int) -> tuple[list[int], bool]:
    """The likeliest token again and again, each time from the beginning: the output, and whether it ended."""
    memory = model.encode(one_row(source, row))
    answer = [BEGIN]
    while len(answer) <= limit:
        logits = model.decode(torch.tensor([answer]), memory, model.init_state(memory)).logits[0, -1]
        logits[[PADDING, BEGIN, MASK]] = -float("inf")
        answer.append(int(logits.argmax()))
        if answer[-1] == END:
            return answer[1:-1], True
    return answer[1:], False


def score_every_output(
    model: Any, source: PaddedTokens, sentence: int, penalty: float
) -> list[tuple[float, tuple[int, ...]]]:
    answer = rescore(model, source, EVERY_OUTPUT, sentences=[sentence] * len(EVERY_OUTPUT))
    scores = []
    for output, each in zip(EVERY_OUTPUT, answer, strict=True):
        length = min(len(output) + 1, LIMIT)  # an output as long as the bound has no place for END
        scores.append((float(each[:length].sum()) / length**penalty, output))
    return scores


def rescored(model: Any, source: PaddedTokens, sentence: int, own: list[Hypothesis]) -> list[float]:
    """Log-probabilities in one teacher-forced pass, without END where an output was cut off."""
    answer = rescore(model, source, [one.tokens for one in own], sentences=[sentence] * len(own))
    return [float(each[: len(one.tokens) + one.is_finished].sum()) for one, each in zip(own, answer, strict=True)]
