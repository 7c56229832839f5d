"""Scenes: shapes of a colour and a size, in groups of one kind, and one layout for each form of scene.

Positions and lengths are fractions of the image's side, from 0 at the upper left to 1 at the lower right. No two forms
share a layout, so the image determines the form and with it the caption: which shape comes first, whether sizes are
mentioned, and the wording. The rules, by what is visible:

- One shape: in the middle or in a corner; it is large or small.
- A large and a small shape, side by side or one above the other: the large one comes first, "to the left of", "above",
  ... the small one; if the small one is on the large one, it is inside it.
- Two shapes of one size: side by side, the left one is next to the right one; one above the other, the upper one is
  directly above the lower one; on a diagonal they share their shape (a pair) or their colour (both), and the left one
  comes first. Both captions start in the same way, so a model need not know the second shape in advance.
- Three different shapes in a row: the middle one is between the left and the right one.
- Several shapes of one kind: in a row, in a column, or scattered.
- Several of one kind and one other: around it, above it or below it.
- Several of one kind on the left, several of another on the right: groups.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from regard.worlds import SeededRandom

ShapeName = Literal["circle", "square", "triangle", "star", "diamond", "cross", "heart"]
ColorName = Literal["red", "orange", "yellow", "green", "blue", "purple", "white", "black"]
ShapeSize = Literal["small", "large", ""]  # "": neither, and never mentioned

SceneForm = Literal[
    "middle",
    "corner",
    "relation",
    "beside",
    "stacked",
    "inside",
    "scattered",
    "row",
    "column",
    "groups",
    "between",
    "around",
    "counted",
    "pair",
    "both",
]

SHAPES: tuple[ShapeName, ...] = get_args(ShapeName)
COLORS: tuple[ColorName, ...] = get_args(ColorName)
FORMS: tuple[SceneForm, ...] = get_args(SceneForm)


class Box(NamedTuple):
    """A rectangle around a shape, as fractions of the image's width and height."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class ShapeKind:
    """What all shapes of a group have in common."""

    shape: ShapeName
    colour: ColorName
    size: ShapeSize = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape at its position; `radius` is about half of its width, `turn` is in radians."""

    kind: ShapeKind
    x: float
    y: float
    radius: float
    turn: float
    tint: tuple[float, float, float]  # added to the red, green and blue of its colour


@dataclass(frozen=True, slots=True)
class Scene:
    """Groups of shapes on a grey background; `form` is the composition, `where` the side or corner in the caption."""

    form: SceneForm
    groups: tuple[tuple[Shape, ...], ...]
    ground: float
    where: str = ""

    def kind(self, group: int) -> ShapeKind:
        """The kind of the shapes of a group."""
        return self.groups[group][0].kind


class CaptionWord(NamedTuple):
    """A word of a caption, and the groups of shapes that it refers to."""

    text: str
    refers_to: tuple[int, ...] = ()


def function_words(text: str) -> list[CaptionWord]:
    """Words that refer to no shape."""
    return [CaptionWord(word) for word in text.split()]


def outline(shape: Shape) -> NDArray[np.float64]:
    """The corners of the shape's polygon, one after the other: (corners, 2), each x and y."""
    sine, cosine = math.sin(shape.turn), math.cos(shape.turn)
    turned = OUTLINES[shape.kind.shape] @ np.array([[cosine, sine], [-sine, cosine]])
    corners: NDArray[np.float64] = turned * shape.radius + [shape.x, shape.y]
    return corners


def bounding_box(shape: Shape) -> Box:
    """The smallest rectangle around the shape."""
    corners = outline(shape)
    (left, top), (right, bottom) = corners.min(0).tolist(), corners.max(0).tolist()
    return Box(*(round(fraction, 4) for fraction in (left, top, right, bottom)))


def _ring(radii: list[float]) -> NDArray[np.float64]:
    """Corners evenly spaced around the middle, the first at the top, with the radii in order."""
    angles = np.arange(len(radii)) * 2 * math.pi / len(radii)
    x, y = np.sin(angles) * radii, -np.cos(angles) * radii
    return np.stack([x, y], 1)


def _heart(corners: int = 40) -> NDArray[np.float64]:
    angles = np.arange(corners) * 2 * math.pi / corners
    x = 16 * np.sin(angles) ** 3
    y = 13 * np.cos(angles) - 5 * np.cos(2 * angles) - 2 * np.cos(3 * angles) - np.cos(4 * angles)
    return np.stack([x / 16.0, (-y - 2.5) / 15.0], 1)


_ARM = 0.36  # half of the width of a cross's arm

OUTLINES: dict[ShapeName, NDArray[np.float64]] = {
    "circle": _ring([1.0] * 40),
    "square": np.array([[-0.88, -0.88], [0.88, -0.88], [0.88, 0.88], [-0.88, 0.88]]),
    "triangle": np.array([[0.0, -0.95], [1.05, 0.85], [-1.05, 0.85]]),
    "star": _ring([1.15, 0.48] * 5),
    "diamond": np.array([[0.0, -1.2], [0.78, 0.0], [0.0, 1.2], [-0.78, 0.0]]),
    "cross": np.array(
        [
            [-_ARM, -1], [_ARM, -1], [_ARM, -_ARM], [1, -_ARM], [1, _ARM], [_ARM, _ARM],
            [_ARM, 1], [-_ARM, 1], [-_ARM, _ARM], [-1, _ARM], [-1, -_ARM], [-_ARM, -_ARM],
        ]
    ),
    "heart": _heart(),
}  # fmt: skip

Point = tuple[float, float]
Axis = Literal["x", "y"]
ShapeGroups = tuple[tuple[Shape, ...], ...]
SMALL, ORDINARY, LARGE = 0.085, 0.115, 0.19  # radii
ENCLOSED, ENCLOSING = 0.105, 0.36  # the inner shape with its rim is as wide as an arm of an outer cross
EITHER: tuple[ShapeSize, ShapeSize] = ("small", "large")
TURN = math.radians(8)
JITTER = 0.02  # the largest random offset of a shape from its position

CORNERS: dict[str, Point] = {
    "top left": (0.2, 0.2),
    "top right": (0.8, 0.2),
    "bottom left": (0.2, 0.8),
    "bottom right": (0.8, 0.8),
}

SIDES: dict[str, Point] = {"left": (-1, 0), "right": (1, 0), "above": (0, -1), "below": (0, 1)}


def random_scene(rng: SeededRandom) -> Scene:
    """A random scene; all forms have the same probability."""
    form = rng.choice(FORMS)
    groups, where = LAYOUTS[form](rng)
    return Scene(form, groups, ground=rng.uniform(140, 180), where=where)


# --- random kinds and shapes -----------------------------------------------------------------------------------------


def _random_kinds(rng: SeededRandom, *sizes: ShapeSize) -> list[ShapeKind]:
    """One kind for each size; no two have the same shape or the same colour."""
    kinds: list[ShapeKind] = []
    for size in sizes:
        shape = rng.choice([shape for shape in SHAPES if all(shape != kind.shape for kind in kinds)])
        colour = rng.choice([colour for colour in COLORS if all(colour != kind.colour for kind in kinds)])
        kinds.append(ShapeKind(shape, colour, size))
    return kinds


def shape_at(rng: SeededRandom, kind: ShapeKind, point: Point, radius: float, jitter: float = JITTER) -> Shape:
    """A shape near the point, slightly turned, resized and tinted at random."""
    x, y = (along + rng.uniform(-jitter, jitter) for along in point)
    tint = (rng.uniform(-9, 9), rng.uniform(-9, 9), rng.uniform(-9, 9))
    return Shape(kind, x, y, radius * rng.uniform(0.94, 1.06), rng.uniform(-TURN, TURN), tint)


def _shapes_at(rng: SeededRandom, kind: ShapeKind, points: Sequence[Point], radius: float = SMALL) -> tuple[Shape, ...]:
    return tuple(shape_at(rng, kind, point, radius) for point in points)


def _evenly_spaced(count: int, low: float, high: float) -> list[float]:
    """Evenly spaced positions from `low` to `high`."""
    return [low + (high - low) * (step + 0.5) / count for step in range(count)]


def _along(axis: Axis, positions: Sequence[float], across: float) -> list[Point]:
    """Points at the positions on the axis, all at the same height or side."""
    return [(position, across) if axis == "x" else (across, position) for position in positions]


# --- one layout for each form ----------------------------------------------------------------------------------------


def _middle(rng: SeededRandom) -> tuple[ShapeGroups, str]:
    size = rng.choice(EITHER)
    (kind,) = _random_kinds(rng, size)
    return ((shape_at(rng, kind, (0.5, 0.5), LARGE if size == "large" else SMALL, jitter=0.05),),), ""


def _corner(rng: SeededRandom) -> tuple[ShapeGroups, str]:
    size, where = rng.choice(EITHER), rng.choice(tuple(CORNERS))
    (kind,) = _random_kinds(rng, size)
    x, y = CORNERS[where]
    inward = 0.06 if size == "large" else 0.0  # a large shape must stay inside the image
    point = (x + math.copysign(inward, 0.5 - x), y + math.copysign(inward, 0.5 - y))
    return ((shape_at(rng, kind, point, LARGE if size == "large" else SMALL),),), where


def _relation(rng: SeededRandom) -> tuple[ShapeGroups, str]:
    where = rng.choice(tuple(SIDES))
    large, small = _random_kinds(rng, "large", "small")
    across, down = SIDES[where]
    drift = rng.uniform(-0.12, 0.12)  # sideways, for both shapes
    x, y = 0.5 + drift * abs(down), 0.5 + drift * abs(across)
    one = shape_at(rng, large, (x + 0.22 * across, y + 0.22 * down), LARGE)
    other = shape_at(rng, small, (x - 0.27 * across, y - 0.27 * down), SMALL)
    return ((one,), (other,)), where


def _two_shapes(rng: SeededRandom, axis: Axis) -> tuple[ShapeGroups, str]:
    kinds = _random_kinds(rng, "", "")
    points = _along(axis, (0.28, 0.72), rng.uniform(0.3, 0.7))
    return tuple(_shapes_at(rng, kind, [point], ORDINARY) for kind, point in zip(kinds, points, strict=True)), ""


def _inside(rng: SeededRandom) -> tuple[ShapeGroups, str]:
    small, large = _random_kinds(rng, "small", "large")
    x, y = rng.uniform(0.47, 0.53), rng.uniform(0.47, 0.53)
    return (
        (shape_at(rng, small, (x, y), ENCLOSED, jitter=0.01),),
        (shape_at(rng, large, (x, y), ENCLOSING, jitter=0.01),),
    ), ""


def _scattered(rng: SeededRandom) -> tuple[ShapeGroups, str]:
    """Shapes well apart from each other, neither in a row nor in a column."""
    (kind,) = _random_kinds(rng, "")
    count = rng.choice((2, 3, 4, 5))
    while True:
        points = [(rng.uniform(0.14, 0.86), rng.uniform(0.14, 0.86)) for _ in range(count)]
        nearest = min(math.dist(one, other) for at, one in enumerate(points) for other in points[:at])
        spreads = [max(along) - min(along) for along in zip(*points, strict=True)]
        if nearest > 0.27 and min(spreads) > 0.4:
            return (_shapes_at(rng, kind, points),), ""


def _line(rng: SeededRandom, axis: Axis) -> tuple[ShapeGroups, str]:
    (kind,) = _random_kinds(rng, "")
    across = rng.uniform(0.2, 0.8)
    points = _along(axis, _evenly_spaced(rng.choice((2, 3, 4)), 0.02, 0.98), across)
    return (_shapes_at(rng, kind, points),), ""


def _groups(rng: SeededRandom) -> tuple[ShapeGroups, str]:
    left, right = _random_kinds(rng, "", "")
    return (_shapes_at(rng, left, _cluster(rng, 0.26)), _shapes_at(rng, right, _cluster(rng, 0.74))), ""


def _cluster(rng: SeededRandom, x: float) -> list[Point]:
    """Two to four points in a vertical zigzag."""
    count = rng.choice((2, 3, 4))
    side = rng.choice((-1, 1))
    return [(x + 0.09 * side * (-1) ** step, y) for step, y in enumerate(_evenly_spaced(count, 0.04, 0.96))]


def _between(rng: SeededRandom) -> tuple[ShapeGroups, str]:
    middle, left, right = _random_kinds(rng, "", "", "")
    y = rng.uniform(0.25, 0.75)
    points = zip((middle, left, right), (0.5, 0.18, 0.82), strict=True)
    return tuple(_shapes_at(rng, kind, [(x, y)], ORDINARY) for kind, x in points), ""


def _surrounding(rng: SeededRandom) -> tuple[ShapeGroups, str]:
    outer, inner = _random_kinds(rng, "", "")
    count, start = rng.choice((4, 5, 6)), rng.uniform(0, 2 * math.pi)
    angles = [start + 2 * math.pi * step / count for step in range(count)]
    points = [(0.5 + 0.36 * math.cos(angle), 0.5 + 0.36 * math.sin(angle)) for angle in angles]
    return (_shapes_at(rng, outer, points), _shapes_at(rng, inner, [(0.5, 0.5)], ORDINARY)), ""


def _counted(rng: SeededRandom) -> tuple[ShapeGroups, str]:
    where = rng.choice(("above", "below"))
    many, one = _random_kinds(rng, "", "")
    down = SIDES[where][1]
    points = [(x, 0.5 + 0.22 * down) for x in _evenly_spaced(rng.choice((2, 3)), 0.1, 0.9)]
    return (
        _shapes_at(rng, many, points),
        _shapes_at(rng, one, [(rng.uniform(0.35, 0.65), 0.5 - 0.22 * down)], ORDINARY),
    ), where


def _diagonal(rng: SeededRandom, shared: Literal["shape", "colour"]) -> tuple[ShapeGroups, str]:
    """Two shapes, one of them clearly higher, with the same shape or the same colour."""
    left, other = _random_kinds(rng, "", "")
    right = ShapeKind(left.shape, other.colour) if shared == "shape" else ShapeKind(other.shape, left.colour)
    down = rng.choice((-1, 1)) * rng.uniform(0.2, 0.25)
    one = _shapes_at(rng, left, [(0.27, 0.5 + down)], ORDINARY)
    return (one, _shapes_at(rng, right, [(0.73, 0.5 - down)], ORDINARY)), ""


LAYOUTS: dict[SceneForm, Callable[[SeededRandom], tuple[ShapeGroups, str]]] = {
    "middle": _middle,
    "corner": _corner,
    "relation": _relation,
    "beside": lambda rng: _two_shapes(rng, "x"),
    "stacked": lambda rng: _two_shapes(rng, "y"),
    "inside": _inside,
    "scattered": _scattered,
    "row": lambda rng: _line(rng, "x"),
    "column": lambda rng: _line(rng, "y"),
    "groups": _groups,
    "between": _between,
    "around": _surrounding,
    "counted": _counted,
    "pair": lambda rng: _diagonal(rng, "shape"),
    "both": lambda rng: _diagonal(rng, "colour"),
}
