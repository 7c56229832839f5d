"""Running `regard show`."""

from pathlib import Path

from regard.bundle import load_bundle
from regard.captioning.captioner import Captioner
from regard.cli.running.models import short_name
from regard.cli.running.show_pictures import show_pictures
from regard.cli.running.show_wish import Sheet, Wish, warn_of_boxes
from regard.cli.running.telling import make_console, tell
from regard.config import CaptionerConfig
from regard.errors import RegardError
from regard.manifest import model_directory
from regard.translation.trace import Trace, trace_texts
from regard.translation.translator import Translator
from regard.view.maps import draw_map
from regard.view.page_data import page_data
from regard.view.page_file import html_file
from regard.view.terminal import print_map
from regard.view.trace_maps import Map, map_of

__all__ = ["Wish", "run_show"]


def run_show(model: Path, given: tuple[str, ...], out: Path | None, *, wish: Wish) -> None:
    """Trace the sentence, or the pictures, and print or write what was asked for."""
    sheet = Sheet(out)
    sheet.check(wish)
    bundle, name = load_bundle(model_directory(model)), short_name(model)
    if isinstance(bundle.config.model, CaptionerConfig):
        shown = show_pictures(Captioner(bundle), list(map(Path, given)), wish, sheet, name=name)
    else:
        shown = _show_sentence(Translator(bundle), given, wish, sheet, name=name)
    if out is not None:
        tell(f"{out} shows: {shown}", to_error=True)


def _show_sentence(translator: Translator, given: tuple[str, ...], wish: Wish, sheet: Sheet, *, name: str) -> str:
    if len(given) > 1:
        raise RegardError(f"{len(given)} texts were given, and this model translates. Give one, in quotation marks.")
    trace = _trace(translator, given[0], wish)
    match sheet.kind:
        case "":
            print_map(make_console(), map_of(trace, wish.choice("cross")))
        case ".html":
            data = page_data(trace, name=name, languages=translator.bundle.languages)
            sheet.write(html_file(data, title=f"{given[0]} · regard").encode())
        case kind:
            sheet.write(_drawn(map_of(trace, wish.choice("cross")), kind))
    return trace.text


def _trace(translator: Translator, sentence: str, wish: Wish) -> Trace:
    if not sentence.strip():
        raise RegardError("the sentence is empty. Give one with words in it.")
    if wish.target is not None:
        trace = trace_texts(translator.bundle, sentence, wish.target)
    else:
        [output] = translator.translate([sentence], trace=True, **wish.search)
        if output.trace is None:
            raise RegardError(f"the model's vocabulary has nothing of {sentence!r}. Give a sentence of its language.")
        trace = output.trace
    if not trace.layers:
        raise RegardError(
            "this model has no attention to show: a fixed-context RNN sees its source as one vector. "
            "Give a model of kind rnn-attention or transformer."
        )
    return trace


def _drawn(drawn: Map, kind: str) -> bytes:
    if kind == ".svg":
        return draw_map(drawn).encode()
    from regard.view.painting import paint_map

    warn_of_boxes([drawn.title, *drawn.rows, *drawn.columns])
    return paint_map(drawn)
