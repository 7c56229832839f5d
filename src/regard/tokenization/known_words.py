"""`KnownWords`: which words a model was trained on, in three bytes for each.

Subwords can spell any word, so a vocabulary does not show that a model has never seen "blockchain". A set of hashes of
the training words does, in a hundredth of the size of the text and without the text. An unseen word counts as known if
its hash is that of another word: for 20,000 words, once in 800.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable
from hashlib import blake2b
from typing import Self

from regard.errors import RegardError
from regard.tokenization.text import nfc

HASH_BYTES = 3
_LETTERS = re.compile(r"[^\W\d_]+")  # "l'eau" is two words; numbers and marks are none


def words_of(text: str) -> list[str]:
    """The words of a text: runs of letters, as they are written."""
    return _LETTERS.findall(nfc(text))


def _hash(word: str) -> bytes:
    return blake2b(word.casefold().encode(), digest_size=HASH_BYTES).digest()


class KnownWords:
    """A set of words without their text; upper and lower case do not matter."""

    def __init__(self, hashes: bytes) -> None:
        self._hashes = hashes  # in order; a set of the 16 million that there can be would take gigabytes

    @classmethod
    def from_lines(cls, lines: Iterable[str]) -> Self:
        """All words of the lines."""
        words = {word for line in lines for word in words_of(line)}
        return cls(b"".join(sorted({_hash(word) for word in words})))

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read the bytes of `to_bytes`."""
        if len(content) % HASH_BYTES:
            raise RegardError(f"the set of known words has {len(content)} bytes, not a multiple of {HASH_BYTES}.")
        return cls(content)

    def to_bytes(self) -> bytes:
        """The hashes in order."""
        return self._hashes

    def __contains__(self, word: str) -> bool:
        wanted = _hash(word)
        found = bisect_left(range(len(self)), wanted, key=self._at)
        return found < len(self) and self._at(found) == wanted

    def __len__(self) -> int:
        return len(self._hashes) // HASH_BYTES

    def _at(self, number: int) -> bytes:
        return self._hashes[number * HASH_BYTES : (number + 1) * HASH_BYTES]
