"""Tokenization: text to ids and back, vocabularies, subword sampling. Nothing here needs torch."""

from regard.tokenization.sentencepiece_training import ModelType
from regard.tokenization.text import display_piece, group_into_words, join_pieces, normalize
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair, train_tokenizer_pair

__all__ = [
    "ModelType",
    "Tokenizer",
    "TokenizerPair",
    "display_piece",
    "group_into_words",
    "join_pieces",
    "normalize",
    "train_tokenizer_pair",
]
