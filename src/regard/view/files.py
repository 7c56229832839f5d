"""Drawings and pages as files: what a name's ending says, how one is written, and which letters no font has."""

from collections.abc import Iterable
from pathlib import Path

from regard.errors import RegardError
from regard.staged import staged_file

KINDS = (".svg", ".png", ".html")
LETTERS_NAMED = 8  # of those that a font lacks


def kind_of(out: Path) -> str:
    """The kind that a file's name asks for; another ending is refused."""
    kind = out.suffix.lower()
    if kind not in KINDS:
        raise RegardError(
            f"{out.name} does not end with {', '.join(KINDS[:-1])} or {KINDS[-1]}. Give one of these names."
        )
    return kind


def refuse_choice_on_page(names: str) -> None:
    """Refuse what chooses one map where a page will have them all; `names` are those of the choices."""
    raise RegardError(
        f"an HTML page has every layer and head in it, words and pieces, said and read. Leave {names} away."
    )


def write_file(out: Path, content: bytes) -> None:
    """Put the content into the file, whole or not at all."""
    with staged_file(out) as file:
        file.write(content)


def boxes_told(texts: Iterable[str]) -> str:
    """What to tell of letters that a painted picture will have boxes for; empty where there are none."""
    from regard.view.painting import unpaintable

    letters = unpaintable(texts)
    some = f"{letters[:LETTERS_NAMED]}{'…' if len(letters) > LETTERS_NAMED else ''}"
    return letters and (
        f"no font that was found here has {some}: boxes stand for {len(letters)} letter(s) of the picture. "
        "Install one (on Debian and Ubuntu: fonts-noto-cjk), or write .html or .svg."
    )
