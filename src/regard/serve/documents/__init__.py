"""Documents of several formats, translated sentence by sentence and put together again as they were."""

from collections.abc import Callable
from pathlib import PurePath
from typing import Final

from regard.errors import RegardError
from regard.serve.documents.blocks import Template, plain, unsplit
from regard.serve.documents.catalogues import read_po
from regard.serve.documents.html import read_html
from regard.serve.documents.subtitles import read_srt
from regard.serve.documents.translating import Voice, translate, translate_as_one
from regard.serve.documents.xml import Tags, read_xml

__all__ = [
    "FORMATS",
    "Tags",
    "Template",
    "Voice",
    "plain",
    "read_document",
    "read_html",
    "read_xml",
    "translate",
    "translate_as_one",
    "unsplit",
]

FORMATS: Final[dict[str, Callable[[str], Template]]] = {
    ".txt": plain,
    ".srt": read_srt,
    ".po": read_po,
    ".html": read_html,
    ".htm": read_html,
}
MOST_ENDS = 200_000  # of sentences and tags: far more than real files of the largest size have
_BYTE_ORDER_MARK = "\ufeff"


def read_document(name: str, content: bytes) -> Template:
    """The document in a file; its name's ending says which format it has."""
    read = FORMATS.get(PurePath(name).suffix.lower())
    if read is None:
        raise RegardError(f"Files of this kind cannot be translated. Send one of {', '.join(FORMATS)}.")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RegardError(f"Byte {error.start + 1} of the file is not UTF-8. Save it as UTF-8.") from None
    if sum(map(text.count, ".!?…。\n<")) > MOST_ENDS:
        raise RegardError("The file has too many sentences or tags. Send it in parts.")
    mark = text[: text.startswith(_BYTE_ORDER_MARK)]
    return [mark, *read(text[len(mark) :])]
