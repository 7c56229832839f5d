import torch
from torch import nn
from torch.testing import assert_close

from regard.attention.hooks import record_attention
from regard.layers.image_encoders import GridProjection, GridSelfAttention, flatten_grid, grid_positions
from regard.layers.positions import sinusoidal

BATCH, CHANNELS, ROWS, COLUMNS, HEADS = 2, 6, 3, 5, 2


def open_layer() -> GridSelfAttention:
    torch.manual_seed(0)
    layer = GridSelfAttention(CHANNELS, HEADS)
    nn.init.ones_(layer.gate)
    return layer


def test_grid_is_read_row_by_row() -> None:
    grid = torch.randn(BATCH, CHANNELS, ROWS, COLUMNS)
    places = flatten_grid(grid)
    assert places.shape == (BATCH, ROWS * COLUMNS, CHANNELS)
    assert torch.equal(places[1, 2 * COLUMNS + 3], grid[1, :, 2, 3])


def test_grid_position_is_its_row_and_column() -> None:
    result = grid_positions(ROWS, COLUMNS, 7).view(ROWS, COLUMNS, 7)
    row, column = sinusoidal(torch.tensor([2]), 3)[0], sinusoidal(torch.tensor([4]), 4)[0]
    assert_close(result[2, 4], torch.cat([row, column]))
    assert len({tuple(one.tolist()) for one in result.flatten(0, 1)}) == ROWS * COLUMNS


def test_equal_looking_cells_differ_by_position_alone() -> None:
    places = GridProjection(CHANNELS, 8)(torch.ones(1, CHANNELS, ROWS, COLUMNS))
    look = places[0] - grid_positions(ROWS, COLUMNS, 8).float()
    assert_close(look, look[:1].expand_as(look))


def test_layer_starts_as_identity_and_can_learn() -> None:
    layer, grid = GridSelfAttention(CHANNELS, HEADS), torch.randn(BATCH, CHANNELS, ROWS, COLUMNS)
    found = layer(grid)
    assert torch.equal(found, grid)
    (found**2).sum().backward()
    assert layer.gate.grad is not None
    assert layer.gate.grad != 0


def test_distant_cells_interact() -> None:
    layer, grid = open_layer(), torch.randn(BATCH, CHANNELS, ROWS, COLUMNS)
    changed = grid.clone()
    changed[:, 0, 0, 0] += 5.0
    difference = (layer(grid) - layer(changed)).abs().amax(dim=1)
    assert (difference > 1e-4).all()


def test_permuted_cells_permute_outputs() -> None:
    layer, grid = open_layer(), torch.randn(BATCH, CHANNELS, ROWS, COLUMNS)
    order = torch.randperm(ROWS * COLUMNS)

    def reseated(x: torch.Tensor) -> torch.Tensor:
        return x.flatten(2)[:, :, order].view_as(x)

    assert_close(layer(reseated(grid)), reseated(layer(grid)))


def test_grid_attention_can_be_recorded() -> None:
    layer = open_layer()
    with record_attention(layer) as recording:
        layer(torch.randn(BATCH, CHANNELS, ROWS, COLUMNS))
    weights = recording.layers["self_attention"]["weights"]
    assert weights.shape == (BATCH, HEADS, ROWS * COLUMNS, ROWS * COLUMNS)
