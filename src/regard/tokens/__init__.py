"""Text to ids and back."""

from regard.tokens.pair import Tokenizers, train_tokenizers
from regard.tokens.text import normalise
from regard.tokens.tokenizer import Tokenizer
from regard.tokens.vocabulary import Kind
from regard.tokens.words import readable_piece, spelled, words

__all__ = ["Kind", "Tokenizer", "Tokenizers", "normalise", "readable_piece", "spelled", "train_tokenizers", "words"]
