"""Which language a text is in: by its script first, then, among languages that share one, by its runs of letters.

Small on purpose. It tells the languages of a server's models from each other and from their neighbours; what it says of
a few words is a guess, and its confidence says so.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import cache

from regard.serve.languages import COMMON_WORDS, SCRIPTS, base_code

LONGEST = 2000  # characters that are looked at
EXPECTED = 10.0  # times as likely as another language is one that was asked for: the server's clients know it
_RANGES = sorted(
    (start, end, name)
    for name, ranges in {
        "latin": [(0x41, 0x24F), (0x1E00, 0x1EFF)],
        "greek": [(0x370, 0x3FF), (0x1F00, 0x1FFF)],
        "cyrillic": [(0x400, 0x52F)],
        "armenian": [(0x530, 0x58F)],
        "hebrew": [(0x590, 0x5FF)],
        "arabic": [(0x600, 0x6FF), (0x750, 0x77F), (0xFB50, 0xFDFF), (0xFE70, 0xFEFF)],
        "devanagari": [(0x900, 0x97F)],
        "bengali": [(0x980, 0x9FF)],
        "tamil": [(0xB80, 0xBFF)],
        "telugu": [(0xC00, 0xC7F)],
        "thai": [(0xE00, 0xE7F)],
        "georgian": [(0x10A0, 0x10FF)],
        "hangul": [(0x1100, 0x11FF), (0x3130, 0x318F), (0xAC00, 0xD7AF)],
        "kana": [(0x3040, 0x30FF), (0x31F0, 0x31FF)],
        "han": [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF)],
    }.items()
    for start, end in ranges
)
_STARTS = [start for start, _, _ in _RANGES]
# A syllable or a word sign is worth as much as the letters that would spell it: "AI가 세상을 바꾼다" is Korean.
_WORTH = {"hangul": 3, "han": 3, "kana": 2}
_UNSEEN = 0.3  # count of a run of letters that no common word of a language holds
_KNOWN_WORD = 8  # count of a common word as a whole, whatever its rank
_TRUST = 0.6  # runs of letters overlap, so that each says less than it would by itself


def detect(text: str, languages: Sequence[str]) -> list[tuple[str, float]]:
    """Each of the languages with the confidence, from 0 to 1, that the text is in it; the likeliest first.

    The languages not asked for that are known here compete too, so that of a text in none of those asked for, the
    confidences are low. A text without letters is in each of them with 0.
    """
    letters = "".join(character for character in text[:LONGEST].lower() if character.isalpha() or character == " ")
    asked = [base_code(language) for language in languages]
    found = dict.fromkeys(languages, 0.0)
    for script, share in _script_shares(letters).items():
        known = dict.fromkeys([*asked, *COMMON_WORDS, *SCRIPTS])
        rivals = {code: _chance(code, script, asked) for code in known if script in SCRIPTS.get(code, ("latin",))}
        likely = _by_letters(letters, rivals)
        for language in languages:
            found[language] += share * likely.get(base_code(language), 0.0)
    return sorted(found.items(), key=lambda one: -one[1])


def _chance(code: str, script: str, asked: list[str]) -> float:
    """How likely the language is before the letters are looked at; Japanese without kana is rare."""
    return (EXPECTED if code in asked else 1.0) * (0.1 if (code, script) == ("ja", "han") else 1.0)


def _script_shares(letters: str) -> dict[str, float]:
    """How much of the text is in each script; what Chinese characters say in a text with kana, kana has said."""
    counts: Counter[str] = Counter()
    for letter, count in Counter(letters).items():
        script = _script(letter)
        if script:
            counts[script] += count * _WORTH.get(script, 1)
    if counts["kana"]:
        counts["kana"] += counts.pop("han", 0)
    whole = counts.total()
    return {script: count / whole for script, count in counts.items() if count}


def _script(letter: str) -> str:
    index = bisect_right(_STARTS, ord(letter)) - 1
    return _RANGES[index][2] if index >= 0 and ord(letter) <= _RANGES[index][1] else ""


def _by_letters(letters: str, rivals: dict[str, float]) -> dict[str, float]:
    """How likely each of the languages of one script is; as likely as before where nothing tells them apart."""
    runs = _runs(letters)
    weight = _TRUST / math.sqrt(max(1, runs.total() / 20))
    logs = {
        code: math.log(chance) + weight * sum(count * _log(code, run) for run, count in runs.items())
        for code, chance in rivals.items()
    }
    highest = max(logs.values(), default=0.0)
    odds = {code: math.exp(log - highest) for code, log in logs.items()}
    whole = sum(odds.values())
    return {code: one / whole for code, one in odds.items()}


def _runs(letters: str) -> Counter[str]:
    """Runs of two to four letters, a word's ends counted as letters, and whole words."""
    words = [f" {word} " for word in letters.split()]
    runs = (word[start : start + size] for word in words for size in (2, 3, 4) for start in range(len(word) - size + 1))
    return Counter([*runs, *(word for word in words if len(word) > 4)])


@cache
def _profile(code: str) -> tuple[Counter[str], float]:
    """How often each run of letters occurs in the language, and all together; common words count for more."""
    counts: Counter[str] = Counter()
    for rank, word in enumerate(COMMON_WORDS.get(code, "").split()):
        for run, count in _runs(word).items():
            counts[run] += count * 30 / (rank + 10)  # type: ignore[assignment]  # a Counter may hold fractions
        counts[f" {word} "] += _KNOWN_WORD
    return counts, sum(counts.values())


def _log(code: str, run: str) -> float:
    counts, whole = _profile(code)
    return math.log((counts.get(run, 0) + _UNSEEN) / (whole + 3000 * _UNSEEN))
