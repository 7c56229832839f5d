"""Pictures in, captions out: files are opened, looked at in batches, and described by the one decode loop."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from regard.batch import Grid, Pictures
from regard.bundle import Bundle, load_bundle
from regard.captioning.tracing import trace_picture
from regard.config import CaptionerConfig, DecodingConfig, EyeConfig
from regard.data.pictures import open_picture
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.loop import generate
from regard.decoding.loop import stream as stream_tokens
from regard.errors import RegardError
from regard.manifest import model_directory
from regard.translation.lines import decoding_with, refuse_several
from regard.translation.trace import Trace

BATCH_PICTURES = 32  # described at once, divided by the hypotheses of each

Picture = Path | str | bytes | NDArray[np.uint8]  # a file's path, its content, or the square that was made of it


@dataclass(frozen=True)
class Caption:
    """One description of one picture."""

    text: str
    score: float
    log_probability: float
    tokens: list[int]
    is_ended: bool = True  # False: what was said ran into its length bound, and stops there


class Captioner:
    """A loaded model that describes pictures, with its vocabulary."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.eye = eye_of(bundle)
        self.device = next(bundle.model.parameters()).device

    def caption(self, pictures: Sequence[Picture], **options: object) -> list[Caption]:
        """The best caption of each picture; options are those of the decoding section, such as beam=1."""
        if isinstance(pictures, str | bytes | Path):
            raise RegardError("caption takes a list of pictures, not one picture: write caption([picture])")
        refuse_several("caption", "picture", options)
        return [outputs[0] for outputs in self.nbest(pictures, **options)]

    def nbest(self, pictures: Sequence[Picture], **options: object) -> list[list[Caption]]:
        """The `nbest` best captions of each picture, the best first."""
        return list(self.each(pictures, self.settings(**options)))

    def each(
        self, pictures: Sequence[Picture], config: DecodingConfig, *, progress: Callable[[int], object] = int
    ) -> Iterator[list[Caption]]:
        """The captions of each picture in turn, as batches of them are done."""
        rows = max(1, BATCH_PICTURES // config.width)
        for start in range(0, len(pictures), rows):
            batch = pictures[start : start + rows]
            yield from self.describe(self.opened(batch), config)
            progress(len(batch))

    def describe(self, source: Pictures | Grid, config: DecodingConfig) -> list[list[Caption]]:
        """The captions of pictures that have been opened, or looked at, already."""
        found = generate(self.bundle.model, source, config)  # type: ignore[arg-type]
        return [[self.written(hypothesis) for hypothesis in own] for own in found]

    def written(self, hypothesis: Hypothesis) -> Caption:
        """A finished output as text."""
        text = self.bundle.tokenizers.target.decode(hypothesis.tokens)
        score, log_probability, tokens = hypothesis.score, hypothesis.log_probability, hypothesis.tokens
        return Caption(text, score, log_probability, tokens, is_ended=hypothesis.is_ended)

    def stream(self, picture: Picture, **options: object) -> Iterator[str]:
        """The caption of one picture as it grows."""
        for (tokens,) in stream_tokens(self.bundle.model, self.opened([picture]), self.settings(**options)):  # type: ignore[arg-type]
            yield self.bundle.tokenizers.target.decode(tokens)

    def trace(self, picture: Picture, tokens: list[int]) -> Trace:
        """All that the model computed as it said these tokens of the picture: the maps of every layer and head."""
        square = self.square(picture)
        return replace(trace_picture(self.bundle, self.opened([square]), tokens), picture=square)

    def opened(self, pictures: Sequence[Picture]) -> Pictures:
        """The pictures as the model takes them."""
        squares = [self.square(picture) for picture in pictures]
        return pictures_of(np.stack(squares)).to(self.device)

    def looked_at(self, picture: Picture) -> Grid:
        """What the eye sees of one picture: with it the rest of the model can be asked again without looking again."""
        with torch.inference_mode():
            return Grid(self.bundle.model.eye(self.opened([picture])))  # type: ignore[operator]

    def square(self, picture: Picture) -> NDArray[np.uint8]:
        """One picture as the eye sees it, (3, size, size)."""
        if isinstance(picture, np.ndarray):
            return self._checked(picture)
        if not isinstance(picture, str | bytes | Path):
            raise RegardError(f"a picture is a path, the bytes of a file, or an array; given is {type(picture)!r}")
        return open_picture(Path(picture) if isinstance(picture, str) else picture, size=self.eye.size)

    def _checked(self, square: NDArray[np.uint8]) -> NDArray[np.uint8]:
        size = self.eye.size
        if square.shape != (3, size, size) or square.dtype != np.uint8:
            raise RegardError(
                f"an array of a picture has shape (3, {size}, {size}) and type uint8 for this model; given is "
                f"{square.shape} of {square.dtype}. Give the picture's file instead, which is brought to that size."
            )
        return square

    def settings(self, **options: object) -> DecodingConfig:
        """The model's own decoding section with some options changed."""
        return decoding_with(self.bundle.config.decoding, options)


def load_captioner(directory: Path | str, *, device: str = "cpu") -> Captioner:
    """The captioner in a bundle's or a run's directory."""
    return Captioner(load_bundle(model_directory(Path(directory)), device=device))


def eye_of(bundle: Bundle) -> EyeConfig:
    """The eye that a bundle's model sees with."""
    model = bundle.config.model
    if not isinstance(model, CaptionerConfig):
        kind = type(model).__struct_config__.tag
        raise RegardError(f"model.kind is {kind!r}, which does not look at pictures. Give a captioner.")
    return model.eye


def pictures_of(squares: NDArray[np.uint8]) -> Pictures:
    """Pictures that were opened or stored, (B, 3, size, size), as a model takes them."""
    return Pictures(torch.from_numpy(squares).float())


def grid_of(features: NDArray[np.floating]) -> Grid:
    """What a frozen eye saw, (B, D, rows, columns), as a model takes it."""
    return Grid(torch.from_numpy(features).float())
