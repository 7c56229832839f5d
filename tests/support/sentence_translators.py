"""Translators without a model: their outputs are known beforehand, so that a test can state the result."""

import asyncio
from collections.abc import Callable, Sequence

import numpy as np

from regard.documents.template import Template
from regard.documents.translate import SentenceTranslator, translate
from regard.inference.translator import Translation
from regard.tracing.alignment import WordAlignment


def word_translator(
    speak: Callable[[str], str],
    *,
    longest: int = 10_000,
    batch_size: Callable[[str], int] = lambda _: 64,
    heard: list[list[str]] | None = None,
) -> SentenceTranslator:
    """A translator whose output is what the function makes of a sentence, word for word in the same order."""

    async def translate_sentences(sentences: list[str], is_aligned: bool) -> list[list[Translation]]:  # noqa: ARG001
        if heard is not None:
            heard.append(sentences)
        return [[Translation(speak(sentence), 0.0, 0.0, [])] for sentence in sentences]

    return SentenceTranslator(translate_sentences, lambda sentence: len(sentence) <= longest, batch_size)


def reversing_translator() -> SentenceTranslator:
    """A translator that reverses the words, and whose attention knows it."""

    async def translate_sentences(sentences: list[str], is_aligned: bool) -> list[list[Translation]]:
        return [[_reversed(sentence, is_aligned)] for sentence in sentences]

    return SentenceTranslator(translate_sentences, lambda _: True, lambda _: 64)


def _reversed(sentence: str, is_aligned: bool) -> Translation:
    words = sentence.split()
    count = len(words)
    links = frozenset((place, count - 1 - place) for place in range(count))
    alignment = WordAlignment(words, words[::-1], np.eye(count)[::-1], links) if is_aligned else None
    return Translation(" ".join(words[::-1]), 0.0, 0.0, [], alignment=alignment)


def translated(template: Template, by: SentenceTranslator) -> str:
    """The document's best translation."""
    return all_translated([template], by)[0]


def all_translated(templates: Sequence[Template], by: SentenceTranslator) -> list[str]:
    """Each document's best translation."""
    return [outputs[0] for outputs in asyncio.run(translate(templates, by))]
