"""Random segmentations of words (subword regularisation), as a pure function of a random generator.

sentencepiece can do this too, but its generator cannot be seeded again once a thread has used it, so a resumed run
would get other segmentations. Words are segmented one by one: no piece crosses a space, so the segmentations of
different words are independent, and the distribution of a sentence is the product of those of its words.
"""

import math
from array import array
from functools import lru_cache
from itertools import accumulate, chain
from random import Random
from typing import NamedTuple

from sentencepiece import SentencePieceProcessor

from regard.special_tokens import UNKNOWN
from regard.tokenization.text import WORD_MARK

MAX_SAMPLED_WORD_LENGTH = 64  # characters; longer words (URLs, tables) keep their best segmentation: n-best is slow
NBEST_SIZE = 64  # the best segmentations of a word to sample from
CACHED_WORDS = 1 << 14  # most recent words whose segmentations are cached: some 30 MB; a search costs 0.1 ms
ALPHA = 0.2  # exponent on the probability of a segmentation: 1 samples by probability, 0 uniformly
MERGE_DROPOUT = 0.1  # probability that a possible merge is skipped at each step


class Segmentations(NamedTuple):
    """The best segmentations of a word and their weights; lists of numbers would take eight times the memory."""

    ids: "array[int]"  # of all segmentations, one after the other
    bounds: "array[int]"  # where each segmentation begins, and where the last one ends
    weights: "array[float]"


class UnigramSampler:
    """Samples one of a word's best segmentations, the more probable ones more often (Kudo, 2018)."""

    def __init__(self, processor: SentencePieceProcessor) -> None:
        self._processor = processor
        self._candidates = lru_cache(maxsize=CACHED_WORDS)(self._weighted_segmentations)

    def sample(self, word: str, rng: Random) -> list[int]:
        """The ids of one segmentation of the word."""
        ids, bounds, weights = self._candidates(word)
        [index] = rng.choices(range(len(weights)), weights)
        return ids[bounds[index] : bounds[index + 1]].tolist()

    def _weighted_segmentations(self, word: str) -> Segmentations:
        segmentations: list[list[int]] = self._processor.nbest_encode(word, nbest_size=NBEST_SIZE)
        scores = [ALPHA * sum(self._processor.get_score(ids)) for ids in segmentations]
        weights = array("d", [math.exp(score - max(scores)) for score in scores])
        return Segmentations(
            array("i", chain(*segmentations)), array("i", accumulate(map(len, segmentations), initial=0)), weights
        )


class BpeDropout:
    """Merges the characters of a word and skips some of the merges (BPE-dropout, Provilkov et al., 2020)."""

    def __init__(self, processor: SentencePieceProcessor, dropout: float = MERGE_DROPOUT) -> None:
        pieces = processor.id_to_piece(list(range(processor.get_piece_size())))
        self._ids = {piece: identity for identity, piece in enumerate(pieces)}
        self._scores = processor.get_score(list(range(len(pieces))))
        self._dropout = dropout

    def sample(self, word: str, rng: Random) -> list[int]:
        """The ids of one segmentation of the word."""
        symbols = list(WORD_MARK + word)
        while (index := self._next_merge(symbols, rng)) is not None:
            symbols[index : index + 2] = [symbols[index] + symbols[index + 1]]
        ids: list[int] = []
        for symbol in symbols:
            symbol_ids = self._symbol_ids(symbol)
            if symbol_ids != [UNKNOWN] or ids[-1:] != [UNKNOWN]:  # as in sentencepiece, neighbours share one <unk>
                ids += symbol_ids
        return ids

    def _next_merge(self, symbols: list[str], rng: Random) -> int | None:
        """The index of the best merge that is not skipped; the leftmost of equals."""
        best: tuple[float, int] | None = None
        for index in range(len(symbols) - 1):
            identity = self._ids.get(symbols[index] + symbols[index + 1])
            if identity is None or rng.random() < self._dropout:
                continue
            if best is None or self._scores[identity] > best[0]:
                best = (self._scores[identity], index)
        return None if best is None else best[1]

    def _symbol_ids(self, symbol: str) -> list[int]:
        if symbol in self._ids:
            return [self._ids[symbol]]
        in_bytes = [self._ids.get(f"<0x{byte:02X}>", UNKNOWN) for byte in symbol.encode()]
        return [UNKNOWN] if UNKNOWN in in_bytes else in_bytes
