"""The one form in which text meets a vocabulary: composed characters, single spaces.

We do it ourselves because sentencepiece's own rules change what was written (NFKC turns ½ into 1⁄2), or leave
the two spellings of the same Korean syllable apart.
"""

import re
import unicodedata

from regard.errors import RegardError

WORD_MARK = "▁"  # U+2581: how sentencepiece writes the space before a word
WORD = re.compile(rf"[^\s{WORD_MARK}]+")  # in text as it was written: the words that its normal form has


def normalise(text: str) -> str:
    """The text in NFC, every run of white space one space, none at the ends; so it is always a single line.

    The word mark counts as white space, since sentencepiece cannot tell it from a space.
    """
    if _is_normal(text):
        return text
    _refuse_lone_surrogates(text)
    return " ".join(unicodedata.normalize("NFC", text.replace(WORD_MARK, " ")).split())


def _is_normal(text: str) -> bool:
    """Whether nothing needs to change, as with most text: to see that takes half as long as to make it anew."""
    return (
        text.isprintable()  # so no surrogate, and no white space but U+0020
        and "  " not in text
        and text.strip(" ") == text
        and WORD_MARK not in text
        and unicodedata.is_normalized("NFC", text)
    )


def _refuse_lone_surrogates(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise RegardError(
            f"character {error.start + 1} of {text[:40]!r} is U+{code:04X}, one half of a surrogate pair, which stands "
            "for nothing by itself. Decode the text again as UTF-8 (or UTF-16), or remove the character."
        ) from None
