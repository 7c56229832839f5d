"""Test sets of `regard evaluate` and `regard compare`: sentence pairs, captioned images, examples with labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.evaluation_options import EvaluationOptions
from regard.cli.inputs import check_direction, languages_of
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.data.captions import CaptionedImage
    from regard.inference.captioner import Captioner
    from regard.inference.classifier import Classifier
    from regard.tracing.image_maps import BoxedCaption
    from regard.worlds.scenes import GoldBoxes


BOXES_FILE = "boxes.jsonl"


def read_translation_set(options: EvaluationOptions, models: Sequence[Path]) -> tuple[list[str], list[str]]:
    """Sources and references from one file of pairs or from two files of lines, in the direction of the models."""

    from regard.data.inspection import MAX_CHECKED_PAIRS, are_columns_swapped
    from regard.data.pair_readers import read_pairs

    files = options.files
    if len(files) == 2:
        check_direction(models, files[0], files[1], ("--source", "--reference"))
    languages = next((codes for model in models if len(codes := languages_of(model)) == 2), [])
    pairs = list(read_pairs(files, languages=languages))
    if languages and not options.skip_language_check and are_columns_swapped(pairs[:MAX_CHECKED_PAIRS], *languages):
        raise RegardError(
            f"{' and '.join(map(str, files))}: the sources are {languages[1]} and the references are {languages[0]}, "
            f"but the model translates {' to '.join(languages)}. Swap them. If the languages are right, add "
            "--skip-language-check."
        )
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


@dataclass(frozen=True)
class ImageTestSet:
    """Captioned images, and the gold boxes of those that have any."""

    file: Path
    captioned: list[CaptionedImage]
    boxes: dict[Path, GoldBoxes]

    @classmethod
    def read(cls, captions: Path, split: str | None) -> ImageTestSet:
        """The images of a split, or all; generated scenes have a file of boxes beside their captions."""
        from regard.data.captions import find_captions_file, read_captioned
        from regard.worlds.scenes import read_boxes

        file, captioned = find_captions_file(captions), read_captioned(captions, split=split)
        beside = file.with_name(BOXES_FILE)
        found = read_boxes(beside) if beside.is_file() else {}
        named = {one.image: "/".join(one.image.parts[-2:]) for one in captioned}  # boxes are named by split and file
        return cls(file, captioned, {path: found[name] for path, name in named.items() if name in found})

    def boxed(self, captioner: Captioner) -> Iterator[BoxedCaption]:
        """The images with gold boxes, as the captioner reads them."""
        from regard.tracing.image_maps import BoxedCaption

        for path, gold in self.boxes.items():
            yield BoxedCaption(captioner.load_image(path), gold.words, gold.boxes)


def read_labelled_set(labels: Path, classifier: Classifier) -> tuple[list[str], list[str]]:
    """Texts or image files, and their labels; a label that the model does not have is an error."""
    from regard.data.labelled_examples import read_labelled_images, read_labelled_texts

    if classifier.reads_images:
        images = read_labelled_images(labels, labels=classifier.labels)
        return [str(one.image) for one in images], [one.captions[0] for one in images]
    pairs = list(read_labelled_texts([labels], labels=classifier.labels))
    return [pair.target for pair in pairs], [pair.source for pair in pairs]
