"""Projected keys and values: computed once, kept, and extended in place as a sequence grows."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

from regard.attention.attend import all_finite


@dataclass
class Room:
    """Memory that several KeyValues may share, and how many of its positions are written."""

    key: Float[Tensor, "B H capacity D"]
    value: Float[Tensor, "B H capacity E"]
    written: int


@dataclass(frozen=True)
class KeyValues:
    """Keys and values of `length` positions, at the front of a room that may have space for more."""

    room: Room
    length: int

    @classmethod
    def of(cls, key: Float[Tensor, "B H K D"], value: Float[Tensor, "B H K E"]) -> "KeyValues":
        """Keys and values as they are, without a copy."""
        return cls(Room(key, value, key.shape[2]), key.shape[2])

    @property
    def key(self) -> Float[Tensor, "B H K D"]:
        return self.room.key[:, :, : self.length]

    @property
    def value(self) -> Float[Tensor, "B H K E"]:
        return self.room.value[:, :, : self.length]

    @cached_property
    def is_finite(self) -> bool:
        """Whether there is no NaN and no Inf; asked once, however often these keys are looked at."""
        return all_finite(self.key, self.value)

    def extend(self, new: "KeyValues") -> "KeyValues":
        """These and then the new ones. The old ones are copied only when their room is full, or another wrote there."""
        if torch.is_grad_enabled():  # a gradient needs what was there before to be left as it was
            return KeyValues.of(torch.cat([self.key, new.key], dim=2), torch.cat([self.value, new.value], dim=2))
        room, end = self.room, self.length + new.length
        is_foreign = room.key.is_inference() and not torch.is_inference_mode_enabled()  # torch forbids writing there
        if is_foreign or room.written != self.length or end > room.key.shape[2]:
            space = (0, 0, 0, max(16, end))  # twice the length: n steps of growth copy about n positions, not n * n / 2
            room = Room(pad(self.key, space), pad(self.value, space), self.length)
        room.key[:, :, self.length : end], room.value[:, :, self.length : end] = new.key, new.value
        room.written = end
        return KeyValues(room, end)

    def select_rows(self, rows: Int[Tensor, " R"]) -> "KeyValues":
        """The given rows of the batch, in the given order, in a room of their own, which has space for as many more."""
        room = Room(self.room.key.index_select(0, rows), self.room.value.index_select(0, rows), self.length)
        return KeyValues(room, self.length)
