"""Which pieces make up which word, so that what is said of pieces can be said of words."""

import re
from collections.abc import Sequence

from regard.symbols import RESERVED, UNKNOWN
from regard.tokens.text import WORD_MARK

_BYTE = re.compile("<0x([0-9A-F]{2})>")  # how sentencepiece writes a byte of a character that it has no piece for
_ALONE = {piece for piece, identity in RESERVED.items() if identity != UNKNOWN}


def words(pieces: Sequence[str]) -> list[list[int]]:
    """The indices of each word's pieces, in order; every piece belongs to exactly one word.

    A word begins at a piece with the word mark. A reserved piece such as `</s>` is a word by itself, apart from
    `<unk>`, which stands for a part of a word.
    """
    found: list[list[int]] = []
    for index, piece in enumerate(pieces):
        if found and _continues(pieces, found[-1], piece):
            found[-1].append(index)
        else:
            found.append([index])
    return found


def spelled(pieces: Sequence[str]) -> str:
    """The pieces of a word as one reads them: without word marks, and bytes such as `<0xEA>` as the letters they spell.

    Bytes that spell no letter, which a model can say, become the replacement character.
    """
    parts = [bytes([int(byte[1], 16)]) if (byte := _BYTE.fullmatch(piece)) else piece.encode() for piece in pieces]
    return b"".join(parts).decode(errors="replace").replace(WORD_MARK, "")


def readable_piece(piece: str) -> str:
    """A piece with its letter in the place of a byte: `<0x4E>` is `‹N›`.

    Angle brackets would make `<s>` of an s. A byte that spells a letter only together with others stays as it is.
    """
    byte = _BYTE.fullmatch(piece)
    letter = chr(int(byte[1], 16)) if byte else ""
    return f"‹{letter}›" if letter.isascii() and letter.isprintable() and letter.strip() else piece


def _continues(pieces: Sequence[str], word: list[int], piece: str) -> bool:
    if piece in _ALONE or pieces[word[-1]] in _ALONE:
        return False
    # A model can write the mark twice; the second one does not make an empty word of the first.
    only_marks = all(pieces[index] == WORD_MARK for index in word)
    return only_marks or not piece.startswith(WORD_MARK)
