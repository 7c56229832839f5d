"""Where things stand: each form of scene has a layout that no other form has.

So the picture decides the form, and with it the caption: which thing is spoken of first, whether sizes are said, and in
which words. A caption can then be exactly right or wrong. The rules, by what can be seen:

- one thing: in the middle, or in a corner; it is large or small.
- a large and a small thing, level or upright: the large one is told first, to the left of, above, ... the small one; if
  the small one lies on the large one, it is inside it.
- two things of one size: level, the left one is next to the right one; upright, the upper is directly above the lower;
  aslant they share their shape (a pair) or their colour (both), and the left one is told first. Which of the two it is
  need not be known before the second is looked at: both captions begin alike.
- three different things in a row: the middle one is between the left and the right one.
- several things of one kind: in a row, in a column, or scattered.
- several of one kind and one other: around it, above or below it.
- several of one kind at the left, several of another at the right: groups.
"""

import math
from collections.abc import Callable, Sequence

from regard.data.worlds.scenes.things import COLOURS, FORMS, SHAPES, Form, Kind, Scene, Size, Thing
from regard.data.worlds.sentences.chance import Chance

Place = tuple[float, float]
Groups = tuple[tuple[Thing, ...], ...]

SMALL, ORDINARY, LARGE = 0.085, 0.115, 0.19  # radii
ENCLOSED, ENCLOSING = 0.105, 0.36  # the one, with its rim, is as wide as an arm of the other, should that be a cross
EITHER: tuple[Size, Size] = ("small", "large")
TURN = math.radians(8)
SHAKE = 0.02  # how far a thing may stand from where it belongs
CORNERS: dict[str, Place] = {
    "top left": (0.2, 0.2),
    "top right": (0.8, 0.2),
    "bottom left": (0.2, 0.8),
    "bottom right": (0.8, 0.8),
}
SIDES: dict[str, Place] = {"left": (-1, 0), "right": (1, 0), "above": (0, -1), "below": (0, 1)}


def some_scene(chance: Chance) -> Scene:
    """A scene drawn by chance, each form as likely as any other."""
    form = chance.pick(FORMS)
    groups, where = LAYOUTS[form](chance)
    return Scene(form, groups, ground=chance.between(140, 180), where=where)


# --- drawing kinds and things ----------------------------------------------------------------------------------------


def _kinds(chance: Chance, *sizes: Size) -> list[Kind]:
    """As many kinds as sizes, no two of the same shape, nor of the same colour."""
    kinds: list[Kind] = []
    for size in sizes:
        shape = chance.pick([shape for shape in SHAPES if all(shape != kind.shape for kind in kinds)])
        colour = chance.pick([colour for colour in COLOURS if all(colour != kind.colour for kind in kinds)])
        kinds.append(Kind(shape, colour, size))
    return kinds


def _thing(chance: Chance, kind: Kind, place: Place, radius: float, shake: float = SHAKE) -> Thing:
    x, y = (along + chance.between(-shake, shake) for along in place)
    tint = (chance.between(-9, 9), chance.between(-9, 9), chance.between(-9, 9))
    return Thing(kind, x, y, radius * chance.between(0.94, 1.06), chance.between(-TURN, TURN), tint)


def _several(chance: Chance, kind: Kind, places: Sequence[Place], radius: float = SMALL) -> tuple[Thing, ...]:
    return tuple(_thing(chance, kind, place, radius) for place in places)


def _line(count: int, low: float, high: float) -> list[float]:
    """Places from `low` to `high`, evenly apart."""
    return [low + (high - low) * (step + 0.5) / count for step in range(count)]


# --- one layout for each form ----------------------------------------------------------------------------------------


def _middle(chance: Chance) -> tuple[Groups, str]:
    size = chance.pick(EITHER)
    (kind,) = _kinds(chance, size)
    return ((_thing(chance, kind, (0.5, 0.5), LARGE if size == "large" else SMALL, shake=0.05),),), ""


def _corner(chance: Chance) -> tuple[Groups, str]:
    size, where = chance.pick(EITHER), chance.pick(tuple(CORNERS))
    (kind,) = _kinds(chance, size)
    x, y = CORNERS[where]
    inward = 0.06 if size == "large" else 0.0  # so that a large thing is not cut off
    place = (x + math.copysign(inward, 0.5 - x), y + math.copysign(inward, 0.5 - y))
    return ((_thing(chance, kind, place, LARGE if size == "large" else SMALL),),), where


def _relation(chance: Chance) -> tuple[Groups, str]:
    where = chance.pick(tuple(SIDES))
    large, small = _kinds(chance, "large", "small")
    across, down = SIDES[where]
    drift = chance.between(-0.12, 0.12)  # sideways, of both together
    x, y = 0.5 + drift * abs(down), 0.5 + drift * abs(across)
    one = _thing(chance, large, (x + 0.22 * across, y + 0.22 * down), LARGE)
    other = _thing(chance, small, (x - 0.27 * across, y - 0.27 * down), SMALL)
    return ((one,), (other,)), where


def _level(chance: Chance) -> tuple[Groups, str]:
    left, right = _kinds(chance, "", "")
    y = chance.between(0.3, 0.7)
    return (_several(chance, left, [(0.28, y)], ORDINARY), _several(chance, right, [(0.72, y)], ORDINARY)), ""


def _upright(chance: Chance) -> tuple[Groups, str]:
    upper, lower = _kinds(chance, "", "")
    x = chance.between(0.3, 0.7)
    return (_several(chance, upper, [(x, 0.28)], ORDINARY), _several(chance, lower, [(x, 0.72)], ORDINARY)), ""


def _inside(chance: Chance) -> tuple[Groups, str]:
    small, large = _kinds(chance, "small", "large")
    x, y = chance.between(0.47, 0.53), chance.between(0.47, 0.53)
    return (
        (_thing(chance, small, (x, y), ENCLOSED, shake=0.01),),
        (_thing(chance, large, (x, y), ENCLOSING, shake=0.01),),
    ), ""


def _scattered(chance: Chance) -> tuple[Groups, str]:
    (kind,) = _kinds(chance, "")
    return (_several(chance, kind, _apart(chance, chance.pick((2, 3, 4, 5)))),), ""


def _apart(chance: Chance, count: int) -> list[Place]:
    """Places well apart from each other that lie neither in a row nor in a column."""
    while True:
        places = [(chance.between(0.14, 0.86), chance.between(0.14, 0.86)) for _ in range(count)]
        nearest = min(math.dist(one, other) for at, one in enumerate(places) for other in places[:at])
        spreads = [max(along) - min(along) for along in zip(*places, strict=True)]
        if nearest > 0.27 and min(spreads) > 0.4:
            return places


def _row(chance: Chance) -> tuple[Groups, str]:
    (kind,) = _kinds(chance, "")
    y = chance.between(0.2, 0.8)
    return (_several(chance, kind, [(x, y) for x in _line(chance.pick((2, 3, 4)), 0.02, 0.98)]),), ""


def _column(chance: Chance) -> tuple[Groups, str]:
    (kind,) = _kinds(chance, "")
    x = chance.between(0.2, 0.8)
    return (_several(chance, kind, [(x, y) for y in _line(chance.pick((2, 3, 4)), 0.02, 0.98)]),), ""


def _groups(chance: Chance) -> tuple[Groups, str]:
    left, right = _kinds(chance, "", "")
    return (_several(chance, left, _cluster(chance, 0.26)), _several(chance, right, _cluster(chance, 0.74))), ""


def _cluster(chance: Chance, x: float) -> list[Place]:
    """Two to four places, one under the other in zigzag."""
    count = chance.pick((2, 3, 4))
    side = chance.pick((-1, 1))
    return [(x + 0.09 * side * (-1) ** step, y) for step, y in enumerate(_line(count, 0.04, 0.96))]


def _between(chance: Chance) -> tuple[Groups, str]:
    middle, left, right = _kinds(chance, "", "", "")
    y = chance.between(0.25, 0.75)
    places = zip((middle, left, right), (0.5, 0.18, 0.82), strict=True)
    return tuple(_several(chance, kind, [(x, y)], ORDINARY) for kind, x in places), ""


def _around(chance: Chance) -> tuple[Groups, str]:
    outer, inner = _kinds(chance, "", "")
    count, start = chance.pick((4, 5, 6)), chance.between(0, 2 * math.pi)
    angles = [start + 2 * math.pi * step / count for step in range(count)]
    places = [(0.5 + 0.36 * math.cos(angle), 0.5 + 0.36 * math.sin(angle)) for angle in angles]
    return (_several(chance, outer, places), _several(chance, inner, [(0.5, 0.5)], ORDINARY)), ""


def _counted(chance: Chance) -> tuple[Groups, str]:
    where = chance.pick(("above", "below"))
    many, one = _kinds(chance, "", "")
    down = SIDES[where][1]
    places = [(x, 0.5 + 0.22 * down) for x in _line(chance.pick((2, 3)), 0.1, 0.9)]
    return (
        _several(chance, many, places),
        _several(chance, one, [(chance.between(0.35, 0.65), 0.5 - 0.22 * down)], ORDINARY),
    ), where


def _aslant(chance: Chance) -> list[Place]:
    """A left and a right place of which one is clearly the higher."""
    down = chance.pick((-1, 1)) * chance.between(0.2, 0.25)
    return [(0.27, 0.5 + down), (0.73, 0.5 - down)]


def _pair(chance: Chance) -> tuple[Groups, str]:
    left, other = _kinds(chance, "", "")
    right = Kind(left.shape, other.colour)
    return tuple(
        _several(chance, kind, [place], ORDINARY) for kind, place in zip((left, right), _aslant(chance), strict=True)
    ), ""


def _both(chance: Chance) -> tuple[Groups, str]:
    left, other = _kinds(chance, "", "")
    right = Kind(other.shape, left.colour)
    return tuple(
        _several(chance, kind, [place], ORDINARY) for kind, place in zip((left, right), _aslant(chance), strict=True)
    ), ""


LAYOUTS: dict[Form, Callable[[Chance], tuple[Groups, str]]] = {
    "middle": _middle,
    "corner": _corner,
    "relation": _relation,
    "beside": _level,
    "stacked": _upright,
    "inside": _inside,
    "scattered": _scattered,
    "row": _row,
    "column": _column,
    "groups": _groups,
    "between": _between,
    "around": _around,
    "counted": _counted,
    "pair": _pair,
    "both": _both,
}
