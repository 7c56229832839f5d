"""English inflection, held against forms written by hand."""

import pytest

from regard.worlds.sentences.english import comparative, indefinite_article, participle, past, third_person
from regard.worlds.sentences.lexicon import ADJECTIVES, NOUNS, VERBS

BY_NAME = {verb.english: verb for verb in VERBS}

FORMS = [
    ("eat", "eats", "ate", "eating"), ("go", "goes", "went", "going"), ("watch", "watches", "watched", "watching"),
    ("fix", "fixes", "fixed", "fixing"), ("carry", "carries", "carried", "carrying"),
    ("play", "plays", "played", "playing"),
    ("study", "studies", "studied", "studying"), ("run", "runs", "ran", "running"), ("cut", "cuts", "cut", "cutting"),
    ("swim", "swims", "swam", "swimming"), ("visit", "visits", "visited", "visiting"),
    ("open", "opens", "opened", "opening"),
    ("make", "makes", "made", "making"), ("obey", "obeys", "obeyed", "obeying"), ("cry", "cries", "cried", "crying"),
    ("plant", "plants", "planted", "planting"), ("explain", "explains", "explained", "explaining"),
    ("wash", "washes", "washed", "washing"), ("draw", "draws", "drew", "drawing"),
    ("teach", "teaches", "taught", "teaching"),
]  # fmt: skip


@pytest.mark.parametrize(("base", "present", "simple_past", "progressive"), FORMS)
def test_verbs_inflect_as_written_by_hand(base: str, present: str, simple_past: str, progressive: str) -> None:
    assert (third_person(base), past(BY_NAME[base]), participle(base)) == (present, simple_past, progressive)


@pytest.mark.parametrize(
    ("adjective", "expected"),
    [
        ("big", "bigger"), ("small", "smaller"), ("happy", "happier"), ("wise", "wiser"), ("good", "better"),
        ("expensive", "more expensive"), ("hot", "hotter"), ("new", "newer"), ("useful", "more useful"),
        ("slow", "slower"), ("white", "whiter"), ("lonely", "lonelier"), ("famous", "more famous"),
    ],
)  # fmt: skip
def test_adjectives_compare_as_written_by_hand(adjective: str, expected: str) -> None:
    assert " ".join(comparative(adjective)) == expected


@pytest.mark.parametrize(
    ("word", "article"),
    [
        ("apple", "an"),
        ("book", "a"),
        ("honest", "an"),
        ("useful", "a"),
        ("hungry", "a"),
        ("umbrella", "an"),
        ("AI", "an"),
    ],
)
def test_article_follows_the_sound_of_next_word(word: str, article: str) -> None:
    assert indefinite_article(word) == article


def test_plurals_are_as_written_by_hand() -> None:
    expected = {"boy": "boys", "child": "children", "wolf": "wolves", "box": "boxes", "puppy": "puppies", "key": "keys",
                "knife": "knives", "peach": "peaches", "mouse": "mice", "bus": "buses"}  # fmt: skip
    assert {noun.english: noun.plural for noun in NOUNS if noun.english in expected} == expected


def test_no_two_adjectives_share_a_word() -> None:
    assert len({word.english for word in ADJECTIVES}) == len(ADJECTIVES) == len({word.korean for word in ADJECTIVES})
