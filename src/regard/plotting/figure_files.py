"""Files of drawings: their suffixes, the text that SVG allows, SVG to PNG and to PDF."""

import re
from html import escape
from io import BytesIO
from pathlib import Path

from regard.errors import RegardError
from regard.files import atomic_file

FILE_SUFFIXES = (".svg", ".png", ".pdf", ".html")
PNG_ZOOM = 2  # sharp in print
PDF_ZOOM = 4
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def file_suffix(out: Path) -> str:
    """The suffix of a file name; other suffixes are refused."""
    kind = out.suffix.lower()
    if kind not in FILE_SUFFIXES:
        allowed = f"{', '.join(FILE_SUFFIXES[:-1])} or {FILE_SUFFIXES[-1]}"
        raise RegardError(f"{out.name} does not end with {allowed}. Give one of these names.")
    return kind


def forbid_selection_for_html(names: str) -> None:
    """Refuse options that select one map, because a page has them all; `names` are the options."""
    raise RegardError(f"an HTML page has every layer and head, words and pieces, output and input. Remove {names}.")


def write_file(out: Path, content: bytes) -> None:
    """Write the file atomically."""
    with atomic_file(out) as file:
        file.write(content)


def xml_text(text: str) -> str:
    """Escaped text without the characters that XML forbids."""
    return escape(_NOT_XML.sub("�", text))


def svg_file(svg: str, kind: str) -> bytes:
    """The drawing as the content of an .svg, .png or .pdf file."""
    if kind == ".svg":
        return svg.encode()
    return svg_to_pdf(svg) if kind == ".pdf" else svg_to_png(svg)


def svg_to_png(svg: str, zoom: int = PNG_ZOOM) -> bytes:
    """The drawing as the content of a PNG file, at so many times its size, with the fonts of this machine."""
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=zoom))


def svg_to_pdf(svg: str) -> bytes:
    """The drawing as a PDF file of one page of its size: an image of 288 dots per inch, which any printer takes."""
    from PIL import Image

    with Image.open(BytesIO(svg_to_png(svg, PDF_ZOOM))) as image:
        paper = Image.new("RGB", image.size, "white")
        paper.paste(image, mask=image.getchannel("A") if "A" in image.getbands() else None)
    file = BytesIO()
    paper.save(file, "PDF", resolution=72 * PDF_ZOOM)
    return file.getvalue()
