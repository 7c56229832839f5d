"""`Classifier`: texts or images in, classes with probabilities out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from regard.attention.hooks import active_edits
from regard.batch import Images, PaddedTokens, encode_source_rows
from regard.bundle import Bundle
from regard.config import ImageClassifierConfig, task_of
from regard.data.images import ImageInput, to_pixels
from regard.data.labelled_examples import is_label, list_labels
from regard.errors import RegardError
from regard.inference.interface import BundlePipeline, Progress, batches_by_length, check_list, check_texts
from regard.tracing.capture import capture
from regard.tracing.image_maps import grid_cells
from regard.tracing.output_layer import output_arrays
from regard.tracing.pass_input import PassInput
from regard.tracing.trace import MAX_TRACE_TOKENS, TokenSequence, Trace, position_table

BATCH_TOKENS = 8192  # of texts that are classified at once
BATCH_IMAGES = 64

ClassifierInput = ImageInput  # a text, or for a model of images a file's path, its content, or an array


@dataclass(frozen=True)
class Classification:
    """The class of one text or image."""

    label: str
    probability: float
    probabilities: dict[str, float]  # of every class, the most probable first
    is_truncated: bool = False  # only the beginning of the text was read
    trace: Trace | None = None


class Classifier(BundlePipeline):
    """A model that assigns a class to a text or an image."""

    task = "classification"

    def __init__(self, bundle: Bundle, *, directory: Path | None = None) -> None:
        config = bundle.config.model
        if task_of(config) != "classification":
            kind = type(config).__struct_config__.tag
            raise RegardError(f"model.kind is {kind!r}, which has no classes. Give a classifier.")
        super().__init__(bundle, directory=directory)
        classes, labels = config.classes, bundle.config.data.labels  # type: ignore[union-attr]
        if labels and not (len(set(labels)) == len(labels) == classes and all(map(is_label, labels))):
            raise RegardError(
                f"data.labels of the model are {list_labels(labels)}. Give a different one to each of the {classes} "
                "classes, on a single line."
            )
        self.labels = labels or [str(number) for number in range(classes)]
        self.image_encoder = config.image_encoder if isinstance(config, ImageClassifierConfig) else None

    @property
    def reads_images(self) -> bool:
        """Whether the model classifies images, and not texts."""
        return self.image_encoder is not None

    def classify(self, inputs: Sequence[ClassifierInput], *, trace: bool = False) -> list[Classification]:
        """The class of each text, or of each image, with the probabilities of all classes."""
        inputs = check_list(inputs, self._noun)
        found = list(self.iter_classes(inputs))
        if not trace:
            return found
        return [replace(one, trace=self.trace(given)) for given, one in zip(inputs, found, strict=True)]

    def iter_classes(
        self, inputs: Sequence[ClassifierInput], *, progress: Progress | None = None
    ) -> Iterator[Classification]:
        """The class of each input in turn, computed in batches."""
        inputs = check_list(inputs, self._noun)
        if self.image_encoder is not None:
            for start in range(0, len(inputs), BATCH_IMAGES):
                part = inputs[start : start + BATCH_IMAGES]
                yield from self._classifications(self.class_probabilities(self.to_batch(part)))
                (progress or int)(len(part))
            return
        rows = self.encode(check_texts(inputs))  # type: ignore[arg-type]
        found: dict[int, Classification] = {}
        for indices in batches_by_length([row for row, _ in rows], BATCH_TOKENS):
            source = encode_source_rows([rows[index][0] for index in indices], device=self.device)
            own = self._classifications(self.class_probabilities(source))
            found |= {index: replace(one, is_truncated=rows[index][1]) for index, one in zip(indices, own, strict=True)}
            (progress or int)(len(indices))
        yield from (found[index] for index in range(len(rows)))

    @torch.inference_mode()
    def class_probabilities(self, source: PaddedTokens | Images) -> Float[Tensor, "B classes"]:
        """The probability of each class for each row of a batch."""
        logits: Tensor = self.bundle.model.predict(source).logits[:, 0]  # type: ignore[operator]
        return logits.float().softmax(dim=-1)

    @torch.inference_mode()
    def trace(self, given: ClassifierInput) -> Trace:
        """Everything that the model computes for this text or image; the target is its class."""
        pixels = None
        source: PaddedTokens | Images
        if self.image_encoder is not None:
            pixels = self.load_image(given)
            source, side = self.to_batch([pixels]), grid_cells(self.bundle)
        else:
            [(row, _)] = self.encode(check_texts([given]), longest=MAX_TRACE_TOKENS)  # type: ignore[list-item]
            source = encode_source_rows([row], device=self.device)
            side = TokenSequence.from_pieces([*self.tokenizers.target.pieces(row), "</s>"])
        with capture(self.bundle.model) as captured:
            decoded = self.bundle.model.predict(source)  # type: ignore[operator]
        log_probabilities = decoded.logits[0, 0].cpu().double().log_softmax(dim=-1)
        best = int(log_probabilities.argmax())
        label = self.labels[best]
        return Trace(
            source=side,
            target=TokenSequence(pieces=[label], word_pieces=[[0]], words=[label]),
            text=label,
            log_probabilities=[float(log_probabilities[best])],
            layers=captured.layers,
            arrays=captured.arrays,
            blocks=captured.blocks,
            prediction=output_arrays(decoded, [best], "target", lambda ids: [self.labels[one] for one in ids]),
            image=pixels,
            is_class=True,
            position_table=position_table(self.bundle),
            passed=PassInput(self.bundle.model, source, None, active_edits(), chosen_class=best),
        )

    def decision_weights(self, trace: Trace) -> NDArray[np.float32] | None:
        """How much the decision attends to each token or cell, summing to one; None for a model without attention.

        They are the weights of the attention that pools. Without one, they are those of the last self-attention: of
        the first token, if it is pooled, else the mean over all queries.
        """
        if pooling := [*trace.layers_with_role("cross"), *trace.layers_with_role("image-cross")]:
            row: NDArray[np.float32] = trace.weights(pooling[-1])[0]
            return row
        layers = [*trace.layers_with_role("encoder-self"), *trace.layers_with_role("image-self")]
        if not layers:
            return None
        weights, is_first = trace.weights(layers[-1]), getattr(self.config.model, "pooling", "") == "first"
        chosen: NDArray[np.float32] = weights[0] if is_first else weights.mean(axis=0)
        if is_first and self.reads_images:  # of the cells alone: the class token attends to itself, too
            chosen = (chosen[1:] / np.float32(max(float(chosen[1:].sum()), 1e-30))).astype(np.float32)
        return chosen

    def encode(self, texts: Sequence[str], *, longest: int | None = None) -> list[tuple[list[int], bool]]:
        """The tokens of each text as the model reads them, and whether it was truncated; a blank text is an error."""
        bound, encoded = min(self.max_source_tokens, longest or self.max_source_tokens), []
        for number, text in enumerate(texts, start=1):
            if not text.strip():
                raise RegardError(f"text {number} of {len(texts)} is blank. Give a text with words.")
            row = self.tokenizers.target.encode(text)
            encoded.append((row[:bound], len(row) > bound))
        return encoded

    def to_batch(self, images: Sequence[ClassifierInput]) -> Images:
        """The images as the model's input."""
        return Images.from_array(np.stack([self.load_image(image) for image in images])).to(self.device)

    def load_image(self, image: ClassifierInput) -> NDArray[np.uint8]:
        """One image in the size that the model reads, (3, size, size)."""
        if self.image_encoder is None:
            raise RegardError("this model classifies texts, not images. Give texts.")
        return to_pixels(image, size=self.image_encoder.image_size)

    @property
    def _noun(self) -> str:
        return "image" if self.reads_images else "text"

    def _classifications(self, probabilities: Float[Tensor, "B classes"]) -> list[Classification]:
        found = []
        for row in probabilities.tolist():
            ranked = sorted(zip(self.labels, row, strict=True), key=lambda one: -one[1])
            found.append(Classification(*ranked[0], dict(ranked)))
        return found
