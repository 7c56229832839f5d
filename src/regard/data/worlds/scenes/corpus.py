"""The endless stream of scenes, its disjoint splits, and the files that a world is written to."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import msgspec

from regard.data.worlds.readme import described
from regard.data.worlds.scenes.drawing import draw
from regard.data.worlds.scenes.english import in_english
from regard.data.worlds.scenes.korean import in_korean
from regard.data.worlds.scenes.layouts import some_scene
from regard.data.worlds.scenes.things import Box, Scene, Word, box_of
from regard.data.worlds.sentences.chance import Chance
from regard.data.worlds.sentences.corpus import SHARES, SPLITS, Split, write_lines
from regard.errors import RegardError

Language = Literal["en", "ko"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
SMALLEST, LARGEST = 16, 1024  # pixels of a picture's side

README = """A world of scenes: pictures drawn by regard, with captions in {language} (seed {seed}).

captions.txt has `picture TAB caption` on each line; train.txt, valid.txt and test.txt list the pictures of each split.
No caption of one split is in another. Line n of boxes.jsonl belongs to line n of captions.txt: for each word of
the caption, the rectangles around the things that it speaks of, as shares of the picture's width and height: left,
top, right, bottom, from the upper left corner. A word such as "of" has none.

pictures of {size} x {size} pixels: {train} train, {valid} valid, {test} test
"""


class Boxes(msgspec.Struct, frozen=True):
    """One line of boxes.jsonl: for each word of the caption, the rectangles around what it speaks of."""

    picture: str
    words: list[str]
    boxes: list[list[Box]]


@dataclass(frozen=True, slots=True)
class Wish:
    """Which world is asked for."""

    train: int = 10_000
    valid: int = 500
    test: int = 1_000
    seed: int = 0
    language: Language = "en"
    size: int = 64

    def counts(self) -> dict[Split, int]:
        """How many scenes each split has."""
        return {"train": self.train, "valid": self.valid, "test": self.test}


def scenes(seed: int) -> Iterator[Scene]:
    """Scenes without end; the same seed gives the same scenes on every machine."""
    chance = Chance(seed)
    while True:
        yield some_scene(chance)


def caption(scene: Scene, language: Language = "en") -> list[Word]:
    """The words that say what the scene shows, which is one sentence and no other."""
    return in_english(scene) if language == "en" else in_korean(scene)


def spoken(words: list[Word]) -> str:
    """The words as one line of text."""
    return " ".join(word.text for word in words)


def gold_boxes(scene: Scene, words: list[Word]) -> list[list[Box]]:
    """For each word the boxes of all things that it speaks of."""
    boxes = [[box_of(thing) for thing in group] for group in scene.groups]
    return [[box for group in word.about for box in boxes[group]] for word in words]


def split_of(scene: Scene) -> Split:
    """The split that the scene belongs to, whatever the seed.

    It is decided by the caption: so each split holds out whole combinations of form, kinds and numbers, all of whose
    parts the others have. The English caption decides for both languages.
    """
    digest = hashlib.sha256(spoken(in_english(scene)).encode()).digest()
    return SHARES[int.from_bytes(digest[:8], "big") % len(SHARES)]


def draw_splits(counts: Mapping[Split, int], seed: int = 0) -> dict[Split, list[Scene]]:
    """The first scenes of several splits, in one pass over the stream."""
    for name, count in counts.items():
        if name not in SPLITS or count < 0:
            raise RegardError(f"{count} scenes of {name!r} were asked for; ask for 0 or more of {', '.join(SPLITS)}")
    drawn: dict[Split, list[Scene]] = {name: [] for name in counts}
    stream = scenes(seed)
    while any(len(drawn[name]) < count for name, count in counts.items()):
        scene = next(stream)
        name = split_of(scene)
        if len(drawn.get(name, ())) < counts.get(name, 0):
            drawn[name].append(scene)
    return drawn


def write_world(directory: Path, wish: Wish) -> dict[Split, int]:
    """Write the pictures, their captions, boxes and splits, and a README.txt; returns how many each split has."""
    if not SMALLEST <= wish.size <= LARGEST:
        raise RegardError(f"pictures of {wish.size} pixels were asked for; ask for {SMALLEST} to {LARGEST}")
    drawn = draw_splits(wish.counts(), wish.seed)
    readme = README.format(seed=wish.seed, language=wish.language, size=wish.size, **wish.counts())
    try:
        with described(directory, readme):
            _write_files(directory, drawn, wish)
    except OSError as error:
        raise RegardError(f"the scenes cannot be written to {directory}: {error}; choose another folder") from error
    return wish.counts()


def _write_files(directory: Path, drawn: Mapping[Split, list[Scene]], wish: Wish) -> None:
    captions, boxes = list[str](), list[str]()
    for name, those in drawn.items():
        written = [_write_scene(directory, f"{name}/{at:05}.png", scene, wish) for at, scene in enumerate(those)]
        captions += [f"{one.picture}\t{' '.join(one.words)}" for one in written]
        boxes += [msgspec.json.encode(one).decode() for one in written]
        write_lines(directory / f"{name}.txt", [one.picture for one in written])
    write_lines(directory / "captions.txt", captions)
    write_lines(directory / "boxes.jsonl", boxes)


def _write_scene(directory: Path, name: str, scene: Scene, wish: Wish) -> Boxes:
    from PIL import Image  # here, not above: the scenes themselves need no drawing library

    path = directory / "images" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(draw(scene, wish.size).transpose(1, 2, 0)).save(path)
    words = caption(scene, wish.language)
    return Boxes(name, [word.text for word in words], gold_boxes(scene, words))


def read_boxes(path: Path) -> dict[str, Boxes]:
    """The boxes of a written world, by the picture's name."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise RegardError(
            f"{path} cannot be read: {error.strerror}. Give a boxes.jsonl of a world of scenes."
        ) from None
    found = {}
    for number, line in enumerate(lines, start=1):
        try:
            boxes = msgspec.json.decode(line, type=Boxes)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RegardError(f"{path}:{number}: {error}. Write the world again.") from None
        found[boxes.picture] = boxes
    return found


def boxes_beside(picture: Path) -> Boxes | None:
    """The boxes of a picture that lies in a written world, at WORLD/images/SPLIT/NAME; else None."""
    places = picture.absolute().parents
    beside = places[2] / "boxes.jsonl" if len(places) > 2 and places[1].name == "images" else None
    if beside is None or not beside.is_file():
        return None
    return read_boxes(beside).get(f"{picture.absolute().parent.name}/{picture.name}")
