"""Tasks of image classification: scenes with a label that follows from their shapes.

count     how many shapes there are, from 1 to 6; the scenes are those of the captions
left-of   whether the red circle is to the left of the blue square. Up to four other shapes are in the image, among them
          red squares and blue circles, so that neither a colour nor a shape alone finds the two.

Every label has the same probability.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from regard.errors import RegardError
from regard.worlds import SeededRandom
from regard.worlds.scenes.scene import (
    COLORS,
    SHAPES,
    SMALL,
    Point,
    ShapeGroups,
    ShapeKind,
    random_scene,
    shape_at,
)

COUNTS = (1, 2, 3, 4, 5, 6)
RED_CIRCLE, BLUE_SQUARE = ShapeKind("circle", "red"), ShapeKind("square", "blue")
NEAREST, CLEARLY_LEFT = 0.26, 0.12  # distances between the centres of any two shapes, and along the axis of the two


@dataclass(frozen=True, slots=True)
class LabelledScene:
    """Groups of shapes on a grey background, and the label of the image."""

    groups: ShapeGroups
    ground: float
    label: str


def counted_scene(rng: SeededRandom) -> LabelledScene:
    """A scene of 1 to 6 shapes."""
    count = rng.choice(COUNTS)
    while sum(map(len, (scene := random_scene(rng)).groups)) != count:
        pass
    return LabelledScene(scene.groups, scene.ground, str(count))


def scene_of_two(rng: SeededRandom) -> LabelledScene:
    """The red circle and the blue square at random positions, among other shapes."""
    is_left = rng.happens(0.5)
    others: list[ShapeKind] = []
    for _ in range(rng.choice((0, 1, 2, 3, 4))):
        kind = RED_CIRCLE
        while kind in (RED_CIRCLE, BLUE_SQUARE, *others):
            kind = ShapeKind(rng.choice(SHAPES), rng.choice(COLORS))
        others.append(kind)
    points = _points_apart(rng, 2 + len(others))
    while abs(points[0][0] - points[1][0]) < CLEARLY_LEFT:
        points = _points_apart(rng, 2 + len(others))
    points[:2] = sorted(points[:2], reverse=not is_left)
    kinds = (RED_CIRCLE, BLUE_SQUARE, *others)
    groups = tuple((shape_at(rng, kind, point, SMALL),) for kind, point in zip(kinds, points, strict=True))
    return LabelledScene(groups, rng.uniform(140, 180), "yes" if is_left else "no")


def _points_apart(rng: SeededRandom, count: int) -> list[Point]:
    """Random points, no two of them close to each other."""
    while True:
        points: list[Point] = [(rng.uniform(0.13, 0.87), rng.uniform(0.13, 0.87)) for _ in range(count)]
        if all(math.dist(one, other) > NEAREST for at, one in enumerate(points) for other in points[:at]):
            return points


@dataclass(frozen=True, slots=True)
class SceneTask:
    """The question about every image, and how a scene with its answer is drawn."""

    question: str
    draw: Callable[[SeededRandom], LabelledScene]


SCENE_TASKS = {
    "count": SceneTask("How many shapes are there?", counted_scene),
    "left-of": SceneTask("Is the red circle to the left of the blue square?", scene_of_two),
}


def labelled_scenes(task: str, seed: int) -> Iterator[LabelledScene]:
    """An endless stream of scenes of a task; the same seed gives the same scenes on every machine."""
    if task not in SCENE_TASKS:
        raise RegardError(f"there is no task {task!r} of the scenes; choose one of {', '.join(SCENE_TASKS)}")
    rng = SeededRandom(seed)
    while True:
        yield SCENE_TASKS[task].draw(rng)
