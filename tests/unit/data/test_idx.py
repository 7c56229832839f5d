"""IDX files: arrays by hand and gzipped, extracted into one folder for each class; what is wrong is named."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.data.idx import extract_idx_images, read_idx
from regard.data.labelled_examples import read_labelled_images
from regard.errors import RegardError
from tests.support.hostile_files import SPARSE_BYTES, bounded

IMAGES = np.arange(4 * 2 * 3, dtype=np.uint8).reshape(4, 2, 3)
LABELS = np.array([1, 0, 1, 3], np.uint8)


def idx(array: np.ndarray) -> bytes:
    """The content of an IDX file of bytes."""
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes() + array.tobytes()


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    images, labels = tmp_path / "images.gz", tmp_path / "labels"
    images.write_bytes(gzip.compress(idx(IMAGES)))
    labels.write_bytes(idx(LABELS))
    return images, labels


def test_images_are_extracted_by_class(files: tuple[Path, Path], tmp_path: Path) -> None:
    out, names = tmp_path / "out", ["bag", "coat", "dress", "shirt"]
    assert (read_idx(files[0]) == IMAGES).all()
    assert extract_idx_images(*files, out, names=names) == {"bag": 1, "coat": 2, "shirt": 1}
    found = {int(one.image.stem): one for one in read_labelled_images(out)}
    assert [found[row].captions[0] for row in range(4)] == ["coat", "bag", "coat", "shirt"]
    for row, pixels in enumerate(IMAGES):
        assert (np.asarray(Image.open(found[row].image)) == pixels).all()


def test_classes_without_names_are_numbers(files: tuple[Path, Path], tmp_path: Path) -> None:
    assert extract_idx_images(*files, tmp_path / "out") == {"0": 1, "1": 2, "3": 1}
    with pytest.raises(RegardError, match="out exists and is not an empty directory"):
        extract_idx_images(*files, tmp_path / "out")


@pytest.mark.parametrize(
    ("images", "labels", "problem"),
    [
        (b"P5 3 2 255", idx(LABELS), "images is not an IDX file of bytes"),
        (b"", idx(LABELS), "images is not an IDX file of bytes"),
        (idx(IMAGES)[:-1], idx(LABELS), "should have 4 x 2 x 3 values, and has 23"),
        (idx(IMAGES) + b"0", idx(LABELS), "should have 4 x 2 x 3 values, and has more"),
        (idx(IMAGES), idx(LABELS[:3]), "Give a file of images, then the file of their labels"),
        (idx(LABELS), idx(IMAGES), "Give a file of images, then the file of their labels"),
        (idx(IMAGES[:0]), idx(LABELS[:0]), "Give a file of images, then the file of their labels"),
        (idx(IMAGES[..., None]), idx(LABELS), "has images of 2 x 3 x 1 values"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, images: bytes, labels: bytes, problem: str) -> None:
    (tmp_path / "images").write_bytes(images)
    (tmp_path / "labels").write_bytes(labels)
    with pytest.raises(RegardError, match=problem):
        extract_idx_images(tmp_path / "images", tmp_path / "labels", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("start", [b"", idx(LABELS)], ids=["no header", "more than its header"])
def test_an_endless_file_is_not_read(tmp_path: Path, start: bytes) -> None:
    with (tmp_path / "idx").open("wb") as file:
        file.write(start)
        file.truncate(SPARSE_BYTES)
    with bounded(), pytest.raises(RegardError, match=r"is not an IDX file|has more"):
        read_idx(tmp_path / "idx")


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["a", "b"], "has the class 3, and there are 2 names"),
        (["a", "b", "../c", "d"], "'../c' cannot be the name of a folder"),
        (["a", "", "c", "d"], "'' cannot be the name of a folder"),
        (["a", "b", "c", "A"], "two of the classes have the same name"),
    ],
)
def test_wrong_names_are_refused(files: tuple[Path, Path], tmp_path: Path, names: list[str], problem: str) -> None:
    with pytest.raises(RegardError, match=problem):
        extract_idx_images(*files, tmp_path / "out", names=names)
