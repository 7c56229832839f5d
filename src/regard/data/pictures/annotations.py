"""Captions as JSON: COCO's annotations, Karpathy's splits of published sets, and one object a line."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from regard.data.pictures.captioned import Described
from regard.data.readers.lines import error_at, numbered_lines
from regard.errors import RegardError

Shape = TypeVar("Shape")
_BYTE = re.compile(r"\(byte (\d+)\)")


class CocoPicture(msgspec.Struct, frozen=True):
    """A picture of COCO's list."""

    id: int | str
    file_name: str


class CocoCaption(msgspec.Struct, frozen=True):
    """A caption of COCO's list."""

    image_id: int | str
    caption: str


class Sentence(msgspec.Struct, frozen=True):
    """A caption of Karpathy's list."""

    raw: str


class SplitPicture(msgspec.Struct, frozen=True):
    """A picture of Karpathy's list, with its split and its captions."""

    filename: str
    sentences: list[Sentence]
    filepath: str = ""
    split: str | None = None


class CocoFile(msgspec.Struct, frozen=True):
    """Pictures and captions apart, tied by the picture's id."""

    images: list[CocoPicture]
    annotations: list[CocoCaption]


class KarpathyFile(msgspec.Struct, frozen=True):
    """Captions inside pictures."""

    images: list[SplitPicture]


class Line(msgspec.Struct, frozen=True):
    """One line of JSONL: a picture with its caption, or with several."""

    picture: str
    caption: str | None = None
    captions: list[str] = []
    split: str | None = None


class _Top(msgspec.Struct, frozen=True):
    """Enough of a file to see which of the two it is."""

    annotations: msgspec.Raw = msgspec.Raw(b"")


def read_json(path: Path) -> Iterator[Described]:
    """Every caption of a COCO or a Karpathy file."""
    content = _content(path)
    is_coco = bool(bytes(_decoded(path, content, _Top).annotations))
    return _coco(path, content) if is_coco else _karpathy(path, content)


def read_jsonl(path: Path) -> Iterator[Described]:
    """Every caption of a file with one object on each line."""
    for number, text in numbered_lines(path):
        if not text.strip():
            continue
        try:
            line = msgspec.json.decode(text, type=Line)
        except (msgspec.DecodeError, RecursionError) as error:
            wanted = '{"picture": "dog.jpg", "caption": "A dog"}'
            raise error_at(path, number, f"{error}. Write an object such as {wanted}.") from None
        captions = [line.caption] if line.caption is not None else line.captions
        if not captions or not all(caption.strip() for caption in captions):
            raise error_at(path, number, "there is no caption, or a blank one. Write it, or remove the line.")
        yield from (_described(line.picture, caption, line.split) for caption in captions)


def _coco(path: Path, content: bytes) -> Iterator[Described]:
    annotations = _decoded(path, content, CocoFile)
    names = {picture.id: picture.file_name for picture in annotations.images}
    for index, (identity, times) in enumerate(Counter(picture.id for picture in annotations.images).items()):
        if times > 1:
            raise RegardError(
                f"{path}: $.images[{index}]: {times} pictures have the id {identity!r}. Give each its own."
            )
    for index, annotation in enumerate(annotations.annotations):
        if annotation.image_id not in names or not annotation.caption.strip():
            problem = f"image_id {annotation.image_id!r} with the caption {annotation.caption[:40]!r}"
            raise RegardError(
                f"{path}: $.annotations[{index}]: {problem} has no picture or no words. Mend it, or remove it."
            )
        yield _described(names[annotation.image_id], annotation.caption, None)


def _karpathy(path: Path, content: bytes) -> Iterator[Described]:
    for index, picture in enumerate(_decoded(path, content, KarpathyFile).images):
        captions = [sentence.raw for sentence in picture.sentences]
        if not captions or not all(caption.strip() for caption in captions):
            raise RegardError(f"{path}: $.images[{index}]: there is no caption, or a blank one. Mend it, or remove it.")
        name = str(Path(picture.filepath, picture.filename))
        yield from (_described(name, caption, picture.split) for caption in captions)


def _described(name: str, caption: str, split: str | None) -> Described:
    return Described(name, " ".join(caption.split()), split)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RegardError(f"{path} cannot be read: {error.strerror}. Give the path of a readable file.") from None


def _decoded(path: Path, content: bytes, shape: type[Shape]) -> Shape:
    try:
        return msgspec.json.decode(content, type=shape)
    except msgspec.ValidationError as error:
        raise RegardError(f"{path}: {error}. COCO's form (images, annotations) and Karpathy's are read.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        place = _BYTE.search(str(error))
        line = content.count(b"\n", 0, int(place[1])) + 1 if place else 1
        raise error_at(path, line, f"not JSON: {error}. Save the file again.") from None
