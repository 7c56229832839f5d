"""English inflection: verbs, comparatives and the indefinite article."""

import re
from functools import cache

from regard.data.worlds.sentences.lexicon import Verb

VOWELS = "aeiou"
IRREGULAR_COMPARATIVES = {"good": "better", "bad": "worse"}
SILENT_H = ("honest", "hour")
SPOKEN_WITH_Y = ("useful", "uni")  # written with a vowel, spoken with a consonant


def syllables(word: str) -> int:
    """How many groups of vowels are heard; a silent e at the end is not."""
    return len(re.findall(r"[aeiouy]+", word.removesuffix("e"))) or 1


def doubles_consonant(word: str) -> bool:
    """Whether the last letter is written twice before a vowel: run, running."""
    return bool(re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", word))


def add_suffix(word: str, suffix: str) -> str:
    """The word with -ed, -er or -ing, spelled as English asks."""
    if doubles_consonant(word):
        return word + word[-1] + suffix
    if word.endswith("e"):
        return word[:-1] + suffix
    if word.endswith("y") and word[-2] not in VOWELS and suffix != "ing":
        return word[:-1] + "i" + suffix
    return word + suffix


@cache
def third_person(base: str) -> str:
    """The present with he or she."""
    if base == "go" or base.endswith(("s", "x", "ch", "sh")):
        return base + "es"
    if base.endswith("y") and base[-2] not in VOWELS:
        return base[:-1] + "ies"
    return base + "s"


@cache
def participle(base: str) -> str:
    """The form in -ing."""
    return add_suffix(base, "ing")


@cache
def past(verb: Verb) -> str:
    """The simple past of the verb's first word."""
    return verb.past or add_suffix(verb.english.split()[0], "ed")


@cache
def comparative(adjective: str) -> tuple[str, ...]:
    """One word in -er, or `more` and the adjective."""
    if adjective in IRREGULAR_COMPARATIVES:
        return (IRREGULAR_COMPARATIVES[adjective],)
    if syllables(adjective) == 1 or adjective.endswith("y"):
        return (add_suffix(adjective, "er"),)
    return "more", adjective


def indefinite_article(next_word: str) -> str:
    """`a` or `an`, by the sound of the word that follows."""
    word = next_word.lower()
    if word.startswith(SILENT_H):
        return "an"
    return "an" if word[0] in VOWELS and not word.startswith(SPOKEN_WITH_Y) else "a"
