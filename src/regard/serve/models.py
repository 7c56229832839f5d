"""The models that are served: loaded when they appear, warmed up by a real translation, chosen by name or languages."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec
import torch

from regard.config import Config, DecodingConfig
from regard.config import load as load_config
from regard.errors import RegardError
from regard.manifest import NAME as MANIFEST
from regard.models.interface import Generator
from regard.serve.finding import CONFIG, Found
from regard.serve.limits import Limits
from regard.serve.refusals import Refusal
from regard.translation.alignment import Reading, align_tokens
from regard.translation.lines import LONGEST
from regard.translation.translator import BATCH_TOKENS, Translation, Translator, load

WARM_UP = "AI changes the world"
ATTENTIONS = ("self_attention", "cross_attention", "picture_attention")
BYTES_PER_TOKEN = 4  # about, in UTF-8: an English word of four letters, or one and a third Korean syllables


class ModelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the API says of a model."""

    name: str
    source: str
    target: str
    kind: str
    parameters: int
    layers: int
    heads: int
    has_attention: bool
    longest: int | None
    run: str | None
    is_ready: bool
    takes: Literal["text", "pictures"]


@dataclass(frozen=True)
class Search:
    """Translating by one model with one set of options: what the batcher does to texts."""

    translator: Translator
    config: DecodingConfig
    alignments: bool = False
    reading: Reading = Reading()
    pair: str = ""  # for the metrics

    @property
    def budget(self) -> int:
        return BATCH_TOKENS

    def cost(self, item: str) -> int:
        """About how many tokens are decoded, those of the beam together."""
        return (len(item.encode("utf-8", "replace")) // BYTES_PER_TOKEN + 2) * self.config.beam

    def run(self, items: list[str]) -> list[list[Translation]]:
        """The outputs of each text."""
        outputs = list(self.translator.lines(items, self.config))
        return self.aligned(items, outputs) if self.alignments else outputs

    def aligned(self, texts: list[str], outputs: list[list[Translation]]) -> list[list[Translation]]:
        """The outputs with the links of their words."""
        encode = self.translator.bundle.tokenizers.source.encode
        rows = [encode(text)[:LONGEST] for text in texts]
        pairs = [(row, output.tokens) for row, own in zip(rows, outputs, strict=True) for output in own]
        alignments = iter(align_tokens(self.translator.bundle, pairs, self.reading))
        return [[replace(output, alignment=next(alignments)) for output in own] for own in outputs]


class ServedModel:
    """A model by its name; not ready until its directory is there, loaded, and has translated something."""

    def __init__(self, found: Found) -> None:
        self.name, self.directory, self.run = found.name, found.directory, found.run
        self.translator: Translator | None = None
        self.reading = Reading()  # how its alignments are read: the best way, once that is known
        self._version: tuple[int, int] | None = None
        self._settings = lru_cache(maxsize=64)(self._settings_of)

    @property
    def is_ready(self) -> bool:
        return self.translator is not None

    @property
    def loaded(self) -> Translator:
        """The translator, or a refusal while there is none."""
        if self.translator is None:
            raise Refusal(503, "not_ready", "This model is not ready yet. Try again soon.", retry_after=2)
        return self.translator

    @property
    def languages(self) -> tuple[str, str]:
        config = self.config
        source, target = (config.data.languages if config else None) or ("", "")
        return source, target

    @property
    def config(self) -> Config | None:
        """The model's config; before there is a model, that of its run."""
        if self.translator is not None:
            return self.translator.bundle.config
        path = (self.run or self.directory) / CONFIG
        try:
            return load_config(path) if path.exists() else None
        except RegardError:
            return None

    @property
    def is_stale(self) -> bool:
        """Whether the directory holds a model that is not the loaded one."""
        version = _version(self.directory)
        return version is not None and version != self._version

    def load(self) -> None:
        """Load and warm up, in the calling thread; the server goes on with what it had until this is done."""
        version = _version(self.directory)
        translator = load(self.directory)
        if not isinstance(translator.bundle.model, Generator):
            raise RegardError(f"{self.directory} holds a model that says nothing, such as a classifier. Give another.")
        if _takes(translator.bundle.config) == "text":
            translator.translate([WARM_UP])
        self._settings.cache_clear()
        self.translator, self._version = translator, version

    def search(self, *, beam: int | None, nbest: int, limits: Limits, alignments: bool = False) -> Search:
        """The work of translating with these options; without a beam, with the model's own as far as it is allowed."""
        translator = self.loaded
        own = min(translator.bundle.config.decoding.beam, limits.beam)
        limits.check_search(own if beam is None else beam, nbest)
        config = self._settings(max(own, nbest) if beam is None else max(beam, nbest), nbest)
        is_aligned = alignments and self.has_cross_attention
        return Search(translator, config, is_aligned, self.reading, "-".join(self.languages))

    @property
    def has_cross_attention(self) -> bool:
        return any(name.endswith("cross_attention") for name in _attentions(self.loaded.bundle.model))

    def record(self) -> ModelRecord | None:
        """What is known of the model; None where not even its config is there."""
        config, model = self.config, self.translator.bundle.model if self.translator else None
        if config is None:
            return None
        stack: Any = getattr(config.model, "decoder", None) or getattr(config.model, "stack", None)
        attentions = [] if model is None else _attentions(model)
        return ModelRecord(
            name=self.name,
            source=self.languages[0],
            target=self.languages[1],
            kind=str(config.model.__struct_config__.tag),
            parameters=0 if model is None else sum(parameter.numel() for parameter in model.parameters()),
            layers=getattr(stack, "layers", 0),
            heads=getattr(stack, "heads", 1 if attentions else 0),
            has_attention=bool(attentions),
            longest=getattr(model, "longest", None),
            run=self.run.name if self.run else None,
            is_ready=self.is_ready,
            takes=_takes(config),
        )

    def _settings_of(self, beam: int, nbest: int) -> DecodingConfig:
        return self.loaded.settings(beam=beam, nbest=nbest)


class Models:
    """All models, in the order in which they were given."""

    def __init__(self, found: Iterable[Found]) -> None:
        self.all = [ServedModel(one) for one in found]
        self._loading = threading.Lock()

    def ready(self) -> list[ServedModel]:
        """Those that can translate now."""
        return [one for one in self.all if one.is_ready and one.config and _takes(one.config) == "text"]

    def named(self, name: str) -> ServedModel:
        """The model of that name."""
        for one in self.all:
            if one.name == name:
                return one
        raise Refusal(404, "no_model", "There is no model of that name. GET /api/v1/models lists them.")

    def choose(self, *, model: str | None, source: str | None, target: str | None) -> ServedModel:
        """The model of that name, or the first ready one for the languages; a name must fit the languages too."""
        candidates = [self.named(model)] if model is not None else self.ready()
        if not candidates:
            raise Refusal(503, "not_ready", "No model is ready yet. Try again soon.", retry_after=1)
        for one in candidates:
            if _fits(one.languages[0], source) and _fits(one.languages[1], target):
                return one
        raise Refusal(400, "no_pair", "No model translates between these languages. GET /languages lists them.")

    def load_new(self) -> list[tuple[ServedModel, RegardError | None]]:
        """Load each model that has appeared or changed; says how it went."""
        with self._loading:
            return [(one, _attempt(one)) for one in self.all if one.is_stale]


def _attempt(model: ServedModel) -> RegardError | None:
    try:
        model.load()
    except RegardError as error:
        model._version = _version(model.directory)  # the same files would fail again
        return error
    return None


def _version(directory: Path) -> tuple[int, int] | None:
    try:
        found = (directory / MANIFEST).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino


def _takes(config: Config) -> Literal["text", "pictures"]:
    return "pictures" if hasattr(config.model, "eye") else "text"


def _attentions(model: torch.nn.Module) -> list[str]:
    """The names of the attentions inside a model; a name's last part says what it is."""
    names = [name for name, _ in model.named_modules()]
    return [name for name in names if name.rpartition(".")[2] in ATTENTIONS]


def _fits(own: str, wanted: str | None) -> bool:
    """Whether a model's language is the one wanted: "en" is given for "en-US" too."""
    return (
        wanted is None or own.lower() == wanted.lower() or own.lower() == wanted.lower().replace("_", "-").split("-")[0]
    )
