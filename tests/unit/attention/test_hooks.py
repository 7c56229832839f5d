from threading import Thread

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention.attention_layer import AttentionLayer
from regard.attention.hooks import Recording, active_recording, record_attention
from regard.attention.multi_head import MultiHeadAttention
from regard.attention.visibility import causal
from regard.layers.transformer_block import causal_visibility

BATCH, LENGTH, HEADS, WIDTH = 2, 5, 3, 21
DETAILS = {"weights", "query", "key", "value", "scores", "visible", "context"}


class Model(nn.Module):
    """Two attention layers, one inside a list and one by its own name."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([MultiHeadAttention(WIDTH, HEADS)])
        self.last = AttentionLayer(WIDTH, WIDTH, score="additive", value_width=11)

    def forward(self, x: Tensor, visible: Tensor | None = None) -> Tensor:
        x = self.layers[0](x, self.layers[0].key_values(x), visible)
        return self.last(x, self.last.key_values(x), visible).context


@pytest.fixture
def model() -> Model:
    torch.manual_seed(0)
    return Model()


@pytest.fixture
def x() -> Tensor:
    return torch.randn(BATCH, LENGTH, WIDTH)


def test_weights_are_recorded_under_their_layer_name(model: Model, x: Tensor) -> None:
    with record_attention(model) as recording:
        model(x)
    assert list(recording.layers) == ["layers.0", "last"]
    assert set(recording.layers["last"]) == {"weights"}
    assert recording.layers["layers.0"]["weights"].shape == (BATCH, HEADS, LENGTH, LENGTH)
    assert recording.layers["last"]["weights"].shape == (BATCH, 1, LENGTH, LENGTH)


def test_names_are_relative_to_the_given_model(model: Model, x: Tensor) -> None:
    with record_attention(model.layers) as recording:
        model(x)
    assert list(recording.layers) == ["0"]


def test_details_are_every_step_of_the_computation(model: Model, x: Tensor) -> None:
    visible = causal(torch.arange(LENGTH), torch.arange(LENGTH))
    with record_attention(model, details=True) as recording:
        model(x, visible)
    for kept in recording.layers.values():
        assert set(kept) == DETAILS
        assert kept["visible"].shape == kept["scores"].shape
        hidden = kept["scores"].masked_fill(~kept["visible"], float("-inf"))
        assert_close(kept["weights"], hidden.softmax(dim=-1))
        assert_close(kept["context"], kept["weights"] @ kept["value"])
    kept = recording.layers["layers.0"]
    assert_close(kept["scores"], kept["query"] @ kept["key"].mT / (WIDTH // HEADS) ** 0.5)


def test_without_a_rule_everything_is_recorded_as_visible(model: Model, x: Tensor) -> None:
    with record_attention(model, details=True) as recording:
        model(x)
    assert recording.layers["layers.0"]["visible"].all()


def test_recording_changes_nothing(model: Model, x: Tensor) -> None:
    expected = model(x)
    with record_attention(model, details=True):
        assert_close(model(x), expected)


def test_recorded_tensors_hold_no_gradient(model: Model, x: Tensor) -> None:
    with record_attention(model, details=True) as recording:
        model(x).sum().backward()
    assert not any(part.requires_grad for kept in recording.layers.values() for part in kept.values())


def step_by_step(layer: MultiHeadAttention, x: Tensor, lengths: list[int]) -> None:
    """The layer over a growing sequence, so many positions at a time."""
    past, end = None, 0
    for new in x.split(lengths, dim=1):
        positions = torch.arange(end, end + new.shape[1])
        end += new.shape[1]
        past = layer.key_values(new) if past is None else past.extend(layer.key_values(new))
        layer(new, past, causal_visibility(positions, end))


@pytest.mark.parametrize("lengths", [[1] * LENGTH, [2, 1, 2], [4, 1]])
@torch.no_grad()
def test_joined_steps_equal_the_parallel_recording(model: Model, x: Tensor, lengths: list[int]) -> None:
    layer = model.layers[0]
    with record_attention(layer, details=True) as whole:
        step_by_step(layer, x, [LENGTH])
    with record_attention(layer, details=True) as steps:
        step_by_step(layer, x, lengths)
    seen = whole.layers[""]["visible"]
    for part in DETAILS - {"scores"}:
        assert_close(steps.layers[""][part], whole.layers[""][part], msg=part)
    assert_close(steps.layers[""]["scores"][seen], whole.layers[""]["scores"][seen])


def test_nothing_is_recorded_outside_the_block(model: Model, x: Tensor) -> None:
    assert active_recording(model.last) is None
    with record_attention(model) as recording:
        assert active_recording(model.last) is recording
    model(x)
    assert active_recording(model.last) is None
    assert not recording.layers


def test_another_model_is_not_recorded(model: Model, x: Tensor) -> None:
    other = Model()
    with record_attention(model) as recording:
        other(x)
        assert active_recording(other.last) is None
    assert not recording.layers


def test_error_inside_ends_the_recording(model: Model, x: Tensor) -> None:
    with pytest.raises(RuntimeError, match="cannot be multiplied"), record_attention(model):
        model(torch.cat([x, x], dim=-1))
    assert active_recording(model.last) is None


def test_inner_recording_takes_over_then_outer_continues(model: Model, x: Tensor) -> None:
    with record_attention(model) as outer:
        with record_attention(model.layers) as inner:
            model(x)
        assert not outer.layers
        model(x)
    assert list(inner.layers) == ["0"]
    assert inner.layers["0"]["weights"].shape[2] == LENGTH
    assert outer.layers["layers.0"]["weights"].shape[2] == LENGTH


def in_a_thread(work: object) -> None:
    thread = Thread(target=work)
    thread.start()
    thread.join(timeout=60)


def test_other_thread_using_the_model_is_not_recorded(model: Model, x: Tensor) -> None:
    done: list[Tensor] = []
    with record_attention(model) as recording:
        in_a_thread(lambda: done.append(model(x)))
        assert len(done) == 1
        assert not recording.layers
        model(x)
    assert recording.layers["last"]["weights"].shape[2] == LENGTH


def test_two_threads_may_record_one_model_independently(model: Model, x: Tensor) -> None:
    inside: list[Recording] = []

    def record_half() -> None:
        with record_attention(model) as recording:
            model(x[:1])
        inside.append(recording)

    with record_attention(model) as outside:
        in_a_thread(record_half)
        model(x)
    assert inside[0].layers["last"]["weights"].shape[0] == 1
    assert outside.layers["last"]["weights"].shape[0] == BATCH
    assert_close(inside[0].layers["last"]["weights"], outside.layers["last"]["weights"][:1])


def test_second_pass_over_another_batch_is_refused() -> None:
    layer = MultiHeadAttention(6, 2)
    first, second, shorter = torch.randn(3, 5, 6), torch.randn(2, 5, 6), torch.randn(3, 4, 6)
    for other in (second, shorter):
        with record_attention(layer) as recording:
            layer(first, layer.key_values(first))
            with pytest.raises(ValueError, match="one pass over one batch"):
                layer(other, layer.key_values(other))
        assert recording.layers[""]["weights"].shape == (3, 2, 5, 5)


def test_scores_of_future_keys_are_minus_infinity() -> None:
    layer = MultiHeadAttention(6, 2)
    x = torch.randn(1, 2, 6)
    with record_attention(layer, details=True) as recording, torch.no_grad():
        past = layer.key_values(x[:, :1])
        layer(x[:, :1], past)
        layer(x[:, 1:], past.extend(layer.key_values(x[:, 1:])))
    scores = recording.layers[""]["scores"]
    assert scores[0, :, 0, 1].isneginf().all()
    assert scores[0, :, 1].isfinite().all()
