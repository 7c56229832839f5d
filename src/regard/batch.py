"""The input of a model: padded rows of tokens, or images, and the target shifted by one position.

Padding and the shift happen here alone: BEGIN goes before the decoder's input, END after its expected output.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import RegardError
from regard.special_tokens import BEGIN, END, PADDING

TokenRows = Sequence[Sequence[int]]


@dataclass(frozen=True)
class PaddedTokens:
    """Rows of token ids, padded to the longest; `is_real` is True for tokens and False for padding."""

    tokens: Int[Tensor, "B T"]
    is_real: Bool[Tensor, "B T"]
    lengths: tuple[int, ...]  # of each row; not on the device, so that reading them needs no synchronisation

    @classmethod
    def from_rows(cls, rows: TokenRows, *, device: torch.device | str = "cpu") -> "PaddedTokens":
        """Pad rows of ids."""
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
class Images:
    """Images of one size; a captioner takes pixels from 0 to 255 and normalises them itself."""

    pixels: Float[Tensor, "B C Y X"]

    @classmethod
    def from_array(cls, pixels: NDArray[np.uint8]) -> "Images":
        """Images that were read from files, (B, 3, size, size)."""
        return cls(torch.from_numpy(pixels).float())

    @property
    def lengths(self) -> tuple[int, ...]:
        """No tokens: the length of a caption does not depend on the image."""
        return (0,) * len(self.pixels)

    @property
    def device(self) -> torch.device:
        return self.pixels.device

    def to(self, device: torch.device | str) -> "Images":
        """The same images on a device."""
        return Images(self.pixels.to(device))


@dataclass(frozen=True)
class ImageFeatures:
    """Features that a frozen image encoder computed for each grid cell of the images."""

    features: Float[Tensor, "B C Y X"]

    @classmethod
    def from_array(cls, features: NDArray[np.floating]) -> "ImageFeatures":
        """The stored output of an image encoder, (B, D, rows, columns)."""
        return cls(torch.from_numpy(features).float())

    @property
    def lengths(self) -> tuple[int, ...]:
        """No tokens, as for images."""
        return (0,) * len(self.features)

    @property
    def device(self) -> torch.device:
        return self.features.device

    def to(self, device: torch.device | str) -> "ImageFeatures":
        """The same features on a device."""
        return ImageFeatures(self.features.to(device))


@dataclass(frozen=True)
class Batch:
    """A source, the input of the decoder (BEGIN first), and its expected output (END last).

    A masked language model has no decoder input: `outputs` has the shape of the source, and is real where a token is
    masked. Nor has a classifier: `outputs` has the class of each row, at one position.
    """

    source: PaddedTokens | Images | ImageFeatures
    inputs: PaddedTokens | None
    outputs: PaddedTokens

    @classmethod
    def from_pairs(
        cls, source: TokenRows | Images | ImageFeatures, target: TokenRows, *, device: torch.device | str = "cpu"
    ) -> "Batch":
        """Pairs of source and target rows without BEGIN or END, which are added here."""
        if isinstance(source, Images | ImageFeatures):
            return cls(source.to(device), *shift_right(target, device=device))
        return cls(encode_source_rows(source, device=device), *shift_right(target, device=device))

    @classmethod
    def masked(cls, masked: TokenRows, targets: TokenRows, *, device: torch.device | str = "cpu") -> "Batch":
        """Rows with masked tokens and, for each position, the token to predict, or PADDING."""
        padded = PaddedTokens.from_rows([[*row, PADDING] for row in targets], device=device)  # END is never masked
        is_real = padded.tokens != PADDING
        outputs = PaddedTokens(padded.tokens, is_real, tuple(is_real.sum(1).tolist()))
        return cls(encode_source_rows(masked, device=device), None, outputs)

    @classmethod
    def classified(
        cls, source: TokenRows | Images | ImageFeatures, classes: Sequence[int], *, device: torch.device | str = "cpu"
    ) -> "Batch":
        """Texts as rows without END, or images, and the number of the class of each."""
        outputs = PaddedTokens.from_rows([[number] for number in classes], device=device)
        if isinstance(source, Images | ImageFeatures):
            return cls(source.to(device), None, outputs)
        return cls(encode_source_rows(source, device=device), None, outputs)


def shift_right(target: TokenRows, *, device: torch.device | str = "cpu") -> tuple[PaddedTokens, PaddedTokens]:
    """The input of a decoder (BEGIN first), and its expected output after each token (END last)."""
    inputs = PaddedTokens.from_rows([[BEGIN, *row] for row in target], device=device)
    return inputs, PaddedTokens.from_rows([[*row, END] for row in target], device=device)


def encode_source_rows(rows: TokenRows, *, device: torch.device | str = "cpu") -> PaddedTokens:
    """Source rows as an encoder takes them: END closes each, so that even an empty row has one key to attend to."""
    return PaddedTokens.from_rows([[*row, END] for row in rows], device=device)
