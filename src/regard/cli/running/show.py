"""Running `regard show`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from regard.cli.running.models import load_model, short_name
from regard.cli.running.telling import make_console, tell
from regard.errors import RegardError
from regard.models.uses import Use
from regard.staged import staged_file
from regard.translation.trace import Trace, trace_texts
from regard.translation.translator import Translator
from regard.view.maps import draw_map
from regard.view.page_data import page_data
from regard.view.page_file import html_file
from regard.view.terminal import print_map
from regard.view.trace_maps import Choice, Map, map_of

KINDS = (".svg", ".png", ".html")


@dataclass(frozen=True, kw_only=True)
class Wish:
    """All that the user gave besides the model, the sentence and the file."""

    target: str | None
    use: Use | None
    layer: int | None  # counted from 1, as heads are
    head: int | None
    when: Literal["said", "read"]
    pieces: bool
    beam: int | None

    @property
    def choice(self) -> Choice:
        """The map that is wished for."""
        layer, head = (None if number is None else number - 1 for number in (self.layer, self.head))
        return Choice(self.use or "cross", layer, head, self.when, "pieces" if self.pieces else "words")


def run_show(model: Path, sentence: str, out: Path | None, *, wish: Wish) -> None:
    """Trace the sentence, and print or write what was asked for."""
    kind = _kind(out, wish)
    translator = load_model(model)
    trace = _trace(translator, sentence, wish)
    if out is None:
        print_map(make_console(), map_of(trace, wish.choice))
        return
    if kind == ".html":
        data = page_data(trace, name=short_name(model), languages=translator.bundle.languages)
        content = html_file(data, title=f"{sentence} · regard").encode()
    else:
        content = _picture(map_of(trace, wish.choice), kind)
    with staged_file(out) as file:
        file.write(content)
    tell(f"{out} shows: {trace.text}", to_error=True)


def _kind(out: Path | None, wish: Wish) -> str:
    """How the file's name ends; asked before a model is loaded."""
    kind = "" if out is None else out.suffix.lower()
    if out is not None and kind not in KINDS:
        raise RegardError(
            f"{out.name} does not end with {', '.join(KINDS[:-1])} or {KINDS[-1]}. Give one of these names."
        )
    if kind == ".html" and (wish.use, wish.layer, wish.head) != (None, None, None):
        raise RegardError("an HTML page has every layer and head in it. Leave --use, --layer and --head away.")
    return kind


def _trace(translator: Translator, sentence: str, wish: Wish) -> Trace:
    if not sentence.strip():
        raise RegardError("the sentence is empty. Give one with words in it.")
    if wish.target is not None:
        trace = trace_texts(translator.bundle, sentence, wish.target)
    else:
        options: dict[str, Any] = {} if wish.beam is None else {"beam": wish.beam}
        [output] = translator.translate([sentence], trace=True, **options)
        if output.trace is None:
            raise RegardError(f"the model's vocabulary has nothing of {sentence!r}. Give a sentence of its language.")
        trace = output.trace
    if not trace.layers:
        raise RegardError(
            "this model has no attention to show: a fixed-context RNN sees its source as one vector. "
            "Give a model of kind rnn-attention or transformer."
        )
    return trace


def _picture(drawn: Map, kind: str) -> bytes:
    if kind == ".svg":
        return draw_map(drawn).encode()
    from regard.view.painting import paint_map

    return paint_map(drawn)
