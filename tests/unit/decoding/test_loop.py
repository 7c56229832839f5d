import ast
import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import regard.decoding
from regard.batch import PaddedTokens, encode_source_rows
from regard.config import DecoderOnlyConfig, DecodingConfig, TransformerStackConfig
from regard.decoding.loop import SUPPRESSED_TOKENS, generate, rescore, stream
from regard.errors import RegardError
from regard.models.factory import build_model
from regard.models.interface import DecoderOutput
from regard.special_tokens import END, MASK, PADDING, UNKNOWN
from tests.support.repeating_model import RIVAL, WORD, RepeatingModel
from tests.support.small_models import Case, Small, cases, seeds

# One of each way to keep a state: recurrent, recurrent with joined, keys and values, both, and no memory at all.
NAMES = [
    "rnn-lstm-unequal",
    "attending-general-feeding",
    "transformer-pre-attention-rotary-untied",
    "transformer-post-ssru-learned",
    "decoder-only-learned",
]
with_each = pytest.mark.parametrize("small", [Small(name, torch.float64) for name in NAMES], ids=NAMES)
some = settings(max_examples=4)
ways = st.builds(
    DecodingConfig,
    beam_size=st.integers(1, 4),
    do_sample=st.booleans(),
    top_k=st.integers(0, 3),
    length_penalty=st.sampled_from([1.0, 0.0, 0.5]),
    max_length_ratio=st.sampled_from([1.0, 0.0, 0.4]),
    max_length_extra=st.integers(1, 3),
)
searches = ways.filter(lambda config: not config.do_sample)
prefixes = st.lists(st.lists(st.sampled_from([5, 6, 10, UNKNOWN]), max_size=4), min_size=2, max_size=2)


# --- forced prefixes -------------------------------------------------------------------------------------------------


@with_each
@given(cases(), ways, prefixes)
@some
def test_outputs_start_with_prefixes_and_include_their_score(
    small: Small, case: Case, config: DecodingConfig, prefixes: list[list[int]]
) -> None:
    model, source = small.build(case.seed), case.source
    for sentence, own in enumerate(generate(model, source, config, prefixes=prefixes)):
        answer = rescore(model, source, [one.tokens for one in own], sentences=[sentence] * len(own))
        for one, each in zip(own, answer, strict=True):
            length = len(one.tokens) + one.is_finished
            assert one.tokens[: len(prefixes[sentence])] == prefixes[sentence]
            assert one.log_probability == pytest.approx(float(each[:length].sum()))
            assert one.score == pytest.approx(one.log_probability / length**config.length_penalty)


@with_each
@given(cases(), searches, prefixes)
@some
def test_a_prefix_binds_its_own_sentence_alone(
    small: Small, case: Case, config: DecodingConfig, prefixes: list[list[int]]
) -> None:
    model, source = small.build(case.seed), case.source
    together = generate(model, source, config, prefixes=prefixes)
    for row, own in enumerate(together):
        (alone,) = generate(model, one_sentence(source, row), config, prefixes=[prefixes[row]])
        assert [one.tokens for one in own] == [one.tokens for one in alone]


@with_each
@given(cases())
@some
def test_greedy_output_follows_from_any_prefix_of_it(small: Small, case: Case) -> None:
    model, config = small.build(case.seed), DecodingConfig(beam_size=1, max_length_ratio=0, max_length_extra=4)
    whole = [own[0].tokens for own in generate(model, case.source, config)]
    again = generate(model, case.source, config, prefixes=[whole[0][:-1], whole[1][:1]])
    assert [own[0].tokens[: len(tokens)] for own, tokens in zip(again, whole, strict=True)] == whole


@given(seeds, st.sampled_from([PADDING, MASK]))
@some
def test_prefix_may_hold_tokens_never_generated(seed: int, token: int) -> None:
    model = Small(NAMES[0], torch.float64).build(seed)
    for forced in ([[token], [token]], [[token], []]):
        found = generate(
            model, encode_source_rows([[5], [6]]), DecodingConfig(beam_size=2, max_length_extra=2), prefixes=forced
        )
        assert [own[0].tokens[: len(prefix)] for own, prefix in zip(found, forced, strict=True)] == forced


def test_prefix_continues_after_earlier_sentences_finish() -> None:
    source, forced = encode_source_rows([[], [5] * 9]), [[], [RIVAL] * 4]
    (first,), (second,) = generate(RepeatingModel(), source, DecodingConfig(beam_size=1), prefixes=forced)
    assert first.tokens == []
    assert second.tokens == [*forced[1], *[WORD] * 5]


def test_a_prefix_that_has_ended_is_refused() -> None:
    with pytest.raises(RegardError, match="a prefix holds END"):
        generate(RepeatingModel(), encode_source_rows([[5]]), DecodingConfig(), prefixes=[[5, END]])


# --- how long, and how many ------------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=5), st.sampled_from([0.0, 0.5, 1.7]), st.integers(1, 4), st.data()
)
def test_each_sentence_has_its_own_length_limit(
    words: list[int], ratio: float, extra: int, data: st.DataObject
) -> None:
    beam_size = data.draw(st.integers(1, 3))
    config = DecodingConfig(beam_size=beam_size, max_length_ratio=ratio, max_length_extra=extra)
    source = encode_source_rows([[5] * count for count in words])
    found = generate(RepeatingModel(patience=99), source, config)
    longest = {count: max(len(one.tokens) for one in own) for count, own in zip(words, found, strict=True)}
    for count, length in longest.items():
        assert length == int(ratio * (count + 1)) + extra  # END is part of the source
    greedy = generate(
        RepeatingModel(patience=99), source, DecodingConfig(beam_size=1, max_length_ratio=ratio, max_length_extra=extra)
    )
    assert [own[0].tokens for own in greedy] == [[WORD] * longest[count] for count in words]
    assert not any(own[0].is_finished for own in greedy)


@pytest.mark.parametrize("longest", [1, 3, 50])
def test_output_length_fits_what_the_model_can_decode(longest: int) -> None:
    config = DecodingConfig(beam_size=2, max_length_ratio=0.0, max_length_extra=9)
    [found] = generate(RepeatingModel(patience=99, max_positions=longest), encode_source_rows([[5]]), config)
    assert max(len(one.tokens) for one in found) == max(1, min(longest - 1, 9))


def test_learned_positions_limit_output_without_error() -> None:
    stack = TransformerStackConfig(layers=1, width=8, heads=2, ffn_width=12)
    model = build_model(DecoderOnlyConfig(transformer=stack, max_position_embeddings=6), target_vocabulary=11).eval()
    [[best]] = generate(model, encode_source_rows([[]]), DecodingConfig(beam_size=1), prefixes=[[5, 6, 7, 8]])
    assert len(best.tokens) <= 5


def test_one_prefix_per_sentence_is_required() -> None:
    with pytest.raises(RegardError, match="1 prefixes for 2 sentences"):
        generate(RepeatingModel(), encode_source_rows([[5], [6]]), DecodingConfig(), prefixes=[[5]])


def test_sampling_returns_the_requested_number_of_samples() -> None:
    torch.manual_seed(0)
    one = generate(RepeatingModel(), encode_source_rows([[5, 5]]), DecodingConfig(do_sample=True))
    three = generate(RepeatingModel(), encode_source_rows([[5, 5]]), DecodingConfig(do_sample=True, nbest=3))
    assert [len(own) for own in one] == [1]
    assert [len(own) for own in three] == [3]


@with_each
@given(cases(), searches)
@some
def test_neighbours_change_neither_the_bound_nor_the_output(small: Small, case: Case, config: DecodingConfig) -> None:
    model, source = small.build(case.seed), case.source
    for row, own in enumerate(generate(model, source, config)):
        (alone,) = generate(model, one_sentence(source, row), config)
        assert [(one.tokens, one.is_finished) for one in own] == [(one.tokens, one.is_finished) for one in alone]
        assert [one.score for one in own] == pytest.approx([one.score for one in alone])


@with_each
@given(cases(), ways, st.booleans())
@some
def test_there_is_always_an_output(small: Small, case: Case, config: DecodingConfig, has_prefix: bool) -> None:
    found = generate(small.build(case.seed), case.source, config, prefixes=[[5], []] if has_prefix else None)
    assert len(found) == 2
    for own in found:
        assert len(own) == 1
        assert not {*SUPPRESSED_TOKENS, END} & set(own[0].tokens)
        assert own[0].log_probability > -float("inf")


def test_a_model_of_nothing_but_nan_is_refused() -> None:
    for config in (DecodingConfig(), DecodingConfig(do_sample=True)):
        model = Small(NAMES[2], torch.float32).build(0)
        with torch.no_grad():
            model.output.weight.fill_(float("nan"))
        for scores in (True, False):
            with pytest.raises(RegardError, match="probabilities are not finite"):
                generate(model, encode_source_rows([[5]]), config, scores=scores)


def test_near_ties_are_separated_at_any_length() -> None:
    class Tied(RepeatingModel):
        def decode(self, tokens: Tensor, memory: Any, state: Any) -> DecoderOutput:
            decoded = super().decode(tokens, memory, state)
            hidden = decoded.hidden * 1e-4 + 50.0  # a running sum of such logits could not hold the difference
            return dataclasses.replace(decoded, hidden=hidden)

    [[found]] = generate(Tied(), encode_source_rows([[5] * 200]), DecodingConfig(beam_size=1), scores=False)
    assert found.tokens == [WORD] * 200


@with_each
@given(cases(), ways)
@some
def test_without_scores_the_words_are_the_same(small: Small, case: Case, config: DecodingConfig) -> None:
    config = msgspec.structs.replace(config, do_sample=False)
    scored, silent = (generate(small.build(case.seed), case.source, config, scores=scores) for scores in (True, False))
    assert [one.tokens for own in silent for one in own] == [one.tokens for own in scored for one in own]
    assert all(math.isnan(own[0].score) == (config.beam_size == 1) for own in silent)


# --- streaming -------------------------------------------------------------------------------------------------------


@with_each
@given(cases(), searches, prefixes, st.booleans())
@some
def test_last_streamed_output_equals_generated_output(
    small: Small, case: Case, config: DecodingConfig, prefixes: list[list[int]], has_prefix: bool
) -> None:
    model, forced = small.build(case.seed), prefixes if has_prefix else None
    *_, last = stream(model, case.source, config, prefixes=forced)
    assert last == [own[0].tokens for own in generate(model, case.source, config, prefixes=forced)]


@with_each
@given(cases(), st.booleans())
@some
def test_each_greedy_stream_step_extends_the_previous(small: Small, case: Case, is_sampled: bool) -> None:
    config = DecodingConfig(beam_size=1, do_sample=is_sampled, max_length_ratio=0.5, max_length_extra=4)
    earlier: list[list[int]] = [[], []]
    for count, outputs in enumerate(stream(small.build(case.seed), case.source, config), start=1):
        assert max(map(len, outputs)) <= count
        for before, now in zip(earlier, outputs, strict=True):
            assert now[: len(before)] == before
            assert len(now) - len(before) in (0, 1)
        earlier = outputs


def test_stream_yields_growing_outputs() -> None:
    model = RepeatingModel()
    watched = stream(model, encode_source_rows([[5] * 9]), DecodingConfig(beam_size=1))
    for steps in range(1, 5):
        assert next(watched) == [[WORD] * steps]
        assert len(model.rows) == steps


@given(seeds)
@some
def test_the_same_seed_draws_the_same_outputs(seed: int) -> None:
    model, source = Small(NAMES[2], torch.float64).build(seed), encode_source_rows([[5, 6], [7]])
    outputs = []
    for _ in range(2):
        torch.manual_seed(seed)
        outputs.append(
            generate(model, source, DecodingConfig(do_sample=True, beam_size=3, nbest=3, max_length_extra=2))
        )
    assert outputs[0] == outputs[1]


@given(seeds)
@some
def test_top_one_sampling_is_greedy_search(seed: int) -> None:
    model, source = Small(NAMES[1], torch.float64).build(seed), encode_source_rows([[5, 6], [7]])
    greedy, drawn = (
        generate(model, source, DecodingConfig(beam_size=1, do_sample=each, top_k=1, max_length_extra=2))
        for each in (False, True)
    )
    assert [own[0].tokens for own in greedy] == [own[0].tokens for own in drawn]


# --- one loop for all ------------------------------------------------------------------------------------------------

DECODING = sorted(Path(regard.decoding.__file__).parent.glob("*.py"))
KNOWN = ("interface", "uses")  # what all models offer, and what their attentions are for
MODELS = sorted((Path(regard.decoding.__file__).parents[1] / "models").glob("*.py"))


@pytest.mark.parametrize("path", DECODING, ids=lambda path: path.stem)
def test_decoding_names_no_model(path: Path) -> None:
    of_models = {name for file in MODELS if file.stem not in KNOWN for name in classes(file)}
    assert {"TransformerModel", "RNNModel", "AttentionRNNState", "EmptyMemory"} <= of_models
    assert not of_models & set(names(path))
    imported = {name for name in names(path) if name.startswith("regard.models")}
    assert imported <= {f"regard.models.{name}" for name in KNOWN}


def classes(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            yield node.name


def names(path: Path) -> Iterator[str]:
    """Every name, attribute, import and piece of text in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) | ast.ImportFrom(module=str(name)):
                yield name
            case ast.Constant(value=str(text)):
                yield from text.split()


def one_sentence(source: PaddedTokens, row: int) -> PaddedTokens:
    return PaddedTokens.from_rows([source.tokens[row, : source.lengths[row]].tolist()])
