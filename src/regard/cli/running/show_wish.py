"""What `regard show` was asked for, of a sentence or of pictures, and where it goes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from regard.models.uses import Use
from regard.view.files import kind_of, refuse_choice_on_page, write_file
from regard.view.trace_maps import Choice


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
        return "" if self.out is None else kind_of(self.out)

    def check(self, wish: Wish) -> None:
        """Refuse a name or a wish that cannot be met; asked before a model is loaded."""
        if self.kind == ".html" and (wish.use or wish.layer or wish.head or wish.pieces or wish.when == "read"):
            refuse_choice_on_page("--use, --layer, --head, --pieces and --when read")

    def write(self, content: bytes) -> None:
        """Put the content into the file, whole or not at all."""
        assert self.out is not None  # noqa: S101  (for the type checker)
        write_file(self.out, content)
