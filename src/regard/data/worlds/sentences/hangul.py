"""Hangul syllables taken apart and put together, and the particles that follow a word's last sound."""

from functools import cache

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
    """The word with the form of the particle that its last sound asks for."""
    if (word, particle) in CONTRACTED:
        return CONTRACTED[word, particle]
    final = last_final(word)
    after_consonant = bool(final) and not (particle == BY and final == "ㄹ")
    return word + (particle[0] if after_consonant else particle[1])
