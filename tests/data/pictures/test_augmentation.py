"""Changes of pictures: drawn by number alone, bounded, and never a caption made wrong."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.pictures import Augmentation, Draw, augment, tells_sides_apart

ALL = Augmentation(crop=0.3, flip=True, colour=0.4)


def noise(rows: int = 11, columns: int = 13) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (3, rows, columns), dtype=np.uint8)


@given(st.integers(0, 2**31), st.integers(0, 1000), st.integers(0, 10**7))
def test_the_same_numbers_draw_the_same_and_shape_and_kind_stay(seed: int, epoch: int, index: int) -> None:
    first, second = (augment(noise(), ALL, Draw(seed, epoch, index)) for _ in range(2))
    assert (first == second).all()
    assert (first.shape, first.dtype) == (noise().shape, np.uint8)


def test_each_of_the_three_numbers_matters() -> None:
    results = {
        augment(noise(), ALL, draw).tobytes() for draw in (Draw(0, 0, 0), Draw(1, 0, 0), Draw(0, 1, 0), Draw(0, 0, 1))
    }
    assert len(results) == 4


@given(st.integers(0, 1000))
def test_nothing_asked_nothing_changed(index: int) -> None:
    assert (augment(noise(), Augmentation(), Draw(0, 0, index)) == noise()).all()


def test_half_of_the_pictures_are_mirrored_and_none_that_must_not_be() -> None:
    how, picture = Augmentation(flip=True), noise()
    changed = [augment(picture, how, Draw(0, 0, index)) for index in range(400)]
    mirrored = [bool((one == picture[:, :, ::-1]).all()) for one in changed]
    assert all(is_mirrored or (one == picture).all() for one, is_mirrored in zip(changed, mirrored, strict=True))
    assert 150 < sum(mirrored) < 250
    kept = [augment(picture, how, Draw(0, 0, index), may_flip=False) for index in range(50)]
    assert all((one == picture).all() for one in kept)


def test_a_crop_shows_a_part_of_the_picture_in_its_order() -> None:
    """On a ramp from left to right, a crop is a ramp too: flatter, and within the same bounds."""
    ramp = np.broadcast_to(np.arange(0, 240, 4, dtype=np.uint8), (3, 7, 60)).copy()
    starts = set()
    for index in range(60):
        crop = augment(ramp, Augmentation(crop=0.5), Draw(0, 0, index)).astype(int)
        steps = np.diff(crop[0, 0])
        assert (steps >= 0).all()
        assert ramp.min() <= crop.min()
        assert crop.max() <= ramp.max()
        assert 0.5 * 236 - 6 <= np.ptp(crop) <= 236
        starts.add(int(crop.min()))
    assert len(starts) > 15


@given(st.integers(0, 10_000))
def test_grey_stays_grey_whatever_the_colours_do(index: int) -> None:
    grey = np.repeat(noise()[:1], 3, axis=0)
    changed = augment(grey, Augmentation(colour=0.5), Draw(0, 0, index)).astype(int)
    assert np.abs(changed - changed[:1]).max() <= 1


def test_colours_change_within_their_bounds() -> None:
    flat = np.full((3, 4, 4), 100, np.uint8)
    values = [int(augment(flat, Augmentation(colour=0.2), Draw(0, 0, index))[0, 0, 0]) for index in range(300)]
    assert 80 <= min(values) < 84
    assert 116 < max(values) <= 120


@pytest.mark.parametrize(
    ("captions", "expected"),
    [
        (["a dog", "a dog to the left of a cat"], True),
        (["Right after the game"], True),  # better one mirrored too few
        (["a brightly lit cleft"], False),
        (["원이 별의 왼쪽에 있다"], True),
        (["오른편의 개"], True),
        ([unicodedata.normalize("NFD", "원이 별의 왼쪽에 있다")], True),
        (["원이 별의 위에 있다"], False),
        ([], False),
    ],
)
def test_captions_that_tell_sides_apart_are_found(captions: list[str], expected: bool) -> None:
    assert tells_sides_apart(captions) is expected
