"""The edits that interventions compile to: functions of a value and its place in the batch and in the sequence.

Each changes the selected entries and returns all others as they are. A selection is a mask that broadcasts to the
value: of rows (the sentences of the batch), heads, queries and keys.
"""

import torch
from jaxtyping import Bool
from torch import Tensor

from regard.attention.hooks import Edit, Place
from regard.interventions import (
    CellIntervention,
    HeadIntervention,
    HideIntervention,
    Intervention,
    InterventionError,
    PatchIntervention,
    RowIntervention,
    WithoutIntervention,
)


def selected_rows(one: Intervention, value: Tensor, place: Place) -> Bool[Tensor, "..."]:
    """True for the rows of the intervention's sentences; the hypotheses of a sentence are side by side."""
    if one.rows is None:
        return torch.ones((), dtype=torch.bool, device=value.device)
    count = len(value)
    sentences = torch.arange(count, device=value.device) if place.rows is None else place.rows.sentences
    sentences = sentences.repeat_interleave(count // len(sentences))
    is_selected = torch.isin(sentences, torch.tensor(one.rows, device=value.device))
    return is_selected.view(-1, *[1] * (value.dim() - 1))


def selected_index(index: int | None, size: int, dim: int, value: Tensor) -> Bool[Tensor, "..."]:
    """True at one index of an axis, or everywhere; an index beyond the axis selects nothing."""
    if index is None:
        return torch.ones((), dtype=torch.bool, device=value.device)
    shape = [1] * value.dim()
    shape[dim] = size
    return (torch.arange(size, device=value.device) == index).view(shape)


def selected_positions(position: int | None, value: Tensor, place: Place) -> Bool[Tensor, "..."]:
    """True for one position of the next to last axis, in which folded hypotheses repeat the positions."""
    if position is None or position not in place.positions:
        return torch.full((), position is None, dtype=torch.bool, device=value.device)
    count = value.shape[-2]
    repeated = torch.arange(count, device=value.device) % len(place.positions)
    return (repeated == place.positions.index(position)).unsqueeze(-1)


def remove(one: WithoutIntervention) -> Edit:
    """The value without the part that its site is named after."""

    def edit(value: Tensor, place: Place) -> Tensor:
        assert place.without is not None  # noqa: S101  (for the type checker)
        return torch.where(selected_rows(one, value, place), place.without, value)

    return edit


def show_all(one: WithoutIntervention) -> Edit:
    """Every key is visible but the padding of the target, as far as its lengths are known."""

    def edit(visible: Tensor, place: Place) -> Tensor:
        shown = torch.ones_like(visible)
        if place.rows is not None and place.rows.lengths is not None:
            is_real = torch.arange(visible.shape[-1], device=visible.device) < place.rows.lengths[:, None]
            shown = is_real[:, None, None].expand_as(visible)
        return torch.where(selected_rows(one, visible, place), shown, visible)

    return edit


def hide_key(one: HideIntervention) -> Edit:
    """The key at a position is invisible."""

    def edit(visible: Tensor, place: Place) -> Tensor:
        is_key = selected_index(one.position, visible.shape[-1], -1, visible)
        return visible & ~(is_key & selected_rows(one, visible, place))

    return edit


def zero_token(one: HideIntervention) -> Edit:
    """The vector of the token at a position is zero."""

    def edit(value: Tensor, place: Place) -> Tensor:
        return value.masked_fill(selected_positions(one.position, value, place) & selected_rows(one, value, place), 0.0)

    return edit


def set_context(one: HeadIntervention | PatchIntervention, vector: Tensor) -> Edit:
    """The context of a head is a vector (D), or a vector for each head (H, 1, D): at one position, or at all."""
    position = one.position if isinstance(one, PatchIntervention) else None

    def edit(context: Tensor, place: Place) -> Tensor:
        check_width(one, vector, context)
        is_selected = (
            selected_rows(one, context, place)
            & selected_index(one.head, context.shape[1], 1, context)
            & selected_positions(position, context, place)
        )
        return torch.where(is_selected, vector.to(context), context)

    return edit


def set_position(one: PatchIntervention, vector: Tensor) -> Edit:
    """The value at a position is a vector."""

    def edit(value: Tensor, place: Place) -> Tensor:
        check_width(one, vector, value)
        is_selected = selected_rows(one, value, place) & selected_positions(one.position, value, place)
        return torch.where(is_selected, vector.to(value), value)

    return edit


def check_width(one: HeadIntervention | PatchIntervention, vector: Tensor, value: Tensor) -> None:
    """Raise if a vector does not fit where it is put."""
    if vector.dim() and vector.shape[-1] != value.shape[-1]:
        raise InterventionError(one, f"has a vector of {vector.shape[-1]} numbers; {value.shape[-1]} are needed here.")


def change_weights(one: HeadIntervention | RowIntervention | CellIntervention) -> Edit:
    """The weights of a head, a row or a cell; a key that is not visible to a query keeps its weight of zero."""
    query = None if isinstance(one, HeadIntervention) else one.query

    def edit(weights: Tensor, place: Place) -> Tensor:
        visible = torch.ones_like(weights, dtype=torch.bool) if place.visible is None else place.visible
        is_selected = (
            selected_rows(one, weights, place)
            & selected_index(one.head, weights.shape[1], 1, weights)
            & selected_positions(query, weights, place)
        )
        return torch.where(is_selected, _new_weights(one, weights, visible.expand_as(weights)), weights)

    return edit


def _new_weights(
    one: HeadIntervention | RowIntervention | CellIntervention, weights: Tensor, visible: Tensor
) -> Tensor:
    """What all rows would be if they were selected."""
    keys = weights.shape[-1]
    if isinstance(one, CellIntervention):
        is_key = selected_index(one.key, keys, -1, weights) & visible
        others = weights.masked_fill(is_key, 0.0)
        if one.rest == "scale":
            others = torch.where(is_key.any(dim=-1, keepdim=True), (1 - one.weight) * normalised_rows(others), others)
        return torch.where(is_key, torch.full_like(weights, one.weight), others)
    if one.action == "uniform":
        return normalised_rows(visible.to(weights.dtype))
    if one.action == "renormalise":
        return normalised_rows(weights)
    assert isinstance(one, RowIntervention)  # noqa: S101  (for the type checker)
    new = torch.zeros(keys, dtype=weights.dtype, device=weights.device)
    if one.action == "set":
        given = torch.tensor(one.weights[:keys], dtype=weights.dtype, device=weights.device)
        new[: len(given)] = given
        return new * visible
    new[[key for key in one.keys if key < keys]] = 1.0
    moved = new * visible
    return torch.where(moved.any(dim=-1, keepdim=True), normalised_rows(moved), weights)


def normalised_rows(weights: Tensor) -> Tensor:
    """Rows that sum to one; a row of zeros stays zero."""
    total = weights.sum(dim=-1, keepdim=True)
    return weights / total.masked_fill(total == 0, 1.0)
