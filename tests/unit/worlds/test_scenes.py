"""Scenes: captions in both languages name what is in the image; boxes hold what they name; splits share no caption."""

import math
import os
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from regard.data.captions import read_captioned
from regard.data.images import load_image
from regard.errors import RegardError
from regard.worlds.scenes import (
    PALETTE,
    RIM_WIDTH,
    SceneWorldOptions,
    boxes_beside,
    caption_text,
    draw_scene,
    draw_splits,
    gold_boxes,
    pixel_coverage,
    random_scenes,
    read_boxes,
    scene_caption,
    split_of,
    write_world,
)
from regard.worlds.scenes.scene import COLORS, FORMS, OUTLINES, SHAPES, Scene, Shape, ShapeKind, bounding_box, outline


@pytest.fixture(scope="module")
def sample() -> list[Scene]:
    return list(islice(random_scenes(0), 3_000))


def things_of(scene: Scene) -> list[Shape]:
    return [thing for group in scene.groups for thing in group]


# --- one caption for a picture ---------------------------------------------------------------------------------------


def seen_form(things: list[Shape]) -> str:
    """The form of a scene by what can be seen of its things alone, whatever order they come in."""
    kinds = Counter((thing.kind.shape, thing.kind.colour) for thing in things)
    xs, ys = [thing.x for thing in things], [thing.y for thing in things]
    level, upright = np.ptp(ys) < 0.1, np.ptp(xs) < 0.1
    if len(things) == 1:
        return "middle" if math.dist((xs[0], ys[0]), (0.5, 0.5)) < 0.12 else "corner"
    if len(kinds) == 1:
        return "row" if level else "column" if upright else "scattered"
    if len(things) == 2:
        return seen_form_of_two(things, level, upright)
    if len(kinds) == 3:
        return "between"
    if min(kinds.values()) > 1:
        return "groups"
    (alone,) = [thing for thing in things if kinds[thing.kind.shape, thing.kind.colour] == 1]
    others = [thing.y for thing in things if thing is not alone]
    return "around" if min(others) < alone.y < max(others) and np.ptp(others) > 0.4 else "counted"


def seen_form_of_two(things: list[Shape], level: bool, upright: bool) -> str:
    one, other = things
    if max(one.radius, other.radius) > 1.5 * min(one.radius, other.radius):
        return "inside" if math.dist((one.x, one.y), (other.x, other.y)) < 0.1 else "relation"
    if level or upright:
        return "beside" if level else "stacked"
    return "pair" if one.kind.shape == other.kind.shape else "both"


def test_drawing_decides_the_form(sample: list[Scene]) -> None:
    for scene in sample:
        assert seen_form(things_of(scene)[::-1]) == scene.form, caption_text(scene_caption(scene))


def test_described_side_is_the_drawn_side(sample: list[Scene]) -> None:
    for scene in sample:
        first = scene.groups[0]
        x, y = np.mean([thing.x for thing in first]), np.mean([thing.y for thing in first])
        if scene.form in ("relation", "counted"):
            across, down = x - scene.groups[1][0].x, y - scene.groups[1][0].y
            sides = {"left": -across, "right": across, "above": -down, "below": down}
            assert sides[scene.where] > 0.3
        if scene.form == "corner":
            assert scene.where == f"{'top' if y < 0.5 else 'bottom'} {'left' if x < 0.5 else 'right'}"


def test_first_described_object_is_left_or_above(sample: list[Scene]) -> None:
    for scene in sample:
        if scene.form in ("beside", "pair", "both", "groups"):
            assert max(thing.x for thing in scene.groups[0]) < min(thing.x for thing in scene.groups[1])
        if scene.form == "stacked":
            assert scene.groups[0][0].y < scene.groups[1][0].y
        if scene.form == "between":
            middle, left, right = (group[0].x for group in scene.groups)
            assert left < middle < right


def test_large_and_small_differ_where_described(sample: list[Scene]) -> None:
    radii: dict[str, list[float]] = {"small": [], "large": []}
    for thing in (thing for scene in sample for thing in things_of(scene) if thing.kind.size):
        radii[thing.kind.size].append(thing.radius)
    assert 1.6 * max(radii["small"]) < min(radii["large"])


def test_all_things_are_whole_and_none_hides_another(sample: list[Scene]) -> None:
    for scene in sample:
        boxes = [bounding_box(thing) for thing in things_of(scene)]
        assert all(min(box) >= 0 and max(box) <= 1 for box in boxes), caption_text(scene_caption(scene))
        if scene.form != "inside":
            for at, one in enumerate(things_of(scene)):
                for other in things_of(scene)[:at]:
                    assert math.dist((one.x, one.y), (other.x, other.y)) > 0.9 * (one.radius + other.radius)


def test_inner_object_lies_wholly_on_the_outer(sample: list[Scene]) -> None:
    for scene in (scene for scene in sample[:1000] if scene.form == "inside"):
        small, large = (pixel_coverage(outline(group[0]) * 64, 64, 64) for group in scene.groups)
        assert (large[small > 0.5] > 0.5).mean() > 0.95, caption_text(scene_caption(scene))


# --- words -----------------------------------------------------------------------------------------------------------


def scene_of(form: str, *groups: tuple[int, ShapeKind], where: str = "") -> Scene:
    things = [tuple(Shape(kind, 0.5, 0.5, 0.1, 0.0, (0, 0, 0)) for _ in range(count)) for count, kind in groups]
    return Scene(form, tuple(things), 150.0, where)  # type: ignore[arg-type]


RED, BLUE, ORANGE = ShapeKind("circle", "red"), ShapeKind("diamond", "blue"), ShapeKind("cross", "orange")
LARGE, SMALL = ShapeKind("heart", "green", "large"), ShapeKind("star", "white", "small")


@pytest.mark.parametrize(
    ("scene", "english", "korean"),
    [
        (scene_of("middle", (1, LARGE)), "A large green heart in the middle", "가운데에 큰 초록색 하트가 있다"),
        (
            scene_of("corner", (1, SMALL), where="top left"),
            "A small white star in the top left corner",
            "왼쪽 위 구석에 작은 하얀 별이 있다",
        ),
        (
            scene_of("relation", (1, LARGE), (1, SMALL), where="right"),
            "A large green heart to the right of a small white star",
            "큰 초록색 하트가 작은 하얀 별의 오른쪽에 있다",
        ),
        (
            scene_of("beside", (1, RED), (1, ORANGE)),
            "A red circle next to an orange cross",
            "빨간 원과 주황색 십자가가 나란히 있다",
        ),
        (
            scene_of("stacked", (1, ORANGE), (1, RED)),
            "An orange cross directly above a red circle",
            "빨간 원 바로 위에 주황색 십자가가 있다",
        ),
        (
            scene_of("inside", (1, SMALL), (1, LARGE)),
            "A small white star inside a large green heart",
            "큰 초록색 하트 안에 작은 하얀 별이 있다",
        ),
        (scene_of("scattered", (5, BLUE)), "Five blue diamonds scattered about", "파란 마름모 다섯 개가 흩어져 있다"),
        (scene_of("row", (3, ORANGE)), "Three orange crosses in a row", "주황색 십자가 세 개가 가로로 늘어서 있다"),
        (scene_of("column", (4, RED)), "Four red circles in a column", "빨간 원 네 개가 세로로 늘어서 있다"),
        (
            scene_of("groups", (2, RED), (3, BLUE)),
            "Two red circles and three blue diamonds",
            "빨간 원 두 개와 파란 마름모 세 개가 있다",
        ),
        (
            scene_of("between", (1, RED), (1, BLUE), (1, ORANGE)),
            "A red circle between a blue diamond and an orange cross",
            "빨간 원이 파란 마름모와 주황색 십자가 사이에 있다",
        ),
        (
            scene_of("around", (6, BLUE), (1, RED)),
            "Six blue diamonds around a red circle",
            "파란 마름모 여섯 개가 빨간 원을 둘러싸고 있다",
        ),
        (
            scene_of("counted", (2, RED), (1, BLUE), where="below"),
            "Two red circles below a blue diamond",
            "빨간 원 두 개가 파란 마름모의 아래에 있다",
        ),
        (
            scene_of("pair", (1, RED), (1, ShapeKind("circle", "purple"))),
            "A red circle and a purple one",
            "빨간 원이 있고 보라색 원도 있다",
        ),
        (
            scene_of("both", (1, RED), (1, ShapeKind("diamond", "red"))),
            "A red circle and a diamond of the same colour",
            "빨간 원이 있고 같은 색 마름모도 있다",
        ),
    ],
)
def test_every_form_has_its_sentence_in_both_languages(scene: Scene, english: str, korean: str) -> None:
    assert caption_text(scene_caption(scene, "en")) == english
    assert caption_text(scene_caption(scene, "ko")) == korean


def test_both_languages_distinguish_the_same_scenes(sample: list[Scene]) -> None:
    pairs = {(caption_text(scene_caption(scene, "en")), caption_text(scene_caption(scene, "ko"))) for scene in sample}
    assert len(pairs) == len({english for english, _ in pairs}) == len({korean for _, korean in pairs})


def test_shapes_colours_and_forms_are_about_uniform(sample: list[Scene]) -> None:
    forms = Counter(scene.form for scene in sample)
    assert set(forms) == set(FORMS)
    assert len(FORMS) >= 12
    assert min(forms.values()) > 0.5 * len(sample) / len(FORMS)
    things = [thing.kind for scene in sample for thing in things_of(scene)]
    for counted, all_of_them in (
        (Counter(k.shape for k in things), SHAPES),
        (Counter(k.colour for k in things), COLORS),
    ):
        assert set(counted) == set(all_of_them)
        assert min(counted.values()) > 0.5 * len(things) / len(all_of_them)


# --- boxes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "ko"])
def test_pixels_in_a_box_have_its_colour(sample: list[Scene], language: str) -> None:
    """Every colour word's boxes hold many pixels of that colour, and nearly all such pixels are in them."""
    size = 64
    for scene in sample[:150]:
        words = scene_caption(scene, language)  # type: ignore[arg-type]
        picture = draw_scene(scene, size).astype(int)
        for word, boxes in zip(words, gold_boxes(scene, words), strict=True):
            colours = {scene.kind(group).colour for group in word.refers_to}
            if len(colours) != 1:
                continue
            colour = colours.pop()
            near = np.abs(picture - np.array(PALETTE[colour])[:, None, None]).max(0) < 20
            inside = np.zeros((size, size), bool)
            for left, top, right, bottom in boxes:
                cut = np.s_[int(top * size) : math.ceil(bottom * size), int(left * size) : math.ceil(right * size)]
                assert near[cut].mean() > 0.15, word
                inside[cut] = True
            if all(
                scene.kind(group).colour != colour for group in range(len(scene.groups)) if group not in word.refers_to
            ):
                assert (near & ~inside).sum() <= 2, word  # where two colours meet, their mixture may be a third


def test_only_words_for_objects_have_boxes(sample: list[Scene]) -> None:
    small_words = {"a", "an", "in", "the", "of", "and", "to", "left", "right", "same", "colour"}
    for scene in sample[:500]:
        words = scene_caption(scene)
        boxes = gold_boxes(scene, words)
        for word, those in zip(words, boxes, strict=True):
            text = word.text.lower()
            if text in COLORS or text.removesuffix("es") in SHAPES or text.removesuffix("s") in SHAPES:
                assert those, (word, caption_text(words))
            if text in small_words:
                assert not those
        assert max(map(len, boxes)) <= len(things_of(scene))


# --- pixels ----------------------------------------------------------------------------------------------------------


def test_coverage_is_the_area_of_the_polygon() -> None:
    for shape in SHAPES:
        thing = Shape(ShapeKind(shape, "red"), 0.5, 0.5, 0.31, 0.3, (0, 0, 0))
        corners = outline(thing) * 61
        x, y = corners.T
        area = abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2
        found = pixel_coverage(corners, 61, 61)
        assert found.sum() == pytest.approx(area, rel=0.01)
        assert found.min() >= -1e-9
        assert found.max() <= 1 + 1e-9


def test_edges_are_smooth() -> None:
    square = np.array([[1.5, 2.25], [4.5, 2.25], [4.5, 5.0], [1.5, 5.0]])
    found = pixel_coverage(square, 7, 7)
    assert found[3].tolist() == pytest.approx([0, 0.5, 1, 1, 0.5, 0, 0])
    assert found[2].tolist() == pytest.approx([0, 0.375, 0.75, 0.75, 0.375, 0, 0])
    assert found[5].sum() == 0


@pytest.mark.parametrize("size", [32, 64, 97])
def test_scene_is_drawn_in_any_size_on_background(sample: list[Scene], size: int) -> None:
    picture = draw_scene(sample[0], size)
    assert (picture.shape, picture.dtype) == ((3, size, size), np.uint8)
    assert abs(int(np.median(picture)) - sample[0].ground) <= 1


def test_overlapping_object_has_a_background_rim() -> None:
    small = Shape(ShapeKind("square", "red", "small"), 0.5, 0.5, 0.1, 0.0, (0, 0, 0))
    large = Shape(ShapeKind("square", "blue", "large"), 0.5, 0.5, 0.35, 0.0, (0, 0, 0))
    row = draw_scene(Scene("inside", ((small,), (large,)), ground=150.0), 100)[
        :, 50
    ].T  # from the left edge to the middle
    seen = [tuple(pixel) for pixel in row[:51].tolist()]
    middle_of_rim = round(100 * (0.5 - 0.1 * abs(OUTLINES["square"][0, 0]) - RIM_WIDTH / 2))
    assert seen[0] == seen[middle_of_rim] == (150, 150, 150)
    assert seen[middle_of_rim - 10] == PALETTE["blue"]
    assert seen[50] == PALETTE["red"]


# --- the corpus ------------------------------------------------------------------------------------------------------


def test_same_seed_gives_same_scenes_in_processes() -> None:
    program = (
        "from itertools import islice; from regard.worlds.scenes import random_scenes, draw_scene\n"
        "import hashlib; drawn = list(islice(random_scenes(3), 40))\n"
        "print(hashlib.sha256(repr(drawn).encode() + b''.join(draw_scene(s).tobytes() for s in drawn)).hexdigest())"
    )
    found = set()
    for hash_seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        ended = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, check=True, text=True, timeout=300
        )
        found.add(ended.stdout)
    assert len(found) == 1
    assert list(islice(random_scenes(3), 40)) != list(islice(random_scenes(4), 40))


def test_splits_share_no_caption_and_train_covers_words() -> None:
    captions: dict[str, set[str]] = {"train": set(), "valid": set(), "test": set()}
    for seed in (0, 1):
        drawn = draw_splits({"train": 1_500, "valid": 150, "test": 150}, seed)
        assert {name: len(those) for name, those in drawn.items()} == {"train": 1_500, "valid": 150, "test": 150}
        for name, those in drawn.items():
            assert all(split_of(scene) == name for scene in those)
            captions[name] |= {caption_text(scene_caption(scene)) for scene in those}
    assert not captions["train"] & (captions["valid"] | captions["test"])
    assert not captions["valid"] & captions["test"]
    words = {name: {word for line in lines for word in line.split()} for name, lines in captions.items()}
    assert words["test"] | words["valid"] <= words["train"]


def test_image_of_written_world_has_its_boxes(tmp_path: Path) -> None:
    write_world(tmp_path / "world", SceneWorldOptions(train=2, valid=1, test=1, size=16))
    boxes = read_boxes(tmp_path / "world" / "boxes.jsonl")
    assert boxes_beside(tmp_path / "world" / "images" / "train" / "00001.png") == boxes["train/00001.png"]
    assert boxes_beside(tmp_path / "world" / "images" / "train" / "00009.png") is None
    assert boxes_beside(tmp_path / "elsewhere" / "00001.png") is None


def test_a_world_is_written_and_read_back(tmp_path: Path) -> None:
    wish = SceneWorldOptions(train=12, valid=3, test=4, seed=2, language="ko", size=32)
    assert write_world(tmp_path / "world", wish) == {"train": 12, "valid": 3, "test": 4}
    drawn = draw_splits(wish.counts(), seed=2)
    boxes = read_boxes(tmp_path / "world" / "boxes.jsonl")
    assert len(boxes) == 19
    for name, those in drawn.items():
        captioned = read_captioned(tmp_path / "world", split=name)
        assert [one.captions for one in captioned] == [[caption_text(scene_caption(scene, "ko"))] for scene in those]
        for one, scene in zip(captioned, those, strict=True):
            assert (load_image(one.image, size=32) == draw_scene(scene, 32)).all()
            words = scene_caption(scene, "ko")
            gold = boxes[f"{name}/{one.image.name}"]
            assert gold.words == [word.text for word in words]
            assert [[tuple(box) for box in those] for those in gold.boxes] == [
                [tuple(box) for box in those] for those in gold_boxes(scene, words)
            ]


def test_both_languages_have_the_same_images(tmp_path: Path) -> None:
    for language in ("en", "ko"):
        write_world(tmp_path / language, SceneWorldOptions(train=5, valid=1, test=1, language=language))  # type: ignore[arg-type]
    for name in ("train/00004.png", "test/00000.png"):
        one, other = (tmp_path / language / "images" / name for language in ("en", "ko"))
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    "options", [SceneWorldOptions(train=-1), SceneWorldOptions(size=4), SceneWorldOptions(size=5_000)]
)
def test_impossible_options_are_refused(tmp_path: Path, options: SceneWorldOptions) -> None:
    with pytest.raises(RegardError, match=r"requested|image size"):
        write_world(tmp_path / "world", options)


def test_broken_boxes_are_reported_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "boxes.jsonl"
    path.write_text('{"image":"a","words":["x"],"boxes":[[]]}\n{"image":1}\n')
    with pytest.raises(RegardError, match=r"boxes\.jsonl:2"):
        read_boxes(path)
    with pytest.raises(RegardError, match="cannot be read"):
        read_boxes(tmp_path / "absent")
