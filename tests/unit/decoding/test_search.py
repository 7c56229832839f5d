from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.batch import PaddedTokens, encode_source_rows
from regard.config import DecodingConfig
from regard.decoding.loop import decode_steps, generate
from regard.decoding.search import COMPACT_SHARE
from regard.special_tokens import END
from tests.support.repeating_model import RIVAL, WORD, RepeatingModel
from tests.support.small_models import Small

lengths = st.lists(st.integers(0, 9), min_size=1, max_size=9)
CACHING = [
    Small("transformer-pre-attention-rotary-untied", torch.float32),
    Small("decoder-only-sinusoidal", torch.float64),
]


def lines(words: list[int]) -> PaddedTokens:
    return encode_source_rows([[5] * count for count in words])


@given(lengths)
@settings(max_examples=10)
def test_every_sentence_gets_its_own_output(words: list[int]) -> None:
    found = generate(RepeatingModel(), lines(words), DecodingConfig(beam_size=1))
    assert [own[0].tokens for own in found] == [[WORD] * count for count in words]
    assert all(own[0].is_finished for own in found)


@given(lengths, st.integers(1, 4))
@settings(max_examples=10)
def test_finished_sentences_leave_the_batch(words: list[int], beam: int) -> None:
    model = RepeatingModel()
    going = []
    for search in decode_steps(model, lines(words), DecodingConfig(beam_size=beam)):
        going.append(int((~search.is_done).sum()))
        assert len(search.sentences) * (1 - COMPACT_SHARE) <= going[-1]  # the finished that are carried along are few
    first, *asked = model.rows
    assert first == len(words)
    assert asked == sorted(asked, reverse=True)
    assert all(rows * (1 - COMPACT_SHARE) <= beam * live for rows, live in zip(asked, going, strict=False))


def test_last_sentence_is_decoded_alone() -> None:
    model = RepeatingModel()
    generate(model, lines([1, 2, 3, 40]), DecodingConfig(beam_size=1))
    assert model.rows[0] == 4
    assert model.rows[4:] == [1] * 37


@given(st.integers(1, 5), st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_score_is_log_probability_normalised_by_length(words: int, penalty: float) -> None:
    config = DecodingConfig(beam_size=4, nbest=4, length_penalty=penalty)
    (own,) = generate(RepeatingModel(), lines([words]), config)
    for one in own:
        assert one.score == pytest.approx(one.log_probability / (len(one.tokens) + one.is_finished) ** penalty)
    likeliest, rival, other = (torch.tensor([2.0, 1.0, *[0.0] * 9]).log_softmax(dim=0)[:3]).tolist()
    best = max(own, key=lambda one: one.log_probability)
    expected = {END: other, WORD: likeliest, RIVAL: rival}
    output = [expected[token] for token in best.tokens]
    assert best.log_probability == pytest.approx(sum(output) + (likeliest if len(output) >= words else other), abs=1e-5)


def test_large_length_penalty_prefers_long_outputs() -> None:
    outputs = {}
    for penalty in (0.0, 4.0):
        config = DecodingConfig(beam_size=6, length_penalty=penalty, max_length_ratio=0, max_length_extra=6)
        outputs[penalty] = generate(RepeatingModel(patience=1), lines([3]), config)[0][0]
    assert len(outputs[4.0].tokens) > len(outputs[0.0].tokens)


@pytest.mark.parametrize("small", CACHING, ids=lambda small: small.name)
def test_greedy_search_does_not_copy_caches_each_step(small: Small) -> None:
    rooms = []
    for search in decode_steps(
        endless(small),
        encode_source_rows([[5, 6, 7], [6, 5, 5]]),
        greedy := DecodingConfig(beam_size=1, max_length_extra=90),
    ):
        if search.state.length > 1:
            rooms.append([cache.buffer.key.data_ptr() for cache in search.state.caches])
    assert len(rooms) >= greedy.max_length_extra
    moves = sum(before != after for before, after in pairwise(rooms))
    assert moves <= 5  # a room is left only when it is full, for one twice as large


def test_memory_is_not_copied_while_rows_stay() -> None:
    small = CACHING[0]
    memories = [
        id(search.memory)
        for search in decode_steps(endless(small), encode_source_rows([[5, 6], [6, 7]]), DecodingConfig(beam_size=3))
    ]
    assert len(set(memories[:-1])) == 1


@given(lengths)
@settings(max_examples=10)
def test_observed_search_exposes_its_best_hypothesis(words: list[int]) -> None:
    for count, search in enumerate(decode_steps(RepeatingModel(), lines(words), DecodingConfig(beam_size=1)), start=1):
        assert search.best_so_far() == [[WORD] * min(count, total) for total in words]


def endless(small: Small) -> Any:
    """The model with its END so unlikely that only the length bound stops it."""
    model = small.build(3)
    decode = model.decode

    class Endless:
        encode, init_state, max_positions = model.encode, model.init_state, model.max_positions

        @staticmethod
        def decode(tokens: torch.Tensor, memory: Any, state: Any) -> Any:
            decoded = decode(tokens, memory, state)
            weight, bias = decoded.projection
            bias = torch.zeros(len(weight), dtype=weight.dtype) if bias is None else bias.clone()
            bias[END] = -1e4
            return type(decoded)(decoded.hidden, type(decoded.projection)(weight, bias), decoded.state)

    return Endless()
