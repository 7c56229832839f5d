"""A run on disk: its events, state and progress, the attention of its probes, and the models in a folder of runs."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays

from regard.config import Config, task_of
from regard.data.captions import read_captioned
from regard.data.images import load_image
from regard.data.labelled_examples import hold_out_images, read_labelled_images
from regard.errors import RegardError
from regard.files import CONFIG_FILE, MEBIBYTE, read_input
from regard.locks import LOCK_NAME
from regard.models.interface import AttentionRole, role_of
from regard.struct_decoding import decode_json
from regard.tracing.trace import TokenSequence
from regard.training.events import EVENT_LOG, MAX_LOG_BYTES, TrainingEvent

MODEL, PROBES = "model", "probes"
LABELS_FILE, ATTENTION_FILE = "labels.json", "attention.safetensors"  # of the probes of one step
_STEP = re.compile("step-([0-9]+)")
DEFAULT_PROBES = 4
MAX_PROBE_BYTES = 1024 * MEBIBYTE
Item = TypeVar("Item")

RunState = Literal["waiting", "training", "ended", "stopped"]


# --- one run ---------------------------------------------------------------------------------------------------------


class ProbeLabels(msgspec.Struct, frozen=True):
    """The tokens of the two axes of a probe's maps; those of an image are its cells, row by row."""

    source: list[str]
    target: list[str]
    image: str = ""  # its file name


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A run and its progress."""

    name: str
    kind: str
    steps: int
    step: int
    state: RunState
    model: str | None


class RunEvents(msgspec.Struct, frozen=True, kw_only=True):
    """Events of a log, and their number: where the next request continues."""

    events: list[dict[str, Any]]
    next: int


class ProbedLayer(msgspec.Struct, frozen=True, kw_only=True):
    """An attention whose maps were saved."""

    name: str
    role: AttentionRole
    layer: int
    heads: int


class RunProbes(msgspec.Struct, frozen=True, kw_only=True):
    """The steps at which maps were saved; labels, the words of each target, and layers are those of one step."""

    steps: list[int]
    labels: list[ProbeLabels]
    targets: list[TokenSequence]
    layers: list[ProbedLayer]


class RunImages(msgspec.Struct, frozen=True):
    """The names of the probe images; none if the probes are texts, or if the files no longer exist."""

    images: list[str]


@dataclass(frozen=True)
class Run:
    """The directory of a run, which may not exist yet."""

    name: str
    directory: Path

    def record(self, model: str | None) -> RunRecord:
        """The kind, state and progress of the run."""
        kind, steps, events = "", 0, self._events()
        with suppress(RegardError):
            config = Config.load(self.directory / CONFIG_FILE)
            kind, steps = str(config.model.__struct_config__.tag), config.training.steps
        return RunRecord(
            name=self.name,
            kind=kind,
            steps=steps,
            step=events[-1].get("step", 0) if events else 0,
            state=self._state(events),
            model=model,
        )

    def events(self, after: int) -> RunEvents:
        """The events after the first `after`; a log that was truncated by a resume may have fewer."""
        events = self._events()
        return RunEvents(events=events[after:], next=len(events))

    def probes(self, step: int | None) -> RunProbes:
        """The steps with maps, and the labels and layers of one step (by default the last)."""
        directory = self.directory / PROBES
        names = [path.name for path in directory.iterdir()] if directory.is_dir() else []
        steps = sorted(int(match[1]) for name in names if (match := _STEP.fullmatch(name)))
        if not steps:
            return RunProbes(steps=[], labels=[], targets=[], layers=[])
        chosen = steps[-1] if step is None else step
        labels = _decode_labels(self._probe_file(chosen, LABELS_FILE))
        targets = [TokenSequence.from_pieces(one.target) for one in labels]
        return RunProbes(steps=steps, labels=labels, targets=targets, layers=_probed_layers(self._maps(chosen)))

    def images(self) -> RunImages:
        """The probe images."""
        return RunImages(images=[path.name for path in self._image_paths()])

    def image(self, probe: int) -> NDArray[np.uint8]:
        """The image of a probe as the model gets it, (3, size, size)."""
        try:
            path = self._image_paths()[probe]
            return load_image(path, size=Config.load(self.directory / CONFIG_FILE).model.image_encoder.image_size)  # type: ignore[union-attr]
        except (RegardError, IndexError):
            raise RegardError(
                f"{self.directory} has no image for probe {probe}, or its file no longer exists."
            ) from None

    def probe_map(self, step: int, probe: int, layer: int, head: int | None) -> NDArray[np.float32]:
        """The map of one probe sentence at one step; `layer` counts the layers as `probes` lists them."""
        maps = self._maps(step)
        layers = _probed_layers(maps)
        name = f"{probe}/{layers[layer].name}" if layer < len(layers) else ""
        if name not in maps or (head is not None and head >= len(maps[name])):
            raise RegardError("There is no such probe, layer or head.")
        weights = maps[name].astype(np.float32)
        chosen: NDArray[np.float32] = weights.mean(axis=0) if head is None else weights[head]
        return chosen

    def all_maps(self, step: int) -> list[list[NDArray[np.float16]]]:
        """Every map of a step: of each probe, of each layer, (heads, queries, keys)."""
        maps = self._maps(step)
        names = [layer.name for layer in _probed_layers(maps)]
        probes = range(len(_decode_labels(self._probe_file(step, LABELS_FILE))))
        try:
            return [[maps[f"{probe}/{name}"] for name in names] for probe in probes]
        except KeyError:
            raise RegardError("The maps of that step are not those of its labels.") from None

    def _image_paths(self) -> list[Path]:
        """The files of the probe images; none for a model of texts, or if a file is missing."""
        try:
            config = Config.load(self.directory / CONFIG_FILE)
            found = probed_images(config) if hasattr(config.model, "image_encoder") else []
        except RegardError:
            return []
        return found if all(path.is_file() for path in found) else []

    def _events(self) -> list[dict[str, Any]]:
        try:
            content = read_input(self.directory / EVENT_LOG, max_bytes=MAX_LOG_BYTES)
        except RegardError:
            return []
        events = []
        for line in content.split(b"\n")[:-1]:
            with suppress(msgspec.DecodeError, UnicodeDecodeError):
                events.append(msgspec.to_builtins(decode_json(line, TrainingEvent)))
        return events

    def _state(self, events: list[dict[str, Any]]) -> RunState:
        if events and events[-1].get("event") == "end":
            return "ended"
        if self._is_locked():
            return "training"
        return "stopped" if events else "waiting"

    def _is_locked(self) -> bool:
        """Whether the process whose id is in the lock file is alive; trying the lock could take it from a trainer."""
        try:
            os.kill(int(read_input(self.directory / LOCK_NAME, max_bytes=100)), 0)
        except PermissionError:
            return True
        except (OSError, ValueError, OverflowError, RegardError):
            return False
        return True

    def _probe_file(self, step: int, name: str) -> bytes:
        try:
            path = self.directory / PROBES / f"step-{step:08d}" / name
            return read_input(path, max_bytes=MAX_PROBE_BYTES)
        except RegardError:
            raise RegardError("No probes were saved at that step.") from None

    def _maps(self, step: int) -> dict[str, NDArray[np.float16]]:
        try:
            return load_arrays(self._probe_file(step, ATTENTION_FILE))
        except (SafetensorError, ValueError, KeyError):
            raise RegardError("The maps of that step cannot be read.") from None


def _decode_labels(labels: bytes) -> list[ProbeLabels]:
    try:
        return decode_json(labels, list[ProbeLabels])
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise RegardError("The labels of that step cannot be read.") from None


def _probed_layers(maps: dict[str, NDArray[np.float16]]) -> list[ProbedLayer]:
    """The layers of the first probe: the encoder's first, then the decoder's, each in order."""
    names = [name.removeprefix("0/") for name in maps if name.startswith("0/")]
    names.sort(
        key=lambda name: (
            not name.startswith("encoder"),
            [(int(part), "") if part.isdigit() else (-1, part) for part in name.split(".")],
        )
    )
    roles = [role_of(name) for name in names]
    return [
        ProbedLayer(name=name, role=role, layer=roles[:index].count(role), heads=len(maps[f"0/{name}"]))
        for index, (name, role) in enumerate(zip(names, roles, strict=True))
    ]


def probed_images(config: Config) -> list[Path]:
    """The image files that a run of this config probes, in the order of its probes."""
    given, valid, folder = config.training.probes, config.data.valid, config.data.image_folder or None
    if given:
        return [Path(path) for path in given]
    if task_of(config.model) == "classification":
        images = read_labelled_images((valid or config.data.train)[0], images=folder)
        return [one.image for one in select_probes(images if valid else hold_out_images(images, "")[1])]
    if not valid:
        return []
    captioned = read_captioned(valid[0], split=valid[1] if len(valid) > 1 else None, images=folder)
    return [one.image for one in select_probes(captioned)]


def select_probes(items: Sequence[Item]) -> list[Item]:
    """A few items, evenly spaced."""
    return [items[(2 * i + 1) * len(items) // (2 * DEFAULT_PROBES)] for i in range(DEFAULT_PROBES)]
