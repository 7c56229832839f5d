"""`regard.view.save`: what `regard show --out` writes, of a trace that is at hand in Python."""

import warnings
from pathlib import Path
from typing import Literal, TypedDict, Unpack

from regard.errors import RegardError
from regard.models.uses import Use
from regard.translation.trace import Trace
from regard.view.files import kind_of, refuse_choice_on_page, write_file
from regard.view.trace_files import map_file, refuse_blind, regions_file, regions_of, trace_page
from regard.view.trace_maps import Choice, check_choice, map_of


class Which(TypedDict, total=False):
    """Which map of a trace is drawn; layers and heads are counted from 0, as everywhere in Python."""

    use: Use | None  # cross, encoder-self, decoder-self, picture or picture-self; None: the last one of the model
    layer: int | None  # among those of the use; None: the mean of them
    head: int | None
    when: Literal["said", "read"]
    pieces: bool  # the model's pieces, not whole words


def save(trace: Trace, out: Path | str, *, name: str = "model", **which: Unpack[Which]) -> Path:
    """Write one map of a trace to an .svg or .png file, or all of it to an .html file that works offline.

    `use`, `layer`, `head`, `when` and `pieces` choose the map: layers and heads are counted from 0, and without them
    it is the mean of all. Of a captioner's picture, there is a panel for each word.
    """
    path = Path(out)
    kind = kind_of(path)
    refuse_blind(trace)
    _check_names(which)
    if kind == ".html" and _choice(trace, which) != _choice(trace, {}):
        refuse_choice_on_page("use, layer, head, pieces and when='read'")
    write_file(path, trace_page(trace, name=name) if kind == ".html" else _drawn(trace, _choice(trace, which), kind))
    return path


def _drawn(trace: Trace, choice: Choice, kind: str) -> bytes:
    check_choice(trace, choice, first=0)
    if choice.use != "picture":
        return map_file(map_of(trace, choice), kind, _warn)
    if trace.picture is None:
        raise RegardError("this trace was made without its picture. Make it with captioner.trace(picture, tokens).")
    return regions_file([regions_of(trace, choice, trace.picture)], kind, _warn)


def _choice(trace: Trace, which: Which) -> Choice:
    unit: Literal["words", "pieces"] = "pieces" if which.get("pieces") else "words"
    use = which.get("use") or trace.layers[-1].use
    return Choice(use, which.get("layer"), which.get("head"), which.get("when", "said"), unit)


def _check_names(which: Which) -> None:
    """Refuse a choice that there is not."""
    known = list(Which.__annotations__)
    if unknown := [name for name in which if name not in known]:
        raise RegardError(f"save knows no {', '.join(unknown)}; a map is chosen by {', '.join(known)}.")
    if which.get("when", "said") not in ("said", "read"):
        raise RegardError(f"when is {which.get('when')!r}; give 'said' or 'read'.")


def _warn(told: str) -> None:
    warnings.warn(told, stacklevel=6)  # at the line that saves
