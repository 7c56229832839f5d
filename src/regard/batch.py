"""The one thing a model is fed: padded rows of tokens, or pictures, and the target shifted by one place.

Padding and the shift live here alone: BEGIN goes before what the decoder reads, END after what it must say.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import RegardError
from regard.symbols import BEGIN, END, PADDING

Rows = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Padded:
    """Rows of token ids, padded to the longest; `is_real` is True for tokens and False for padding."""

    tokens: Int[Tensor, "B T"]
    is_real: Bool[Tensor, "B T"]
    lengths: tuple[int, ...]  # of each row; kept off the device, so that asking costs nothing there

    @classmethod
    def from_rows(cls, rows: Rows, *, device: torch.device | str = "cpu") -> "Padded":
        """Rows of ids as they are."""
        if not rows:
            raise RegardError("a batch needs at least one row; none was given.")
        lengths = tuple(len(row) for row in rows)
        longest = max(lengths)
        tokens = torch.tensor([[*row, *[PADDING] * (longest - len(row))] for row in rows], dtype=torch.long)
        is_real = torch.arange(longest) < torch.tensor(lengths)[:, None]
        return cls(tokens.to(device), is_real.to(device), lengths)

    @property
    def has_padding(self) -> bool:
        return min(self.lengths) < self.tokens.shape[1]

    @property
    def device(self) -> torch.device:
        return self.tokens.device


@dataclass(frozen=True)
class Pictures:
    """Pictures of one size; a captioner takes pixels from 0 to 255 as they were read, and scales them itself."""

    pixels: Float[Tensor, "B C Y X"]

    @property
    def lengths(self) -> tuple[int, ...]:
        """No words at all: what is said of a picture has a length of its own."""
        return (0,) * len(self.pixels)

    @property
    def device(self) -> torch.device:
        return self.pixels.device

    def to(self, device: torch.device | str) -> "Pictures":
        """The same pictures on a device."""
        return Pictures(self.pixels.to(device))


@dataclass(frozen=True)
class Grid:
    """Pictures that have passed through a frozen eye already: what it saw at each place."""

    features: Float[Tensor, "B C Y X"]

    @property
    def lengths(self) -> tuple[int, ...]:
        """No words at all, as for the pictures themselves."""
        return (0,) * len(self.features)

    @property
    def device(self) -> torch.device:
        return self.features.device

    def to(self, device: torch.device | str) -> "Grid":
        """The same features on a device."""
        return Grid(self.features.to(device))


@dataclass(frozen=True)
class Batch:
    """A source, what the decoder reads (BEGIN first), and what it must say (END last).

    Of a cloze nothing is read but the source: `outputs` has its shape, and is real where a token must be named.
    """

    source: Padded | Pictures | Grid
    inputs: Padded | None
    outputs: Padded

    @classmethod
    def of(cls, source: Rows | Pictures | Grid, target: Rows, *, device: torch.device | str = "cpu") -> "Batch":
        """Pairs of source and target rows, without BEGIN or END: they are put here."""
        if isinstance(source, Pictures | Grid):
            return cls(source.to(device), *shifted(target, device=device))
        return cls(source_of(source, device=device), *shifted(target, device=device))

    @classmethod
    def cloze(cls, given: Rows, wanted: Rows, *, device: torch.device | str = "cpu") -> "Batch":
        """Rows with tokens taken out, and for each of their places the token to be named, or PADDING."""
        named = Padded.from_rows([[*row, PADDING] for row in wanted], device=device)  # nobody asks for END
        is_real = named.tokens != PADDING
        return cls(source_of(given, device=device), None, Padded(named.tokens, is_real, tuple(is_real.sum(1).tolist())))


def shifted(target: Rows, *, device: torch.device | str = "cpu") -> tuple[Padded, Padded]:
    """What a decoder reads (BEGIN first), and what it must say after each token of it (END last)."""
    inputs = Padded.from_rows([[BEGIN, *row] for row in target], device=device)
    return inputs, Padded.from_rows([[*row, END] for row in target], device=device)


def source_of(rows: Rows, *, device: torch.device | str = "cpu") -> Padded:
    """Source rows as an encoder reads them: END closes each, so that even an empty one has something to look at."""
    return Padded.from_rows([[*row, END] for row in rows], device=device)
