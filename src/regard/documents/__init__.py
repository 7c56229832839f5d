"""Translate documents of several formats sentence by sentence, without the server.

`read_document` reads a file into a template; `translate` fills it with a `SentenceTranslator`, and `translate_document`
does both with one translator.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Final

from regard.config import DecodingConfig
from regard.documents.markup import XmlTagRules, read_html, read_xml
from regard.documents.po import po_template
from regard.documents.subtitles import read_srt
from regard.documents.template import Segment, Template, plain_text_template, without_splitting
from regard.documents.translate import SentenceTranslator, translate, translate_joined
from regard.errors import RegardError
from regard.files import MEBIBYTE
from regard.inference.translator import Translation, Translator

__all__ = [
    "DOCUMENT_FORMATS",
    "FORMATS",
    "MAX_DOCUMENT_BYTES",
    "Segment",
    "SentenceTranslator",
    "Template",
    "XmlTagRules",
    "check_plain_text",
    "is_document",
    "plain_text_template",
    "read_document",
    "read_html",
    "read_xml",
    "translate",
    "translate_document",
    "translate_joined",
    "without_splitting",
]

FORMATS: Final[dict[str, Callable[[str], Template]]] = {
    ".txt": plain_text_template,
    ".srt": read_srt,
    ".po": po_template,
    ".html": read_html,
    ".htm": read_html,
}
DOCUMENT_FORMATS = tuple(suffix for suffix in FORMATS if suffix != ".txt")  # a text is translated line by line
OTHER_MARKUP = (".json", ".svg", ".vtt", ".xhtml", ".xlf", ".xliff", ".xml")  # would be translated as if it were text

BATCH_SENTENCES = 64
MAX_DOCUMENT_BYTES = 64 * MEBIBYTE
MAX_SENTENCES_AND_TAGS = 200_000  # far more than real files of the largest size have
_BYTE_ORDER_MARK = "\ufeff"


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


def read_document(name: str, content: bytes) -> Template:
    """The template of a file; the suffix of its name decides the format."""
    read = FORMATS.get(PurePath(name).suffix.lower())
    if read is None:
        raise RegardError(f"This file format is not supported. Give one of {', '.join(FORMATS)}.")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RegardError(f"Byte {error.start + 1} of the file is not UTF-8. Save it as UTF-8.") from None
    if sum(map(text.count, ".!?…。\n<")) > MAX_SENTENCES_AND_TAGS:
        raise RegardError(
            f"The file has more than {MAX_SENTENCES_AND_TAGS:,} sentences and tags. Translate it in parts."
        )
    mark = text[: text.startswith(_BYTE_ORDER_MARK)]
    return [mark, *read(text[len(mark) :])]


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
