"""Languages: codes, English names, endings of file names, and detection of the language of a text."""

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

# English names by code; a code that is not here is its own name.
_NAMES = """
    af=Afrikaans ar=Arabic bg=Bulgarian bn=Bengali ca=Catalan cs=Czech da=Danish de=German el=Greek en=English
    eo=Esperanto es=Spanish et=Estonian eu=Basque fa=Persian fi=Finnish fr=French ga=Irish gl=Galician he=Hebrew
    hi=Hindi hr=Croatian hu=Hungarian hy=Armenian id=Indonesian is=Icelandic it=Italian ja=Japanese ka=Georgian
    kk=Kazakh ko=Korean lt=Lithuanian lv=Latvian mk=Macedonian mr=Marathi ms=Malay nb=Norwegian ne=Nepali nl=Dutch
    no=Norwegian pl=Polish pt=Portuguese ro=Romanian ru=Russian sk=Slovak sl=Slovenian sq=Albanian sr=Serbian
    sv=Swedish sw=Swahili ta=Tamil te=Telugu th=Thai tl=Tagalog tr=Turkish uk=Ukrainian ur=Urdu vi=Vietnamese
    zh=Chinese
"""

NAMES: Final = dict(entry.split("=") for entry in _NAMES.split())


def plain_code(code: str) -> str:
    """A code in the one way of writing it in which codes are compared: "pt-br" of "pt_BR" or "PT-BR"."""
    return code.replace("_", "-").lower()


def base_code(code: str) -> str:
    """The language of a code with a region: "en" of "en-GB", "EN" or "en_US"."""
    return plain_code(code).split("-")[0]


def language_name(code: str) -> str:
    """The language's English name."""
    return NAMES.get(base_code(code), code)


def suggest_code(name: str) -> str | None:
    """The code of a language that is named or abbreviated, as in English or eng; None if no name starts so."""
    word = base_code(name)
    return next((code for code, known in NAMES.items() if len(word) > 2 and known.lower().startswith(word)), None)


# --- endings of file names -------------------------------------------------------------------------------------------

# The two-letter codes of ISO 639-1.
_TWO_LETTER_CODES = """
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en
    eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka
    kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl
    nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw
    ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
# ISO 639-3 has thousands of three-letter codes: these endings are common in file names and mean something else.
_OTHER_ENDINGS = "bpe csv dev doc hyp log low new old out raw ref sgm snt spm src tgt tok trg tsv txt xml"
_CODES, _NOT_CODES = frozenset(_TWO_LETTER_CODES.split()), frozenset(_OTHER_ENDINGS.split())
_CODE_PATTERN = re.compile(r"(?P<code>[a-z]{2,3})([-_][A-Za-z]{2,4})?")
_IGNORED_SUFFIXES = (".gz", ".txt")


def languages_from_names(source: Path, target: Path) -> tuple[str, ...]:
    """The language codes that two file names end in, as in train.en and train.ko; empty unless there are two."""
    codes = (_code_from_name(source), _code_from_name(target))
    return codes if all(codes) and codes[0] != codes[1] else ()


def _code_from_name(path: Path) -> str:
    while path.suffix.lower() in _IGNORED_SUFFIXES:
        path = path.with_suffix("")
    ending = path.suffix.removeprefix(".")
    match = _CODE_PATTERN.fullmatch(ending)
    if match is None:
        return ""
    code = match["code"]
    return ending if (code in _CODES if len(code) == 2 else code not in _NOT_CODES) else ""


def languages_swapped(source: Path, target: Path, direction: Sequence[str]) -> tuple[str, ...]:
    """The codes that the file names end in, if they are those of the direction in the opposite order; else empty."""
    ending = languages_from_names(source, target)
    # Two variants of one language, as zh-CN and zh-TW, differ only in their regions.
    normalize = plain_code if len({base_code(code) for code in direction}) == 1 else base_code
    is_swapped = [normalize(code) for code in ending] == [normalize(code) for code in direction][::-1]
    return ending if ending and is_swapped else ()


def is_known_code(code: str) -> bool:
    """Whether the language of a code is in ISO 639-1, so that texts can be checked for it."""
    return base_code(code) in _CODES


# --- detection -------------------------------------------------------------------------------------------------------

MAX_DETECTED_CHARACTERS = 2000
CANDIDATE_ODDS = 100.0  # how many times as likely as another language a candidate is before the text is read
_DETECTOR_CODES = {"nb": ("nb", "nn", "no"), "no": ("nb", "nn", "no")}  # other codes are the detector's own
_LOCK = threading.Lock()


def detect_language(text: str, candidates: Sequence[str]) -> list[tuple[str, float]]:
    """Each candidate with the confidence, from 0 to 1, that the text is in it, the most likely first.

    About a hundred other languages compete, so that the confidences are low if the text is in none of the candidates.
    Candidates that the detector does not support share what is left. Without letters every confidence is 0.
    """
    text = text[:MAX_DETECTED_CHARACTERS].encode("utf-8", "replace").decode()
    if not any(character.isalpha() for character in text):
        return [(code, 0.0) for code in candidates]
    with _LOCK:  # two threads must not read the model at once
        identifier = _load_identifier()
    probabilities = dict(identifier.rank(text))
    own = {code: _DETECTOR_CODES.get(base_code(code), (base_code(code),)) for code in candidates}
    preferred = {code for codes in own.values() for code in codes}
    weights = {code: p * (CANDIDATE_ODDS if code in preferred else 1.0) for code, p in probabilities.items()}
    total = sum(weights.values())
    found = {code: sum(weights.get(one, 0.0) for one in codes) / total for code, codes in own.items()}
    unsupported = [code for code, codes in own.items() if not any(one in weights for one in codes)]
    rest = max(0.0, 1.0 - sum(found.values()))
    found |= {code: rest / len(unsupported) for code in unsupported}
    return sorted(found.items(), key=lambda one: -one[1])


@cache
def _load_identifier() -> Any:
    """The detector; reading its model takes seconds."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


# --- scripts ---------------------------------------------------------------------------------------------------------

# The scripts of languages that are not written in Latin letters, by the first word of their characters' Unicode names.
_SCRIPTS = """
    ar=ARABIC be=CYRILLIC bg=CYRILLIC bn=BENGALI el=GREEK fa=ARABIC gu=GUJARATI he=HEBREW hi=DEVANAGARI hy=ARMENIAN
    ja=CJK,HIRAGANA,KATAKANA ka=GEORGIAN kk=CYRILLIC km=KHMER kn=KANNADA ko=HANGUL ky=CYRILLIC lo=LAO mk=CYRILLIC
    ml=MALAYALAM mn=CYRILLIC mr=DEVANAGARI my=MYANMAR ne=DEVANAGARI or=ORIYA pa=GURMUKHI ps=ARABIC ru=CYRILLIC
    si=SINHALA ta=TAMIL te=TELUGU th=THAI ug=ARABIC uk=CYRILLIC ur=ARABIC yi=HEBREW zh=CJK
"""
SCRIPTS: Final = {code: frozenset(names.split(",")) for code, names in (one.split("=") for one in _SCRIPTS.split())}
# Written in two scripts, or in one that is not listed: nothing follows from the letters of a text.
_AMBIGUOUS_SCRIPT_CODES = frozenset(["az", "bs", "ku", "sr", "tg", "tk", "uz", "am", "ti", "bo", "dv", "dz", "iu"])


def scripts_of(code: str) -> frozenset[str]:
    """The scripts of a language; empty if they are not known."""
    base = base_code(code)
    if base in _AMBIGUOUS_SCRIPT_CODES or base not in _CODES:
        return frozenset()
    return SCRIPTS.get(base, frozenset({"LATIN"}))


def count_letters(text: str, scripts: frozenset[str]) -> tuple[int, int]:
    """How many letters a text has, and how many of them are of the scripts."""
    letters = Counter(character for character in text if character.isalpha())
    own = (count for character, count in letters.items() if _script(character) in scripts)
    return letters.total(), sum(own)


@cache
def _script(character: str) -> str:
    name = unicodedata.name(character, "").removeprefix("HALFWIDTH ").removeprefix("FULLWIDTH ")
    return name.split(" ")[0]
