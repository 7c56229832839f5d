"""Vocabularies learnt once from a small text in two languages."""

from typing import get_args

import pytest

from regard.tokenization.sentencepiece_training import ModelType
from regard.tokenization.tokenizer import Tokenizer

CORPUS = [
    "나는 학교에 갑니다.",
    "나는 오늘 학교에서 책을 읽었습니다.",
    "그는 도서관에서 책을 읽습니다.",
    "우리는 내일 도서관에 갑니다!",
    "I go to school today.",
    "She was reading a book in the library.",
    "We are going to the library tomorrow, and they are staying.",
    "The reader reads the books that the other readers read.",
] * 5


@pytest.fixture(scope="session")
def tokenizers() -> dict[str, Tokenizer]:
    """One vocabulary of each kind; those of 1,000 pieces or more that can spell in bytes do so."""
    return {kind: Tokenizer.train(CORPUS, model_type=kind, vocab_size=1200) for kind in get_args(ModelType)}


@pytest.fixture(scope="session")
def without_bytes() -> dict[str, Tokenizer]:
    """Vocabularies too small for bytes, which meet characters that they do not know."""
    return {kind: Tokenizer.train(CORPUS, model_type=kind, vocab_size=150) for kind in get_args(ModelType)}
