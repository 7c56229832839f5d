"""Korean word forms: Hangul syllables, particles, and predicates in the plain style.

A particle depends on the last sound of a word. A predicate has one dictionary form; every ending follows one of three
bases: the stem (읽고), the base before 으 (읽으면, 도우면, 가면), or the infinitive in 아 or 어 (읽어, 도와, 가).
Irregular stems are handled only in the functions that return those bases.
"""

from collections.abc import Callable
from functools import cache
from typing import Literal, NamedTuple

LEADS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
FINALS = ["", *"ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"]
FIRST_SYLLABLE, LAST_SYLLABLE = "가", "힣"

# Letters and digits are read one by one in Korean: L is 엘, 8 is 팔. Those not listed end in a vowel.
SPOKEN_FINALS = {"l": "ㄹ", "m": "ㅁ", "n": "ㄴ", "r": "ㄹ"} | {
    "0": "ㅇ", "1": "ㄹ", "3": "ㅁ", "6": "ㄱ", "7": "ㄹ", "8": "ㄹ"
}  # fmt: skip
Particle = tuple[str, str]  # after a consonant, after a vowel
TOPIC: Particle = ("은", "는")
SUBJECT: Particle = ("이", "가")
OBJECT: Particle = ("을", "를")
AND: Particle = ("과", "와")
BY: Particle = ("으로", "로")
AT: Particle = ("에", "에")
ACTING_AT: Particle = ("에서", "에서")
TO_SOMEONE: Particle = ("에게", "에게")
OF: Particle = ("의", "의")
THAN: Particle = ("보다", "보다")
AS_MUCH_AS: Particle = ("만큼", "만큼")
NO_PARTICLE: Particle = ("", "")
CONTRACTED = {("나", SUBJECT): "내가", ("너", SUBJECT): "네가", ("누구", SUBJECT): "누가"}


def split_syllable(syllable: str) -> tuple[str, str, str]:
    """The lead, the vowel and the final ("" for none) of one Hangul syllable."""
    code = ord(syllable) - ord(FIRST_SYLLABLE)
    lead, rest = divmod(code, len(VOWELS) * len(FINALS))
    vowel, final = divmod(rest, len(FINALS))
    return LEADS[lead], VOWELS[vowel], FINALS[final]


def join_syllable(lead: str, vowel: str, final: str = "") -> str:
    """The Hangul syllable of a lead, a vowel and a final."""
    code = (LEADS.index(lead) * len(VOWELS) + VOWELS.index(vowel)) * len(FINALS) + FINALS.index(final)
    return chr(ord(FIRST_SYLLABLE) + code)


def with_final(word: str, final: str) -> str:
    """The word with the final of its last syllable replaced."""
    lead, vowel, _ = split_syllable(word[-1])
    return word[:-1] + join_syllable(lead, vowel, final)


def last_final(word: str) -> str:
    """The consonant that the word, as spoken, ends in; "" when it ends in a vowel."""
    last = word[-1]
    if FIRST_SYLLABLE <= last <= LAST_SYLLABLE:
        return split_syllable(last)[2]
    return SPOKEN_FINALS.get(last.lower(), "")


@cache
def attach(word: str, particle: Particle) -> str:
    """The word with the particle in the form that its last sound requires."""
    if (word, particle) in CONTRACTED:
        return CONTRACTED[word, particle]
    final = last_final(word)
    after_consonant = bool(final) and not (particle == BY and final == "ㄹ")
    return word + (particle[0] if after_consonant else particle[1])


PredicateKind = Literal["verb", "adjective", "copula"]
KoreanTense = Literal["present", "past"]
VerbForm = Literal[
    "statement", "question", "quote", "and", "and then", "but", "if", "when", "because", "before", "after",
    "adnominal", "prospective", "must", "not", "infinitive", "prohibited", "command",
]  # fmt: skip
IRREGULAR_B = ("돕", "눕", "굽", "줍")  # and every adjective in ㅂ but 좁다
IRREGULAR_D = ("듣", "걷", "묻", "싣", "깨닫")
IRREGULAR_S = ("짓", "낫", "붓", "잇")
IRREGULAR_H = ("하얗", "빨갛", "노랗", "파랗", "까맣")
REGULAR_REU = ("따르", "들르", "치르")  # 따르다 is 따라, not 딸라
BRIGHT_VOWELS = "ㅏㅑㅗ"
CONTRACTIONS = {"ㅗ": "ㅘ", "ㅜ": "ㅝ", "ㅣ": "ㅕ"}
ABSORBING = "ㅏㅓㅐㅔㅕ"  # 가 + 아 is 가, 보내 + 어 is 보내


class KoreanPredicate(NamedTuple):
    """A verb, an adjective or a noun with 이다, by its dictionary form."""

    dictionary: str
    kind: PredicateKind

    @property
    def stem(self) -> str:
        """The dictionary form without 다."""
        return self.dictionary.removesuffix("다")

    @property
    def is_existence(self) -> bool:
        """Whether it is made with 있다 or 없다, which are half verb and half adjective."""
        return self.stem.endswith(("있", "없"))


def is_irregular_b(predicate: KoreanPredicate) -> bool:
    """Whether the ㅂ of the stem becomes 우."""
    if last_final(predicate.stem) != "ㅂ":
        return False
    if predicate.kind == "adjective":
        return not predicate.stem.endswith("좁")
    return predicate.stem.endswith(IRREGULAR_B)


def vowel_base(predicate: KoreanPredicate) -> str:
    """The base before an ending in 으; it ends in a vowel, so ㄴ, ㄹ or 면 may follow."""
    stem = predicate.stem
    final = last_final(stem)
    if not final:
        return stem
    open_stem = with_final(stem, "")
    if final == "ㄹ" or stem.endswith(IRREGULAR_H):
        return open_stem
    if is_irregular_b(predicate):
        return open_stem + "우"
    if stem.endswith(IRREGULAR_D):
        return with_final(stem, "ㄹ") + "으"
    if stem.endswith(IRREGULAR_S):
        return open_stem + "으"
    return stem + "으"


def infinitive(predicate: KoreanPredicate) -> str:
    """The base in 아 or 어, contracted as it is written: 가, 봐, 마셔, 도와, 불러."""
    stem = predicate.stem
    if predicate.kind == "copula":
        return copula_infinitive(stem)
    if stem.endswith("하"):
        return stem[:-1] + "해"
    if not last_final(stem):
        return open_infinitive(stem)
    if is_irregular_b(predicate):
        return with_final(stem, "") + ("와" if stem.endswith("돕") else "워")
    if stem.endswith(IRREGULAR_H):
        lead, vowel, _ = split_syllable(stem[-1])
        return stem[:-1] + join_syllable(lead, "ㅒ" if vowel == "ㅑ" else "ㅐ")
    base = stem
    if stem.endswith(IRREGULAR_D):
        base = with_final(stem, "ㄹ")
    elif stem.endswith(IRREGULAR_S):
        base = with_final(stem, "")
    return base + harmony(stem[-1])


def harmony(syllable: str) -> str:
    """아 after a bright vowel, 어 after any other."""
    return "아" if split_syllable(syllable)[1] in BRIGHT_VOWELS else "어"


def copula_infinitive(stem: str) -> str:
    """이어 after a consonant, 여 after a vowel; 아니다 keeps its vowel apart."""
    if stem == "아니":
        return "아니어"
    return stem + "어" if last_final(stem[:-1]) else stem[:-1] + "여"


def open_infinitive(stem: str) -> str:
    """The infinitive of a stem that ends in a vowel."""
    lead, vowel, _ = split_syllable(stem[-1])
    before = stem[:-1]
    if vowel in ABSORBING:
        return stem
    if vowel in CONTRACTIONS:
        return before + join_syllable(lead, CONTRACTIONS[vowel])
    if vowel != "ㅡ":
        return stem + "어"
    tail = harmony(before[-1]) if before else "어"
    if lead == "ㄹ" and not stem.endswith(REGULAR_REU):
        return with_final(before, "ㄹ") + join_syllable("ㄹ", split_syllable(tail)[1])
    return before + join_syllable(lead, split_syllable(tail)[1])


def before_n(stem: str) -> str:
    """The stem before an ending in ㄴ or ㅅ: ㄹ falls away."""
    return with_final(stem, "") if last_final(stem) == "ㄹ" else stem


def before_consonant(predicate: KoreanPredicate) -> str:
    """The stem before 다, 니, 고, 지만 or 면; 이 of the copula falls away after a vowel (의사다)."""
    stem = predicate.stem
    drops = predicate.kind == "copula" and stem != "아니" and len(stem) > 1 and not last_final(stem[:-1])
    return stem[:-1] if drops else stem


def present_statement(predicate: KoreanPredicate) -> str:
    """The plain statement: 읽는다, 간다, 크다, 있다, 학생이다."""
    if predicate.kind != "verb" or predicate.is_existence:
        return before_consonant(predicate) + "다"
    stem = before_n(predicate.stem)
    return stem + "는다" if last_final(stem) else with_final(stem, "ㄴ") + "다"


def present_adnominal(predicate: KoreanPredicate) -> str:
    """The form before the noun it describes: 읽는, 만드는, 큰, 재미있는, 학생인."""
    if predicate.kind == "verb" or predicate.is_existence:
        return before_n(predicate.stem) + "는"
    return with_final(vowel_base(predicate), "ㄴ")


def present_question(predicate: KoreanPredicate) -> str:
    """The question: 읽니, 만드니, 크니, 학생이니."""
    return before_n(before_consonant(predicate)) + "니"


def plain_command(predicate: KoreanPredicate) -> str:
    """The command: 읽어라, 가라, 도와라; of 말다, which forbids, 마라."""
    return "마라" if predicate.dictionary == "말다" else infinitive(predicate) + "라"


def present_if(predicate: KoreanPredicate) -> str:
    """The condition: 읽으면, 가면, 만들면."""
    if last_final(predicate.stem) == "ㄹ":
        return predicate.stem + "면"
    return (before_consonant(predicate) if predicate.kind == "copula" else vowel_base(predicate)) + "면"


def present_quote(predicate: KoreanPredicate) -> str:
    """The reported statement: 읽는다고, 크다고, 학생이라고."""
    if predicate.kind == "copula":
        return before_consonant(predicate) + "라고"
    return present_statement(predicate) + "고"


# Endings that follow one base unchanged; those that are not here are made by the functions above.
AFTER_STEM = {"because": "기 때문에", "before": "기 전에", "not": "지"}
AFTER_CONSONANT_BASE = {"and": "고", "and then": "고", "but": "지만"}
AFTER_INFINITIVE = {"must": "야", "infinitive": ""}
AFTER_VOWEL_BASE = {"when": ("ㄹ", " 때"), "prospective": ("ㄹ", ""), "after": ("ㄴ", " 후에")}

MADE: dict[str, Callable[[KoreanPredicate], str]] = {
    "statement": present_statement,
    "question": present_question,
    "quote": present_quote,
    "if": present_if,
    "prohibited": lambda predicate: present_if(predicate) + " 안",
    "adnominal": present_adnominal,
    "command": plain_command,
}


def conjugate_present(predicate: KoreanPredicate, form: VerbForm) -> str:
    """The form without a mark of the past."""
    if form in MADE:
        return MADE[form](predicate)
    if form in AFTER_STEM:
        return predicate.stem + AFTER_STEM[form]
    if form in AFTER_CONSONANT_BASE:
        return before_consonant(predicate) + AFTER_CONSONANT_BASE[form]
    if form in AFTER_INFINITIVE:
        return infinitive(predicate) + AFTER_INFINITIVE[form]
    final, ending = AFTER_VOWEL_BASE[form]
    return with_final(vowel_base(predicate), final) + ending


def conjugate_past(predicate: KoreanPredicate, form: VerbForm) -> str:
    """The form with 았 or 었, or with the adnominal of the past."""
    if form in ("before", "after", "and then"):  # these take their time from the verb that follows
        return conjugate_present(predicate, form)
    marked = with_final(infinitive(predicate), "ㅆ")
    if form == "adnominal":
        is_action = predicate.kind == "verb" and not predicate.is_existence
        return with_final(vowel_base(predicate), "ㄴ") if is_action else marked + "던"
    # A marked stem takes the endings of an adjective: 읽었다, never 읽었는다.
    return conjugate_present(KoreanPredicate(marked + "다", "adjective"), form)


@cache
def conjugate(predicate: KoreanPredicate, form: VerbForm, tense: KoreanTense = "present") -> str:
    """The predicate in one form; words that belong to the ending follow after a space (읽을 때)."""
    return conjugate_past(predicate, form) if tense == "past" else conjugate_present(predicate, form)
