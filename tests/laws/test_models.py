"""What a model may not notice: padding, neighbours in the batch, the future, and order where it has no positions."""

from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.attention.hooks import record_attention
from regard.batch import Images, PaddedTokens
from regard.config import EfficientNetConfig, ImageEncoderConfig, ModelConfig, RNNCaptionerConfig, RNNConfig
from tests.support.small_models import (
    CATALOGUE,
    ENCODERS,
    GENERATORS,
    LOOKERS,
    READERS,
    SEERS,
    TRANSLATORS,
    Case,
    Small,
    cases,
    for_every,
    forced_logits,
    one_row,
    other_tokens,
    seeds,
    with_junk_padding,
)

WITHOUT_ATTENTION = (RNNConfig, RNNCaptionerConfig)
few = settings(max_examples=2)  # of every kind in every precision: over a hundred in all
single = settings(max_examples=1)
WITHOUT_POSITIONS = [name for name in LOOKERS + ENCODERS if getattr(CATALOGUE[name], "positions", "") == "none"]
WITH_POSITIONS = [name for name in LOOKERS + ENCODERS if getattr(CATALOGUE[name], "positions", "none") != "none"]


@pytest.mark.parametrize("kind", [*get_args(ModelConfig), *get_args(ImageEncoderConfig)])
def test_small_models_cover_every_option(kind: type[msgspec.Struct]) -> None:
    if kind is EfficientNetConfig:  # too large for laws
        return
    encoders = [config.image_encoder for config in CATALOGUE.values() if hasattr(config, "image_encoder")]
    small = [config for config in [*CATALOGUE.values(), *encoders] if type(config) is kind]
    assert small
    for field, hint in get_type_hints(kind).items():
        options = get_args(hint) if get_origin(hint) is Literal else (False, True) if hint is bool else None
        assert options is None or {getattr(config, field) for config in small} == set(options), field


# --- padding ---------------------------------------------------------------------------------------------------------


@for_every(TRANSLATORS)
@given(cases(), st.integers(1, 3))
@few
def test_source_padding_is_inert_and_real_tokens_not(small: Small, case: Case, columns: int) -> None:
    model, source, target = small.build(case.seed), case.source, case.target.tokens
    logits = forced_logits(model, source, target)
    small.assert_same(forced_logits(model, with_junk_padding(source, columns, case.seed), target), logits)
    changed = PaddedTokens(other_tokens(source.tokens), source.is_real, source.lengths)
    assert small.differ(forced_logits(model, changed, target), logits)


@for_every(READERS)
@given(cases(), st.integers(1, 3))
@few
def test_padding_is_inert_for_a_model_that_reads(small: Small, case: Case, columns: int) -> None:
    model, source = small.build(case.seed), case.source
    wider = model(with_junk_padding(source, columns, case.seed))
    for row, expected in enumerate(model(source)):
        real = slice(source.lengths[row] if expected.dim() == 2 else None)
        small.assert_same(wider[row][real], expected[real])


@for_every(ENCODERS)
@given(seeds)
@few
def test_row_of_only_padding_gives_zero_weights(small: Small, seed: int) -> None:
    model = small.build(seed)
    with record_attention(model) as recording:
        together = model(PaddedTokens.from_rows([[5, 6, 7], []]))
    assert together.isfinite().all()
    small.assert_same(together[0], model(PaddedTokens.from_rows([[5, 6, 7]]))[0])
    assert all((layer["weights"][1] == 0).all() for layer in recording.layers.values())


# --- neighbours ------------------------------------------------------------------------------------------------------


@for_every(GENERATORS)
@given(cases())
@single
def test_row_is_the_same_in_batch_and_alone(small: Small, case: Case) -> None:
    model, source, target = small.build(case.seed), small.source(case), case.target
    together = forced_logits(model, source, target.tokens)
    for row, length in enumerate(target.lengths):
        alone = forced_logits(model, one_row(source, row), one_row(target, row).tokens)
        small.assert_same(together[row, :length], alone[0])


@for_every(READERS)
@given(cases())
@few
def test_encoder_row_is_independent_of_its_batch(small: Small, case: Case) -> None:
    model, source = small.build(case.seed), case.source
    for row, together in enumerate(model(source)):
        alone = model(one_row(source, row))[0]
        small.assert_same(together[: len(alone)], alone)


@for_every(SEERS)
@given(seeds)
@few
def test_image_is_the_same_in_batch_and_alone(small: Small, seed: int) -> None:
    model, seen = small.build(seed), small.pictures(seed)
    alone = [model(Images(picture[None])) for picture in seen.pixels]
    small.assert_same(model(seen), torch.cat(alone))


# --- the future ------------------------------------------------------------------------------------------------------


@for_every(GENERATORS)
@given(cases(shortest=2), st.data())
@few
def test_future_is_inert_and_present_is_not(small: Small, case: Case, data: st.DataObject) -> None:
    model, source, target = small.build(case.seed), small.source(case), case.target.tokens
    now = data.draw(st.integers(1, target.shape[1] - 1))
    changed = torch.cat([target[:, :now], other_tokens(target[:, now:])], dim=1)
    before, after = forced_logits(model, source, target), forced_logits(model, source, changed)
    small.assert_same(after[:, :now], before[:, :now])
    assert small.differ(after[:, now], before[:, now])


# --- order -----------------------------------------------------------------------------------------------------------


@for_every(WITHOUT_POSITIONS)
@given(cases(), st.randoms(use_true_random=False))
@few
def test_without_positions_source_order_does_not_matter(small: Small, case: Case, random: Any) -> None:
    model, source = small.build(case.seed), case.source
    order = torch.arange(source.tokens.shape[1]).repeat(2, 1)
    for row, length in enumerate(source.lengths):
        order[row, :length] = torch.tensor(random.sample(range(length), length))
    reordered = PaddedTokens(source.tokens.gather(1, order), source.is_real, source.lengths)
    before, after = encoded(model, source), encoded(model, reordered)
    for row, length in enumerate(source.lengths):
        small.assert_same(after[row, :length], before[row, order[row, :length]])


@for_every(WITH_POSITIONS)
@given(seeds)
@single
def test_with_positions_a_reordered_source_is_another(small: Small, seed: int) -> None:
    model = small.build(seed)
    before, after = (
        encoded(model, PaddedTokens.from_rows([[5, 6, 7]])),
        encoded(model, PaddedTokens.from_rows([[7, 6, 5]])),
    )
    assert small.differ(after, before.flip(1))


# --- attention -------------------------------------------------------------------------------------------------------


@for_every([name for name in GENERATORS if not isinstance(CATALOGUE[name], WITHOUT_ATTENTION)])
@given(cases())
@single
def test_weights_of_every_layer_sum_to_one(small: Small, case: Case) -> None:
    model, source = small.build(case.seed), small.source(case)
    with record_attention(model) as recording:
        forced_logits(model, source, case.target.tokens)
    assert recording.layers
    for name, layer in recording.layers.items():
        assert_weights(layer["weights"], visible_to(name, layer["weights"], source), small)


@for_every(READERS)
@given(cases())
@few
def test_encoder_weights_sum_to_one_over_real_tokens(small: Small, case: Case) -> None:
    model, source = small.build(case.seed), case.source
    with record_attention(model) as recording:
        model(source)
    assert len(recording.layers) == (2 if small.name in ENCODERS else 1)
    for layer in recording.layers.values():
        assert_weights(layer["weights"], source.is_real[:, None, None], small)


@for_every([name for name in SEERS if name != "classifier-image-cnn-0"])
@given(seeds)
@few
def test_the_weights_over_a_grid_sum_to_one(small: Small, seed: int) -> None:
    model = small.build(seed)
    with record_attention(model) as recording:
        model(small.pictures(seed))
    assert recording.layers
    for layer in recording.layers.values():
        assert_weights(layer["weights"], torch.tensor(True), small)


def encoded(model: Any, source: PaddedTokens) -> Tensor:
    """What is known of each position of the source: for a Transformer, the keys of its last cross-attention."""
    memory = model.encode(source)
    return memory if isinstance(memory, Tensor) else memory.key_values[-1].key.transpose(1, 2)


def visible_to(name: str, weights: Tensor, source: PaddedTokens | Images) -> Tensor:
    """By the layer's name: a decoder's self-attention sees the past, all others see the real source."""
    if name.split(".")[0] in ("decoder", "image_decoder") and "self_attention" in name:
        return torch.ones(weights.shape[-2:], dtype=torch.bool).tril()
    return source.is_real[:, None, None] if isinstance(source, PaddedTokens) else torch.tensor(True)


def assert_weights(weights: Tensor, visible: Tensor, small: Small) -> None:
    visible = visible.expand_as(weights)
    assert (weights >= 0).all()
    assert (weights[~visible] == 0).all()
    small.assert_same(weights.sum(dim=-1), visible.any(dim=-1).to(weights.dtype))
