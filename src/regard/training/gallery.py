"""Captioned pictures ready to be fed: as pixels where the eye learns, else as what the frozen eye saw of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from regard.batch import Grid, Pictures
from regard.captioning.captioner import grid_of, pictures_of
from regard.config import Config, EfficientNetEye, EyeConfig, PicturesConfig
from regard.data.pictures import (
    Augmentation,
    Captioned,
    Draw,
    Features,
    PictureStore,
    augment,
    prepare_pictures,
    read_captioned,
    tells_sides_apart,
)
from regard.training.pretrained import identity_of, pretrained_eye

TELL_EVERY = 1000  # pictures
Progress = Callable[[str, int], None]


@dataclass(frozen=True)
class Gallery:
    """Pictures with their captions, and the store that has what a model is fed of each."""

    captioned: list[Captioned]
    store: PictureStore
    mirrored: PictureStore | None  # what a frozen eye saw of each picture's mirror image
    is_seen: bool  # the store holds what a frozen eye saw, not pixels

    def source(self, pictures: Sequence[int]) -> Pictures | Grid:
        """These pictures as they are."""
        return self._fed(self.store.take(pictures))

    def varied(self, pictures: Sequence[int], how: PicturesConfig, draws: Sequence[Draw]) -> Pictures | Grid:
        """These pictures, each changed as was drawn for it."""
        if not (how.crop or how.flip or how.colour):
            return self.source(pictures)
        vary = self._perhaps_mirrored if self.is_seen else self._augmented
        return self._fed(np.stack([vary(picture, how, draw) for picture, draw in zip(pictures, draws, strict=True)]))

    def _fed(self, rows: NDArray[np.generic]) -> Pictures | Grid:
        return grid_of(rows) if self.is_seen else pictures_of(rows)  # type: ignore[arg-type]

    def _augmented(self, picture: int, how: PicturesConfig, draw: Draw) -> NDArray[np.generic]:
        options = Augmentation(crop=how.crop, flip=how.flip, colour=how.colour)
        return augment(self.store[picture], options, draw, may_flip=self._may_flip(picture))

    def _perhaps_mirrored(self, picture: int, how: PicturesConfig, draw: Draw) -> NDArray[np.generic]:
        is_mirrored = how.flip and self._may_flip(picture) and draw.chances()[0] < 0.5
        store = self.mirrored if is_mirrored and self.mirrored is not None else self.store
        return store[picture]

    def _may_flip(self, picture: int) -> bool:
        return not tells_sides_apart(self.captioned[picture].captions)


def open_gallery(place: list[str], config: Config, directory: Path, *, varies: bool, progress: Progress) -> Gallery:
    """The pictures that a data section names, prepared in a directory; what is there already is not made again."""
    eye: EyeConfig = config.model.eye  # type: ignore[union-attr]
    split = place[1] if len(place) > 1 else None
    captioned = read_captioned(place[0], split=split, pictures=config.data.pictures.folder or None)
    pictures = [one.picture for one in captioned]
    seen = _features(eye) if isinstance(eye, EfficientNetEye) and eye.frozen else None
    told = _told(progress, split or Path(place[0]).stem)
    store = prepare_pictures(directory, pictures, size=eye.size, features=seen, progress=told)
    mirrored = None
    if varies and seen is not None and config.data.pictures.flip:
        reflected = Features(
            lambda squares: seen.compute(np.ascontiguousarray(squares[..., ::-1])), f"mirrored {seen.identity}"
        )
        beside = directory.with_name(f"{directory.name}-mirrored")
        mirrored = prepare_pictures(beside, pictures, size=eye.size, features=reflected, progress=told)
    return Gallery(captioned, store, mirrored, seen is not None)


def _features(config: EyeConfig) -> Features:
    eye = pretrained_eye(config)

    @torch.inference_mode()
    def compute(squares: NDArray[np.uint8]) -> NDArray[np.floating]:
        found: NDArray[np.floating] = eye(pictures_of(squares)).numpy()
        return found

    return Features(compute, identity_of(eye))


def _told(progress: Progress, name: str) -> Callable[[int, int], None]:
    told = -1

    def tell(done: int, total: int) -> None:
        nonlocal told
        if done == total or done // TELL_EVERY > told:
            told = done // TELL_EVERY
            progress(f"looking at the pictures of {name}", done)

    return tell
