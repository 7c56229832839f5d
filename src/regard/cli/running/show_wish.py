"""What `regard show` was asked for, of a sentence or of pictures, and where it goes."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from regard.cli.running.telling import warn
from regard.errors import RegardError
from regard.models.uses import Use
from regard.staged import staged_file
from regard.view.trace_maps import Choice

KINDS = (".svg", ".png", ".html")
LETTERS_NAMED = 8  # of those that a font lacks


@dataclass(frozen=True, kw_only=True)
class Wish:
    """All that the user gave besides the model, what is to be shown, and the file."""

    target: str | None
    use: Use | None
    layer: int | None  # counted from 1, as heads are
    head: int | None
    when: Literal["said", "read"]
    pieces: bool
    beam: int | None

    def choice(self, use: Use) -> Choice:
        """The map that is wished for; of another use where none was named."""
        layer, head = (None if number is None else number - 1 for number in (self.layer, self.head))
        return Choice(self.use or use, layer, head, self.when, "pieces" if self.pieces else "words")

    @property
    def search(self) -> dict[str, Any]:
        """The options of the search."""
        return {} if self.beam is None else {"beam": self.beam}


@dataclass(frozen=True)
class Sheet:
    """What is drawn on: a file of one of the kinds or, without one, the terminal."""

    out: Path | None

    @property
    def kind(self) -> str:
        return "" if self.out is None else self.out.suffix.lower()

    def check(self, wish: Wish) -> None:
        """Refuse a name or a wish that cannot be met; asked before a model is loaded."""
        if self.out is not None and self.kind not in KINDS:
            raise RegardError(
                f"{self.out.name} does not end with {', '.join(KINDS[:-1])} or {KINDS[-1]}. Give one of these names."
            )
        if self.kind == ".html" and (wish.use or wish.layer or wish.head or wish.pieces or wish.when == "read"):
            raise RegardError(
                "an HTML page has every layer and head in it, words and pieces, said and read. "
                "Leave --use, --layer, --head, --pieces and --when read away."
            )

    def write(self, content: bytes) -> None:
        """Put the content into the file, whole or not at all."""
        assert self.out is not None  # noqa: S101  (for the type checker)
        with staged_file(self.out) as file:
            file.write(content)


def warn_of_boxes(texts: Iterable[str]) -> None:
    """Tell of letters that a painted picture will have boxes for."""
    from regard.view.painting import unpaintable

    letters = unpaintable(texts)
    if letters:
        some = f"{letters[:LETTERS_NAMED]}{'…' if len(letters) > LETTERS_NAMED else ''}"
        warn(
            f"no font that was found here has {some}: boxes stand for {len(letters)} letter(s) of the picture. "
            "Install one (on Debian and Ubuntu: fonts-noto-cjk), or write .html or .svg."
        )
