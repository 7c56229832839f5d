"""A training run as the JSON that the page reads inside a single file.

Maps make up most of the file. They have 16 bits for each weight; if the file would become large, 8 bits, then fewer
steps and, if only a few steps would remain, fewer probes. The page states what was omitted.
"""

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.inference.traced_caption import image_data_uri
from regard.training.runs import Run

MAX_MAP_BYTES = 4_500_000  # of all maps: with base64 and the page, some 7 MB
MIN_STEPS = 12  # with fewer steps, probes are omitted instead
MAX_PROGRESS_EVENTS = 1500  # points of a curve
LEVELS_16_BIT, LEVELS_8_BIT = 65535, 255  # the largest values of 16 and 8 bits
HIDDEN_EVENTS = ("checkpoint", "skip")  # not shown by the page
ProbeMaps = Sequence[Sequence[NDArray[np.floating]]]  # of each probe, of each layer: (heads, queries, keys)


@dataclass(frozen=True)
class ProbeSnapshot:
    """The probes of a step: labels, words and layers as JSON values, and the maps."""

    metadata: dict[str, Any]
    maps: ProbeMaps


@dataclass(frozen=True)
class RunData:
    """The record, events and probes of a run."""

    record: dict[str, Any]
    events: list[dict[str, Any]]
    steps: list[int]  # at which probes were saved
    load_snapshot: Callable[[int], ProbeSnapshot]
    images: list[tuple[str, str]]  # names and data URIs

    @classmethod
    def from_run(cls, run: Run) -> Self:
        """Read a run; the maps of a step are read when they are needed."""

        def load_snapshot(step: int) -> ProbeSnapshot:
            try:
                return ProbeSnapshot(msgspec.to_builtins(run.probes(step)), run.all_maps(step))
            except RegardError as error:
                raise RegardError(f"the probes of step {step} of {run.directory} cannot be shown: {error}") from None

        events = run.events(0).events
        probed = {event["step"] for event in events if event.get("event") == "probe"}  # a resume may have dropped some
        try:
            images = [(name, image_data_uri(run.image(probe))) for probe, name in enumerate(run.images().images)]
        except RegardError:
            images = []  # a file is gone: the maps are shown without images
        return cls(
            record=msgspec.to_builtins(run.record(None)),
            events=events,
            steps=[step for step in run.probes(None).steps if step in probed] if probed else [],
            load_snapshot=load_snapshot,
            images=images,
        )


@dataclass(frozen=True)
class SizeBudget:
    """What is kept: the steps, the number of probes, and the number of levels of a weight."""

    steps: list[int]
    probes: int
    levels: int


def run_page_data(run: RunData) -> dict[str, Any]:
    """Everything that the page shows of the run, as JSON values."""
    budget = _size_budget(run)
    metadata: dict[bytes, dict[str, Any]] = {}  # equal ones once
    maps: dict[str, list[Any]] = {}
    metadata_of: dict[str, bytes] = {}
    for step in budget.steps:
        saved = run.load_snapshot(step)
        lists = {name: saved.metadata[name][: budget.probes] for name in ("labels", "targets")}
        own = saved.metadata | lists | {"steps": budget.steps}
        metadata_of[str(step)] = key = msgspec.json.encode(own)
        metadata[key] = own
        maps[str(step)] = [
            [_pack_weights(layer, budget.levels) for layer in probe] for probe in saved.maps[: budget.probes]
        ]
    is_complete = budget.levels == LEVELS_16_BIT
    omitted = {"steps": len(budget.steps), "of_steps": len(run.steps), "probes": budget.probes}
    return {
        "models": [_run_model_record(run)],
        "run": {
            "record": run.record | ({"state": "stopped"} if run.record["state"] == "training" else {}),
            "events": _shown_events(run.events, set(budget.steps)),
            "probes": list(metadata.values()),
            "probes_by_step": {step: list(metadata).index(key) for step, key in metadata_of.items()},
            "maps": maps,
            "images": [{"name": name, "address": address} for name, address in run.images],
            "omitted": None if is_complete else omitted | {"of_probes": len(run.load_snapshot(run.steps[-1]).maps)},
        },
    }


def _size_budget(run: RunData) -> SizeBudget:
    """As much as fits into a file; the first and the last step are always kept."""
    steps = run.steps
    ends = [run.load_snapshot(step).maps for step in {*steps[:1], *steps[-1:]}]
    sizes = [max(sum(one.size for one in probe) for probe in both) for both in zip(*ends, strict=False)]
    if 2 * sum(sizes) * len(steps) <= MAX_MAP_BYTES:
        return SizeBudget(steps, len(sizes), LEVELS_16_BIT)
    probes, room = len(sizes), MAX_MAP_BYTES // sum(sizes)
    while probes > 1 and room < min(len(steps), MIN_STEPS):
        probes -= 1
        room = MAX_MAP_BYTES // sum(sizes[:probes])
    return SizeBudget(_evenly_spaced(steps, max(2, room)), probes, LEVELS_8_BIT)


def _evenly_spaced(items: Sequence[Any], most: int) -> list[Any]:
    """At most `most` items, evenly spaced, including the first and the last."""
    if len(items) <= most:
        return list(items)
    return [items[index] for index in np.unique(np.linspace(0, len(items) - 1, most).round().astype(int))]


def _shown_events(events: list[dict[str, Any]], steps: set[int]) -> list[dict[str, Any]]:
    progress = {
        id(event) for event in _evenly_spaced([e for e in events if e["event"] == "progress"], MAX_PROGRESS_EVENTS)
    }
    is_kept = {
        "progress": lambda event: id(event) in progress,
        "probe": lambda event: event["step"] in steps,
    }
    return [one for one in events if one["event"] not in HIDDEN_EVENTS and is_kept.get(one["event"], bool)(one)]


def _pack_weights(weights: NDArray[np.floating], levels: int) -> dict[str, Any]:
    """Whole numbers from 0 to `levels`, little-endian, row by row."""
    numbers = np.rint(np.clip(weights.astype(np.float64), 0, 1) * levels).astype(
        "<u2" if levels == LEVELS_16_BIT else "u1"
    )
    return {"shape": list(weights.shape), "levels": levels, "data": b64encode(numbers.tobytes()).decode()}


def _run_model_record(run: RunData) -> dict[str, Any]:
    """A record for the page's header, which shows the name of the run; the model itself is not in the file."""
    task = "image-to-text" if run.record["kind"].startswith("captioner") else "translation"
    sizes = {"kind": run.record["kind"], "parameters": None, "layers": 0, "heads": 0, "max_positions": None}
    name = run.record["name"]
    return {
        "name": name, "source": "", "target": "", **sizes, "has_attention": True, "run": name, "is_ready": True,
        "task": task,
    }  # fmt: skip
