"""Translate a document of any format by one translator, without a server."""

import asyncio
from collections.abc import Sequence
from pathlib import PurePath

from regard.config import DecodingConfig
from regard.documents import FORMATS, read_document
from regard.documents.translate import SentenceTranslator, translate
from regard.errors import RegardError
from regard.files import MEBIBYTE
from regard.inference.translator import Translation, Translator

BATCH_SENTENCES = 64
MAX_DOCUMENT_BYTES = 64 * MEBIBYTE
DOCUMENT_FORMATS = tuple(suffix for suffix in FORMATS if suffix != ".txt")  # a text is translated line by line
OTHER_MARKUP = (".json", ".svg", ".vtt", ".xhtml", ".xlf", ".xliff", ".xml")  # would be translated as if it were text


def is_document(name: str) -> bool:
    """Whether the name is that of a file with markup, of which only the texts may be translated."""
    return PurePath(name).suffix.lower() in DOCUMENT_FORMATS


def check_plain_text(name: str) -> None:
    """Refuse a file whose lines have markup that nothing here separates from the text."""
    suffix = PurePath(name.lower().removesuffix(".gz")).suffix
    if suffix in DOCUMENT_FORMATS:
        raise RegardError(f"{name} is a compressed document. Decompress it first, for example with gunzip.")
    if suffix in OTHER_MARKUP:
        raise RegardError(
            f"{name} has markup, which would be translated as words. Give plain text, or a document of one of the "
            f"formats {', '.join(DOCUMENT_FORMATS)}."
        )


def translate_document(
    translator: Translator, name: str, content: bytes, config: DecodingConfig | None = None
) -> bytes:
    """The document with its texts translated sentence by sentence; the suffix of its name decides the format."""

    async def outputs(sentences: Sequence[str], is_aligned: bool) -> list[list[Translation]]:
        return list(translator.translate_lines(sentences, config, align=is_aligned))

    def fits(sentence: str) -> bool:
        return len(translator.tokenizers.source.encode(sentence)) <= translator.max_source_tokens

    sentences = SentenceTranslator(outputs, fits, lambda _: BATCH_SENTENCES)
    [[best, *_]] = asyncio.run(translate([read_document(name, content)], sentences))
    return best.encode("utf-8")
