"""The models that are served: loaded when they appear, warmed up by a real translation, chosen by name or languages."""

import threading
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from regard.config import Config, DecodingConfig
from regard.config import load as load_config
from regard.errors import RegardError
from regard.manifest import NAME as MANIFEST
from regard.manifest import Manifest
from regard.models.interface import Generator
from regard.serve.finding import CONFIG, Found
from regard.serve.limits import Limits
from regard.serve.refusals import Refusal
from regard.serve.search import Search, Wish
from regard.translation.alignment import Reading
from regard.translation.exported import KIND as EXPORT
from regard.translation.exported import load_export
from regard.translation.lines import LineTranslator
from regard.translation.translator import Translator, load

WARM_UP = "AI changes the world"
ATTENTIONS = ("self_attention", "cross_attention", "picture_attention")


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


class ServedModel:
    """A model by its name; not ready until its directory is there, loaded, and has translated something."""

    def __init__(self, found: Found) -> None:
        self.name, self.directory, self.run = found.name, found.directory, found.run
        self.is_required = found.is_required
        self.translator: LineTranslator | None = None
        self.reading = Reading()  # how its alignments are read: the best way, once that is known
        self._version: tuple[int, int] | None = None
        self._settings = lru_cache(maxsize=64)(self._settings_of)

    @property
    def is_ready(self) -> bool:
        return self.translator is not None

    @property
    def loaded(self) -> LineTranslator:
        """The translator, or a refusal while there is none."""
        if self.translator is None:
            raise Refusal(503, "not_ready", "This model is not ready yet. Try again soon.", retry_after=2)
        return self.translator

    @property
    def inspected(self) -> Translator:
        """The translator of a model that can be looked into; an export cannot."""
        if not isinstance(self.loaded, Translator):
            raise Refusal(409, "no_inside", "This is an export, which cannot be looked into. Serve its model too.")
        return self.loaded

    @property
    def languages(self) -> tuple[str, str]:
        config = self.config
        source, target = (config.data.languages if config else None) or ("", "")
        return source, target

    @property
    def config(self) -> Config | None:
        """The model's config; before there is a model, that of its run."""
        if self.translator is not None:
            return self.translator.config
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

    @property
    def has_cross_attention(self) -> bool:
        return any(name.endswith("cross_attention") for name in attentions_of(self.translator))

    def load(self) -> None:
        """Load and warm up, in the calling thread; the server goes on with what it had until this is done."""
        self._version = _version(self.directory)
        translator = _loaded(self.directory)
        if takes_of(translator.config) == "text":
            translator.translate([WARM_UP])
        self._settings.cache_clear()
        self.translator = translator

    def search(self, wish: Wish, limits: Limits) -> Search:
        """The work of translating as wished."""
        own = min(self.loaded.config.decoding.beam, limits.beam)
        limits.check_search(own if wish.beam is None else wish.beam, wish.nbest)
        config = self._settings(max(own if wish.beam is None else wish.beam, wish.nbest), wish.nbest)
        reading = self.reading if wish.alignments and self.has_cross_attention else None
        return Search(self.loaded, config, reading, "-".join(self.languages))

    def record(self) -> ModelRecord | None:
        """What is known of the model; None where not even its config is there."""
        config, translator = self.config, self.translator
        if config is None:
            return None
        stack: Any = getattr(config.model, "decoder", None) or getattr(config.model, "stack", None)
        attentions = attentions_of(translator)
        model = translator.bundle.model if isinstance(translator, Translator) else None
        return ModelRecord(
            name=self.name,
            source=self.languages[0],
            target=self.languages[1],
            kind=str(config.model.__struct_config__.tag),
            parameters=translator.parameters if translator else 0,
            layers=getattr(stack, "layers", 0),
            heads=getattr(stack, "heads", 1 if attentions else 0),
            has_attention=bool(attentions),
            longest=getattr(model, "longest", None),
            run=self.name if self.run else None,
            is_ready=self.is_ready,
            takes=takes_of(config),
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
        return [one for one in self.all if one.is_ready and one.config and takes_of(one.config) == "text"]

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
        return error
    return None


def _loaded(directory: Path) -> LineTranslator:
    if _is_export(directory):
        return load_export(directory)
    translator = load(directory)
    if not isinstance(translator.bundle.model, Generator):
        raise RegardError(f"{directory} holds a model that says nothing, such as a classifier. Give another.")
    return translator


def _is_export(directory: Path) -> bool:
    try:
        return msgspec.json.decode((directory / MANIFEST).read_bytes(), type=Manifest).kind == EXPORT
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return False  # loading it as a model says what is wrong with it


def _version(directory: Path) -> tuple[int, int] | None:
    try:
        found = (directory / MANIFEST).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino


def takes_of(config: Config) -> Literal["text", "pictures"]:
    """What a model is given."""
    return "pictures" if hasattr(config.model, "eye") else "text"


def attentions_of(translator: LineTranslator | None) -> list[str]:
    """The names of the attentions inside a model that can be looked into; a name's last part says what it is."""
    if not isinstance(translator, Translator):
        return []
    names = [name for name, _ in translator.bundle.model.named_modules()]
    return [name for name in names if name.rpartition(".")[2] in ATTENTIONS]


def _fits(own: str, wanted: str | None) -> bool:
    """Whether a model's language is the one wanted: "en" is given for "en-US" too."""
    if wanted is None:
        return True
    return own.lower() in (wanted.lower(), wanted.lower().replace("_", "-").partition("-")[0])
