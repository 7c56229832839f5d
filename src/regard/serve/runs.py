"""Runs as they can be watched: their journals and the attention of their probes, while they train and afterwards."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays

from regard.config import CaptionerConfig
from regard.config import load as load_config
from regard.data.pictures import open_picture
from regard.errors import RegardError
from regard.models.uses import Use, use_of
from regard.serve.finding import CONFIG, JOURNAL
from regard.serve.gold import Example
from regard.serve.refusals import Refusal
from regard.training.lock import NAME as LOCK
from regard.training.probes import LABELS, MAPS, ProbeLabels, probed_pictures
from regard.translation.trace import Side

State = Literal["waiting", "training", "ended", "stopped"]
PROBES = "probes"
_STEP = re.compile("step-([0-9]+)")


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the API says of a run."""

    name: str
    kind: str
    steps: int
    step: int
    state: State
    model: str | None


class RunEvents(msgspec.Struct, frozen=True, kw_only=True):
    """Events of a journal, and how many it has: where to go on asking from."""

    events: list[dict[str, Any]]
    next: int


class ProbedLayer(msgspec.Struct, frozen=True, kw_only=True):
    """An attention whose maps were saved."""

    name: str
    use: Use
    layer: int
    heads: int


class RunProbes(msgspec.Struct, frozen=True, kw_only=True):
    """The steps at which maps were saved; labels, the words of each target, and layers are those of one step."""

    steps: list[int]
    labels: list[ProbeLabels]
    targets: list[Side]
    layers: list[ProbedLayer]


class RunPictures(msgspec.Struct, frozen=True):
    """The names of the pictures that the probes look at; none where they read text, or where the files are gone."""

    pictures: list[str]


@dataclass(frozen=True)
class Run:
    """A run's directory, which may not be there yet."""

    name: str
    directory: Path

    def record(self, model: str | None) -> RunRecord:
        """What the run is, and how far it has come."""
        kind, steps = self._planned()
        events = self._events()
        return RunRecord(
            name=self.name,
            kind=kind,
            steps=steps,
            step=events[-1].get("step", 0) if events else 0,
            state=self._state(events),
            model=model,
        )

    def events(self, after: int) -> RunEvents:
        """The events that follow the first `after`; a journal that went back on a resume has fewer than that."""
        events = self._events()
        return RunEvents(events=events[after:], next=len(events))

    def examples(self) -> list[Example]:
        """The sentences that the last validation shows, the shortest first."""
        shown = [event.get("samples", []) for event in self._events() if event.get("event") == "validation"]
        pairs = [(source, reference) for source, reference, _ in (shown[-1] if shown else [])]
        return [
            Example(source=one, target=other, links=None) for one, other in sorted(pairs, key=lambda it: len(it[0]))
        ]

    def probes(self, step: int | None) -> RunProbes:
        """Where maps are; with the labels and layers of a step, the last one if none is named."""
        steps = self._probed_steps()
        if not steps:
            return RunProbes(steps=[], labels=[], targets=[], layers=[])
        chosen = steps[-1] if step is None else step
        labels = _decoded(self._probe_file(chosen, LABELS))
        targets = [Side.of(one.target) for one in labels]
        return RunProbes(steps=steps, labels=labels, targets=targets, layers=_layers(self._maps(chosen)))

    def pictures(self) -> RunPictures:
        """The pictures that the probes look at."""
        return RunPictures(pictures=[path.name for path in self._pictures()])

    def picture(self, probe: int) -> NDArray[np.uint8]:
        """The picture of a probe as the model sees it, (3, size, size)."""
        try:
            path = self._pictures()[probe]
            return open_picture(path, size=load_config(self.directory / CONFIG).model.eye.size)  # type: ignore[union-attr]
        except (RegardError, IndexError):
            raise Refusal(404, "no_picture", "There is no such probe, or its picture is not there any more.") from None

    def probe_map(self, step: int, probe: int, layer: int, head: int | None) -> NDArray[np.float32]:
        """The map of one probe sentence at one step; `layer` counts the layers as `probes` lists them."""
        maps = self._maps(step)
        layers = _layers(maps)
        name = f"{probe}/{layers[layer].name}" if layer < len(layers) else ""
        if name not in maps or (head is not None and head >= len(maps[name])):
            raise Refusal(404, "no_probe", "There is no such probe, layer or head.")
        weights = maps[name].astype(np.float32)
        chosen: NDArray[np.float32] = weights.mean(axis=0) if head is None else weights[head]
        return chosen

    def all_maps(self, step: int) -> list[list[NDArray[np.float16]]]:
        """Every map of a step: of each probe, of each layer, (heads, queries, keys)."""
        maps = self._maps(step)
        names = [layer.name for layer in _layers(maps)]
        probes = range(len(_decoded(self._probe_file(step, LABELS))))
        try:
            return [[maps[f"{probe}/{name}"] for name in names] for probe in probes]
        except KeyError:
            raise Refusal(404, "no_probe", "The maps of that step are not those of its labels.") from None

    def _planned(self) -> tuple[str, int]:
        try:
            config = load_config(self.directory / CONFIG)
        except RegardError:
            return "", 0
        return str(config.model.__struct_config__.tag), config.training.steps

    def _pictures(self) -> list[Path]:
        """The files of the probes' pictures: none where a model takes text, or where a file is missing."""
        try:
            config = load_config(self.directory / CONFIG)
            found = probed_pictures(config) if isinstance(config.model, CaptionerConfig) else []
        except RegardError:
            return []
        return found if all(path.is_file() for path in found) else []

    def _events(self) -> list[dict[str, Any]]:
        try:
            content = (self.directory / JOURNAL).read_bytes()
        except OSError:
            return []
        return [event for line in content.split(b"\n")[:-1] if (event := _event(line)) is not None]

    def _state(self, events: list[dict[str, Any]]) -> State:
        if events and events[-1].get("event") == "ended":
            return "ended"
        if self._is_held():
            return "training"
        return "stopped" if events else "waiting"

    def _is_held(self) -> bool:
        """Whether the process that wrote its number into the lock is alive; trying the lock might rob a trainer."""
        try:
            os.kill(int((self.directory / LOCK).read_text()), 0)
        except PermissionError:
            return True
        except (OSError, ValueError, OverflowError):
            return False
        return True

    def _probed_steps(self) -> list[int]:
        directory = self.directory / PROBES
        names = [path.name for path in directory.iterdir()] if directory.is_dir() else []
        return sorted(int(match[1]) for name in names if (match := _STEP.fullmatch(name)))

    def _probe_file(self, step: int, name: str) -> bytes:
        try:
            return (self.directory / PROBES / f"step-{step:08d}" / name).read_bytes()
        except OSError:
            raise Refusal(404, "no_probe", "No probes were saved at that step.") from None

    def _maps(self, step: int) -> dict[str, NDArray[np.float16]]:
        try:
            return load_arrays(self._probe_file(step, MAPS))
        except (SafetensorError, ValueError, KeyError):
            raise Refusal(404, "no_probe", "The maps of that step cannot be read.") from None


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _decoded(labels: bytes) -> list[ProbeLabels]:
    try:
        return msgspec.json.decode(labels, type=list[ProbeLabels])
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Refusal(404, "no_probe", "The labels of that step cannot be read.") from None


def _layers(maps: dict[str, NDArray[np.float16]]) -> list[ProbedLayer]:
    """The layers of the first probe: the encoder's first, then the decoder's, each in order."""
    names = [name.removeprefix("0/") for name in maps if name.startswith("0/")]
    names.sort(key=lambda name: (not name.startswith("encoder"), _natural(name)))
    uses = [use_of(name) for name in names]
    return [
        ProbedLayer(name=name, use=use, layer=uses[:place].count(use), heads=len(maps[f"0/{name}"]))
        for place, (name, use) in enumerate(zip(names, uses, strict=True))
    ]


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in name.split(".")]
