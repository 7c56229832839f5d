"""A scene in Korean."""

from collections.abc import Callable

from regard.data.worlds.scenes.things import Colour, Form, Scene, Shape, Size, Word, plain
from regard.data.worlds.sentences.hangul import AND, NO_PARTICLE, OBJECT, OF, SUBJECT, Particle, attach

TINTS: dict[Colour, str] = {
    "red": "빨간",
    "orange": "주황색",
    "yellow": "노란",
    "green": "초록색",
    "blue": "파란",
    "purple": "보라색",
    "white": "하얀",
    "black": "까만",
}
SHAPES: dict[Shape, str] = {
    "circle": "원",
    "square": "정사각형",
    "triangle": "삼각형",
    "star": "별",
    "diamond": "마름모",
    "cross": "십자가",
    "heart": "하트",
}
SIZES: dict[Size, str] = {"small": "작은", "large": "큰"}
NUMBERS = {2: "두", 3: "세", 4: "네", 5: "다섯", 6: "여섯"}
COUNTER = "개"
SIDES = {"left": "왼쪽에", "right": "오른쪽에", "above": "위에", "below": "아래에"}
CORNERS = {
    "top left": "왼쪽 위",
    "top right": "오른쪽 위",
    "bottom left": "왼쪽 아래",
    "bottom right": "오른쪽 아래",
}


def in_korean(scene: Scene) -> list[Word]:
    """The words of the scene's one caption."""
    return SENTENCES[scene.form](scene)


def _said_of_the_first(scene: Scene, *, before: str = "", after: str = "있다") -> list[Word]:
    return [*plain(before), *_phrase(scene, 0, SUBJECT), *plain(after)]


def _at_the_second(scene: Scene, place: str) -> list[Word]:
    """`파란 별 안에 빨간 원이 있다`."""
    return [*_phrase(scene, 1), *_said_of_the_first(scene, before=place)]


def _related(scene: Scene) -> list[Word]:
    return [*_phrase(scene, 0, SUBJECT), *_phrase(scene, 1, OF), *plain(f"{SIDES[scene.where]} 있다")]


def _between(scene: Scene) -> list[Word]:
    return [*_phrase(scene, 0, SUBJECT), *_phrase(scene, 1, AND), *_phrase(scene, 2), *plain("사이에 있다")]


def _around(scene: Scene) -> list[Word]:
    return [*_phrase(scene, 0, SUBJECT), *_phrase(scene, 1, OBJECT), *plain("둘러싸고 있다")]


def _listed(scene: Scene) -> list[Word]:
    return [*_phrase(scene, 0, AND), *_phrase(scene, 1, SUBJECT)]


def _phrase(scene: Scene, group: int, particle: Particle = NO_PARTICLE) -> list[Word]:
    """`큰 빨간 원이`, `빨간 원 세 개가`."""
    kind, count = scene.kind(group), len(scene.groups[group])
    words = [SIZES[kind.size]] if kind.size else []
    words += [TINTS[kind.colour], SHAPES[kind.shape]]
    if count == 1:
        words[-1] = attach(words[-1], particle)
        return [Word(word, (group,)) for word in words]
    return [*(Word(word, (group,)) for word in (*words, NUMBERS[count])), Word(attach(COUNTER, particle))]


def _both(scene: Scene) -> list[Word]:
    """`빨간 원이 있고 같은 색 별도 있다`."""
    other = Word(f"{SHAPES[scene.kind(1).shape]}도", (1,))
    return [*_phrase(scene, 0, SUBJECT), *plain("있고 같은 색"), other, Word("있다")]


def _pair(scene: Scene) -> list[Word]:
    """`빨간 원이 있고 파란 원도 있다`."""
    *colour, shape = _phrase(scene, 1)
    return [*_phrase(scene, 0, SUBJECT), Word("있고"), *colour, shape._replace(text=f"{shape.text}도"), Word("있다")]


SENTENCES: dict[Form, Callable[[Scene], list[Word]]] = {
    "middle": lambda scene: _said_of_the_first(scene, before="가운데에"),
    "corner": lambda scene: _said_of_the_first(scene, before=f"{CORNERS[scene.where]} 구석에"),
    "relation": _related,
    "beside": lambda scene: [*_listed(scene), *plain("나란히 있다")],
    "stacked": lambda scene: _at_the_second(scene, "바로 위에"),
    "inside": lambda scene: _at_the_second(scene, "안에"),
    "scattered": lambda scene: _said_of_the_first(scene, after="흩어져 있다"),
    "row": lambda scene: _said_of_the_first(scene, after="가로로 늘어서 있다"),
    "column": lambda scene: _said_of_the_first(scene, after="세로로 늘어서 있다"),
    "groups": lambda scene: [*_listed(scene), *plain("있다")],
    "between": _between,
    "around": _around,
    "counted": _related,
    "pair": _pair,
    "both": _both,
}
