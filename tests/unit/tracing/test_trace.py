"""Every number of a trace recomputed in float64, for every model that attends; maps equal a stepwise decode's."""

import sys
from contextlib import ExitStack
from functools import cache
from threading import Barrier, Thread

import msgspec
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard.attention.hooks import record_attention
from regard.attention.multi_head import MultiHeadAttention
from regard.attention.scores import SCORES
from regard.batch import encode_source_rows
from regard.bundle import Bundle, new_bundle
from regard.config import Config
from regard.errors import RegardError
from regard.inference.translator import Translator
from regard.models.interface import role_of
from regard.special_tokens import BEGIN, END
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair
from regard.tracing.activations import record_activations
from regard.tracing.arithmetic import AttentionArithmetic
from regard.tracing.capture import _fused_kernel_deviation
from regard.tracing.trace import MAX_TRACE_TOKENS, TokenSequence, Trace, TraceSummary, trace_pair, trace_texts
from tests.support import attention_loops
from tests.support.small_models import CATALOGUE, LOOKERS, TRANSLATORS, randomise

TOKENIZER = Tokenizer.train(["ba be bi bo bu da de di"], model_type="word", vocab_size=32)
SOURCE, TARGET = TOKENIZER.encode("ba be bi bo bu"), TOKENIZER.encode("da de di")
TRANSFORMER = "transformer-pre-attention-sinusoidal"
AS_SHOWN = {"abs": 1e-5, "rel": 1e-5}


@cache
def bundle_of(name: str) -> Bundle:
    bundle = new_bundle(Config(model=CATALOGUE[name]), TokenizerPair(TOKENIZER, TOKENIZER))
    randomise(bundle.model, seed=3).eval()
    return bundle


@cache
def trace_of(name: str) -> Trace:
    return trace_pair(bundle_of(name), SOURCE, TARGET)


def test_models_cover_scores_norms_rotary_and_recurrent() -> None:
    layers = [layer for name in LOOKERS for layer in trace_of(name).layers]
    assert {layer.score for layer in layers} == set(SCORES)
    assert {layer.role for layer in layers} == {"encoder-self", "decoder-self", "cross"}
    assert {one.is_rotary for name in LOOKERS for one in trace_of(name).arrays} == {True, False}
    assert {one.position_bias is None for name in LOOKERS for one in trace_of(name).arrays} == {True, False}
    assert any("ssru" in name for name in LOOKERS)


# --- the numbers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOOKERS)
def test_every_number_inside_equals_its_recomputation_in_float64(name: str) -> None:
    trace = trace_of(name)
    for index, layer in enumerate(trace.layers):
        for query in range(len(trace.labels(index)[0])):
            heads = [trace.arithmetic(index, head, query) for head in range(layer.heads)]
            for inside in heads:
                check_projections(inside)
                check_scores(inside)
                check_weights(inside, sees_end=getattr(CATALOGUE[name], "source_end", True))
            check_output(heads)


def check_projections(inside: AttentionArithmetic) -> None:
    if inside.query_weight is None:  # an RNN's attention: the decoder's state asks, the encoder's states answer
        assert inside.query == inside.x
        assert inside.keys == inside.values == inside.key_inputs
        return
    queries = exact([inside.x]) @ exact(inside.query_weight).T + bias(inside.query_bias)
    keys = exact(inside.key_inputs) @ exact(inside.key_weight).T + bias(inside.key_bias)
    if inside.is_rotary:
        queries, keys = turned(queries, [inside.query_index]), turned(keys, range(len(keys)))
    assert inside.query == pytest.approx(queries[0], **AS_SHOWN)
    assert exact(inside.keys) == pytest.approx(keys, **AS_SHOWN)
    values = exact(inside.key_inputs) @ exact(inside.value_weight).T + bias(inside.value_bias)
    assert exact(inside.values) == pytest.approx(values, **AS_SHOWN)


def check_scores(inside: AttentionArithmetic) -> None:
    query, keys = exact(inside.query), exact(inside.keys)
    parameters = {
        f"score.{name}": rows[0] if len(rows) == 1 else rows for name, rows in inside.score_parameters.items()
    }
    score = attention_loops.SCORES[inside.layer.score](parameters)
    scores = [score(query.tolist(), key) for key in keys.tolist()]
    if inside.position_bias is not None:
        scores = exact(scores) + exact(inside.position_bias)
    assert inside.scale == SCORES[inside.layer.score].scale(len(query))
    assert inside.scores == pytest.approx(scores, **AS_SHOWN)


def check_weights(inside: AttentionArithmetic, *, sees_end: bool) -> None:
    visible = np.array(inside.visible)
    if inside.layer.role == "decoder-self":
        assert inside.visible == [place <= inside.query_index for place in range(len(visible))]
    else:
        assert visible[:-1].all()
        assert visible[-1] == sees_end
    raised = np.exp(exact(inside.scores) - max(inside.scores)) * visible
    weights = raised / raised.sum()
    assert inside.weights == pytest.approx(weights, **AS_SHOWN)
    assert inside.context == pytest.approx(weights @ exact(inside.values), **AS_SHOWN)


def check_output(heads: list[AttentionArithmetic]) -> None:
    first = heads[0]
    if first.output_weight is None:
        assert first.output == first.context
        return
    parts = [exact(one.output_weight) @ exact(one.context) for one in heads]
    assert first.output == pytest.approx(sum(parts) + bias(first.output_bias), **AS_SHOWN)


def bias(numbers: object) -> NDArray[np.float64] | float:
    return 0.0 if numbers is None else exact(numbers)


def exact(numbers: object) -> NDArray[np.float64]:
    return np.array(numbers, dtype=np.float64)


def turned(rows: NDArray[np.float64], positions: object) -> NDArray[np.float64]:
    """Entries i and i + D/2 turned together by position / 10000^(2i / D)."""
    half = rows.shape[1] // 2
    angle = exact(positions)[:, None] / 10_000 ** (np.arange(half) * 2 / rows.shape[1])
    return np.concatenate(
        [
            rows[:, :half] * np.cos(angle) - rows[:, half:] * np.sin(angle),
            rows[:, :half] * np.sin(angle) + rows[:, half:] * np.cos(angle),
        ],
        axis=1,
    )


# --- the maps --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOOKERS)
@torch.inference_mode()
def test_output_maps_equal_those_of_its_decoding(name: str) -> None:
    bundle, found = bundle_of(name), [BEGIN]
    model = bundle.model
    with record_attention(model) as recording:
        memory = model.encode(encode_source_rows([SOURCE]))
        state = model.init_state(memory)
        while len(found) < 7 and found[-1] != END:
            decoded = model.decode(torch.tensor([found[-1:]]), memory, state)
            state = decoded.state
            found.append(int(decoded.logits[0, -1].argmax()))
    read = found[:-1]
    trace = trace_pair(bundle, SOURCE, read[1:])
    assert [layer.name for layer in trace.layers] == list(recording.layers)
    for index, layer in enumerate(trace.layers):
        stepwise = recording.layers[layer.name]["weights"][0].numpy()
        assert trace.arrays[index].weights == pytest.approx(stepwise, abs=1e-5)
        shown = np.stack([trace.weights(index, head) for head in range(layer.heads)])
        assert shown == pytest.approx(stepwise, abs=1e-5)
        assert trace.weights(index, None) == pytest.approx(stepwise.mean(axis=0), abs=1e-5)


@pytest.mark.parametrize("name", LOOKERS)
def test_recorded_weights_equal_the_fused_kernel_nearly(name: str) -> None:
    for layer in trace_of(name).layers:
        assert layer.deviation <= 2e-6
        if name.startswith("attending"):
            assert layer.deviation == 0.0


def test_reference_kernel_is_the_fused_one() -> None:
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):  # an error where another one would have to answer
        trace = trace_pair(bundle_of(TRANSFORMER), SOURCE, TARGET)
    assert trace.summary() == trace_of(TRANSFORMER).summary()


@pytest.mark.parametrize("keys", [3, 5, 11])
def test_deviation_is_the_largest_difference_anywhere(keys: int) -> None:
    torch.manual_seed(keys)
    query, key = torch.randn(1, 2, 4, 5), torch.randn(1, 2, keys, 5)
    visible = (torch.arange(keys) <= torch.arange(4)[:, None]).expand(1, 2, 4, keys)
    scores = (query @ key.transpose(-1, -2) / 5**0.5).masked_fill(~visible, -torch.inf)
    kept = {"query": query, "key": key, "visible": visible, "weights": scores.softmax(dim=-1)}
    layer = MultiHeadAttention(10, 2)
    assert _fused_kernel_deviation(layer, kept) <= 1e-6
    kept["weights"][0, 1, 2, keys - 1] += 0.25
    assert _fused_kernel_deviation(layer, kept) == pytest.approx(0.25, abs=1e-6)


def test_layers_are_numbered_within_their_use() -> None:
    layers = trace_of(TRANSFORMER).layers
    assert [(layer.role, layer.layer) for layer in layers] == [
        ("encoder-self", 0),
        ("decoder-self", 0),
        ("cross", 0),
        ("decoder-self", 1),
        ("cross", 1),
    ]
    assert [(layer.queries, layer.keys) for layer in layers[:3]] == [
        ("source", "source"),
        ("target", "target"),
        ("target", "source"),
    ]


def test_a_recurrent_decoder_has_no_self_attention() -> None:
    uses = {layer.role for layer in trace_of("transformer-pre-ssru-sinusoidal").layers}
    assert uses == {"encoder-self", "cross"}


def test_model_without_attention_traces_no_layers() -> None:
    trace = trace_of("rnn-lstm")
    assert trace.layers == []
    assert len(trace.log_probabilities) == len(TARGET) + 1
    with pytest.raises(RegardError, match="no attention at all"):
        trace.mean("cross")


@pytest.mark.parametrize("name", ["", "attention", "self_attention", "decoders.cross", "blocks.0.self_attention"])
def test_attention_with_unknown_role_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="an attention with a role"):
        role_of(name)


# --- summaries -------------------------------------------------------------------------------------------------------


def test_rollout_multiplies_the_encoders_layers_each_half_residual() -> None:
    trace = trace_of("transformer-post-attention-learned")
    first, second = (trace.weights(index).astype(np.float64) for index in trace.layers_with_role("encoder-self"))
    identity = np.eye(len(SOURCE) + 1)
    assert trace.rollout() == pytest.approx((second + identity) / 2 @ (first + identity) / 2, abs=1e-6)
    assert trace.rollout().sum(axis=1) == pytest.approx(1.0, abs=1e-6)


def test_model_without_encoder_attention_refuses_rollout() -> None:
    with pytest.raises(RegardError, match="roll out"):
        trace_of("attending-dot-current").rollout()


def test_mean_of_role_covers_layers_and_heads() -> None:
    trace = trace_of(TRANSFORMER)
    maps = np.stack([trace.arrays[index].weights for index in trace.layers_with_role("cross")])
    assert trace.mean("cross") == pytest.approx(maps.mean(axis=(0, 1)), abs=1e-6)
    assert trace.mean("cross", 2) == pytest.approx(maps[:, 2].mean(axis=0), abs=1e-6)


def test_pieces_are_put_together_to_words() -> None:
    side = TokenSequence.from_pieces(["▁un", "seen", "▁", "things", "</s>"])
    assert (side.word_pieces, side.words) == ([[0, 1], [2, 3], [4]], ["unseen", "things", "</s>"])
    trace = trace_of(TRANSFORMER)
    assert trace.source.pieces == ["▁ba", "▁be", "▁bi", "▁bo", "▁bu", "</s>"]
    assert trace.target.pieces == ["<s>", "▁da", "▁de", "▁di"]


def test_summary_round_trips_through_json() -> None:
    summary = trace_of(TRANSFORMER).summary()
    assert msgspec.json.decode(msgspec.json.encode(summary), type=TraceSummary) == summary
    inside = trace_of(TRANSFORMER).arithmetic(2, 1, 3)
    assert msgspec.json.decode(msgspec.json.encode(inside), type=AttentionArithmetic) == inside
    assert (inside.query_label, inside.key_labels) == ("▁di", summary.source.pieces)


# --- making one ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TRANSLATORS[::5])
def test_a_translation_can_carry_its_trace(name: str) -> None:
    first, blank = Translator(bundle_of(name)).translate(["ba be bi", ""], trace=True, beam_size=2)
    assert first.trace is not None
    assert first.trace.text == first.text
    *of_tokens, of_end = first.trace.log_probabilities
    worth = [sum(of_tokens), sum(of_tokens) + of_end]  # a search that reached its longest length did not say END
    assert any(first.log_probability == pytest.approx(value, abs=1e-3) for value in worth)
    assert blank.trace is None


def test_a_given_target_is_forced() -> None:
    trace = trace_texts(bundle_of(TRANSFORMER), "ba be", "di")
    assert (trace.text, trace.source.words, trace.target.words) == ("di", ["ba", "be", "</s>"], ["<s>", "di"])


def test_other_threads_are_not_in_the_trace() -> None:
    name = "attending-additive-feeding"
    bundle = bundle_of(name)
    used_elsewhere = []

    def use_in_a_thread(*_: object) -> None:
        if not used_elsewhere:
            used_elsewhere.append(True)
            other = Thread(target=Translator(bundle).translate, args=(["di de"],))
            other.start()
            other.join(timeout=60)

    handle = bundle.model.target_embedding.register_forward_hook(use_in_a_thread)
    try:
        disturbed = trace_pair(bundle, SOURCE, TARGET)
    finally:
        handle.remove()
    assert used_elsewhere
    assert disturbed.arithmetic(0, 0, 2) == trace_of(name).arithmetic(0, 0, 2)


def test_two_threads_record_the_same_modules_at_once() -> None:
    parts = [(str(number), nn.Linear(2, 2)) for number in range(300)]
    model, x = nn.Sequential(*(part for _, part in parts)), torch.ones(1, 1, 2)
    start, ready, recorded = Barrier(2, timeout=60), Barrier(2, timeout=60), list[int]()

    def record() -> None:
        with record_attention(model) as recording, ExitStack() as stack:
            start.wait()
            activations = record_activations(stack, parts, recording)
            ready.wait()
            model(x)
            recorded.append(sum(one.outputs.shape[-2] for one in activations.values()))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that torch's numbering of hooks is interrupted often
    try:
        for threads in [(Thread(target=record), Thread(target=record)) for _ in range(10)]:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(timeout=60)
    finally:
        sys.setswitchinterval(interval)
    assert recorded == [300] * 20


def test_watching_leaves_nothing_behind_in_the_model() -> None:
    model = bundle_of(TRANSFORMER).model
    trace_pair(bundle_of(TRANSFORMER), SOURCE, TARGET)
    assert not [module for module in model.modules() if module._forward_hooks]


@pytest.mark.parametrize(
    ("layer", "head", "query", "problem"),
    [(9, 0, 0, "no layer 9"), (-1, 0, 0, "no layer"), (0, 7, 0, "no head 7"), (0, 0, 99, "no query 99")],
)
def test_missing_index_is_refused(layer: int, head: int, query: int, problem: str) -> None:
    with pytest.raises(RegardError, match=problem):
        trace_of(TRANSFORMER).arithmetic(layer, head, query)


def test_too_long_pair_is_refused_with_the_limit() -> None:
    with pytest.raises(RegardError, match=f"at most {MAX_TRACE_TOKENS}"):
        trace_pair(bundle_of(TRANSFORMER), SOURCE, [7] * (MAX_TRACE_TOKENS + 1))
