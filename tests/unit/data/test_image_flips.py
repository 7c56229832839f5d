"""Flipped images: decided by numbers alone, half of them, and never where a caption would become wrong."""

import unicodedata

import pytest

from regard.data.image_flips import draw_flip, mentions_left_or_right


def test_half_of_the_images_are_flipped() -> None:
    flips = [draw_flip(0, 0, index) for index in range(400)]
    assert 150 < sum(flips) < 250
    assert flips == [draw_flip(0, 0, index) for index in range(400)]


@pytest.mark.parametrize("other", [(1, 0), (0, 1)], ids=["seed", "epoch"])
def test_another_seed_or_epoch_flips_others(other: tuple[int, int]) -> None:
    first, second = ([draw_flip(*numbers, index) for index in range(100)] for numbers in ((0, 0), other))
    assert first != second


@pytest.mark.parametrize(
    ("captions", "expected"),
    [
        (["a dog", "a dog to the left of a cat"], True),
        (["Right after the game"], True),  # one flipped image too few is better than a wrong caption
        (["a brightly lit cleft"], False),
        (["원이 별의 왼쪽에 있다"], True),
        (["오른편의 개"], True),
        ([unicodedata.normalize("NFD", "원이 별의 왼쪽에 있다")], True),
        (["원이 별의 위에 있다"], False),
        ([], False),
    ],
)
def test_captions_with_left_or_right_are_detected(captions: list[str], expected: bool) -> None:
    assert mentions_left_or_right(captions) is expected
