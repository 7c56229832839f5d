"""How a clause stands to what it says: when, whether it is so, and whether it stands alone."""

from dataclasses import dataclass

from regard.data.worlds.sentences.chance import Chance
from regard.data.worlds.sentences.lexicon import Verb
from regard.data.worlds.sentences.meaning import Modality, NounPhrase, Tense

GENERAL_MODALITIES: tuple[Modality, ...] = ("plain", "must", "can")
MODALITIES: tuple[Modality, ...] = ("plain", "plain", "plain", "progressive", "must", "can", "want")


@dataclass(frozen=True, slots=True)
class Stance:
    """Tense, modality and negation of a clause; `is_main` when no other clause holds it."""

    tense: Tense = "present"
    modality: Modality = "plain"
    negated: bool = False
    is_main: bool = True

    @property
    def allows_general(self) -> bool:
        """Whether the subject may be a kind as a whole, which Korean marks in a main clause only."""
        return self.is_main and self.tense == "present" and self.modality in GENERAL_MODALITIES

    @property
    def is_plain(self) -> bool:
        """Whether English says it with the verb alone."""
        return self.modality == "plain" and not self.negated


def some_tense(chance: Chance) -> Tense:
    """Present, past or future."""
    if chance.happens(0.42):
        return "present"
    return "past" if chance.happens(0.7) else "future"


def past_or_present(chance: Chance) -> Tense:
    """Present or past."""
    return "past" if chance.happens(0.5) else "present"


def without_future(tense: Tense) -> Tense:
    """The tense of a clause whose main clause has the given one: if it rains, we will stay."""
    return "past" if tense == "past" else "present"


def some_stance(chance: Chance) -> Stance:
    """Any tense and modality that go together."""
    tense = some_tense(chance)
    return Stance(tense, chance.pick(MODALITIES) if tense != "future" else "plain")


def is_ambiguous(verb: Verb, stance: Stance, subject: NounPhrase) -> bool:
    """Whether the English past cannot be told from the present: they read."""
    is_bare_past = stance.tense == "past" and stance.is_plain
    return is_bare_past and verb.past == verb.english and not subject.is_third_singular
