"""A run as the data of the page's Training view, in a file that works from a disk.

Maps are most of such a file. They are kept in 16 bits a weight; where a file would grow large, in 8 bits, then at fewer
steps and, where only a few would be left, of fewer probes. What was left out is told on the page.
"""

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

MOST_MAP_BYTES = 4_500_000  # of all maps: written as text, and with the page around them, some 7 MB
LEAST_STEPS = 12  # for which rather a sentence is left out than one of them
MOST_PROGRESS = 1500  # points of a curve
FINE, COARSE = 65535, 255  # the largest number of 16 and of 8 bits
UNSHOWN = ("saved", "skipped")  # kinds of event that no one sees there

Maps = Sequence[Sequence[NDArray[np.floating]]]  # of each probe, of each layer: (heads, queries, keys)


@dataclass(frozen=True)
class SavedProbes:
    """What was saved at a step: labels, words and layers as plain values, and the maps."""

    described: dict[str, Any]
    maps: Maps


@dataclass(frozen=True)
class RunStory:
    """All that there is to tell of a run."""

    record: dict[str, Any]
    events: list[dict[str, Any]]
    steps: list[int]  # at which probes were saved
    saved_at: Callable[[int], SavedProbes]
    pictures: list[tuple[str, str]]  # names, and addresses that hold them


@dataclass(frozen=True)
class Fit:
    """What is kept: the steps, how many probes, and into how many levels a weight is rounded."""

    steps: list[int]
    probes: int
    levels: int


def run_page_data(story: RunStory) -> dict[str, Any]:
    """All that the page shows of the run, as plain values that become JSON."""
    fit = _fitting(story)
    saved = {step: _fitted(story.saved_at(step), fit) for step in fit.steps}
    described = {msgspec.json.encode(one.described): one.described for one in saved.values()}
    places = {content: place for place, content in enumerate(described)}
    return {
        "models": [_model(story)],
        "run": {
            "record": story.record | ({"state": "stopped"} if story.record["state"] == "training" else {}),
            "events": _events(story.events, set(fit.steps)),
            "probes": list(described.values()),
            "described": {str(step): places[msgspec.json.encode(one.described)] for step, one in saved.items()},
            "maps": {str(step): _packed(one.maps, fit.levels) for step, one in saved.items()},
            "pictures": [{"name": name, "address": address} for name, address in story.pictures],
            "left_out": _left_out(story, fit),
        },
    }


def _fitting(story: RunStory) -> Fit:
    """As much as a file may hold; the first and the last step are always kept."""
    steps = story.steps
    ends = [story.saved_at(step).maps for step in {*steps[:1], *steps[-1:]}]
    sizes = [max(sum(one.size for one in probe) for probe in both) for both in zip(*ends, strict=False)]
    if 2 * sum(sizes) * len(steps) <= MOST_MAP_BYTES:
        return Fit(steps, len(sizes), FINE)
    probes, room = len(sizes), MOST_MAP_BYTES // sum(sizes)
    while probes > 1 and room < min(len(steps), LEAST_STEPS):
        probes -= 1
        room = MOST_MAP_BYTES // sum(sizes[:probes])
    return Fit(_thinned(steps, max(2, room)), probes, COARSE)


def _fitted(saved: SavedProbes, fit: Fit) -> SavedProbes:
    lists = {name: saved.described[name][: fit.probes] for name in ("labels", "targets")}
    return replace(saved, described=saved.described | lists | {"steps": fit.steps}, maps=saved.maps[: fit.probes])


def _thinned(items: Sequence[Any], most: int) -> list[Any]:
    """At most so many of them, evenly spread, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    return [items[place] for place in np.unique(np.linspace(0, len(items) - 1, most).round().astype(int))]


def _events(events: list[dict[str, Any]], steps: set[int]) -> list[dict[str, Any]]:
    progress = {id(event) for event in _thinned([e for e in events if e["event"] == "progress"], MOST_PROGRESS)}
    is_kept = {
        "progress": lambda event: id(event) in progress,
        "probe": lambda event: event["step"] in steps,
    }
    return [one for one in events if one["event"] not in UNSHOWN and is_kept.get(one["event"], bool)(one)]


def _packed(maps: Maps, levels: int) -> list[Any]:
    return [[_rounded(layer, levels) for layer in probe] for probe in maps]


def _rounded(weights: NDArray[np.floating], levels: int) -> dict[str, Any]:
    """Whole numbers from 0 to `levels`, little-endian, row by row."""
    numbers = np.rint(np.clip(weights.astype(np.float64), 0, 1) * levels).astype("<u2" if levels == FINE else "u1")
    return {"shape": list(weights.shape), "levels": levels, "data": b64encode(numbers.tobytes()).decode()}


def _left_out(story: RunStory, fit: Fit) -> dict[str, int] | None:
    if fit.levels == FINE:
        return None
    probes = len(story.saved_at(story.steps[-1]).maps)
    return {"steps": len(fit.steps), "of_steps": len(story.steps), "probes": fit.probes, "of_probes": probes}


def _model(story: RunStory) -> dict[str, Any]:
    """The record of a model that is not there: the page's frame names the run by it."""
    takes = "pictures" if story.record["kind"].startswith("captioner") else "text"
    sizes = {"kind": story.record["kind"], "parameters": None, "layers": 0, "heads": 0, "longest": None}
    name = story.record["name"]
    return {
        "name": name, "source": "", "target": "", **sizes, "has_attention": True, "run": name, "is_ready": True,
        "takes": takes,
    }  # fmt: skip
