"""Examples with one label each: texts or images in a TSV, JSONL or CSV file, or images in one folder for each class.

- TSV: `text TAB label` lines; a first line `text TAB label` is a header.
- JSONL: objects with `text` and `label`; CSV: a header with these two columns, and any others.
- Images: the same with `image` instead of `text`, or a folder whose folders have the names of the classes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from os.path import isfile
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from regard.data.captions import CaptionedImage
from regard.data.held_out import hold_out
from regard.data.pair_readers.csv_files import csv_rows
from regard.data.pair_readers.text import Pair, PairBlock, join_lines, pair_blocks
from regard.data.text_lines import display_name, empty_file_error, error_at, numbered_lines
from regard.errors import RegardError
from regard.struct_decoding import decode_json, shorten

LABEL_FORMATS = (".tsv", ".jsonl", ".csv")
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")
MAX_LABELS = 10_000
SHOWN_LABELS = 8
MAX_DIGITS = 18  # of a label that is sorted as a number; Python parses no number of 4,301 digits
HELD_OUT_LABELS = 0.1  # of the examples: labels are few, and a score over fewer would be noise
IMBALANCE = 10  # times as many examples of one class as of another: reported as a warning

Key = Literal["text", "image"]


class LabelledExample(NamedTuple):
    """A text or the name of an image, its label, and the file and line that they come from."""

    content: str
    label: str
    file: Path
    line: int


# --- files -----------------------------------------------------------------------------------------------------------


def read_labelled_file(path: Path, key: Key) -> Iterator[LabelledExample]:
    """Every example of a file; a missing text or label is an error, blank lines are skipped."""
    if path.is_dir():
        raise RegardError(f"{path} is a folder, and the model classifies texts. Give a file of texts with labels.")
    readers = {".tsv": _tsv_rows, ".jsonl": _jsonl_rows, ".csv": _csv_rows}
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix not in readers:
        raise RegardError(
            f"{path} has an unknown format for labels; allowed are {', '.join(LABEL_FORMATS)}, or these with .gz. "
            f"Write a {key}, a tab and a label on each line of a .tsv file."
        )
    number = 0
    for number, *columns in readers[suffix](path, key):
        content, label = (join_lines(column).strip() for column in columns)
        if not content or not label:
            missing = key if not content else "label"
            raise error_at(path, number, f"the {missing} is missing. Add it, or remove the line.")
        yield LabelledExample(content, label, path, number)
    if not number:
        raise empty_file_error(path, f"lines with a {key}, a tab and a label")


def _tsv_rows(path: Path, key: Key) -> Iterator[tuple[int, str, str]]:
    for number, line in numbered_lines(path):
        columns = line.split("\t")
        is_header = number == 1 and [column.strip().lower() for column in columns] == [key, "label"]
        if not line.strip() or is_header:
            continue
        if len(columns) != 2:
            problem = f"expected a {key}, one tab and a label, got {len(columns)} column(s)"
            raise error_at(path, number, f"{problem}. Keep two columns, for example with `cut -f 1,2`.")
        yield number, columns[0], columns[1]


def _jsonl_rows(path: Path, key: Key) -> Iterator[tuple[int, str, str]]:
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        try:
            record = decode_json(line)
        except (msgspec.DecodeError, RecursionError) as error:
            raise error_at(path, number, f"not JSON: {error}. Write one JSON object on each line.") from None
        content, label = (record.get(name) for name in (key, "label")) if isinstance(record, dict) else (None, None)
        if not isinstance(content, str) or isinstance(label, bool) or not isinstance(label, str | int):
            example = f'{{"{key}": "...", "label": "..."}}'
            raise error_at(path, number, f"expected an object such as {example}, got {shorten(record)}.")
        yield number, content, str(label)


def _csv_rows(path: Path, key: Key) -> Iterator[tuple[int, str, str]]:
    header: list[str] = []
    for number, row in csv_rows(path):
        if not header:
            header = [column.strip().lower() for column in row]
            if not {key, "label"} <= set(header):
                raise error_at(path, 1, f"the header is {shorten(header)}. Name the columns {key} and label in it.")
            continue
        if len(row) not in (0, len(header)):
            problem = f"expected {len(header)} columns as in the header, got {len(row)}"
            raise error_at(path, number, f"{problem}. Put quotes around a {key} that has commas.")
        if row:
            yield number, row[header.index(key)], row[header.index("label")]


# --- texts -----------------------------------------------------------------------------------------------------------


def read_labelled_texts(paths: Sequence[Path | str], *, labels: Sequence[str] = ()) -> Iterator[Pair]:
    """The texts of the files as targets, and their labels as sources; a label that is not in `labels` is an error."""
    for path in map(Path, paths):
        for one in _checked(read_labelled_file(path, "text"), labels):
            yield Pair(one.label, one.content, one.line)


def labelled_blocks(paths: Sequence[Path | str], *, labels: Sequence[str] = ()) -> Iterator[PairBlock]:
    """The same, many at a time."""
    return pair_blocks(read_labelled_texts(paths, labels=labels))


# --- images ----------------------------------------------------------------------------------------------------------


def read_labelled_images(
    path: Path | str, *, images: Path | str | None = None, labels: Sequence[str] = ()
) -> list[CaptionedImage]:
    """The images of a folder with one folder for each class, or of a file; the label of an image is its caption.

    The names in a file start from `images`, or else from the folder of the file.
    """
    path = Path(path)
    examples = _images_in_folders(path) if path.is_dir() else _listed_images(path, Path(images or path.parent))
    return [CaptionedImage(Path(one.content), [one.label]) for one in _checked(examples, labels)]


def _listed_images(path: Path, folder: Path) -> Iterator[LabelledExample]:
    for one in read_labelled_file(path, "image"):
        image = folder / one.content
        if not isfile(image):  # unlike `is_file`, no error for a name that is too long
            if image.suffix.lower() in IMAGE_SUFFIXES:
                raise error_at(path, one.line, f"the image {image} does not exist. Fix or remove the line.")
            problem = f"{shorten(one.content)} is not the name of an image, and the model classifies images"
            raise error_at(path, one.line, f"{problem}. Name an image on each line.")
        yield one._replace(content=str(image))


def _images_in_folders(path: Path) -> Iterator[LabelledExample]:
    folders = sorted(one for one in path.iterdir() if one.is_dir() and not one.name.startswith("."))
    if not folders:
        raise RegardError(f"{path} has no folders. Put the images of each class into a folder with its name.")
    for folder in folders:
        images = sorted(one for one in folder.iterdir() if one.suffix.lower() in IMAGE_SUFFIXES)
        if not images:
            raise RegardError(f"{folder} has no images ({', '.join(IMAGE_SUFFIXES)}). Add some, or remove the folder.")
        yield from (LabelledExample(str(image), folder.name, image, 0) for image in images)


def hold_out_images(
    examples: Sequence[CaptionedImage], origin: str
) -> tuple[list[CaptionedImage], list[CaptionedImage]]:
    """The images to train on, and those held out: the same ones every time, by a hash of label and name."""
    keys = [Pair(one.captions[0], f"{one.image.parent.name}/{one.image.name}", 0) for one in examples]
    chosen = {pair[:2] for pair in hold_out(keys, monolingual=True, fraction=HELD_OUT_LABELS)}
    train = [one for one, key in zip(examples, keys, strict=True) if key[:2] not in chosen]
    if not train:
        raise RegardError(f"{origin} has {len(examples)} images, and none is left to train on. Give more.")
    return train, [one for one, key in zip(examples, keys, strict=True) if key[:2] in chosen]


def are_images(path: Path | str) -> bool:
    """Whether the examples at this path are images: a folder, or a file that lists images."""
    path = Path(path)
    if path.is_dir():
        return True
    try:
        return Path(next(read_labelled_file(path, "image")).content).suffix.lower() in IMAGE_SUFFIXES
    except RegardError:
        return False  # not a file of images; another reader reports what is wrong with it


# --- labels ----------------------------------------------------------------------------------------------------------


def _checked(examples: Iterable[LabelledExample], labels: Sequence[str]) -> Iterator[LabelledExample]:
    known = set(labels)
    for one in examples:
        if known and one.label not in known:
            where = f"{display_name(one.file)}:{one.line}" if one.line else display_name(one.file)
            raise RegardError(
                f"{where}: the label {shorten(one.label)} is not one of the {len(labels)} labels that the model was "
                f"trained on: {list_labels(labels)}. Fix the label, or remove the example."
            )
        yield one


def is_label(text: str) -> bool:
    """Whether a text is a label as a file can hold it: one line that is not blank, without spaces around it."""
    return bool(text) and join_lines(text).strip() == text


def list_labels(labels: Sequence[str]) -> str:
    """The first labels, for messages."""
    return ", ".join(shorten(one) for one in labels[:SHOWN_LABELS]) + (", ..." if len(labels) > SHOWN_LABELS else "")


def find_labels(files: Sequence[Sequence[str]], *, is_image: bool, image_folder: str = "") -> list[str]:
    """The labels of the training files, sorted (numbers by their value); one alone, or too many, is an error."""
    counts: Counter[str] = Counter()
    for paths in files:
        if is_image:
            images = read_labelled_images(paths[0], images=image_folder or None)
            counts.update(one.captions[0] for one in images)
        else:
            counts.update(pair.source for pair in read_labelled_texts(paths))
    named = ", ".join(path for paths in files for path in paths)
    if len(counts) < 2:
        raise RegardError(f"{named} has one label only: {list_labels(list(counts))}. Give examples of two or more.")
    if len(counts) > min(MAX_LABELS, max(20, counts.total() // 2)):
        raise RegardError(
            f"{named} has {len(counts):,} labels in {counts.total():,} examples, such as {list_labels(list(counts))}. "
            "Each line is a text, a tab and its label, in this order: check that they are not swapped."
        )
    numbers = {label: int(label) for label in counts if label.isdecimal() and len(label) <= MAX_DIGITS}
    return sorted(counts, key=lambda label: (label not in numbers, numbers.get(label, 0), label))


def describe_labels(counts: dict[str, int]) -> list[str]:
    """The number of examples of each class, and a warning where they are unequal or missing; for people."""
    total, ranked = sum(counts.values()), sorted(counts.items(), key=lambda one: -one[1])
    shown = [f"{label} {count:,} ({count / total:.0%})" for label, count in ranked[:SHOWN_LABELS]]
    lines = [f"{len(counts)} classes: {', '.join(shown)}" + (", ..." if len(ranked) > SHOWN_LABELS else "")]
    forms = Counter(map(_label_form, counts))
    if twins := sorted((one for one in counts if forms[_label_form(one)] > 1), key=_label_form):
        lines.append(
            f"warning: {list_labels(twins)} differ only in case or spaces, and are classes of their own. If they mean "
            "the same, make them equal in the files."
        )
    (largest, most), (rarest, fewest) = ranked[0], ranked[-1]
    if not fewest:
        missing = [label for label, count in ranked if not count]
        lines.append(f"warning: no training example has the label {list_labels(missing)}: the model cannot learn it.")
    elif most >= IMBALANCE * fewest:
        lines.append(
            f"warning: {largest} has {most / fewest:.0f} times as many examples as {rarest}; always answering "
            f"{largest} gives {most / total:.0%} accuracy. Set training.validation_metric=macro_f1, or add examples."
        )
    return lines


def _label_form(label: str) -> str:
    return "".join(label.casefold().split())
