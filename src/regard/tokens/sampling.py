"""Cuts a word into pieces at random (subword regularisation), as a pure function of a given source of chance.

Sentencepiece can do this too, but from a generator of its own that cannot be set again once a thread has
used it, so that a resumed run would see other cuts. Words are cut one by one: no piece crosses a space, so the
cuts of different words are independent, and a sentence's distribution is the product of its words'.
"""

import math
from array import array
from functools import lru_cache
from itertools import accumulate, chain
from random import Random
from typing import NamedTuple

from sentencepiece import SentencePieceProcessor

from regard.symbols import UNKNOWN
from regard.tokens.text import WORD_MARK

LONGEST_CUT = 64  # characters; a longer word (a URL, a table) keeps its one best cut, since n-best cuts grow dear
CANDIDATES = 64  # best cuts of a word to draw from
REMEMBERED = 1 << 14  # words whose cuts are kept, those met last: some 30 MB; a search costs 0.1 ms
SHARPNESS = 0.2  # exponent on a cut's probability: 1 draws as likely as they are, 0 draws evenly
DROPOUT = 0.1  # chance that a possible merge is passed over at each step


class Cuts(NamedTuple):
    """The best cuts of a word and how often each is drawn; as lists of numbers they would take eight times the room."""

    ids: "array[int]"  # of all cuts, one after the other
    bounds: "array[int]"  # where each cut begins, and where the last one ends
    weights: "array[float]"


class UnigramCuts:
    """Draws one of a word's best cuts, the likelier ones more often (Kudo 2018)."""

    def __init__(self, processor: SentencePieceProcessor) -> None:
        self._processor = processor
        self._candidates = lru_cache(maxsize=REMEMBERED)(self._weighed)

    def draw(self, word: str, chance: Random) -> list[int]:
        """The ids of one cut of the word."""
        ids, bounds, weights = self._candidates(word)
        [place] = chance.choices(range(len(weights)), weights)
        return ids[bounds[place] : bounds[place + 1]].tolist()

    def _weighed(self, word: str) -> Cuts:
        cuts: list[list[int]] = self._processor.nbest_encode(word, nbest_size=CANDIDATES)
        scores = [SHARPNESS * sum(self._processor.get_score(cut)) for cut in cuts]
        weights = array("d", [math.exp(score - max(scores)) for score in scores])
        return Cuts(array("i", chain(*cuts)), array("i", accumulate(map(len, cuts), initial=0)), weights)


class MergeCuts:
    """Puts a word together merge by merge, passing over some of them (BPE-dropout, Provilkov et al. 2020)."""

    def __init__(self, processor: SentencePieceProcessor, dropout: float = DROPOUT) -> None:
        pieces = processor.id_to_piece(list(range(processor.get_piece_size())))
        self._ids = {piece: identity for identity, piece in enumerate(pieces)}
        self._scores = processor.get_score(list(range(len(pieces))))
        self._dropout = dropout

    def draw(self, word: str, chance: Random) -> list[int]:
        """The ids of one cut of the word."""
        symbols = list(WORD_MARK + word)
        while (place := self._next_merge(symbols, chance)) is not None:
            symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]
        return self._spelled(symbols)

    def _next_merge(self, symbols: list[str], chance: Random) -> int | None:
        """Where the best merge that is not passed over begins; the leftmost of equals."""
        best: tuple[float, int] | None = None
        for place in range(len(symbols) - 1):
            identity = self._ids.get(symbols[place] + symbols[place + 1])
            if identity is None or chance.random() < self._dropout:
                continue
            if best is None or self._scores[identity] > best[0]:
                best = (self._scores[identity], place)
        return None if best is None else best[1]

    def _spelled(self, symbols: list[str]) -> list[int]:
        ids: list[int] = []
        for symbol in symbols:
            spelling = self._spelling(symbol)
            if spelling != [UNKNOWN] or ids[-1:] != [UNKNOWN]:  # as in sentencepiece, neighbours share one <unk>
                ids += spelling
        return ids

    def _spelling(self, symbol: str) -> list[int]:
        if symbol in self._ids:
            return [self._ids[symbol]]
        in_bytes = [self._ids.get(f"<0x{byte:02X}>", UNKNOWN) for byte in symbol.encode()]
        return [UNKNOWN] if UNKNOWN in in_bytes else in_bytes
