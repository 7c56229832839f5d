"""Translate documents of several formats sentence by sentence, without the server.

`read_document` reads a file into a template; `translate` fills it with a `SentenceTranslator`.
"""

from collections.abc import Callable
from pathlib import PurePath
from typing import Final

from regard.documents.markup import XmlTagRules, read_html, read_xml
from regard.documents.po import po_template
from regard.documents.subtitles import read_srt
from regard.documents.template import Segment, Template, plain_text_template, without_splitting
from regard.documents.translate import SentenceTranslator, translate, translate_joined
from regard.errors import RegardError

__all__ = [
    "FORMATS",
    "Segment",
    "SentenceTranslator",
    "Template",
    "XmlTagRules",
    "plain_text_template",
    "read_document",
    "read_html",
    "read_xml",
    "translate",
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

MAX_SENTENCES_AND_TAGS = 200_000  # far more than real files of the largest size have
_BYTE_ORDER_MARK = "\ufeff"


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
