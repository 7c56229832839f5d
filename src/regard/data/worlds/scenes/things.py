"""What a scene is made of: things of a shape, a colour and a size, gathered in groups of one kind.

Places and lengths are shares of the picture's side, from 0 at the upper left to 1 at the lower right.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

Shape = Literal["circle", "square", "triangle", "star", "diamond", "cross", "heart"]
Colour = Literal["red", "orange", "yellow", "green", "blue", "purple", "white", "black"]
Size = Literal["small", "large", ""]  # "": neither, and never spoken of
Form = Literal[
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
SHAPES: tuple[Shape, ...] = get_args(Shape)
COLOURS: tuple[Colour, ...] = get_args(Colour)
FORMS: tuple[Form, ...] = get_args(Form)


class Box(NamedTuple):
    """A rectangle around a thing, as shares of the picture's width and height."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Kind:
    """What all the things of a group have in common."""

    shape: Shape
    colour: Colour
    size: Size = ""


@dataclass(frozen=True, slots=True)
class Thing:
    """One shape at its place; `radius` is about half of its width, `turn` is in radians."""

    kind: Kind
    x: float
    y: float
    radius: float
    turn: float
    tint: tuple[float, float, float]  # added to the red, green and blue of its colour


@dataclass(frozen=True, slots=True)
class Scene:
    """Things in groups, on a grey ground; `form` is how they are composed, `where` the side or corner that tells."""

    form: Form
    groups: tuple[tuple[Thing, ...], ...]
    ground: float
    where: str = ""

    def kind(self, group: int) -> Kind:
        """The kind of a group's things."""
        return self.groups[group][0].kind


class Word(NamedTuple):
    """A word of a caption, and the groups of things that it speaks of."""

    text: str
    about: tuple[int, ...] = ()


def plain(text: str) -> list[Word]:
    """Words that speak of no thing."""
    return [Word(word) for word in text.split()]


def outline(thing: Thing) -> NDArray[np.float64]:
    """The corners of the thing's polygon, one after the other: (corners, 2), each x and y."""
    sine, cosine = math.sin(thing.turn), math.cos(thing.turn)
    turned = OUTLINES[thing.kind.shape] @ np.array([[cosine, sine], [-sine, cosine]])
    corners: NDArray[np.float64] = turned * thing.radius + [thing.x, thing.y]
    return corners


def box_of(thing: Thing) -> Box:
    """The rectangle that just holds the thing."""
    corners = outline(thing)
    (left, top), (right, bottom) = corners.min(0).tolist(), corners.max(0).tolist()
    return Box(*(round(share, 4) for share in (left, top, right, bottom)))


def _ring(radii: list[float]) -> NDArray[np.float64]:
    """Corners evenly around the middle, the first at the top, at the radii in turn."""
    angles = np.arange(len(radii)) * 2 * math.pi / len(radii)
    x, y = np.sin(angles) * radii, -np.cos(angles) * radii
    return np.stack([x, y], 1)


def _heart(corners: int = 40) -> NDArray[np.float64]:
    angles = np.arange(corners) * 2 * math.pi / corners
    x = 16 * np.sin(angles) ** 3
    y = 13 * np.cos(angles) - 5 * np.cos(2 * angles) - 2 * np.cos(3 * angles) - np.cos(4 * angles)
    return np.stack([x / 16.0, (-y - 2.5) / 15.0], 1)


_ARM = 0.36  # half of the width of a cross's arm
OUTLINES: dict[Shape, NDArray[np.float64]] = {
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
