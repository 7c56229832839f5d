"""A grammar of ours that says one meaning in English and in Korean, and knows which words belong together.

A sentence is drawn as a meaning (`patterns`), said twice (`english`, `korean`), and its words are linked because they
express the same part of that meaning, never because they look alike.
"""

from regard.data.worlds.sentences.corpus import (
    Split,
    draw_splits,
    pharaoh,
    sentence_pairs,
    split,
    split_of,
    write_world,
)
from regard.data.worlds.sentences.pair import SentencePair, swap

__all__ = [
    "SentencePair",
    "Split",
    "draw_splits",
    "pharaoh",
    "sentence_pairs",
    "split",
    "split_of",
    "swap",
    "write_world",
]
