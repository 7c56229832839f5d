import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from regard.layers.embedding import OutputProjection, PositionedEmbedding, TokenEmbedding
from regard.layers.positions import SinusoidalPositions, sinusoidal
from regard.special_tokens import PADDING

VOCABULARY, WIDTH = 11, 16
TOKENS = torch.tensor([[4, 7, 5], [9, 4, PADDING]])


@pytest.mark.parametrize("scaled", [False, True])
def test_each_token_gets_its_row_times_the_scale(scaled: bool) -> None:
    embedding = TokenEmbedding(VOCABULARY, WIDTH, scaled=scaled)
    factor = math.sqrt(WIDTH) if scaled else 1.0
    assert_close(embedding(TOKENS), embedding.weight[TOKENS] * factor)


def test_scaled_entries_begin_with_variance_one() -> None:
    torch.manual_seed(0)
    embedding = TokenEmbedding(500, 64, scaled=True)
    assert embedding(torch.arange(1, 500)[None]).var().item() == pytest.approx(1.0, rel=0.05)


def test_padding_is_zero_and_gets_no_gradient() -> None:
    embedding = TokenEmbedding(VOCABULARY, WIDTH, scaled=True)
    embedded = embedding(TOKENS)
    assert not embedded[1, 2].any()
    embedded.sum().backward()
    gradient = embedding.weight.grad
    assert gradient is not None
    assert not gradient[PADDING].any()
    assert gradient[[4, 5, 7, 9]].all()
    assert_close(gradient[4], 2 * gradient[5])  # said twice


def test_tied_output_layer_shares_the_embedding_table() -> None:
    embedding = TokenEmbedding(VOCABULARY, WIDTH, scaled=True)
    hidden = torch.randn(2, 3, WIDTH)
    output = embedding.tied_projection()
    assert output.weight is embedding.weight
    assert output.bias is None
    assert_close(output(hidden), hidden @ embedding.weight.T)
    output(hidden).sum().backward()
    assert embedding.weight.grad is not None
    assert embedding.weight.grad.any()


def test_untied_output_layer_has_a_bias() -> None:
    linear, hidden = nn.Linear(WIDTH, VOCABULARY), torch.randn(2, 3, WIDTH)
    assert isinstance(OutputProjection.from_linear(linear), OutputProjection)
    assert torch.equal(OutputProjection.from_linear(linear)(hidden), linear(hidden))


def test_positioned_embedding_adds_positions_to_tokens() -> None:
    tokens = TokenEmbedding(VOCABULARY, WIDTH, scaled=True)
    placed = PositionedEmbedding(tokens, SinusoidalPositions(WIDTH), dropout=0.5)
    positions = torch.tensor([4, 5, 6])
    expected = tokens(TOKENS) + sinusoidal(positions, WIDTH).float()
    assert_close(placed.eval()(TOKENS, positions), expected)
    in_training = placed.train()(TOKENS, positions)
    assert 0.2 < (in_training == 0).float().mean() < 0.8
    assert_close(in_training[in_training != 0], 2 * expected[in_training != 0])
