"""The cut of every word, found once: most words of a text have been met before, and to look one up takes no time.

No piece crosses a space, so that the cut of a sentence is the cuts of its words, one after the other.
"""

import struct

from sentencepiece import SentencePieceProcessor

from regard.tokens.text import normalise

ID_BYTES = 4  # of an id: a little-endian 32-bit number
MOST_WORDS = 1 << 16  # those met first, which are the common ones: some 10 MB
LONGEST_WORD = 64  # characters; longer ones (a URL, a table) hardly come again


class RememberedCuts(dict[str, bytes]):
    """From a word, in whatever spelling, to the bytes of its ids; one that is not there yet is cut when asked for."""

    def __init__(self, processor: SentencePieceProcessor) -> None:
        super().__init__()
        self._processor = processor

    def __missing__(self, word: str) -> bytes:
        # One by one: sentencepiece makes one <unk> of neighbouring unknown words; one for each keeps them apart.
        ids = [identity for part in normalise(word).split() for identity in self._processor.encode(part)]
        cut = struct.pack(f"<{len(ids)}i", *ids)
        if len(self) < MOST_WORDS and len(word) <= LONGEST_WORD:
            self[word] = cut
        return cut

    def row(self, text: str) -> bytes:
        """The ids of all words of a text."""
        return b"".join(map(self.__getitem__, text.split()))


def ids_of(row: bytes) -> list[int]:
    """The ids that the bytes of a row stand for."""
    return list(struct.unpack(f"<{len(row) // ID_BYTES}i", row))
