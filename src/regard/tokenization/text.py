"""Text before and after tokenization: the normal form of text, and words made from pieces.

Text has one normal form: NFC and single spaces. sentencepiece's own rules would change characters (NFKC turns ½ into
1⁄2), or leave two encodings of the same Korean syllable different.
"""

import re
import unicodedata
from collections.abc import Sequence

from regard.errors import RegardError
from regard.special_tokens import RESERVED, UNKNOWN

WORD_MARK = "▁"  # U+2581: sentencepiece's sign for the space before a word
WORD = re.compile(rf"[^\s{WORD_MARK}]+")  # a word of text that is not normalised
MIN_SPELLED_LETTERS = 3  # of a word that is spelled letter by letter, and so is no word of the vocabulary
FIRST_SYLLABLE = "\u1100"  # Hangul, kana and Hanja come after it
MAX_MEAN_WORD = 3  # Han and kana letters in a word, on average: words of Chinese and Japanese have fewer
_UNSPACED_LETTER = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")  # kana and Han
_BYTE_PIECE = re.compile("<0x([0-9A-F]{2})>")  # sentencepiece's piece for a byte of a character outside the vocabulary
_STANDALONE_PIECES = {piece for piece, identity in RESERVED.items() if identity != UNKNOWN}


def nfc(text: str) -> str:
    """The text in NFC: a Korean syllable, or a letter with an accent, can be encoded in one code point or several."""
    return unicodedata.normalize("NFC", text)


def normalize(text: str) -> str:
    """The text in NFC, every run of white space one space, none at the ends; so it is always a single line.

    The word mark counts as white space, because sentencepiece cannot distinguish it from a space.
    """
    is_normalized = (  # true for most text, and checked in half the time of the work below
        text.isprintable()  # so no surrogate, and no white space but U+0020
        and "  " not in text
        and text.strip(" ") == text
        and WORD_MARK not in text
        and unicodedata.is_normalized("NFC", text)
    )
    if is_normalized:
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise RegardError(
            f"character {error.start + 1} of {text[:40]!r} is U+{code:04X}, one half of a surrogate pair and not a "
            "character. Decode the text again as UTF-8 (or UTF-16), or remove it."
        ) from None
    return " ".join(nfc(text.replace(WORD_MARK, " ")).split())


def close_sentence(text: str, mark: str) -> str:
    """The text with a mark after it if it ends in a letter or digit."""
    ended = text.rstrip()
    return ended + mark if mark and ended[-1:].isalnum() else text


def group_into_words(pieces: Sequence[str]) -> list[list[int]]:
    """The indices of each word's pieces, in order; every piece belongs to exactly one word.

    A word begins at a piece with the word mark. A reserved piece such as `</s>` is a word by itself, except `<unk>`,
    which stands for a part of a word. In Chinese or Japanese without spaces each piece is a word.
    """
    is_spaced = _separates_words(pieces)
    groups: list[list[int]] = []
    for index, piece in enumerate(pieces):
        if groups and _continues_word(pieces, groups[-1], piece, is_spaced=is_spaced):
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def _separates_words(pieces: Sequence[str]) -> bool:
    """Whether Han and kana, if there are any, are in words that spaces separate, as in a segmented corpus."""
    runs = "".join(pieces).split(WORD_MARK)
    letters = [count for run in runs if (count := len(_UNSPACED_LETTER.findall(run)))]
    return sum(letters) <= MAX_MEAN_WORD * len(letters)


def _continues_word(pieces: Sequence[str], word: list[int], piece: str, *, is_spaced: bool) -> bool:
    last = pieces[word[-1]]
    if piece in _STANDALONE_PIECES or last in _STANDALONE_PIECES:
        return False
    # A model can generate the mark twice; the second one must not make an empty word of the first.
    if all(pieces[index] == WORD_MARK for index in word):
        return True
    if not is_spaced and _UNSPACED_LETTER.search(last + piece):
        return False
    return not piece.startswith(WORD_MARK)


def join_pieces(pieces: Sequence[str]) -> str:
    """The text of a word's pieces: without word marks, and with bytes such as `<0xEA>` decoded.

    Invalid bytes, which a model can generate, become the replacement character.
    """
    parts = [
        bytes([int(byte[1], 16)]) if (byte := _BYTE_PIECE.fullmatch(piece)) else piece.encode() for piece in pieces
    ]
    return b"".join(parts).decode(errors="replace").replace(WORD_MARK, "")


def is_unknown_word(pieces: Sequence[str], *, by_letter: bool) -> bool:
    """Whether the vocabulary has no piece for a word: some piece is a byte or `<unk>`.

    With by_letter also a word of three letters or more whose pieces are single letters. A Korean syllable is not such
    a letter: it has a meaning of its own.
    """
    parts = [piece.removeprefix(WORD_MARK) for piece in pieces if piece != WORD_MARK]
    if any(_BYTE_PIECE.fullmatch(part) or RESERVED.get(part) == UNKNOWN for part in parts):
        return True
    return by_letter and len(parts) >= MIN_SPELLED_LETTERS and all(map(_is_letter, parts))


def _is_letter(part: str) -> bool:
    return len(part) == 1 and part.isalpha() and part < FIRST_SYLLABLE


def display_piece(piece: str) -> str:
    """A piece with a byte shown as its character: `<0x4E>` is `‹N›`.

    Angle brackets would make `<s>` of an s. A byte that is only a part of a character stays as it is.
    """
    byte = _BYTE_PIECE.fullmatch(piece)
    letter = chr(int(byte[1], 16)) if byte else ""
    return f"‹{letter}›" if letter.isascii() and letter.isprintable() and letter.strip() else piece
