"""Captioned images in any format: one record for each image, with all its captions.

- Text: `image TAB caption` lines (Flickr8k), or columns with the header `image,caption` (Flickr30k).
- JSON: COCO annotations and Karpathy's splits; JSON Lines with one object per line.
- Splits: a list of image names beside the captions (`train.txt`), or the split that the file itself gives.
"""

import csv
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os.path import isfile
from pathlib import Path
from typing import TypeVar

import msgspec

from regard.data.text_lines import empty_file_error, error_at, numbered_lines
from regard.errors import RegardError
from regard.files import MEBIBYTE, open_input, read_input
from regard.struct_decoding import decode_json
from regard.tokenization.text import nfc

CAPTIONS_FILE = "captions.txt"
MAX_JSON_BYTES = 1024 * MEBIBYTE  # COCO's captions have 90 MB, its boxes 450 MB
CAPTION_FORMATS = (".txt", ".csv", ".tsv", ".token", ".json", ".jsonl")
IMAGE_FOLDERS = ("images", "Images", "Flicker8k_Dataset", ".")  # where published sets keep images beside captions
MAX_LISTED = 5  # names shown of a long list

JsonType = TypeVar("JsonType")


@dataclass(frozen=True, slots=True)
class CaptionedImage:
    """The path of an image and its captions, each one line of text, without duplicates."""

    image: Path
    captions: list[str]


@dataclass(frozen=True, slots=True)
class CaptionRow:
    """One caption of a file: the name of the image, the text, and the split if the file gives one."""

    name: str
    caption: str
    split: str | None = None


def read_captioned(
    path: Path | str, *, split: str | None = None, images: Path | str | None = None
) -> list[CaptionedImage]:
    """The images of a captions file, or of a folder with a captions.txt, each with all its captions.

    A split is the name of a list of images beside the captions (`train` for train.txt), or one that the file itself
    gives; `train+restval` reads both. The image files are in `images`, or else beside the captions (IMAGE_FOLDERS).
    """
    file = find_captions_file(Path(path))
    match file.suffix.lower():
        case ".json":
            rows = list(read_caption_json(file))
        case ".jsonl":
            rows = list(read_caption_jsonl(file))
        case suffix if suffix in CAPTION_FORMATS:
            rows = list(read_captions_file(file))
        case _:
            allowed = ", ".join(CAPTION_FORMATS)
            raise RegardError(f"{file} has an unknown format; allowed are {allowed}. Rename or convert the file.")
    if not rows:
        raise empty_file_error(file, "captions")
    if split is not None:
        rows = [row for name in split.split("+") for row in _rows_of_split(file, rows, name.strip())]
    beside = [folder for name in IMAGE_FOLDERS if (folder := file.parent / name).is_dir()]
    return group_by_image(rows, [Path(images)] if images is not None else beside)


def find_captions_file(path: Path) -> Path:
    """The file with the captions; for a folder its captions.txt."""
    path = path / CAPTIONS_FILE if path.is_dir() else path
    if not path.exists():
        raise RegardError(
            f"{path} does not exist. Give a folder that has a {CAPTIONS_FILE}, or a file of captions: "
            f"{', '.join(CAPTION_FORMATS)}."
        )
    return path


def group_by_image(rows: Iterable[CaptionRow], folders: Sequence[Path]) -> list[CaptionedImage]:
    """The captions of each image, in the order in which images first occur; every image file must exist."""
    captions: dict[str, dict[str, None]] = {}  # a dict keeps the order and drops duplicates
    names: dict[str, str] = {}  # composed name -> the first spelling of it
    for row in rows:
        name = names.setdefault(nfc(row.name), row.name)
        captions.setdefault(name, {})[row.caption] = None
    found: dict[str, Path] = {}
    for name in captions:  # archives from a Mac have decomposed Korean names
        spellings = dict.fromkeys([name, *(unicodedata.normalize(form, name) for form in ("NFC", "NFD"))])
        paths = (folder / one for folder in folders for one in spellings)
        if (path := next(filter(isfile, paths), None)) is not None:  # a name may be longer than a system allows
            found[name] = path
    missing = [name for name in captions if name not in found]
    if missing:
        searched = " or ".join(str(folder) for folder in folders)
        raise RegardError(
            f"{len(missing):,} of {len(captions):,} images are not in {searched}: {_shorten_list(missing)}. "
            "Give the folder that contains them, or remove them from the captions."
        )
    return [CaptionedImage(path, list(captions[name])) for name, path in found.items()]


def _shorten_list(names: Sequence[str]) -> str:
    return ", ".join(name[:80] for name in names[:MAX_LISTED]) + (", ..." if len(names) > MAX_LISTED else "")


# --- splits ----------------------------------------------------------------------------------------------------------


def read_image_names(path: Path) -> list[str]:
    """The images of a split, one name on each line."""
    names = [line.strip() for _, line in numbered_lines(path) if line.strip()]
    if not names:
        raise RegardError(f"{path} is empty. Give a file with the name of an image on each line.")
    return list(dict.fromkeys(names))


def _rows_of_split(path: Path, rows: list[CaptionRow], split: str) -> list[CaptionRow]:
    names = path.parent / (split if split.endswith(".txt") else f"{split}.txt")
    if not names.is_file() or names == path:
        selected = [row for row in rows if row.split == split]
        if not selected:
            available = sorted({row.split for row in rows if row.split} | _split_lists_beside(path, rows))
            raise RegardError(
                f"{path} has no split {split!r}: there is no list {names.name} beside it, and no image in it has that "
                f"split. There are: {', '.join(available) or 'none'}."
            )
        return selected
    wanted = {nfc(name) for name in read_image_names(names)}
    selected = [row for row in rows if nfc(row.name) in wanted]
    missing = wanted - {nfc(row.name) for row in selected}
    if missing:
        raise RegardError(
            f"{path} has no caption for {len(missing):,} of the {len(wanted):,} images that {names} lists: "
            f"{_shorten_list(sorted(missing))}. Add their captions, or remove them from the list."
        )
    return selected


def _split_lists_beside(path: Path, rows: list[CaptionRow]) -> set[str]:
    """The names of the text files beside the captions whose first line is one of the images."""
    known, found = {nfc(row.name) for row in rows}, set()
    for other in path.parent.glob("*.txt"):
        with suppress(RegardError), open_input(other) as file:  # a folder may be called so
            if nfc(file.readline(1000).decode(errors="replace").strip()) in known:
                found.add(other.stem)
    return found


# --- text ------------------------------------------------------------------------------------------------------------

_CAPTION_NUMBER = re.compile(r"#\d+$")  # Flickr8k.token.txt numbers the captions of an image: dog.jpg#0, dog.jpg#1


def read_captions_file(path: Path) -> Iterator[CaptionRow]:
    """Every caption of a text file, tab-separated or with a CSV header; blank lines are skipped."""
    lines = ((number, line) for number, line in numbered_lines(path) if line.strip())
    first = next(lines, None)
    if first is None:
        raise RegardError(f"{path} is empty. Give a file with an image, a tab and a caption on each line.")
    header: list[str] = []
    with suppress(csv.Error):  # a caption may be longer than the csv module's limit of a column
        header = [column.strip().lower() for column in next(csv.reader([first[1]]))]
    if {"image", "caption"} <= set(header):
        yield from _csv_rows(path, header)
        return
    yield _tab_separated_row(path, *first)
    for number, line in lines:
        yield _tab_separated_row(path, number, line)


def _tab_separated_row(path: Path, number: int, line: str) -> CaptionRow:
    columns = line.split("\t")
    if len(columns) != 2:
        problem = f"expected an image, one tab and a caption, got {len(columns)} column(s)"
        raise error_at(path, number, f"{problem}. Fix the line, or start the file with the header image,caption.")
    return _checked_row(path, number, _CAPTION_NUMBER.sub("", columns[0].strip()), columns[1])


def _csv_rows(path: Path, header: list[str]) -> Iterator[CaptionRow]:
    image, caption = header.index("image"), header.index("caption")
    rows = csv.reader((f"{line}\n" for _, line in numbered_lines(path)), strict=True)
    try:
        next(row for row in rows if "".join(row).strip())  # skip the header and blank lines before it
        for row in rows:
            if len(row) not in (0, len(header)):
                problem = f"expected {len(header)} columns as in the header, got {len(row)}"
                raise error_at(path, rows.line_num, f"{problem}. Put quotes around a caption that has commas.")
            if row:
                yield _checked_row(path, rows.line_num, row[image].strip(), row[caption])
    except csv.Error as error:
        problem = f"{error}. Put quotes around captions, and double the quotes inside them."
        raise error_at(path, rows.line_num, problem) from None


def _checked_row(path: Path, number: int, name: str, caption: str) -> CaptionRow:
    text = _one_line(caption)
    if not name or not text:
        raise error_at(path, number, f"the {'caption' if name else 'image'} is missing. Add it, or remove the line.")
    return CaptionRow(name, text)


def _one_line(caption: str) -> str:
    return " ".join(caption.split())


# --- JSON ------------------------------------------------------------------------------------------------------------

_BYTE_OFFSET = re.compile(r"\(byte (\d+)\)")  # in msgspec's messages


class CocoImage(msgspec.Struct, frozen=True):
    """An image of a COCO file."""

    id: int | str
    file_name: str


class CocoCaption(msgspec.Struct, frozen=True):
    """A caption of a COCO file."""

    image_id: int | str
    caption: str


class CocoFile(msgspec.Struct, frozen=True):
    """Images and captions in two lists, linked by the id of the image."""

    images: list[CocoImage]
    annotations: list[CocoCaption]


class KarpathySentence(msgspec.Struct, frozen=True):
    """A caption of a Karpathy file."""

    raw: str


class KarpathyImage(msgspec.Struct, frozen=True):
    """An image of a Karpathy file, with its split and its captions."""

    filename: str
    sentences: list[KarpathySentence]
    filepath: str = ""
    split: str | None = None


class KarpathyFile(msgspec.Struct, frozen=True):
    """Images that contain their captions."""

    images: list[KarpathyImage]


class CaptionLine(msgspec.Struct, frozen=True):
    """One line of JSON Lines: an image with one caption or several."""

    image: str
    caption: str | None = None
    captions: list[str] = []
    split: str | None = None


class _AnnotationsProbe(msgspec.Struct, frozen=True):
    """Only COCO files have annotations."""

    annotations: msgspec.Raw = msgspec.Raw(b"")


def read_caption_jsonl(path: Path) -> Iterator[CaptionRow]:
    """Every caption of a file with one object on each line."""
    for number, text in numbered_lines(path):
        if not text.strip():
            continue
        try:
            line = decode_json(text, CaptionLine)
        except (msgspec.DecodeError, RecursionError) as error:
            example = '{"image": "dog.jpg", "caption": "A dog"}'
            raise error_at(path, number, f"{error}. Write an object such as {example}.") from None
        captions = [line.caption] if line.caption is not None else line.captions
        if not captions or not all(caption.strip() for caption in captions):
            raise error_at(path, number, "a caption is missing or blank. Add it, or remove the line.")
        yield from (CaptionRow(line.image, _one_line(caption), line.split) for caption in captions)


def read_caption_json(path: Path) -> Iterator[CaptionRow]:
    """Every caption of a COCO or a Karpathy file."""
    content = read_input(path, max_bytes=MAX_JSON_BYTES)
    is_coco = bool(bytes(_decode_json(path, content, _AnnotationsProbe).annotations))
    return _coco_rows(path, content) if is_coco else _karpathy_rows(path, content)


def _coco_rows(path: Path, content: bytes) -> Iterator[CaptionRow]:
    file = _decode_json(path, content, CocoFile)
    names = {image.id: image.file_name for image in file.images}
    for index, (identity, count) in enumerate(Counter(image.id for image in file.images).items()):
        if count > 1:
            raise RegardError(f"{path}: $.images[{index}]: {count} images have the id {identity!r}. Make ids unique.")
    for index, annotation in enumerate(file.annotations):
        if annotation.image_id not in names or not annotation.caption.strip():
            problem = f"image_id {annotation.image_id!r} with the caption {annotation.caption[:40]!r}"
            raise RegardError(f"{path}: $.annotations[{index}]: {problem} has no image or no text. Fix or remove it.")
        yield CaptionRow(names[annotation.image_id], _one_line(annotation.caption))


def _karpathy_rows(path: Path, content: bytes) -> Iterator[CaptionRow]:
    for index, image in enumerate(_decode_json(path, content, KarpathyFile).images):
        captions = [sentence.raw for sentence in image.sentences]
        if not captions or not all(caption.strip() for caption in captions):
            raise RegardError(f"{path}: $.images[{index}]: a caption is missing or blank. Fix or remove the image.")
        name = str(Path(image.filepath, image.filename))
        yield from (CaptionRow(name, _one_line(caption), image.split) for caption in captions)


def _decode_json(path: Path, content: bytes, json_type: type[JsonType]) -> JsonType:
    try:
        return decode_json(content, json_type)
    except msgspec.ValidationError as error:
        allowed = "COCO files (images, annotations) and Karpathy files (images with sentences)"
        raise RegardError(f"{path}: {error}. Allowed are {allowed}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        offset = _BYTE_OFFSET.search(str(error))
        line = content.count(b"\n", 0, int(offset[1])) + 1 if offset else 1
        raise error_at(path, line, f"not JSON: {error}. Save the file again as JSON.") from None
