"""`Captioner`: images in, captions out, decoded in batches by the one decode loop."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

import numpy as np
import torch
from numpy.typing import NDArray

from regard.batch import ImageFeatures, Images
from regard.bundle import Bundle
from regard.config import CaptionerConfig, DecodeOptions, DecodingConfig
from regard.data.images import ImageInput as ImageInput
from regard.data.images import to_pixels
from regard.decoding.loop import generate
from regard.decoding.loop import stream as stream_tokens
from regard.errors import RegardError
from regard.inference.interface import BundlePipeline, GeneratedText, Progress, check_list, require_single_output
from regard.tracing.image_maps import trace_image
from regard.tracing.trace import Trace

BATCH_IMAGES = 32  # decoded at once, divided by the hypotheses of each


@dataclass(frozen=True)
class Caption(GeneratedText):
    """One caption of one image."""

    trace: Trace | None = None


class Captioner(BundlePipeline):
    """A model that writes captions of images."""

    task = "image-to-text"

    def __init__(self, bundle: Bundle, *, directory: Path | None = None) -> None:
        if not isinstance(bundle.config.model, CaptionerConfig):
            kind = type(bundle.config.model).__struct_config__.tag
            raise RegardError(f"model.kind is {kind!r}, which does not read images. Give a captioner.")
        super().__init__(bundle, directory=directory)
        self.image_encoder = bundle.config.model.image_encoder

    def caption(
        self, images: Sequence[ImageInput], *, trace: bool = False, **options: Unpack[DecodeOptions]
    ) -> list[Caption]:
        """The best caption of each image; options are those of the decoding section, such as beam_size=1."""
        require_single_output("caption", "image", options)
        images = check_list(images, "image")
        best = [outputs[0] for outputs in self.nbest(images, **options)]
        if not trace:
            return best
        return [replace(one, trace=self.trace(image, one.tokens)) for image, one in zip(images, best, strict=True)]

    def nbest(self, images: Sequence[ImageInput], **options: Unpack[DecodeOptions]) -> list[list[Caption]]:
        """The `nbest` best captions of each image, the best first."""
        return list(self.iter_captions(check_list(images, "image"), self.decoding_config(**options)))

    def iter_captions(
        self, images: Sequence[ImageInput], config: DecodingConfig | None = None, *, progress: Progress | None = None
    ) -> Iterator[list[Caption]]:
        """The captions of each image in turn, batch by batch."""
        config = config or self.config.decoding
        rows = max(1, BATCH_IMAGES // config.num_hypotheses)
        for start in range(0, len(images), rows):
            batch = images[start : start + rows]
            yield from self.caption_batch(self.to_batch(batch), config)
            (progress or int)(len(batch))

    def caption_batch(self, source: Images | ImageFeatures, config: DecodingConfig) -> list[list[Caption]]:
        """The captions of images that are loaded, or encoded, already."""
        hypotheses = generate(self.bundle.model, source, config)  # type: ignore[arg-type]
        return [[Caption.from_hypothesis(one, self.tokenizers.target) for one in own] for own in hypotheses]

    def stream(self, image: ImageInput, **options: Unpack[DecodeOptions]) -> Iterator[str]:
        """The caption of one image as it grows."""
        for (tokens,) in stream_tokens(self.bundle.model, self.to_batch([image]), self.decoding_config(**options)):  # type: ignore[arg-type]
            yield self.tokenizers.target.decode(tokens)

    def trace(self, image: ImageInput, caption: str | list[int] | None = None) -> Trace:
        """Everything that the model computes for this caption (a text or its tokens); without one, for its best."""
        pixels = self.load_image(image)
        if caption is None:
            caption = self.caption([pixels])[0].tokens
        tokens = self.tokenizers.target.encode(caption) if isinstance(caption, str) else caption
        return replace(trace_image(self.bundle, self.to_batch([pixels]), tokens), image=pixels)

    def to_batch(self, images: Sequence[ImageInput]) -> Images:
        """The images as the model's input."""
        return Images.from_array(np.stack([self.load_image(image) for image in images])).to(self.device)

    def encode_image(self, image: ImageInput) -> ImageFeatures:
        """The image encoder's output for one image, to decode several times."""
        with torch.inference_mode():
            return ImageFeatures(self.bundle.model.image_encoder(self.to_batch([image])))  # type: ignore[operator]

    def load_image(self, image: ImageInput) -> NDArray[np.uint8]:
        """One image in the size that the model reads, (3, size, size)."""
        return to_pixels(image, size=self.image_encoder.image_size)
