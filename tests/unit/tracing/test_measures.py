"""Measures of a trace: parts that sum to the vector, batches that equal single passes, and the lens's last layer."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.nn.functional import cosine_similarity

from regard.batch import Images
from regard.decoding.loop import rescore
from regard.errors import RegardError
from regard.inference.mask_filler import MaskFiller
from regard.inference.text_generator import TextGenerator
from regard.tracing.alignment import HeadSelection, trace_alignment
from regard.tracing.interventions import intervene
from regard.tracing.pass_input import PassInput
from regard.tracing.token_contributions import attention_parts, divided_as_norm, norm_weights, read_values
from regard.tracing.trace import Trace, trace_texts
from regard.tracing.value_zeroing import value_zeroing
from tests.support.small_models import CATALOGUE, LOOKERS, SEERS, Small
from tests.support.traces import TARGET, TEXT, bundle_of, caption_trace, trace_of

TRANSFORMERS = [name for name in LOOKERS if name.startswith("transformer")]
DECODERS = [name for name in CATALOGUE if name.startswith("decoder-only")]
WITH_SELF_ATTENTION = [name for name in TRANSFORMERS if "ssru" not in name]
MASKED = [name for name in CATALOGUE if name.startswith("encoder-only") and name.endswith("tokens")]
CLOSE = {"abs": 2e-4, "rel": 2e-4}


# --- decompositions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOOKERS)
def test_parts_of_the_keys_sum_to_the_output(name: str) -> None:
    trace = trace_of(name)
    for arrays in trace.arrays:
        linear = arrays.projections.get("output")
        bias = 0.0 if linear is None or linear.bias is None else linear.bias
        for query in range(len(arrays.output)):
            assert attention_parts(arrays, query).sum(axis=0) + bias == pytest.approx(arrays.output[query], **CLOSE)


@pytest.mark.parametrize("name", WITH_SELF_ATTENTION)
def test_parts_of_a_sublayer_sum_to_its_output(name: str) -> None:
    trace = trace_of(name)
    for block in trace.blocks:
        for sublayer in block.tree["sublayers"][:-1]:
            arrays, norm = trace.arrays[sublayer["attention"]], sublayer["post_norm"]
            linear = arrays.projections["output"]
            bias = np.zeros((1, len(linear.weight)), np.float32) if linear.bias is None else linear.bias[None]
            for query, total in enumerate(sublayer["residual_sum"].array):
                own = sublayer["x"].array[query : query + 1]
                parts = np.concatenate([own, attention_parts(arrays, query), bias])
                if norm is None:
                    assert parts.sum(axis=0) == pytest.approx(total, **CLOSE)
                else:
                    divided = divided_as_norm(parts, total, norm).sum(axis=0) + norm["bias"]
                    assert divided == pytest.approx(norm["output"].array[query], **CLOSE)


@pytest.mark.parametrize("name", LOOKERS)
def test_norm_weights_are_norms_of_what_is_read(name: str) -> None:
    arrays = trace_of(name).arrays[-1]
    read, weights = read_values(arrays).astype(float), arrays.weights.astype(float)
    by_hand = weights[0] * np.linalg.norm(read[0], axis=-1)
    assert norm_weights(arrays, 0) == pytest.approx(by_hand / by_hand.sum(-1, keepdims=True), **CLOSE)
    together = np.linalg.norm(np.einsum("hqk,hkw->qkw", weights, read), axis=-1)
    assert norm_weights(arrays) == pytest.approx(together / together.sum(-1, keepdims=True), **CLOSE)


@pytest.mark.parametrize("name", WITH_SELF_ATTENTION)
def test_source_and_prefix_share_every_prediction(name: str) -> None:
    by_source, by_prefix = trace_of(name).contributions()
    assert by_source.sum(axis=1) + by_prefix.sum(axis=1) == pytest.approx(1.0)
    assert (by_source >= 0).all()
    assert (np.triu(by_prefix, 1) == 0).all()  # nothing comes from the future
    with intervene(bundle_of(name, f"{TEXT} {TARGET}"), "cross.*.*=zero"):
        blind = trace_texts(bundle_of(name, f"{TEXT} {TARGET}"), TEXT, TARGET)
    norms = [sublayer["post_norm"] for block in blind.blocks for sublayer in block.tree["sublayers"]]
    if norms[0] is None:
        assert blind.contributions().by_source.sum() < by_source.sum()


def test_alignment_by_contributions_is_that_of_the_source() -> None:
    trace = trace_of(WITH_SELF_ATTENTION[0])
    for at, first in (("output", 0), ("input", 1)):
        aligned = trace_alignment(trace, HeadSelection(at=at, measure="contributions"))
        by_source = trace.contributions().by_source[first : first + len(aligned.target_words), :-1]
        assert aligned.weights == pytest.approx(by_source)  # each word is one piece


@pytest.mark.parametrize("name", [name for name in LOOKERS if name not in WITH_SELF_ATTENTION])
def test_contributions_need_self_attention(name: str) -> None:
    with pytest.raises(RegardError, match="self-attention"):
        trace_of(name).contributions()


# --- passes that run again -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOOKERS)
def test_head_importance_equals_one_pass_per_head(name: str) -> None:
    trace, bundle = trace_of(name), bundle_of(name, f"{TEXT} {TARGET}")
    assert trace.passed is not None
    target = trace.passed.target or []
    before = np.array(trace.log_probabilities)
    for position in (1, None):
        importance = trace.head_importance(position)
        for layer in importance.layers:
            for head, change in enumerate(layer.changes):
                with intervene(bundle, f"{layer.role}.{layer.layer + 1}.{head + 1}=zero"):
                    after = rescore(bundle.model, trace.passed.source, [target], sentences=[0])[0].numpy()
                expected = (after - before)[slice(None) if position is None else position].sum()
                assert change == pytest.approx(expected, **CLOSE)


@pytest.mark.parametrize("action", ["zero", "uniform"])
def test_importance_under_an_intervention_starts_from_it(action: str) -> None:
    bundle = bundle_of(TRANSFORMERS[0])
    with intervene(bundle, "cross.1.1=uniform"):
        changed = trace_texts(bundle, TEXT, TARGET)
    importance = changed.head_importance(0, action)  # type: ignore[arg-type]
    assert importance.log_probability == pytest.approx(changed.log_probabilities[0], **CLOSE)
    cross = next(layer for layer in importance.layers if layer.role == "cross" and layer.layer == 0)
    assert (cross.changes[0] == pytest.approx(0.0, abs=1e-5)) == (action == "uniform")  # it is uniform already


@pytest.mark.parametrize("name", [TRANSFORMERS[0], TRANSFORMERS[-1], LOOKERS[0]])
def test_value_zeroing_equals_one_pass_per_key(name: str) -> None:
    trace, bundle = trace_of(name), bundle_of(name, f"{TEXT} {TARGET}")
    for layer, info in enumerate(trace.layers):
        base, moved = layer_output(trace, layer), []
        for key in range(trace.weights(layer).shape[1]):
            with intervene(bundle, f"{info.role}.{info.layer + 1}.*@*:{key + 1}=0,keep"):
                changed = layer_output(trace_texts(bundle, TEXT, TARGET), layer)
            lengths = np.linalg.norm(changed, axis=-1) * np.linalg.norm(base, axis=-1)
            moved.append(1 - (changed * base).sum(axis=-1) / lengths)
        by_hand = np.stack(moved, axis=1)
        measured = trace.value_zeroing(layer)
        assert measured == pytest.approx(by_hand / by_hand.sum(axis=1, keepdims=True), abs=1e-3)
        assert (measured[trace.weights(layer) == 0] < 1e-4).all()  # what is not read does not matter


@pytest.mark.parametrize("name", [name for name in SEERS if getattr(CATALOGUE[name].image_encoder, "heads", 0)])  # type: ignore[union-attr]
@torch.inference_mode()
def test_value_zeroing_of_a_grid_is_by_cell(name: str) -> None:
    small = Small(name, torch.float32)
    model, images = small.build(1), Images(small.pictures(1).pixels[:1])
    layer, keys = "image_encoder.network.attention", 6
    outputs: list[torch.Tensor] = []
    handle = model.get_submodule(layer).register_forward_hook(lambda *call: outputs.append(call[2].flatten(2)[0].T))
    for changes in ([], *([f"image-self.1.*@*:{key}=0,keep"] for key in range(1, keys + 1))):
        with intervene(model, *changes):
            model(images)
    handle.remove()
    base, *changed = outputs
    by_hand = torch.stack([1 - cosine_similarity(one, base, dim=-1) for one in changed], dim=1)
    passed = PassInput(model, images, None, None, chosen_class=0)
    measured = value_zeroing(passed, f"{layer}.self_attention", keys)
    assert measured == pytest.approx((by_hand / by_hand.sum(dim=1, keepdim=True)).numpy(), abs=1e-4)


@pytest.mark.parametrize("name", [*TRANSFORMERS, *DECODERS])
def test_the_last_lens_is_the_prediction(name: str) -> None:
    trace = language_trace(name) if name in DECODERS else trace_of(name)
    assert trace.prediction is not None
    lens = trace.logit_lens(1)
    assert len(lens) == len([block for block in trace.blocks if block.name.startswith("decoder")])
    last, predicted = lens[-1][1], trace.prediction.candidates[1]
    assert [one.token for one in last] == [one.token for one in predicted]
    assert [one.probability for one in last] == pytest.approx([one.probability for one in predicted], **CLOSE)


@pytest.mark.parametrize("name", MASKED)
def test_a_masked_model_has_importance_and_lens(name: str) -> None:
    filler = MaskFiller(bundle_of(name))
    trace = filler.trace("AI ___ the world")
    importance = trace.head_importance(1)
    assert trace.prediction is not None
    best = trace.prediction.candidates[1][0]
    assert importance.log_probability == pytest.approx(np.log(best.probability), **CLOSE)
    assert any(abs(change) > 1e-6 for layer in importance.layers for change in layer.changes)
    assert [one.token for one in trace.logit_lens(1)[-1][1]] == [one.token for one in trace.prediction.candidates[1]]


def test_a_caption_has_every_measure() -> None:
    trace = caption_trace()
    heads = sum(layer.heads for layer in trace.layers)
    assert sum(len(layer.changes) for layer in trace.head_importance(0).layers) == heads
    assert sum(map(np.sum, trace.contributions())) == pytest.approx(len(trace.target.pieces), rel=1e-5)
    assert trace.value_zeroing(len(trace.layers) - 1).shape[1] == len(trace.source.pieces)


def test_a_position_beyond_the_target_is_an_error() -> None:
    with pytest.raises(RegardError, match="position 99"):
        trace_of(TRANSFORMERS[0]).head_importance(99)


def layer_output(trace: Trace, layer: int) -> NDArray[np.float64]:
    """The output of an attention's block at every query, or the decoder's output for an RNN."""
    block = trace.block_of(layer)
    assert trace.prediction is not None
    if block is None:
        return trace.prediction.hidden.astype(float)
    last = block.tree["sublayers"][-1]
    return np.asarray((last["residual_sum"] if last["post_norm"] is None else last["post_norm"]["output"]).array, float)


def language_trace(name: str) -> Trace:
    """The trace of a text by a language model."""
    with torch.inference_mode():
        return TextGenerator(bundle_of(name)).trace(TEXT)
