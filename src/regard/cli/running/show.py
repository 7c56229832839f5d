"""Running `regard show`."""

from pathlib import Path

from regard.bundle import Bundle, load_bundle
from regard.captioning.captioner import Captioner
from regard.cli.running.models import short_name
from regard.cli.running.show_pictures import draw, show_pictures
from regard.cli.running.show_wish import Sheet, Wish
from regard.cli.running.telling import tell
from regard.config import CaptionerConfig, LanguageConfig
from regard.errors import RegardError
from regard.language.opening import language_model
from regard.manifest import model_directory
from regard.translation.trace import Trace, trace_texts
from regard.translation.translator import Translator
from regard.view.trace_files import refuse_blind, trace_page
from regard.view.trace_maps import map_of

__all__ = ["Wish", "run_show"]


def run_show(model: Path, given: tuple[str, ...], out: Path | None, *, wish: Wish) -> None:
    """Trace the sentence, or the pictures, and print or write what was asked for."""
    sheet = Sheet(out)
    sheet.check(wish)
    bundle, name = load_bundle(model_directory(model)), short_name(model)
    if isinstance(bundle.config.model, CaptionerConfig):
        shown = show_pictures(Captioner(bundle), list(map(Path, given)), wish, sheet, name=name)
    else:
        shown = _show_sentence(bundle, given, wish, sheet, name=name)
    if out is not None:
        tell(f"{out} shows: {shown}", to_error=True)


def _show_sentence(bundle: Bundle, given: tuple[str, ...], wish: Wish, sheet: Sheet, *, name: str) -> str:
    if len(given) > 1:
        raise RegardError(f"{len(given)} texts were given, and one is shown at a time. Give one, in quotation marks.")
    if not given[0].strip():
        raise RegardError("the sentence is empty. Give one with words in it.")
    is_language = isinstance(bundle.config.model, LanguageConfig)
    trace = _read(bundle, given[0], wish) if is_language else _trace(Translator(bundle), given[0], wish)
    refuse_blind(trace)
    if sheet.kind == ".html":
        sheet.write(trace_page(trace, name=name, languages=bundle.languages))
    else:
        draw(map_of(trace, wish.choice(trace.layers[-1].use)), sheet)
    return trace.text


def _read(bundle: Bundle, text: str, wish: Wish) -> Trace:
    """The trace of a text that a language model says, or reads."""
    unfit = [f"--{name}" for name in ("target", "beam") if getattr(wish, name) is not None]
    if unfit:
        raise RegardError(f"{', '.join(unfit)} is for a model that translates or describes; this one reads the text.")
    return language_model(bundle).trace(text)


def _trace(translator: Translator, sentence: str, wish: Wish) -> Trace:
    if wish.target is not None:
        trace = trace_texts(translator.bundle, sentence, wish.target)
    else:
        [output] = translator.translate([sentence], trace=True, **wish.search)
        if output.trace is None:
            raise RegardError(f"the model's vocabulary has nothing of {sentence!r}. Give a sentence of its language.")
        trace = output.trace
    return trace
