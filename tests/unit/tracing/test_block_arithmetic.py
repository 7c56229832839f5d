"""What stands around each attention, recomputed in float64; each part begins where one has ended."""

from collections.abc import Iterator
from functools import cache
from math import erf

import msgspec
import numpy as np
import pytest
import torch

from regard.batch import encode_source_rows, shift_right
from regard.bundle import Bundle, new_bundle
from regard.config import Config
from regard.errors import RegardError
from regard.inference.mask_filler import MaskFiller
from regard.inference.text_generator import TextGenerator
from regard.special_tokens import END
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair
from regard.tracing.arithmetic import AttentionArithmetic, BlockArithmetic, FeedForwardArithmetic, LayerNormArithmetic
from regard.tracing.output_layer import OutputArithmetic
from regard.tracing.trace import Trace
from tests.support.small_models import CATALOGUE, LOOKERS, randomise
from tests.unit.tracing.test_trace import AS_SHOWN, SOURCE, TARGET, bundle_of, exact, trace_of

TRANSFORMERS = [name for name in LOOKERS if name.startswith("transformer")]
WRITERS = [name for name in CATALOGUE if name.startswith("decoder-only")]
READERS = [name for name in CATALOGUE if name.startswith("encoder-only") and name.endswith("tokens")]
WORDS = "ba be bi bo bu da de di do du ga ge gi go gu"  # more than ten, so that the output may not be among them
TOKENIZER = Tokenizer.train([WORDS], model_type="word", vocab_size=32)
BENDS = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * (1 + np.vectorize(erf)(x / np.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
    "silu": lambda x: x / (1 + np.exp(-x)),
}


@cache
def language_bundle(name: str) -> Bundle:
    bundle = new_bundle(Config(model=CATALOGUE[name]), TokenizerPair(TOKENIZER, TOKENIZER))
    randomise(bundle.model, seed=3).eval()
    return bundle


@cache
def trace_for(name: str) -> Trace:
    if name in WRITERS:
        return TextGenerator(language_bundle(name)).trace("ba be bi bo")
    return MaskFiller(language_bundle(name)).trace("ba ___ bi bo") if name in READERS else trace_of(name)


def insides(trace: Trace, **written: int) -> Iterator[AttentionArithmetic]:
    for layer in range(len(trace.layers)):
        for query in range(len(trace.labels(layer)[0])):
            yield trace.arithmetic(layer, 0, query, **written)


def block_in(inside: AttentionArithmetic) -> BlockArithmetic:
    assert inside.block is not None
    return inside.block


def test_models_cover_norms_activations_and_positions() -> None:
    blocks = [block_in(one) for name in [*TRANSFORMERS, *WRITERS, *READERS] for one in insides(trace_for(name))]
    assert {block.sublayers[0].pre_norm is None for block in blocks} == {True, False}
    assert {block.feed_forward.activation for block in blocks} == set(BENDS)
    assert {block.embedding.position is None for block in blocks if block.embedding} == {True, False}
    assert {block.embedding.norm is None for block in blocks if block.embedding} == {True, False}
    assert {one.kind for block in blocks for one in block.sublayers} == {
        "self-attention",
        "cross-attention",
        "recurrence",
        "feed-forward",
    }


@pytest.mark.parametrize("name", [*TRANSFORMERS, *WRITERS, *READERS])
def test_block_numbers_equal_their_recomputation_in_float64(name: str) -> None:
    for inside in insides(trace_for(name), fc1_row=2, fc2_row=1):
        block = block_in(inside)
        if (embedding := block.embedding) is not None:
            placed = exact(embedding.token) * embedding.scale + exact(embedding.position or 0.0)
            assert embedding.output == pytest.approx(placed, **AS_SHOWN)
        for sub in block.sublayers:
            assert sub.residual_sum == pytest.approx(exact(sub.x) + exact(sub.output), **AS_SHOWN)
        for norm in norms_of(block):
            check_norm(norm)
        check_feed_forward(block.feed_forward)


def norms_of(block: BlockArithmetic) -> list[LayerNormArithmetic]:
    norms = [block.last_norm, block.embedding and block.embedding.norm, block.head and block.head.norm]
    norms += [norm for sub in block.sublayers for norm in (sub.pre_norm, sub.post_norm)]
    return [norm for norm in norms if norm is not None]


def check_norm(norm: LayerNormArithmetic) -> None:
    x = exact(norm.x)
    mean = x.mean() if norm.is_centered else 0.0
    standard = (x - mean) / np.sqrt(((x - mean) ** 2).mean() + norm.epsilon)
    assert norm.output == pytest.approx(standard * exact(norm.gain) + exact(norm.bias), **AS_SHOWN)


def check_feed_forward(network: FeedForwardArithmetic) -> None:
    assert (network.fc1_row, network.fc2_row) == (2, 1)
    inner = exact(network.fc1_weight) @ exact(network.x) + (network.fc1_bias or 0.0)
    assert network.fc1_output[2] == pytest.approx(inner, **AS_SHOWN)
    assert network.activated == pytest.approx(BENDS[network.activation](exact(network.fc1_output)), **AS_SHOWN)
    gate = 1.0 if network.fc3_output is None else exact(network.fc3_output)
    outer = exact(network.fc2_weight) @ (exact(network.activated) * gate) + (network.fc2_bias or 0.0)
    assert network.output[1] == pytest.approx(outer, **AS_SHOWN)


@pytest.mark.parametrize("name", [*TRANSFORMERS, *WRITERS, *READERS])
def test_every_part_starts_where_the_previous_ended(name: str) -> None:
    trace = trace_for(name)
    for inside in insides(trace):
        block = block_in(inside)
        own = block.sublayers[block.attention_sublayer]
        assert inside.x == (own.pre_norm.output if own.pre_norm else own.x)
        assert inside.output == own.output
        assert block.sublayers[0].x == begin_of(trace, inside, block)
        for sub, following in zip(block.sublayers, block.sublayers[1:], strict=False):
            assert following.x == end_of(sub)
        last, network = block.sublayers[-1], block.feed_forward
        assert network.x == (last.pre_norm.output if last.pre_norm else last.x)
        assert network.output == last.output


def begin_of(trace: Trace, inside: AttentionArithmetic, block: BlockArithmetic) -> list[float]:
    if block.embedding is not None:
        return block.embedding.norm.output if block.embedding.norm else block.embedding.output
    assert block.previous_block is not None
    below = block_in(trace.arithmetic(block.previous_block, 0, inside.query_index))
    assert below.next_block is not None
    assert trace.block_of(below.next_block) is trace.block_of(trace.layers.index(inside.layer))
    return end_of(below.sublayers[-1])


def end_of(sub: object) -> list[float]:
    return sub.post_norm.output if sub.post_norm else sub.residual_sum  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_encoder_output_is_what_the_decoder_attends(name: str) -> None:
    trace = trace_for(name)
    last, cross = trace.layers_with_role("encoder-self")[-1], trace.arithmetic(trace.layers_with_role("cross")[0], 0, 0)
    for place, given in enumerate(cross.key_inputs):
        block = block_in(trace.arithmetic(last, 0, place))
        assert given == (block.last_norm.output if block.last_norm else end_of(block.sublayers[-1]))


# --- the output layer -------------------------------------------------------------------------------------------------


def check_spoken(prediction: OutputArithmetic, logits: np.ndarray, found: int | None) -> None:
    probabilities = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    best = np.argsort(-logits, kind="stable")[:10]
    assert [one.probability for one in prediction.tokens[:10]] == pytest.approx(probabilities[best], **AS_SHOWN)
    for one in prediction.tokens:
        logit = exact(one.weight) @ exact(prediction.hidden) + one.bias
        assert one.logit == pytest.approx(logit, **AS_SHOWN)
        assert one.probability == pytest.approx(np.exp(logit - prediction.log_partition), **AS_SHOWN)
    marked = [one for one in prediction.tokens if one.is_chosen]
    assert len(marked) == (found is not None)
    for one in marked:
        assert one.probability == pytest.approx(probabilities[found], **AS_SHOWN)
        assert one.rank == (probabilities > probabilities[found]).sum() + 1
    assert len(prediction.tokens) == min(10, len(logits)) + any(one.rank > 10 for one in marked)


@pytest.mark.parametrize("name", [*TRANSFORMERS[::3], "attending-additive-previous", "attending-dot-feeding"])
@torch.inference_mode()
def test_top_tokens_equal_the_model_own_logits(name: str) -> None:
    model, trace = bundle_of(name).model, trace_for(name)
    memory = model.encode(encode_source_rows([SOURCE]))
    inputs, _ = shift_right([TARGET])
    logits = model.decode(inputs.tokens, memory, model.init_state(memory)).logits[0].double().numpy()
    layer = trace.layers_with_role("cross")[-1]
    for query, found in enumerate([*TARGET, END]):
        prediction = trace.arithmetic(layer, 0, query).prediction
        assert prediction is not None
        check_spoken(prediction, logits[query], found)
        (marked,) = [one for one in prediction.tokens if one.is_chosen]
        assert np.log(marked.probability) == pytest.approx(trace.log_probabilities[query], abs=1e-4)


@pytest.mark.parametrize("name", WRITERS[:2])
@torch.inference_mode()
def test_text_generator_last_layer_predicts_next_tokens(name: str) -> None:
    model, trace = language_bundle(name).model, trace_for(name)
    row = TOKENIZER.encode("ba be bi bo")
    memory = model.encode(encode_source_rows([[]]))
    inputs, _ = shift_right([row])
    logits = model.decode(inputs.tokens, memory, model.init_state(memory)).logits[0].double().numpy()
    for query, found in enumerate([*row, END]):
        prediction = trace.arithmetic(len(trace.layers) - 1, 0, query).prediction
        assert prediction is not None
        check_spoken(prediction, logits[query], found)


@pytest.mark.parametrize("name", READERS)
@torch.inference_mode()
def test_mask_filler_last_layer_predicts_each_token(name: str) -> None:
    reader, trace = MaskFiller(language_bundle(name)), trace_for(name)
    row = reader.encode("ba ___ bi bo")
    logits = language_bundle(name).model.predict(encode_source_rows([row])).logits[0].double().numpy()
    for query, token in enumerate([*row, END]):
        prediction = trace.arithmetic(len(trace.layers) - 1, 0, query).prediction
        assert prediction is not None
        check_spoken(prediction, logits[query], None if query == 1 else token)


@pytest.mark.parametrize("name", [*TRANSFORMERS, *WRITERS, *READERS])
def test_the_output_layer_follows_the_last_block_alone(name: str) -> None:
    trace = trace_for(name)
    side = "source" if name in READERS else "target"
    for inside in insides(trace):
        is_last = block_in(inside).is_last and inside.layer.queries == side
        assert (inside.prediction is not None) == is_last


# --- and the rest ----------------------------------------------------------------------------------------------------


def test_an_rnn_has_no_block_around_its_attention() -> None:
    inside = trace_of("attending-dot-current").arithmetic(0, 0, 0)
    assert inside.block is None
    assert inside.prediction is not None


@pytest.mark.parametrize("written", [{"fc1_row": 10_000}, {"fc2_row": -1}])
def test_missing_feed_forward_unit_is_refused(written: dict[str, int]) -> None:
    with pytest.raises(RegardError, match=f"no {next(iter(written))} "):
        trace_for(TRANSFORMERS[0]).arithmetic(0, 0, 0, **written)


@pytest.mark.parametrize("name", [TRANSFORMERS[0], READERS[0]])
def test_block_arithmetic_round_trips_through_json(name: str) -> None:
    inside = trace_for(name).arithmetic(len(trace_for(name).layers) - 1, 0, 1)
    assert msgspec.json.decode(msgspec.json.encode(inside), type=AttentionArithmetic) == inside
