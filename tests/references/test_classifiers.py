"""Classifiers with the weights of others: SigLIP's classifier of images, and torch's RNNs with attention by hand."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.testing import assert_close
from transformers import SiglipConfig, SiglipForImageClassification, SiglipVisionConfig

from regard.attention.hooks import record_attention
from regard.batch import Images, PaddedTokens
from regard.config import (
    AttentionRNNClassifierConfig,
    ImageClassifierConfig,
    RecurrentLayersConfig,
    TransformerStackConfig,
    VisionTransformerConfig,
)
from regard.layers.image_encoders import PIXEL_MEAN, PIXEL_STD, grid_positions
from regard.models.classifiers import AttentionRNNClassifier, ImageClassifier
from tests.support.copied_weights import copy_state, copy_values, randomise_weights, stack_from_siglip

WIDTH, HEADS, LAYERS, INNER, CLASSES = 12, 3, 2, 17, 7
IMAGE_SIZE, PATCH_SIZE = 12, 3
TOLERANCE = {"atol": 1e-4, "rtol": 1e-4}
ROWS = [[5, 6, 7, 8, 9], [9, 8], [6]]
TORCH_CELLS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


@torch.inference_mode()
def test_a_vision_transformer_equals_siglips_classifier() -> None:
    vision = SiglipVisionConfig(
        hidden_size=WIDTH,
        intermediate_size=INNER,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        image_size=IMAGE_SIZE,
        patch_size=PATCH_SIZE,
        hidden_act="gelu",
        layer_norm_eps=1e-5,
        vision_use_head=False,
    )
    config = SiglipConfig(vision_config=vision.to_dict(), num_labels=CLASSES, attn_implementation="eager")
    theirs = SiglipForImageClassification(config).eval()
    randomise_weights(theirs, seed=1)
    grid = IMAGE_SIZE // PATCH_SIZE
    copy_values(theirs.vision_model.embeddings.position_embedding.weight, grid_positions(grid, grid, WIDTH))

    stack = TransformerStackConfig(layers=LAYERS, width=WIDTH, heads=HEADS, ffn_width=INNER)
    encoder = VisionTransformerConfig(image_size=IMAGE_SIZE, patch_size=PATCH_SIZE, transformer=stack)
    ours = ImageClassifier(ImageClassifierConfig(image_encoder=encoder, pooling="mean", classes=CLASSES)).eval()
    copy_state(ours.image_encoder.network.patch_embedding, theirs.vision_model.embeddings.patch_embedding)
    stack_from_siglip(ours.image_encoder.network.encoder, theirs.vision_model)
    copy_state(ours.output, theirs.classifier)

    pixels = torch.rand(2, 3, IMAGE_SIZE, IMAGE_SIZE) * 255
    assert_close(ours(Images(pixels)), theirs((pixels - PIXEL_MEAN) / PIXEL_STD).logits, **TOLERANCE)


@pytest.mark.parametrize("cell", list(TORCH_CELLS))
@torch.inference_mode()
def test_an_attending_rnn_equals_torchs_with_attention(cell: str) -> None:
    config = AttentionRNNClassifierConfig(
        cell=cell,  # type: ignore[arg-type]
        embedding_width=5,
        encoder=RecurrentLayersConfig(layers=LAYERS, width=WIDTH),
        classes=CLASSES,
    )
    ours = AttentionRNNClassifier(config, vocabulary=11).eval()
    randomise_weights(ours, seed=2)
    source = PaddedTokens.from_rows(ROWS)
    with record_attention(ours) as recording:
        found = ours(source)

    theirs = TORCH_CELLS[cell](5, WIDTH // 2, LAYERS, batch_first=True, bidirectional=True)
    theirs.load_state_dict(ours.encoder.rnn.state_dict())
    embedded = ours.source_embedding(source.tokens)
    lengths = [len(row) for row in ROWS]
    states, _ = theirs(pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False))
    states, _ = pad_packed_sequence(states, batch_first=True)
    score = ours.pooling.cross_attention.score
    for row, length in enumerate(lengths):
        own = states[row, :length]
        hidden = torch.tanh(
            own @ score.project_keys.weight.T + score.project_keys.bias + score.query(ours.pooling.query)
        )
        weights = (hidden @ score.vector).softmax(dim=0)
        assert_close(found[row], ours.output(weights @ own), **TOLERANCE)
        assert_close(recording.layers["pooling.cross_attention"]["weights"][row, 0, 0, :length], weights, **TOLERANCE)
