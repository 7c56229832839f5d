"""Why a mask? Trained without it, a decoder copies the next token from the future, and its loss says nothing."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from regard.batch import PaddedTokens
from regard.config import DecoderOnlyConfig, TransformerStackConfig
from regard.models.factory import build_model
from regard.special_tokens import BEGIN
from regard.tracing.interventions import intervene

WORDS, LENGTH, ROWS, STEPS = 6, 5, 64, 150  # tokens that nothing predicts: the loss cannot go below log(WORDS)
FIRST = 5  # the reserved tokens come before


@pytest.mark.learning
@pytest.mark.parametrize(("changes", "is_learned"), [([], False), (["without.causal-mask"], True)])
def test_without_mask_random_tokens_are_learned(changes: list[str], is_learned: bool) -> None:
    torch.manual_seed(0)
    sizes = TransformerStackConfig(layers=2, width=32, heads=2, ffn_width=64)
    config = DecoderOnlyConfig(
        transformer=sizes, positions="learned", max_position_embeddings=16, norm="pre", dropout=0.0
    )
    model = build_model(config, target_vocabulary=FIRST + WORDS)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    with intervene(model, *changes):
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = loss_of_random_tokens(model)
            loss.backward()
            optimizer.step()
    assert (float(loss.detach()) < 0.5 * math.log(WORDS)) == is_learned


def loss_of_random_tokens(model: torch.nn.Module) -> Tensor:
    """Of new random rows, each token given those before it."""
    tokens = torch.randint(FIRST, FIRST + WORDS, (ROWS, LENGTH))
    inputs = torch.cat([torch.full((ROWS, 1), BEGIN), tokens], dim=1)
    memory = model.encode(PaddedTokens.from_rows(tokens.tolist()))  # type: ignore[operator]
    logits = model.decode(inputs, memory, model.init_state(memory)).logits[:, :-1]  # type: ignore[operator]
    return functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())
