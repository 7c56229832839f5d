"""What the laws do not cover: the gate, the penalty of doubly stochastic attention, and that a captioner learns."""

from typing import Any

import pytest
import torch
from torch.testing import assert_close

from regard.attention.hooks import record_attention
from regard.batch import Batch, ImageFeatures, Images, PaddedTokens
from regard.config import (
    AttentionRNNCaptionerConfig,
    CaptionerConfig,
    DecodingConfig,
    RecurrentLayersConfig,
    ResNetConfig,
    RNNCaptionerConfig,
    TransformerCaptionerConfig,
    TransformerStackConfig,
    VisionTransformerConfig,
)
from regard.decoding.loop import generate
from regard.models.factory import build_model
from regard.special_tokens import BEGIN, PADDING
from regard.training.objective import compute_loss

VOCABULARY = 13
EYE = ResNetConfig(width=5, blocks=2)
DECODER = RecurrentLayersConfig(width=14)
PLACES = 12


def attending(**options: Any) -> Any:
    torch.manual_seed(0)
    config = AttentionRNNCaptionerConfig(image_encoder=EYE, embedding_width=7, decoder=DECODER, dropout=0.0, **options)
    return build_model(config, target_vocabulary=VOCABULARY)


def pictures(count: int = 2) -> Images:
    return Images(torch.rand(count, 3, 12, 16, generator=torch.Generator().manual_seed(3)) * 255)


def decoded(model: Any, tokens: torch.Tensor) -> Any:
    memory = model.encode(pictures(len(tokens)))
    return model.decode(tokens, memory, model.init_state(memory))


def test_penalty_measures_how_attention_per_patch_misses_one() -> None:
    model = attending(doubly_stochastic=0.5).train()
    tokens = torch.tensor([[BEGIN, 6, 7, 8], [BEGIN, 9, PADDING, PADDING]])
    with record_attention(model) as recording:
        penalty = decoded(model, tokens).auxiliary_loss.detach()
    weights = recording.layers["image_attention"]["weights"][:, 0]
    assert weights.shape == (2, 4, PLACES)
    for row, words in enumerate((4, 2)):
        expected = sum((1 - float(weights[row, :words, place].sum())) ** 2 for place in range(PLACES)) / 2
        assert float(penalty[row]) == pytest.approx(expected, rel=1e-5)


def test_no_penalty_outside_training_or_at_zero() -> None:
    tokens = torch.tensor([[BEGIN, 6]])
    assert decoded(attending(doubly_stochastic=0.5).eval(), tokens).auxiliary_loss is None
    assert decoded(attending().train(), tokens).auxiliary_loss is None


def test_loss_contains_penalty_and_its_gradient_reaches_attention() -> None:
    batch = Batch.from_pairs(pictures(), [[6, 7, 8], [9]])
    plain, evened = attending().train(), attending(doubly_stochastic=0.5).train()
    without, with_it = (compute_loss(model, batch, smoothing=0.0) for model in (plain, evened))
    penalty = decoded(evened, batch.inputs.tokens).auxiliary_loss.sum()
    assert_close(with_it - without, penalty, rtol=1e-4, atol=1e-4)
    without.backward()
    with_it.backward()
    gradients = [model.image_attention.score.vector.grad for model in (plain, evened)]
    assert (gradients[0] - gradients[1]).abs().max() > 1e-4


def test_gate_controls_the_context() -> None:
    model, tokens = attending().eval(), torch.tensor([[BEGIN, 6, 7]])
    memory, brighter = model.encode(pictures(1)), model.encode(Images(255 - pictures(1).pixels))

    def logits() -> list[torch.Tensor]:
        return [model.decode(tokens, one, memory.initial_state).logits for one in (memory, brighter)]

    torch.nn.init.zeros_(model.gate.weight)
    torch.nn.init.constant_(model.gate.bias, 100.0)
    assert not torch.allclose(*logits())
    torch.nn.init.constant_(model.gate.bias, -100.0)
    assert_close(*logits())


CAPTIONERS = [
    RNNCaptionerConfig(image_encoder=EYE, embedding_width=16, decoder=RecurrentLayersConfig(width=32), dropout=0.0),
    AttentionRNNCaptionerConfig(
        image_encoder=EYE, embedding_width=16, decoder=RecurrentLayersConfig(width=32), dropout=0.0
    ),
    TransformerCaptionerConfig(
        image_encoder=VisionTransformerConfig(
            image_size=12,
            patch_size=4,
            transformer=TransformerStackConfig(layers=1, width=32, heads=2, ffn_width=32),
        ),
        decoder=TransformerStackConfig(layers=1, width=32, heads=2, ffn_width=64),
        dropout=0.0,
    ),
]


@pytest.mark.parametrize("config", CAPTIONERS, ids=lambda config: type(config).__name__)
def test_captioner_learns_to_distinguish_a_few_images(config: CaptionerConfig) -> None:
    torch.manual_seed(1)
    model, seen = build_model(config, target_vocabulary=VOCABULARY).train(), pictures(6)
    captions = [[5 + index, 5 + (index * 3) % 8, 5 + (index * 5) % 7] for index in range(6)]
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        optimiser.zero_grad()
        compute_loss(model, Batch.from_pairs(seen, captions), smoothing=0.0).backward()
        optimiser.step()
    found = generate(model.eval(), seen, DecodingConfig(beam_size=1, max_length_extra=5))  # type: ignore[arg-type]
    assert sum(own[0].tokens == caption for own, caption in zip(found, captions, strict=True)) >= 5


@pytest.mark.parametrize("config", CAPTIONERS, ids=lambda config: type(config).__name__)
def test_precomputed_image_features_give_the_same_words(config: CaptionerConfig) -> None:
    model: Any = build_model(config, target_vocabulary=VOCABULARY).eval()
    tokens = PaddedTokens.from_rows([[BEGIN, 6, 7]] * 2).tokens
    logits = []
    for source in (pictures(), ImageFeatures(model.image_encoder(pictures()))):
        memory = model.encode(source)
        logits.append(model.decode(tokens, memory, model.init_state(memory)).logits)
    assert_close(logits[0], logits[1])
