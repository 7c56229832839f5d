"""What stands around each attention, recomputed in float64; each part begins where one has ended."""

from collections.abc import Iterator
from functools import cache
from math import erf

import msgspec
import numpy as np
import pytest
import torch

from regard.batch import shifted, source_of
from regard.bundle import Bundle, new_bundle
from regard.config import Config
from regard.errors import RegardError
from regard.language.reader import Reader
from regard.language.writer import Writer
from regard.symbols import END
from regard.tokens import Tokenizer, Tokenizers
from regard.translation.around import BlockSteps, FeedForwardSteps, NormSteps
from regard.translation.inside import Inside
from regard.translation.likeliest import OutputSteps
from regard.translation.trace import Trace
from tests.laws.small_models import CATALOGUE, LOOKERS, randomise
from tests.translation.test_trace import AS_SHOWN, SOURCE, TARGET, bundle_of, exact, trace_of

TRANSFORMERS = [name for name in LOOKERS if name.startswith("transformer")]
WRITERS = [name for name in CATALOGUE if name.startswith("decoder-only")]
READERS = [name for name in CATALOGUE if name.startswith("encoder-only") and name.endswith("tokens")]
WORDS = "ba be bi bo bu da de di do du ga ge gi go gu"  # more than ten, so that what was said may not be among them
TOKENIZER = Tokenizer.train([WORDS], kind="word", size=32)
BENDS = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * (1 + np.vectorize(erf)(x / np.sqrt(2))) / 2,
    "silu": lambda x: x / (1 + np.exp(-x)),
}


@cache
def language_bundle(name: str) -> Bundle:
    bundle = new_bundle(Config(model=CATALOGUE[name]), Tokenizers(TOKENIZER, TOKENIZER))
    randomise(bundle.model, seed=3).eval()
    return bundle


@cache
def trace_for(name: str) -> Trace:
    if name in WRITERS:
        return Writer(language_bundle(name)).trace("ba be bi bo")
    return Reader(language_bundle(name)).trace("ba ___ bi bo") if name in READERS else trace_of(name)


def insides(trace: Trace, **written: int) -> Iterator[Inside]:
    for layer in range(len(trace.layers)):
        for query in range(len(trace.labels(layer)[0])):
            yield trace.inside(layer, 0, query, **written)


def block_in(inside: Inside) -> BlockSteps:
    assert inside.block is not None
    return inside.block


def test_the_models_here_have_both_norms_every_activation_and_every_way_to_tell_positions() -> None:
    blocks = [block_in(one) for name in [*TRANSFORMERS, *WRITERS, *READERS] for one in insides(trace_for(name))]
    assert {block.sub_layers[0].pre_norm is None for block in blocks} == {True, False}
    assert {block.feed_forward.activation for block in blocks} == set(BENDS)
    assert {block.embedding.position is None for block in blocks if block.embedding} == {True, False}
    assert {block.embedding.norm is None for block in blocks if block.embedding} == {True, False}
    assert {one.kind for block in blocks for one in block.sub_layers} == {
        "self-attention",
        "cross-attention",
        "recurrence",
        "feed-forward",
    }


@pytest.mark.parametrize("name", [*TRANSFORMERS, *WRITERS, *READERS])
def test_every_number_around_an_attention_equals_its_recomputation_in_float64(name: str) -> None:
    for inside in insides(trace_for(name), inner=2, outer=1):
        block = block_in(inside)
        if (embedding := block.embedding) is not None:
            placed = exact(embedding.token) * embedding.scale + exact(embedding.position or 0.0)
            assert embedding.output == pytest.approx(placed, **AS_SHOWN)
        for sub in block.sub_layers:
            assert sub.added == pytest.approx(exact(sub.x) + exact(sub.found), **AS_SHOWN)
        for norm in norms_of(block):
            check_norm(norm)
        check_feed_forward(block.feed_forward)


def norms_of(block: BlockSteps) -> list[NormSteps]:
    norms = [block.last_norm, block.embedding and block.embedding.norm, block.head and block.head.norm]
    norms += [norm for sub in block.sub_layers for norm in (sub.pre_norm, sub.post_norm)]
    return [norm for norm in norms if norm is not None]


def check_norm(norm: NormSteps) -> None:
    x = exact(norm.x)
    standard = (x - x.mean()) / np.sqrt(x.var() + norm.epsilon)
    assert norm.output == pytest.approx(standard * exact(norm.gain) + exact(norm.bias), **AS_SHOWN)


def check_feed_forward(network: FeedForwardSteps) -> None:
    assert (network.inner_number, network.outer_number) == (2, 1)
    inner = exact(network.inner_weight) @ exact(network.x) + network.inner_bias
    assert network.inner[2] == pytest.approx(inner, **AS_SHOWN)
    assert network.activated == pytest.approx(BENDS[network.activation](exact(network.inner)), **AS_SHOWN)
    outer = exact(network.outer_weight) @ exact(network.activated) + network.outer_bias
    assert network.output[1] == pytest.approx(outer, **AS_SHOWN)


@pytest.mark.parametrize("name", [*TRANSFORMERS, *WRITERS, *READERS])
def test_every_part_begins_where_the_one_before_has_ended(name: str) -> None:
    trace = trace_for(name)
    for inside in insides(trace):
        block = block_in(inside)
        own = block.sub_layers[block.own]
        assert inside.x == (own.pre_norm.output if own.pre_norm else own.x)
        assert inside.output == own.found
        assert block.sub_layers[0].x == begin_of(trace, inside, block)
        for sub, following in zip(block.sub_layers, block.sub_layers[1:], strict=False):
            assert following.x == end_of(sub)
        last, network = block.sub_layers[-1], block.feed_forward
        assert network.x == (last.pre_norm.output if last.pre_norm else last.x)
        assert network.output == last.found


def begin_of(trace: Trace, inside: Inside, block: BlockSteps) -> list[float]:
    if block.embedding is not None:
        return block.embedding.norm.output if block.embedding.norm else block.embedding.output
    assert block.below is not None
    below = block_in(trace.inside(block.below, 0, inside.query_index))
    assert below.above is not None
    assert trace.block_of(below.above) is trace.block_of(trace.layers.index(inside.layer))
    return end_of(below.sub_layers[-1])


def end_of(sub: object) -> list[float]:
    return sub.post_norm.output if sub.post_norm else sub.added  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_the_encoders_end_is_what_the_decoder_looks_at(name: str) -> None:
    trace = trace_for(name)
    last, cross = trace.of_use("encoder-self")[-1], trace.inside(trace.of_use("cross")[0], 0, 0)
    for place, given in enumerate(cross.key_inputs):
        block = block_in(trace.inside(last, 0, place))
        assert given == (block.last_norm.output if block.last_norm else end_of(block.sub_layers[-1]))


# --- what is said ----------------------------------------------------------------------------------------------------


def check_spoken(spoken: OutputSteps, logits: np.ndarray, said: int | None) -> None:
    probabilities = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    best = np.argsort(-logits, kind="stable")[:10]
    assert [one.probability for one in spoken.tokens[:10]] == pytest.approx(probabilities[best], **AS_SHOWN)
    for one in spoken.tokens:
        logit = exact(one.weight) @ exact(spoken.hidden) + one.bias
        assert one.logit == pytest.approx(logit, **AS_SHOWN)
        assert one.probability == pytest.approx(np.exp(logit - spoken.log_total), **AS_SHOWN)
    marked = [one for one in spoken.tokens if one.is_said]
    assert len(marked) == (said is not None)
    for one in marked:
        assert one.probability == pytest.approx(probabilities[said], **AS_SHOWN)
        assert one.rank == (probabilities > probabilities[said]).sum() + 1
    assert len(spoken.tokens) == min(10, len(logits)) + any(one.rank > 10 for one in marked)


@pytest.mark.parametrize("name", [*TRANSFORMERS[::3], "attending-additive-previous", "attending-dot-feeding"])
@torch.inference_mode()
def test_the_likeliest_tokens_are_those_of_the_models_own_logits(name: str) -> None:
    model, trace = bundle_of(name).model, trace_for(name)
    memory = model.encode(source_of([SOURCE]))
    inputs, _ = shifted([TARGET])
    logits = model.decode(inputs.tokens, memory, model.start(memory)).logits[0].double().numpy()
    layer = trace.of_use("cross")[-1]
    for query, said in enumerate([*TARGET, END]):
        spoken = trace.inside(layer, 0, query).spoken
        assert spoken is not None
        check_spoken(spoken, logits[query], said)
        (marked,) = [one for one in spoken.tokens if one.is_said]
        assert np.log(marked.probability) == pytest.approx(trace.log_probabilities[query], abs=1e-4)


@pytest.mark.parametrize("name", WRITERS[:2])
@torch.inference_mode()
def test_a_writers_last_layer_says_what_may_come_next(name: str) -> None:
    model, trace = language_bundle(name).model, trace_for(name)
    row = TOKENIZER.encode("ba be bi bo")
    memory = model.encode(source_of([[]]))
    inputs, _ = shifted([row])
    logits = model.decode(inputs.tokens, memory, model.start(memory)).logits[0].double().numpy()
    for query, said in enumerate([*row, END]):
        spoken = trace.inside(len(trace.layers) - 1, 0, query).spoken
        assert spoken is not None
        check_spoken(spoken, logits[query], said)


@pytest.mark.parametrize("name", READERS)
@torch.inference_mode()
def test_a_readers_last_layer_names_each_place_and_a_blank_has_no_token_of_its_own(name: str) -> None:
    reader, trace = Reader(language_bundle(name)), trace_for(name)
    row = reader.row("ba ___ bi bo")
    logits = language_bundle(name).model.read(source_of([row])).logits[0].double().numpy()
    for query, token in enumerate([*row, END]):
        spoken = trace.inside(len(trace.layers) - 1, 0, query).spoken
        assert spoken is not None
        check_spoken(spoken, logits[query], None if query == 1 else token)


@pytest.mark.parametrize("name", [*TRANSFORMERS, *WRITERS, *READERS])
def test_the_output_layer_follows_the_last_block_alone(name: str) -> None:
    trace = trace_for(name)
    side = "source" if name in READERS else "target"
    for inside in insides(trace):
        is_last = block_in(inside).is_last and inside.layer.queries == side
        assert (inside.spoken is not None) == is_last


# --- and the rest ----------------------------------------------------------------------------------------------------


def test_an_rnn_has_no_block_around_its_attention() -> None:
    inside = trace_of("attending-dot-current").inside(0, 0, 0)
    assert inside.block is None
    assert inside.spoken is not None


@pytest.mark.parametrize("written", [{"inner": 10_000}, {"outer": -1}])
def test_a_number_that_the_feed_forward_network_does_not_have_is_refused(written: dict[str, int]) -> None:
    with pytest.raises(RegardError, match=f"no {next(iter(written))} number"):
        trace_for(TRANSFORMERS[0]).inside(0, 0, 0, **written)


@pytest.mark.parametrize("name", [TRANSFORMERS[0], READERS[0]])
def test_what_stands_around_goes_through_json_and_comes_back_the_same(name: str) -> None:
    inside = trace_for(name).inside(len(trace_for(name).layers) - 1, 0, 1)
    assert msgspec.json.decode(msgspec.json.encode(inside), type=Inside) == inside
