"""The caption of a scene in English and in Korean, with the shapes that each word refers to."""

from collections.abc import Callable

from regard.worlds.scenes.scene import CaptionWord, ColorName, Scene, SceneForm, ShapeName, ShapeSize, function_words
from regard.worlds.sentences.korean_morphology import AND, NO_PARTICLE, OBJECT, OF, SUBJECT, Particle, attach

# --- English ----------------------------------------------------------------------------------------------------------

ENGLISH_NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
ENGLISH_PLURALS: dict[ShapeName, str] = {"cross": "crosses"}  # other plurals end in -s
ENGLISH_SIDES = {"left": "to the left of", "right": "to the right of", "above": "above", "below": "below"}


def english_caption(scene: Scene) -> list[CaptionWord]:
    """The words of the only correct caption."""
    first, *others = ENGLISH_SENTENCES[scene.form](scene)
    return [first._replace(text=first.text[0].upper() + first.text[1:]), *others]


def _english_joined(scene: Scene, link: str) -> list[CaptionWord]:
    return [*_english_phrase(scene, 0), *function_words(link), *_english_phrase(scene, 1)]


def _english_phrase(scene: Scene, group: int) -> list[CaptionWord]:
    """`a large red circle`, `three red circles`."""
    kind, count = scene.kind(group), len(scene.groups[group])
    described = [word for word in (kind.size, kind.colour) if word]
    shape = kind.shape if count == 1 else ENGLISH_PLURALS.get(kind.shape, f"{kind.shape}s")
    counted = _english_article(described[0]) if count == 1 else CaptionWord(ENGLISH_NUMBERS[count], (group,))
    return [counted, *(CaptionWord(word, (group,)) for word in (*described, shape))]


def _english_pair(scene: Scene) -> list[CaptionWord]:
    """Two of one shape: `a red circle and a blue one`."""
    other = scene.kind(1).colour
    return [
        *_english_phrase(scene, 0),
        CaptionWord("and"),
        _english_article(other),
        CaptionWord(other, (1,)),
        CaptionWord("one", (1,)),
    ]


def _english_both(scene: Scene) -> list[CaptionWord]:
    """Two of one colour: `a red circle and a star of the same colour`."""
    other = scene.kind(1).shape
    return [
        *_english_phrase(scene, 0),
        CaptionWord("and"),
        _english_article(other),
        CaptionWord(other, (1,)),
        *function_words("of the same colour"),
    ]


def _english_article(following: str) -> CaptionWord:
    return CaptionWord("an" if following[0] in "aeiou" else "a")


ENGLISH_SENTENCES: dict[SceneForm, Callable[[Scene], list[CaptionWord]]] = {
    "middle": lambda scene: [*_english_phrase(scene, 0), *function_words("in the middle")],
    "corner": lambda scene: [*_english_phrase(scene, 0), *function_words(f"in the {scene.where} corner")],
    "relation": lambda scene: _english_joined(scene, ENGLISH_SIDES[scene.where]),
    "beside": lambda scene: _english_joined(scene, "next to"),
    "stacked": lambda scene: _english_joined(scene, "directly above"),
    "inside": lambda scene: _english_joined(scene, "inside"),
    "scattered": lambda scene: [*_english_phrase(scene, 0), *function_words("scattered about")],
    "row": lambda scene: [*_english_phrase(scene, 0), *function_words("in a row")],
    "column": lambda scene: [*_english_phrase(scene, 0), *function_words("in a column")],
    "groups": lambda scene: _english_joined(scene, "and"),
    "between": lambda scene: [*_english_joined(scene, "between"), CaptionWord("and"), *_english_phrase(scene, 2)],
    "around": lambda scene: _english_joined(scene, "around"),
    "counted": lambda scene: _english_joined(scene, ENGLISH_SIDES[scene.where]),
    "pair": _english_pair,
    "both": _english_both,
}

# --- Korean -----------------------------------------------------------------------------------------------------------

KOREAN_COLORS: dict[ColorName, str] = {
    "red": "빨간",
    "orange": "주황색",
    "yellow": "노란",
    "green": "초록색",
    "blue": "파란",
    "purple": "보라색",
    "white": "하얀",
    "black": "까만",
}

KOREAN_SHAPES: dict[ShapeName, str] = {
    "circle": "원",
    "square": "정사각형",
    "triangle": "삼각형",
    "star": "별",
    "diamond": "마름모",
    "cross": "십자가",
    "heart": "하트",
}

KOREAN_SIZES: dict[ShapeSize, str] = {"small": "작은", "large": "큰"}
KOREAN_NUMBERS = {2: "두", 3: "세", 4: "네", 5: "다섯", 6: "여섯"}
KOREAN_COUNTER = "개"
KOREAN_SIDES = {"left": "왼쪽에", "right": "오른쪽에", "above": "위에", "below": "아래에"}

KOREAN_CORNERS = {
    "top left": "왼쪽 위",
    "top right": "오른쪽 위",
    "bottom left": "왼쪽 아래",
    "bottom right": "오른쪽 아래",
}


def korean_caption(scene: Scene) -> list[CaptionWord]:
    """The words of the only correct caption."""
    return KOREAN_SENTENCES[scene.form](scene)


def _korean_first(scene: Scene, *, before: str = "", after: str = "있다") -> list[CaptionWord]:
    return [*function_words(before), *_korean_phrase(scene, 0, SUBJECT), *function_words(after)]


def _korean_at_second(scene: Scene, place: str) -> list[CaptionWord]:
    """`파란 별 안에 빨간 원이 있다`."""
    return [*_korean_phrase(scene, 1), *_korean_first(scene, before=place)]


def _korean_relation(scene: Scene) -> list[CaptionWord]:
    return [
        *_korean_phrase(scene, 0, SUBJECT),
        *_korean_phrase(scene, 1, OF),
        *function_words(f"{KOREAN_SIDES[scene.where]} 있다"),
    ]


def _korean_between(scene: Scene) -> list[CaptionWord]:
    return [
        *_korean_phrase(scene, 0, SUBJECT),
        *_korean_phrase(scene, 1, AND),
        *_korean_phrase(scene, 2),
        *function_words("사이에 있다"),
    ]


def _korean_list(scene: Scene) -> list[CaptionWord]:
    return [*_korean_phrase(scene, 0, AND), *_korean_phrase(scene, 1, SUBJECT)]


def _korean_phrase(scene: Scene, group: int, particle: Particle = NO_PARTICLE) -> list[CaptionWord]:
    """`큰 빨간 원이`, `빨간 원 세 개가`."""
    kind, count = scene.kind(group), len(scene.groups[group])
    words = [KOREAN_SIZES[kind.size]] if kind.size else []
    words += [KOREAN_COLORS[kind.colour], KOREAN_SHAPES[kind.shape]]
    if count == 1:
        words[-1] = attach(words[-1], particle)
        return [CaptionWord(word, (group,)) for word in words]
    return [
        *(CaptionWord(word, (group,)) for word in (*words, KOREAN_NUMBERS[count])),
        CaptionWord(attach(KOREAN_COUNTER, particle)),
    ]


def _korean_both(scene: Scene) -> list[CaptionWord]:
    """`빨간 원이 있고 같은 색 별도 있다`."""
    other = CaptionWord(f"{KOREAN_SHAPES[scene.kind(1).shape]}도", (1,))
    return [*_korean_phrase(scene, 0, SUBJECT), *function_words("있고 같은 색"), other, CaptionWord("있다")]


def _korean_pair(scene: Scene) -> list[CaptionWord]:
    """`빨간 원이 있고 파란 원도 있다`."""
    *colour, shape = _korean_phrase(scene, 1)
    return [
        *_korean_phrase(scene, 0, SUBJECT),
        CaptionWord("있고"),
        *colour,
        shape._replace(text=f"{shape.text}도"),
        CaptionWord("있다"),
    ]


KOREAN_SENTENCES: dict[SceneForm, Callable[[Scene], list[CaptionWord]]] = {
    "middle": lambda scene: _korean_first(scene, before="가운데에"),
    "corner": lambda scene: _korean_first(scene, before=f"{KOREAN_CORNERS[scene.where]} 구석에"),
    "relation": _korean_relation,
    "beside": lambda scene: [*_korean_list(scene), *function_words("나란히 있다")],
    "stacked": lambda scene: _korean_at_second(scene, "바로 위에"),
    "inside": lambda scene: _korean_at_second(scene, "안에"),
    "scattered": lambda scene: _korean_first(scene, after="흩어져 있다"),
    "row": lambda scene: _korean_first(scene, after="가로로 늘어서 있다"),
    "column": lambda scene: _korean_first(scene, after="세로로 늘어서 있다"),
    "groups": lambda scene: [*_korean_list(scene), *function_words("있다")],
    "between": _korean_between,
    "around": lambda scene: [
        *_korean_phrase(scene, 0, SUBJECT),
        *_korean_phrase(scene, 1, OBJECT),
        *function_words("둘러싸고 있다"),
    ],
    "counted": _korean_relation,
    "pair": _korean_pair,
    "both": _korean_both,
}
