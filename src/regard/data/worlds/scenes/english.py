"""A scene in English."""

from collections.abc import Callable

from regard.data.worlds.scenes.things import Form, Scene, Shape, Word, plain

NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
PLURALS: dict[Shape, str] = {"cross": "crosses"}  # of the others, an s is added
SIDES = {"left": "to the left of", "right": "to the right of", "above": "above", "below": "below"}


def in_english(scene: Scene) -> list[Word]:
    """The words of the scene's one caption."""
    first, *others = SENTENCES[scene.form](scene)
    return [first._replace(text=first.text[0].upper() + first.text[1:]), *others]


def _joined(scene: Scene, link: str) -> list[Word]:
    return [*_phrase(scene, 0), *plain(link), *_phrase(scene, 1)]


def _phrase(scene: Scene, group: int) -> list[Word]:
    """`a large red circle`, `three red circles`."""
    kind, count = scene.kind(group), len(scene.groups[group])
    described = [word for word in (kind.size, kind.colour) if word]
    shape = kind.shape if count == 1 else _plural(kind.shape)
    counted = _article(described[0]) if count == 1 else Word(NUMBERS[count], (group,))
    return [counted, *(Word(word, (group,)) for word in (*described, shape))]


def _pair(scene: Scene) -> list[Word]:
    """Two of one shape: `a red circle and a blue one`."""
    other = scene.kind(1).colour
    return [*_phrase(scene, 0), Word("and"), _article(other), Word(other, (1,)), Word("one", (1,))]


def _both(scene: Scene) -> list[Word]:
    """Two of one colour: `a red circle and a star of the same colour`."""
    other = scene.kind(1).shape
    return [*_phrase(scene, 0), Word("and"), _article(other), Word(other, (1,)), *plain("of the same colour")]


def _article(following: str) -> Word:
    return Word("an" if following[0] in "aeiou" else "a")


def _plural(shape: Shape) -> str:
    return PLURALS.get(shape, f"{shape}s")


SENTENCES: dict[Form, Callable[[Scene], list[Word]]] = {
    "middle": lambda scene: [*_phrase(scene, 0), *plain("in the middle")],
    "corner": lambda scene: [*_phrase(scene, 0), *plain(f"in the {scene.where} corner")],
    "relation": lambda scene: _joined(scene, SIDES[scene.where]),
    "beside": lambda scene: _joined(scene, "next to"),
    "stacked": lambda scene: _joined(scene, "directly above"),
    "inside": lambda scene: _joined(scene, "inside"),
    "scattered": lambda scene: [*_phrase(scene, 0), *plain("scattered about")],
    "row": lambda scene: [*_phrase(scene, 0), *plain("in a row")],
    "column": lambda scene: [*_phrase(scene, 0), *plain("in a column")],
    "groups": lambda scene: _joined(scene, "and"),
    "between": lambda scene: [*_joined(scene, "between"), Word("and"), *_phrase(scene, 2)],
    "around": lambda scene: _joined(scene, "around"),
    "counted": lambda scene: _joined(scene, SIDES[scene.where]),
    "pair": _pair,
    "both": _both,
}
