"""Projected keys and values: computed once, cached, and extended in place as a sequence grows."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad

from regard.attention.attend import all_finite
from regard.attention.hooks import active_recording


@dataclass
class CacheBuffer:
    """Memory that several KeyValues may share, and how many of its positions are filled."""

    key: Float[Tensor, "B H capacity D"]
    value: Float[Tensor, "B H capacity E"]
    filled: int


@dataclass(frozen=True)
class KeyValues:
    """Keys and values of `length` positions, at the start of a buffer that may have space for more."""

    buffer: CacheBuffer
    length: int

    @classmethod
    def from_tensors(cls, key: Float[Tensor, "B H K D"], value: Float[Tensor, "B H K E"]) -> "KeyValues":
        """Keys and values without a copy."""
        return cls(CacheBuffer(key, value, key.shape[2]), key.shape[2])

    @property
    def key(self) -> Float[Tensor, "B H K D"]:
        return self.buffer.key[:, :, : self.length]

    @property
    def value(self) -> Float[Tensor, "B H K E"]:
        return self.buffer.value[:, :, : self.length]

    @cached_property
    def is_finite(self) -> bool:
        """Whether there is no NaN and no Inf; computed once, however often these keys are used."""
        return all_finite(self.key, self.value)

    def extend(self, new: "KeyValues") -> "KeyValues":
        """These, then the new ones. The old ones are copied only if their buffer is full, or written by another."""
        if torch.is_grad_enabled():  # a gradient needs the earlier tensors unchanged
            return KeyValues.from_tensors(
                torch.cat([self.key, new.key], dim=2), torch.cat([self.value, new.value], dim=2)
            )
        buffer, end = self.buffer, self.length + new.length
        is_foreign = buffer.key.is_inference() and not torch.is_inference_mode_enabled()  # torch forbids writing there
        if is_foreign or buffer.filled != self.length or end > buffer.key.shape[2]:
            space = (0, 0, 0, max(16, end))  # twice the length: n steps of growth copy about n positions, not n * n / 2
            buffer = CacheBuffer(pad(self.key, space), pad(self.value, space), self.length)
        buffer.key[:, :, self.length : end], buffer.value[:, :, self.length : end] = new.key, new.value
        buffer.filled = end
        return KeyValues(buffer, end)

    def select_rows(self, rows: Int[Tensor, " R"]) -> "KeyValues":
        """The given rows of the batch, in the given order, in a buffer of their own with the same capacity."""
        buffer = CacheBuffer(
            self.buffer.key.index_select(0, rows), self.buffer.value.index_select(0, rows), self.length
        )
        return KeyValues(buffer, self.length)


def fold_beams(layer: nn.Module, query: Float[Tensor, "N Q W"], key_values: KeyValues) -> Float[Tensor, "B R W"]:
    """The queries of all hypotheses about one source as queries of its one row of keys."""
    rows = len(key_values.key)
    if len(query) != rows and active_recording(layer) is not None:
        raise ValueError(
            "a recording cannot separate the hypotheses of a beam; to record a finished output, rescore it"
        )
    return query.reshape(rows, -1, query.shape[-1])
