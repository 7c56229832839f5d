"""Cases of two queries and two keys, worked out with pencil and paper."""

import math

import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention.attend import attend
from regard.attention.attention_layer import AttentionLayer
from regard.attention.multi_head import MultiHeadAttention
from regard.attention.scores import AdditiveScore, dot, make_score, scaled_dot
from regard.config import TransformerStackConfig
from regard.layers.transformer_block import SSRU, BlockOptions

QUERY = torch.tensor([[1.0, 2.0], [0.0, -1.0]])
KEY = torch.tensor([[3.0, 0.0], [1.0, 1.0]])


def set_weight(layer: nn.Linear, weight: list[list[float]], bias: list[float] | None = None) -> None:
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(weight))
        if bias is not None:
            layer.bias.copy_(torch.tensor(bias))


def near(*rows: list[float]) -> Tensor:
    return torch.tensor(rows)


def test_the_dot_score_by_hand() -> None:
    # (1, 2).(3, 0) = 3,  (1, 2).(1, 1) = 3;  (0, -1).(3, 0) = 0,  (0, -1).(1, 1) = -1
    assert torch.equal(dot(QUERY, KEY), near([3.0, 3.0], [0.0, -1.0]))


def test_the_scaled_dot_score_by_hand() -> None:
    # the dot products over sqrt(2) = 1.41421
    assert_close(scaled_dot(QUERY, KEY), near([2.12132, 2.12132], [0.0, -0.70711]), atol=1e-5, rtol=0.0)


def test_the_general_score_by_hand() -> None:
    score = make_score("general", 2, 2)
    set_weight(score.project_keys, [[1.0, 2.0], [0.0, -1.0]])
    # W (3, 0) = (3, 0) and W (1, 1) = (3, -1)
    # (1, 2).(3, 0) = 3,  (1, 2).(3, -1) = 1;  (0, -1).(3, 0) = 0,  (0, -1).(3, -1) = 1
    assert torch.equal(score(QUERY, score.project_keys(KEY)), near([3.0, 1.0], [0.0, 1.0]))


def test_the_additive_score_by_hand() -> None:
    score = make_score("additive", 2, 2)
    assert isinstance(score, AdditiveScore)
    set_weight(score.query, [[1.0, 0.0], [0.0, 1.0]])
    set_weight(score.project_keys, [[0.0, 1.0], [1.0, 0.0]], bias=[0.5, -3.0])
    with torch.no_grad():
        score.vector.copy_(torch.tensor([2.0, -1.0]))
    # W_k k + b: (3, 0) becomes (0.5, 0), (1, 1) becomes (1.5, -2)
    # q + that: (1.5, 2) and (2.5, 0);  (0.5, -1) and (1.5, -3)
    # tanh of 0.5, 1, 1.5, 2, 2.5, 3 is 0.462117, 0.761594, 0.905148, 0.964028, 0.986614, 0.995055
    # 2 * 0.905148 - 0.964028 = 0.846268,  2 * 0.986614 - 0 = 1.973228
    # 2 * 0.462117 + 0.761594 = 1.685828,  2 * 0.905148 + 0.995055 = 2.805351
    expected = near([0.846268, 1.973228], [1.685828, 2.805351])
    assert_close(score(QUERY, score.project_keys(KEY)), expected, atol=5e-6, rtol=0.0)


def test_attend_by_hand() -> None:
    scores = torch.tensor([[0.0, math.log(3.0)], [math.log(4.0), 0.0]])
    value = torch.tensor([[8.0, -4.0], [0.0, 4.0]])
    # weights 1 : 3 and 4 : 1;  8/4 + 0 = 2, -4/4 + 3 * 4/4 = 2;  4 * 8/5 = 6.4, (4 * -4 + 4)/5 = -2.4
    context, weights = attend(scores, value)
    assert_close(weights, near([0.25, 0.75], [0.8, 0.2]))
    assert_close(context, near([2.0, 2.0], [6.4, -2.4]))


def test_attend_with_visibility_by_hand() -> None:
    scores = torch.tensor([[0.0, math.log(3.0)], [math.log(4.0), 0.0]])
    value = torch.tensor([[8.0, -4.0], [0.0, 4.0]])
    causal = torch.tensor([[True, False], [True, True]])
    context, weights = attend(scores, value, causal)
    assert_close(weights, near([1.0, 0.0], [0.8, 0.2]))
    assert_close(context, near([8.0, -4.0], [6.4, -2.4]))
    context, weights = attend(scores, value, torch.tensor([[False, False], [False, True]]))
    assert torch.equal(weights, near([0.0, 0.0], [0.0, 1.0]))
    assert torch.equal(context, near([0.0, 0.0], [0.0, 4.0]))


def test_the_general_layer_by_hand() -> None:
    layer = AttentionLayer(2, 2, score="dot")
    inputs = torch.tensor([[[math.log(2.0), 0.0], [0.0, math.log(2.0)]]])
    query = torch.tensor([[[2.0, 0.0], [0.0, 1.0]]])
    # scores log 4, 0 and 0, log 2: weights 4 : 1 and 1 : 2
    context, weights = layer(query, layer.key_values(inputs))
    assert_close(weights[0], near([0.8, 0.2], [1 / 3, 2 / 3]))
    assert_close(context[0], math.log(2.0) * near([0.8, 0.2], [1 / 3, 2 / 3]))


def test_two_heads_of_width_one_by_hand() -> None:
    layer = MultiHeadAttention(2, 2)
    for part in (layer.query, layer.key, layer.value):
        set_weight(part, [[1.0, 0.0], [0.0, 1.0]], bias=[0.0, 0.0])
    set_weight(layer.output, [[0.0, 10.0], [1.0, 0.0]], bias=[0.0, 100.0])
    two, three = math.log(2.0), math.log(3.0)
    x = torch.tensor([[[1.0, 1.0]]])
    inputs = torch.tensor([[[two, 0.0], [0.0, three]]])
    # head 1 has scores log 2, 0 (weights 2 : 1) and values log 2, 0: its context is 2/3 log 2 = 0.462098
    # head 2 has scores 0, log 3 (weights 1 : 3) and values 0, log 3: its context is 3/4 log 3 = 0.823959
    # W_O puts ten times the second first, and 100 plus the first second
    assert_close(layer(x, layer.key_values(inputs))[0], near([8.23959, 100.462098]), atol=1e-5, rtol=0.0)


def test_two_steps_of_the_recurrent_mixer_by_hand() -> None:
    layer = SSRU(TransformerStackConfig(width=1, heads=1), BlockOptions())
    set_weight(layer.forget, [[math.log(3.0)]], bias=[0.0])
    set_weight(layer.candidate, [[8.0]])
    # step 1: f = sigmoid(log 3) = 3/4, c = 3/4 * 4 + 1/4 * 8 = 5;  step 2: f = 1/4, c = 1/4 * 5 + 3/4 * -8 = -4.75
    found, cell = layer(torch.tensor([[[1.0], [-1.0]]]), torch.tensor([[4.0]]), None, torch.arange(2))
    assert_close(found[0], near([5.0], [0.0]))
    assert_close(cell, near([-4.75]))
