"""Generated images of shapes, each with one caption in English and Korean and the boxes of what each word refers to.

A scene is drawn at random (`scene`), painted here, and described (`captions`). The image determines the caption, so the
caption of a model is exactly right or wrong; and every word refers to known shapes, so attention can be evaluated.
Polygons are filled with smooth edges in numpy: the edges of a drawing library change between versions, and the data
would change with them. The files of the corpus: images, captions, boxes, and disjoint splits.
"""

import dataclasses
import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.files import MEBIBYTE, read_input
from regard.struct_decoding import decode_json
from regard.worlds import SeededRandom, written_corpus
from regard.worlds.scenes.captions import english_caption, korean_caption
from regard.worlds.scenes.scene import (
    Box,
    CaptionWord,
    ColorName,
    Scene,
    bounding_box,
    outline,
    random_scene,
)
from regard.worlds.scenes.scene_labels import SCENE_TASKS, LabelledScene, labelled_scenes
from regard.worlds.sentences import SPLIT_SHARES, SPLITS, Split, write_lines

Language = Literal["en", "ko"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
MIN_IMAGE_SIZE, MAX_IMAGE_SIZE = 16, 1024  # pixels of a side

README = """A world of scenes: images drawn by regard, with captions in {language} (seed {seed}).

captions.txt has `image TAB caption` on each line; train.txt, valid.txt and test.txt list the images of each split.
No caption of one split is in another. Line n of boxes.jsonl belongs to line n of captions.txt: for each word of
the caption, the rectangles around the shapes that it refers to, as fractions of the image's width and height: left,
top, right, bottom, from the upper left corner. A word such as "of" has none.

images of {size} x {size} pixels: {train} train, {valid} valid, {test} test
"""
LABELS_README = """A world of scenes: images drawn by regard, with labels of the task {task} (seed {seed}).

{question}

train.tsv, valid.tsv and test.tsv have `image TAB label` on each line; the path of an image is relative to the file.

images of {size} x {size} pixels: {train} train, {valid} valid, {test} test
"""
SCAN_LINES = 4  # in a row of pixels
RIM_WIDTH = 0.025  # a rim of background grey around each shape, a fraction of the side: it separates overlapping shapes

PALETTE: dict[ColorName, tuple[int, int, int]] = {
    "red": (220, 40, 40),
    "orange": (245, 135, 20),
    "yellow": (245, 220, 50),
    "green": (35, 150, 65),
    "blue": (45, 90, 220),
    "purple": (140, 55, 175),
    "white": (245, 245, 245),
    "black": (22, 22, 22),
}


class GoldBoxes(msgspec.Struct, frozen=True):
    """One line of boxes.jsonl: for each word of the caption, the rectangles around the shapes that it refers to."""

    image: str
    words: list[str]
    boxes: list[list[Box]]


@dataclass(frozen=True, slots=True)
class SceneWorldOptions:
    """Size, seed, language and image size of a generated corpus."""

    train: int = 10_000
    valid: int = 500
    test: int = 1_000
    seed: int = 0
    language: Language = "en"
    size: int = 64
    task: str | None = None  # of classification: labels instead of captions

    def counts(self) -> dict[Split, int]:
        """How many scenes each split has."""
        return {"train": self.train, "valid": self.valid, "test": self.test}


def random_scenes(seed: int) -> Iterator[Scene]:
    """An endless stream of scenes; the same seed gives the same scenes on every machine."""
    rng = SeededRandom(seed)
    while True:
        yield random_scene(rng)


def scene_caption(scene: Scene, language: Language = "en") -> list[CaptionWord]:
    """The only correct caption of the scene."""
    return english_caption(scene) if language == "en" else korean_caption(scene)


def caption_text(words: list[CaptionWord]) -> str:
    """The words as one line of text."""
    return " ".join(word.text for word in words)


def gold_boxes(scene: Scene, words: list[CaptionWord]) -> list[list[Box]]:
    """For each word, the boxes of all shapes that it refers to."""
    boxes = [[bounding_box(shape) for shape in group] for group in scene.groups]
    return [[box for group in word.refers_to for box in boxes[group]] for word in words]


def split_of(scene: Scene) -> Split:
    """The split of the scene, which does not depend on the seed.

    The English caption decides it, so each split has its own combinations of form, kinds and numbers, and the other
    splits have all their parts.
    """
    digest = hashlib.sha256(caption_text(english_caption(scene)).encode()).digest()
    return SPLIT_SHARES[int.from_bytes(digest[:8], "big") % len(SPLIT_SHARES)]


def draw_splits(counts: Mapping[Split, int], seed: int = 0) -> dict[Split, list[Scene]]:
    """The first scenes of several splits, in one pass over the stream."""
    for name, count in counts.items():
        if name not in SPLITS or count < 0:
            raise RegardError(f"{count} scenes of {name!r} were requested; request 0 or more of {', '.join(SPLITS)}")
    drawn: dict[Split, list[Scene]] = {name: [] for name in counts}
    stream = random_scenes(seed)
    while any(len(drawn[name]) < count for name, count in counts.items()):
        scene = next(stream)
        name = split_of(scene)
        if len(drawn.get(name, ())) < counts.get(name, 0):
            drawn[name].append(scene)
    return drawn


def write_world(directory: Path, options: SceneWorldOptions) -> dict[Split, int]:
    """Write images, captions, boxes, splits and a README.txt; returns the number of images in each split."""
    if not MIN_IMAGE_SIZE <= options.size <= MAX_IMAGE_SIZE:
        raise RegardError(
            f"the image size is {options.size} pixels; it must be from {MIN_IMAGE_SIZE} to {MAX_IMAGE_SIZE}"
        )
    if options.task is not None:
        return _write_labelled(directory, options, options.task)
    drawn = draw_splits(options.counts(), options.seed)
    readme = README.format(seed=options.seed, language=options.language, size=options.size, **options.counts())
    try:
        with written_corpus(directory, readme):
            _write_files(directory, drawn, options)
    except OSError as error:
        raise RegardError(f"the scenes cannot be written to {directory}: {error}; choose another folder") from error
    return options.counts()


def _write_files(directory: Path, drawn: Mapping[Split, list[Scene]], options: SceneWorldOptions) -> None:
    from PIL import Image  # imported here, because scenes themselves do not need Pillow

    captions, boxes = list[str](), list[str]()
    for split, scenes in drawn.items():
        names = [f"{split}/{number:05}.png" for number in range(len(scenes))]
        (directory / "images" / split).mkdir(parents=True, exist_ok=True)
        for name, scene in zip(names, scenes, strict=True):
            Image.fromarray(draw_scene(scene, options.size).transpose(1, 2, 0)).save(directory / "images" / name)
            words = scene_caption(scene, options.language)
            gold = GoldBoxes(name, [word.text for word in words], gold_boxes(scene, words))
            captions.append(f"{name}\t{caption_text(words)}")
            boxes.append(msgspec.json.encode(gold).decode())
        write_lines(directory / f"{split}.txt", names)
    write_lines(directory / "captions.txt", captions)
    write_lines(directory / "boxes.jsonl", boxes)


def _write_labelled(directory: Path, options: SceneWorldOptions, task: str) -> dict[Split, int]:
    """Images of a classification task; the splits follow each other in one stream, in which no image repeats."""
    from PIL import Image

    stream, counts = labelled_scenes(task, options.seed), options.counts()
    text = LABELS_README.format(
        task=task, question=SCENE_TASKS[task].question, seed=options.seed, size=options.size, **counts
    )
    try:
        with written_corpus(directory, text):
            for split, count in counts.items():
                names = [f"images/{split}/{number:05}.png" for number in range(count)]
                (directory / "images" / split).mkdir(parents=True, exist_ok=True)
                lines = []
                for name, scene in zip(names, stream, strict=False):
                    Image.fromarray(draw_scene(scene, options.size).transpose(1, 2, 0)).save(directory / name)
                    lines.append(f"{name}\t{scene.label}")
                write_lines(directory / f"{split}.tsv", lines)
    except OSError as error:
        raise RegardError(f"the scenes cannot be written to {directory}: {error}; choose another folder") from error
    return counts


def read_boxes(path: Path) -> dict[str, GoldBoxes]:
    """The boxes of a generated corpus, by the name of the image."""
    advice = "Give the boxes.jsonl of a generated corpus of scenes."
    lines = read_input(path, max_bytes=1024 * MEBIBYTE, advice=advice).splitlines()
    boxes_by_image = {}
    for number, line in enumerate(lines, start=1):
        try:
            boxes = decode_json(line, GoldBoxes)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RegardError(f"{path}:{number}: {error}. Generate the corpus again.") from None
        boxes_by_image[boxes.image] = boxes
    return boxes_by_image


def boxes_beside(image: Path) -> GoldBoxes | None:
    """The boxes of an image in a generated corpus, at CORPUS/images/SPLIT/NAME; else None."""
    parents = image.absolute().parents
    beside = parents[2] / "boxes.jsonl" if len(parents) > 2 and parents[1].name == "images" else None
    if beside is None or not beside.is_file():
        return None
    return read_boxes(beside).get(f"{image.absolute().parent.name}/{image.name}")


# --- painting ---------------------------------------------------------------------------------------------------------


def draw_scene(scene: Scene | LabelledScene, size: int = 64) -> NDArray[np.uint8]:
    """The scene as red, green and blue, (3, size, size); the first group is on top."""
    image = np.full((3, size, size), scene.ground)
    for group in reversed(scene.groups):
        for shape in group:
            color = np.array(PALETTE[shape.kind.colour]) + shape.tint
            rimmed = dataclasses.replace(shape, radius=shape.radius + RIM_WIDTH)
            _paint(image, outline(rimmed) * size, np.full(3, scene.ground))
            _paint(image, outline(shape) * size, color)
    pixels: NDArray[np.uint8] = np.clip(np.rint(image), 0, 255).astype(np.uint8)
    return pixels


def pixel_coverage(corners: NDArray[np.float64], width: int, height: int) -> NDArray[np.float64]:
    """The fraction of each pixel inside a polygon whose edges do not cross, (height, width).

    It is exact along a scan line: each edge that crosses the line adds or subtracts everything to its right.
    """
    here, there = corners, np.roll(corners, -1, axis=0)
    lines = (np.arange(height * SCAN_LINES)[:, None] + 0.5) / SCAN_LINES
    meets = (here[:, 1] <= lines) != (there[:, 1] <= lines)  # (lines, edges)
    fall = there[:, 1] - here[:, 1]
    along = (lines - here[:, 1]) / np.where(fall == 0, 1.0, fall)
    crossing = here[:, 0] + along * (there[:, 0] - here[:, 0])
    to_the_right = np.clip(np.arange(1, width + 1) - crossing[:, :, None], 0, 1)  # (lines, edges, pixels)
    inside = np.einsum("le,lep->lp", meets * np.sign(fall), to_the_right)
    shares: NDArray[np.float64] = np.abs(inside).reshape(height, SCAN_LINES, width).mean(1)
    return shares


def _paint(image: NDArray[np.float64], corners: NDArray[np.float64], color: NDArray[np.float64]) -> None:
    """Paint a polygon over the image; only the pixels around it are computed."""
    size = image.shape[1]
    left, top = (max(0, math.floor(low)) for low in corners.min(0))
    right, bottom = (min(size, math.ceil(high)) for high in corners.max(0))
    share = pixel_coverage(corners - [left, top], right - left, bottom - top)
    patch = image[:, top:bottom, left:right]
    patch += share * (color[:, None, None] - patch)
