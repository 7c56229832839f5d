"""Images with captions or labels, ready for batches: pixels if the encoder is trained, features if it is frozen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from regard.batch import ImageFeatures, Images
from regard.bundle import load_bundle
from regard.config import Config, EfficientNetConfig, ImageEncoderConfig
from regard.data.captions import CaptionedImage, read_captioned
from regard.data.image_flips import mentions_left_or_right
from regard.data.image_store import FeatureExtractor, ImageStore, build_image_store
from regard.interop.efficientnet import encoder_digest, pretrained_encoder
from regard.layers.image_encoders import ImageEncoder

LOG_EVERY_IMAGES = 1000
StageProgress = Callable[[str, int], None]


@dataclass(frozen=True)
class ImageDataset:
    """Images with their captions, and the store with the model's input for each of them."""

    captioned: list[CaptionedImage]
    store: ImageStore
    flipped: ImageStore | None  # the features of the flipped images, if the encoder is frozen
    has_features: bool  # the store contains features of a frozen encoder, not pixels

    def source(self, images: Sequence[int], flips: Sequence[bool] = ()) -> Images | ImageFeatures:
        """These images as a model's input; an image is flipped where `flips` is true and no caption contradicts it."""
        if any(flips):
            rows = np.stack([self._row(*pair) for pair in zip(images, flips, strict=True)])
        else:
            rows = self.store.take(images)
        return ImageFeatures.from_array(rows) if self.has_features else Images.from_array(rows)

    def _row(self, image: int, flip: bool) -> NDArray[np.generic]:
        if not flip or mentions_left_or_right(self.captioned[image].captions):
            return self.store[image]
        if self.has_features:
            return self.store[image] if self.flipped is None else self.flipped[image]
        return self.store[image][:, :, ::-1]


def frozen_image_encoder(config: Config, start: Path | None = None) -> ImageEncoder | None:
    """The encoder whose features are computed only once: that of a start model, or published weights; None: trained."""
    own: ImageEncoderConfig = config.model.image_encoder  # type: ignore[union-attr]
    if not (isinstance(own, EfficientNetConfig) and own.frozen):
        return None
    if start is None:
        return pretrained_encoder(own)
    encoder: ImageEncoder = load_bundle(start).model.image_encoder  # type: ignore[assignment]
    return encoder


def open_image_dataset(
    location: list[str],
    config: Config,
    directory: Path,
    *,
    frozen: ImageEncoder | None,
    augment: bool,
    progress: StageProgress,
) -> ImageDataset:
    """The images of `data.train` or `data.valid`, prepared in a directory; what is there already is not made again."""
    split = location[1] if len(location) > 1 else None
    captioned = read_captioned(location[0], split=split, images=config.data.image_folder or None)
    name = split or Path(location[0]).stem
    options: dict[str, Any] = {"frozen": frozen, "augment": augment, "progress": progress}
    return prepare_images(captioned, config, directory, name=name, **options)


def prepare_images(
    captioned: list[CaptionedImage],
    config: Config,
    directory: Path,
    *,
    name: str,
    frozen: ImageEncoder | None,
    augment: bool,
    progress: StageProgress,
) -> ImageDataset:
    """The images in the size that the model reads, or the features of its frozen encoder, in a directory."""
    encoder: ImageEncoderConfig = config.model.image_encoder  # type: ignore[union-attr]
    report = _progress_logger(progress, name)
    images = [one.image for one in captioned]
    features = _feature_extractor(frozen) if frozen is not None else None
    store = build_image_store(directory, images, size=encoder.image_size, features=features, progress=report)
    flipped = None
    if augment and features is not None and config.data.flip_images:
        flipping = FeatureExtractor(
            lambda squares: features.compute(np.ascontiguousarray(squares[..., ::-1])), f"flipped {features.identity}"
        )
        beside = directory.with_name(f"{directory.name}-flipped")
        flipped = build_image_store(beside, images, size=encoder.image_size, features=flipping, progress=report)
    return ImageDataset(captioned, store, flipped, features is not None)


def _feature_extractor(encoder: ImageEncoder) -> FeatureExtractor:
    @torch.inference_mode()
    def compute(squares: NDArray[np.uint8]) -> NDArray[np.floating]:
        features: NDArray[np.floating] = encoder(Images.from_array(squares)).numpy()
        return features

    return FeatureExtractor(compute, encoder_digest(encoder))


def _progress_logger(progress: StageProgress, name: str) -> Callable[[int, int], None]:
    reported = -1

    def report(done: int, total: int) -> None:
        nonlocal reported
        if done == total or done // LOG_EVERY_IMAGES > reported:
            reported = done // LOG_EVERY_IMAGES
            progress(f"preparing the images of {name}", done)

    return report
