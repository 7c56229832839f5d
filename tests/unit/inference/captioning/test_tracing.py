from pathlib import Path

import numpy as np
import pytest

from regard.errors import RegardError
from regard.inference.captioner import Captioner
from regard.tracing.image_maps import image_attention, image_maps, partial_word_maps, word_image_maps

CAPTION = "Three yellow triangles below a green diamond"


@pytest.mark.parametrize(
    ("kind", "uses"), [("attending", ["image-cross"]), ("transformer", ["image-self", "decoder-self", "image-cross"])]
)
def test_a_trace_has_every_attention_of_a_captioner(
    captioners: dict[str, Captioner], pictures: list[Path], kind: str, uses: list[str]
) -> None:
    captioner = captioners[kind]
    tokens = captioner.bundle.tokenizers.target.encode(CAPTION)
    trace = captioner.trace(pictures[0], tokens)
    assert [layer.role for layer in trace.layers] == uses
    assert trace.text == CAPTION
    assert len(trace.log_probabilities) == len(tokens) + 1
    assert trace.source.pieces[:2] == ["1,1", "1,2"]
    for index, layer in enumerate(trace.layers):
        weights = trace.weights(index)
        assert weights.shape == tuple(map(len, trace.labels(index)))
        assert weights.sum(axis=1) == pytest.approx(1.0, abs=1e-5)
        inside = trace.arithmetic(index, 0, 1)
        assert inside.weights == pytest.approx(trace.weights(index, 0)[1].tolist())
        assert len(inside.key_labels) == len(inside.scores) == weights.shape[1]
        assert layer.deviation < 1e-5
    recorded = image_attention(captioner.bundle, captioner.to_batch([pictures[0]]), tokens)
    for index, layer in enumerate(trace.layers):
        np.testing.assert_allclose(recorded[layer.name].mean(axis=0), trace.weights(index), atol=1e-6)


@pytest.mark.parametrize("kind", ["attending", "transformer"])
def test_each_word_has_a_map_over_the_grid(captioners: dict[str, Captioner], pictures: list[Path], kind: str) -> None:
    captioner = captioners[kind]
    trace = captioner.trace(pictures[1], captioner.bundle.tokenizers.target.encode(CAPTION))
    words = word_image_maps(trace)
    assert [word for word, _ in words] == CAPTION.split()
    assert all(weights.shape == (4, 4) and weights.sum() == pytest.approx(1.0, abs=1e-5) for _, weights in words)
    looks = trace.layers_with_role("image-cross")[0]
    np.testing.assert_allclose(words[2][1], trace.weights(looks)[2].reshape(4, 4))  # row 2 says the third word
    np.testing.assert_allclose(image_maps(trace, 0, 0)[-1], trace.weights(looks, 0)[-1].reshape(4, 4))


def test_vision_transformer_rollout_rows_sum_to_one(captioners: dict[str, Captioner], pictures: list[Path]) -> None:
    captioner = captioners["transformer"]
    rolled = captioner.trace(pictures[0], captioner.bundle.tokenizers.target.encode(CAPTION)).rollout()
    assert rolled.shape == (16, 16)
    assert rolled.sum(axis=1) == pytest.approx(1.0, abs=1e-5)


def test_model_without_attention_has_no_maps(captioners: dict[str, Captioner], pictures: list[Path]) -> None:
    captioner = captioners["recurrent"]
    trace = captioner.trace(pictures[0], captioner.bundle.tokenizers.target.encode(CAPTION))
    assert trace.layers == []
    with pytest.raises(RegardError, match="has no maps"):
        word_image_maps(trace)
    attending = captioners["attending"]
    trace = attending.trace(pictures[0], attending.bundle.tokenizers.target.encode(CAPTION))
    with pytest.raises(RegardError, match="there is no layer 1; 1 attend"):
        image_maps(trace, layer=1)


@pytest.mark.parametrize("kind", ["attending", "transformer"])
def test_attention_of_a_prefix_equals_the_final_one(
    captioners: dict[str, Captioner], pictures: list[Path], kind: str
) -> None:
    captioner = captioners[kind]
    tokens = captioner.bundle.tokenizers.target.encode(CAPTION)
    whole = word_image_maps(captioner.trace(pictures[0], tokens), layer=0)
    grid = captioner.encode_image(pictures[0])
    for length in range(1, len(tokens) + 1):
        sofar = partial_word_maps(captioner.bundle, grid, tokens[:length])
        assert [word for word, _ in sofar] == [word for word, _ in whole[:length]]
        for (_, found), (_, expected) in zip(sofar, whole, strict=False):
            np.testing.assert_allclose(found, expected, atol=1e-6)
