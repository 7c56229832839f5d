"""The models that are served: loaded when they appear, warmed up by a real translation, chosen by name or languages."""

import threading
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec
from torch.nn import Module

from regard.bundle import Bundle
from regard.captioning.captioner import Captioner
from regard.config import CaptionerConfig, Config, DecoderOnlyConfig, DecodingConfig, LanguageConfig
from regard.config import load as load_config
from regard.errors import RegardError
from regard.export.opening import EngineName, Opened
from regard.language.opening import LanguageModel
from regard.language.reader import Reader
from regard.language.writer import Writer
from regard.manifest import NAME as MANIFEST
from regard.serve.failures import Failures, Version
from regard.serve.finding import CONFIG, Found
from regard.serve.languages import base_code, plain_code
from regard.serve.limits import Limits
from regard.serve.loading import loaded_and_warm
from regard.serve.logs import tell_defect
from regard.serve.refusals import Refusal
from regard.serve.search import Search, Wish
from regard.translation.alignment import Reading
from regard.translation.lines import LineTranslator
from regard.translation.translator import Translator

ATTENTIONS = ("self_attention", "cross_attention", "picture_attention")
Takes = Literal["text", "pictures", "beginning", "blanks"]
Held = LineTranslator | Captioner | LanguageModel


class ModelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the API says of a model."""

    name: str
    source: str
    target: str
    kind: str
    score: str | None  # how an attending RNN scores, and which of its states asks
    wiring: str | None
    parameters: int
    layers: int
    heads: int
    has_attention: bool
    longest: int | None
    run: str | None
    is_ready: bool
    takes: Takes


class ServedModel:
    """A model by its name; not ready until its directory is there, loaded, and has translated something."""

    def __init__(self, found: Found, wanted: EngineName | None = None) -> None:
        self.name, self.directory, self.run = found.name, found.directory, found.run
        self.is_required = found.is_required
        self.wanted, self.engine = wanted, ""  # who is to translate, and who does, for people
        self.translator: LineTranslator | None = None
        self.captioner: Captioner | None = None  # in the place of the translator, where it describes pictures
        self.language: LanguageModel | None = None  # or where it goes on with a text, or fills its blanks
        self.reading = Reading()  # how its alignments are read: the best way, once that is known
        self.failures = Failures()  # of loading what the directory holds
        self._version: Version | None = None
        self._settings = lru_cache(maxsize=64)(self._settings_of)

    @property
    def is_ready(self) -> bool:
        return self.held is not None

    @property
    def held(self) -> Held | None:
        """What was loaded, whatever it does."""
        return self.translator or self.captioner or self.language

    @property
    def loaded(self) -> LineTranslator:
        """The translator, or a refusal while there is none."""
        if self.captioner is not None:
            raise Refusal(409, "takes_pictures", "This model describes pictures. Send one to /api/v1/captions.")
        if self.language is not None:
            route = "complete" if isinstance(self.language, Writer) else "fill"
            raise Refusal(409, "takes_language", f"This model translates no text. Send one to /api/v1/{route}.")
        if self.translator is None:
            raise _not_ready()
        return self.translator

    @property
    def describing(self) -> Captioner:
        """The captioner, or a refusal where there is none."""
        if self.translator is not None or self.language is not None:
            raise Refusal(409, "takes_text", "This model takes text, not pictures. Choose one that describes pictures.")
        if self.captioner is None:
            raise _not_ready()
        return self.captioner

    @property
    def writer(self) -> Writer:
        """The model that goes on with a text, or a refusal where there is none."""
        if isinstance(self.language, Writer):
            return self.language
        raise self._other("goes on with no text. Choose a decoder-only one.")

    @property
    def reader(self) -> Reader:
        """The model that fills blanks, or a refusal where there is none."""
        if isinstance(self.language, Reader):
            return self.language
        raise self._other("fills no blanks. Choose an encoder-only one.")

    def _other(self, reason: str) -> Refusal:
        return Refusal(409, "other_model", f"This model {reason}") if self.is_ready else _not_ready()

    @property
    def bundle(self) -> Bundle:
        """The bundle of a model that can be looked into and that takes text; an export cannot."""
        return self.language.bundle if self.language is not None else self.inspected.bundle

    @property
    def inspected(self) -> Translator:
        """The translator of a model that can be looked into; an export cannot."""
        if not isinstance(self.loaded, Translator):
            raise Refusal(409, "no_inside", "This is an export, which cannot be looked into. Serve its model too.")
        return self.loaded

    @property
    def languages(self) -> tuple[str, str]:
        config = self.config
        source, target = ["", "", *(config.data.languages if config else [])][-2:]  # a captioner has no source
        return source, target

    @property
    def config(self) -> Config | None:
        """The model's config; before there is a model, that of its run."""
        if self.translator is not None:
            return self.translator.config
        if self.captioner is not None or self.language is not None:
            return (self.captioner or self.language).bundle.config  # type: ignore[union-attr]
        path = (self.run or self.directory) / CONFIG
        try:
            return load_config(path) if path.exists() else None
        except RegardError:
            return None

    @property
    def is_stale(self) -> bool:
        """Whether the directory holds a model that is not the loaded one, and it is time to try it."""
        version = version_of(self.directory)
        return version is not None and version != self._version and self.failures.are_past(version)

    @property
    def has_cross_attention(self) -> bool:
        return any(name.endswith("cross_attention") for name in attentions_of(self.translator))

    @property
    def is_failing(self) -> bool:
        """Whether the directory holds what cannot be loaded; an earlier version may be ready."""
        return bool(self.failures) and version_of(self.directory) is not None

    def load(self) -> None:
        """Load and warm up, in the calling thread; the server goes on with what it had until this is done."""
        version = version_of(self.directory)
        loaded = loaded_and_warm(self.directory, self.wanted)
        self._version, self.failures = version, Failures()  # before it is ready: whoever waits for that may look
        self.reading = Reading()  # how the one before was best read says nothing of this
        self.engine = loaded.engine if isinstance(loaded, Opened) else "torch"
        self.translator = loaded.translator if isinstance(loaded, Opened) else None
        self.captioner = loaded if isinstance(loaded, Captioner) else None
        self.language = loaded if isinstance(loaded, Writer | Reader) else None
        self._settings.cache_clear()

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
        attentions = attentions_of(self.held)
        model = _bundle_model(self.held)
        parameters = sum(one.numel() for one in model.parameters()) if model else 0
        return ModelRecord(
            name=self.name,
            source=self.languages[0],
            target=self.languages[1],
            kind=str(config.model.__struct_config__.tag),
            score=getattr(config.model, "score", None),
            wiring=getattr(config.model, "wiring", None),
            parameters=translator.parameters if translator else parameters,
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

    def __init__(self, found: Iterable[Found], *, engine: EngineName | None = None) -> None:
        self.all = [ServedModel(one, engine) for one in found]
        self._loading = threading.Lock()

    def ready(self) -> list[ServedModel]:
        """Those that can translate now."""
        return [one for one in self.all if one.is_ready and one.config and takes_of(one.config) == "text"]

    def failing(self) -> list[ServedModel]:
        """Those whose directory holds what cannot be loaded."""
        return [one for one in self.all if one.is_failing]

    def named(self, name: str) -> ServedModel:
        """The model of that name."""
        for one in self.all:
            if one.name == name:
                return one
        raise Refusal(404, "no_model", "There is no model of that name. GET /api/v1/models lists them.")

    def choose(self, *, model: str | None, source: str | None, target: str | None) -> ServedModel:
        """The model of that name, or the ready one that is nearest to the languages; a name must fit them too."""
        candidates = [self.named(model)] if model is not None else self.ready()
        if not candidates:
            raise self.none_ready()
        wanted = (source, target)
        fitting = [one for one in candidates if all(map(_fits, one.languages, wanted))]
        if not fitting:
            raise Refusal(400, "no_pair", "No model translates between these languages. GET /languages lists them.")
        return max(fitting, key=lambda one: sum(map(_is_the_same, one.languages, wanted)))  # of equals, the first

    def none_ready(self) -> Refusal:
        """What is answered while no model is ready: waiting helps only where there is one to wait for."""
        if self.all:
            return Refusal(503, "not_ready", "No model is ready yet. Try again soon.", retry_after=1)
        return Refusal(503, "not_ready", "This server was started without a model. Start it with one.")

    def load_new(self) -> list[tuple[ServedModel, RegardError | None]]:
        """Load each model that has appeared or changed; says how it went, of what fails again only a new reason."""
        with self._loading:
            return [(one, problem) for one in self.all if one.is_stale for problem in _attempt(one)]


def _attempt(model: ServedModel) -> Iterator[RegardError | None]:
    """Load the model; the problem that this met, unless it is the one known, or None."""
    version = version_of(model.directory)
    try:
        model.load()
    except RegardError as error:
        if model.failures.add(str(error), version):
            yield error
    except Exception as error:  # such as too little memory: whoever loads the others must go on
        if model.failures.add(str(error), version):
            tell_defect("a model cannot be loaded", model=model.name)
            yield RegardError(f"{model.directory} cannot be loaded: {error}")
    else:
        yield None


def _not_ready() -> Refusal:
    return Refusal(409, "not_ready", "This model is not ready yet. Try again soon.", retry_after=2)


def version_of(directory: Path) -> Version | None:
    """What tells a model in a directory from one that was there before; None where there is none."""
    try:
        found = (directory / MANIFEST).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino


def takes_of(config: Config) -> Takes:
    """What a model is given."""
    if isinstance(config.model, LanguageConfig):
        return "beginning" if isinstance(config.model, DecoderOnlyConfig) else "blanks"
    return "pictures" if isinstance(config.model, CaptionerConfig) else "text"


def attentions_of(loaded: Held | None) -> list[str]:
    """The names of the attentions inside a model that can be looked into; a name's last part says what it is."""
    model = _bundle_model(loaded)
    names = [name for name, _ in model.named_modules()] if model else []
    return [name for name in names if name.rpartition(".")[2] in ATTENTIONS]


def _bundle_model(loaded: Held | None) -> Module | None:
    return loaded.bundle.model if isinstance(loaded, Translator | Captioner | Writer | Reader) else None


def _fits(own: str, wanted: str | None) -> bool:
    """Whether a model's language is the one wanted, of whatever region: "en" for "en-US", "zh-CN" for "zh"."""
    return wanted is None or base_code(own) == base_code(wanted)


def _is_the_same(own: str, wanted: str | None) -> bool:
    """Whether the region is the one wanted too."""
    return wanted is not None and plain_code(own) == plain_code(wanted)
