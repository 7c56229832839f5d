"""The served models: found on disk, loaded and warmed up in a thread, reloaded when they change, chosen per request."""

import threading
import time
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from torch.nn import Module

from regard.bundle import Bundle
from regard.config import Config, DecodingConfig, task_of
from regard.errors import RegardError
from regard.files import CONFIG_FILE, MANIFEST_NAME
from regard.inference.captioner import Captioner
from regard.inference.classifier import Classifier
from regard.inference.interface import EngineName, Task
from regard.inference.mask_filler import MASK_TEXT, MaskFiller
from regard.inference.open import load
from regard.inference.text_generator import TextGenerator
from regard.inference.translator import Translator
from regard.interop.ctranslate2 import Quantization
from regard.languages import base_code, plain_code
from regard.server.batcher import DecodeRequest, TranslateJob
from regard.server.errors import ApiError
from regard.server.limits import Limits
from regard.server.monitoring import log_exception
from regard.tracing.alignment import HeadSelection
from regard.training.model_locations import ModelLocation

Pipeline = Translator | Captioner | TextGenerator | MaskFiller | Classifier
PipelineT = TypeVar("PipelineT", Translator, Captioner, TextGenerator, MaskFiller, Classifier)
DirectoryVersion = tuple[int, int]  # modification time and inode of the manifest

TASK_ROUTES: dict[Task, str] = {
    "translation": "/api/v1/translate",
    "image-to-text": "/api/v1/captions",
    "text-generation": "/api/v1/complete",
    "fill-mask": "/api/v1/fill",
    "classification": "/api/v1/classify",
}
ATTENTION_NAMES = ("self_attention", "cross_attention", "image_attention")
WARM_UP_TEXT = "AI changes the world"
FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 1.0, 60.0


class ModelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A model as the API describes it."""

    name: str
    source: str
    target: str
    kind: str
    score: str | None  # the score function and the query state of an RNN with attention
    query_state: str | None
    parameters: int
    layers: int
    heads: int
    has_attention: bool
    max_positions: int | None
    run: str | None
    is_ready: bool
    task: Task
    reads_images: bool = False  # a captioner, or a classifier of images
    fills_masks: bool = False  # an encoder-only model with a masked-token head


class ServedModel:
    """A model by its name; ready once its directory exists and its pipeline is loaded and warmed up."""

    def __init__(
        self, found: ModelLocation, engine_name: EngineName = "auto", quantization: Quantization | None = None
    ) -> None:
        self.name, self.directory, self.run = found.name, found.directory, found.run
        self.is_required = found.is_required
        self.engine_name, self.engine = engine_name, ""  # the one that was chosen, and the one in use, for people
        self.quantization = quantization
        self.pipeline: Pipeline | None = None
        self.head_selection = HeadSelection()  # for word alignment: the best head, once it is measured
        self.failures = RetryBackoff()  # of loading the directory
        self._version: DirectoryVersion | None = None
        self._decoding_configs: dict[tuple[DecodingConfig, int, int], DecodingConfig] = {}  # at most 100 per model

    @property
    def is_ready(self) -> bool:
        return self.pipeline is not None

    @property
    def config(self) -> Config | None:
        """The config of the model; before it is loaded, that of its run."""
        if self.pipeline is not None:
            return self.pipeline.config
        path = (self.run or self.directory) / CONFIG_FILE
        try:
            return _read_config(path, path.stat().st_mtime_ns)
        except (OSError, RegardError):
            return None

    @property
    def task(self) -> Task | None:
        """The task of the model; None if not even its config exists yet."""
        return None if self.config is None else task_of(self.config.model)

    @property
    def languages(self) -> tuple[str, str]:
        """The codes of source and target; empty where there is none: a captioner has no source."""
        return ("", "") if self.config is None else self.config.data.language_pair

    def require(self, kind: type[PipelineT]) -> PipelineT:
        """The pipeline if it is of this kind; 409 if the model is for another task or is not loaded yet."""
        if isinstance(self.pipeline, kind):
            return self.pipeline
        if self.pipeline is None or self.task is None:
            raise ApiError(409, "not_ready", "This model is not loaded yet. Retry soon.", retry_after=2)
        raise ApiError(
            409, "wrong_task", f"This model is for {self.task}. Use {TASK_ROUTES[self.task]}, or choose another model."
        )

    @property
    def bundle(self) -> Bundle:
        """The weights and tokenizers of a loaded model; 409 for an export, which has none to inspect."""
        pipeline = self.pipeline or self.require(Translator)
        if pipeline.bundle is None:
            raise ApiError(
                409, "no_weights", "This is an export, which cannot be inspected. Serve the model that it came from."
            )
        return pipeline.bundle

    @property
    def has_cross_attention(self) -> bool:
        return any(name.endswith("cross_attention") for name in _attention_names(self.pipeline))

    @property
    def is_stale(self) -> bool:
        """Whether the directory has a version that is not loaded, and a retry after a failure is due."""
        version = directory_version(self.directory)
        return version is not None and version != self._version and self.failures.is_due(version)

    @property
    def is_failing(self) -> bool:
        """Whether the directory has a version that cannot be loaded; an earlier version may be ready."""
        return bool(self.failures) and directory_version(self.directory) is not None

    def load(self) -> None:
        """Load and warm up in the calling thread; requests use the earlier version until this is done."""
        version = directory_version(self.directory)
        path = self.directory / CONFIG_FILE
        is_translator = not path.is_file() or task_of(Config.load(path).model) == "translation"
        options = {"engine": self.engine_name, "quantization": self.quantization} if is_translator else {}
        pipeline: Pipeline = load(self.directory, **options)  # type: ignore[call-overload]
        warm_up(pipeline)
        self._version, self.failures = version, RetryBackoff()  # first: a model that is ready must not be stale
        self.head_selection = HeadSelection()
        self.engine = pipeline.engine.description if isinstance(pipeline, Translator) else "torch"
        self._decoding_configs = {}
        self.pipeline = pipeline

    def translate_job(self, options: DecodeRequest, limits: Limits) -> TranslateJob:
        """The batch job that translates with these options."""
        translator = self.require(Translator)
        own = translator.config.decoding  # part of the key: a request can come while another model is being loaded
        beam_size = limits.choose_beam_size(own.beam_size, options.beam_size, options.nbest)
        key = own, beam_size, options.nbest
        if key not in self._decoding_configs:
            self._decoding_configs[key] = translator.decoding_config(beam_size=beam_size, nbest=options.nbest)
        head_selection = self.head_selection if options.align and self.has_cross_attention else None
        if options.interventions:
            _ = self.bundle  # 409 for an export
        pair = "-".join(self.languages)
        changes = options.interventions, options.sample
        return TranslateJob(translator, self._decoding_configs[key], head_selection, pair, *changes)

    def record(self) -> ModelRecord | None:
        """The model as the API describes it; None if not even its config exists yet."""
        config, task = self.config, self.task
        if config is None or task is None:
            return None
        stack: Any = getattr(config.model, "decoder", None) or getattr(config.model, "transformer", None)
        attentions, model = _attention_names(self.pipeline), _torch_model(self.pipeline)
        return ModelRecord(
            name=self.name,
            source=self.languages[0],
            target=self.languages[1],
            kind=str(config.model.__struct_config__.tag),
            score=getattr(config.model, "score", None),
            query_state=getattr(config.model, "query_state", None),
            parameters=self.pipeline.num_parameters if self.pipeline else 0,
            layers=getattr(stack, "layers", 0),
            heads=getattr(stack, "heads", 1 if attentions else 0),
            has_attention=bool(attentions),
            max_positions=getattr(model, "max_positions", None),
            run=self.name if self.run else None,
            is_ready=self.is_ready,
            task=task,
            reads_images=hasattr(config.model, "image_encoder"),
            fills_masks=task == "fill-mask" and config.model.masked_head,  # type: ignore[union-attr]
        )


class ModelRegistry:
    """All models, in the order in which they were given."""

    def __init__(
        self, found: Iterable[ModelLocation], *, engine: EngineName = "auto", quantization: Quantization | None = None
    ) -> None:
        self.all = [ServedModel(one, engine, quantization) for one in found]
        self._lock = threading.Lock()

    def ready(self, task: Task = "translation") -> list[ServedModel]:
        """The loaded models for a task."""
        return [one for one in self.all if one.is_ready and one.task == task]

    def failing(self) -> list[ServedModel]:
        """The models whose directory cannot be loaded."""
        return [one for one in self.all if one.is_failing]

    def get(self, name: str) -> ServedModel:
        """The model of that name."""
        for one in self.all:
            if one.name == name:
                return one
        raise ApiError(404, "no_model", "There is no model of that name. GET /api/v1/models lists them.")

    def choose(
        self,
        *,
        name: str | None = None,
        source: str | None = None,
        target: str | None = None,
        task: Task = "translation",
    ) -> ServedModel:
        """The model of that name, or the first ready one for the task; of several translators, the closest languages.

        A model that was named must match the languages too.
        """
        candidates = [self.get(name)] if name is not None else self.ready(task)
        if not candidates:
            raise self.not_ready_error(task)
        best, best_score = None, -1
        for one in candidates:
            wanted = [
                (own, code) for own, code in zip(one.languages, (source, target), strict=True) if code is not None
            ]
            score = sum(plain_code(own) == plain_code(code) for own, code in wanted)  # the regions match too
            if all(base_code(own) == base_code(code) for own, code in wanted) and score > best_score:
                best, best_score = one, score
        if best is None:
            raise ApiError(400, "no_pair", "No model translates between these languages. GET /languages lists them.")
        return best

    def not_ready_error(self, task: Task = "translation") -> ApiError:
        """The error while no model for the task is ready: a retry helps only if one is still to be loaded."""
        if any(one.task in (task, None) for one in self.all):
            return ApiError(503, "not_ready", "No model is ready yet. Retry soon.", retry_after=1)
        if self.all and task != "translation":
            return ApiError(404, "no_model", f"No model for {task} is served. GET /api/v1/models lists the models.")
        return ApiError(503, "not_ready", f"No model for {task} is served. Start the server with one.")

    def load_changed(self) -> list[tuple[ServedModel, RegardError | None]]:
        """Load each model that is new or has changed; the outcomes, without a failure that is already known.

        The first model of a server is loaded alone: a visitor may wait for it, and others would slow down the visit.
        """
        outcomes: list[tuple[ServedModel, RegardError | None]] = []
        is_first = not any(one.is_ready for one in self.all)
        with self._lock:
            for model in self.all:
                if not model.is_stale:
                    continue
                version = directory_version(model.directory)
                problem: RegardError | None = None
                try:
                    model.load()
                except Exception as error:  # such as too little memory: the other models must still be loaded
                    if not model.failures.add(str(error), version):
                        continue
                    if isinstance(error, RegardError):
                        problem = error
                    else:
                        log_exception("a model cannot be loaded", model=model.name)
                        problem = RegardError(f"{model.directory} cannot be loaded: {error}")
                outcomes.append((model, problem))
                if is_first and model.is_ready:
                    break
        return outcomes


class RetryBackoff:
    """The failures to load a directory: the time to the next try doubles; a new version is tried at once."""

    def __init__(self) -> None:
        self._wait, self._next = FIRST_RETRY_SECONDS, 0.0
        self._version: DirectoryVersion | None = None  # that failed
        self._reason: str | None = None  # may be empty, as for a MemoryError

    def __bool__(self) -> bool:
        return self._reason is not None

    def is_due(self, version: DirectoryVersion) -> bool:
        """Whether to try this version now."""
        return version != self._version or time.monotonic() >= self._next

    def add(self, reason: str, version: DirectoryVersion | None) -> bool:
        """Postpone the next try of the version; returns whether the reason differs from the last one."""
        if version != self._version:
            self._wait, self._version = FIRST_RETRY_SECONDS, version
        self._next = time.monotonic() + self._wait
        self._wait = min(MAX_RETRY_SECONDS, 2 * self._wait)
        before, self._reason = self._reason, reason
        return reason != before


def warm_up(pipeline: Pipeline) -> None:
    """Run once all that the first request would have to wait for."""
    if isinstance(pipeline, Translator):
        pipeline.translate([WARM_UP_TEXT])
    elif isinstance(pipeline, Captioner):
        size = pipeline.image_encoder.image_size
        pipeline.caption([np.full((3, size, size), 128, np.uint8)], beam_size=1, nbest=1)
    elif isinstance(pipeline, Classifier):
        encoder = pipeline.image_encoder
        size = 0 if encoder is None else encoder.image_size
        pipeline.classify([np.full((3, size, size), 128, np.uint8)] if encoder else [WARM_UP_TEXT])
    elif isinstance(pipeline, TextGenerator):
        pipeline.generate([""], beam_size=1, do_sample=False)
    elif pipeline.has_masked_head:
        pipeline.fill([MASK_TEXT])
    else:
        pipeline.trace(WARM_UP_TEXT)


def directory_version(directory: Path) -> DirectoryVersion | None:
    """A value that changes when the model in a directory is replaced; None if there is no model."""
    try:
        found = (directory / MANIFEST_NAME).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino


@lru_cache(maxsize=256)
def _read_config(path: Path, _changed_at: int) -> Config:
    """The config of a model that is not loaded, which each request for the list of models needs several times."""
    return Config.load(path)


def _torch_model(pipeline: Pipeline | None) -> Module | None:
    return None if pipeline is None or pipeline.bundle is None else pipeline.bundle.model


def _attention_names(pipeline: Pipeline | None) -> list[str]:
    """The names of the attention modules; the last part of a name is its kind."""
    model = _torch_model(pipeline)
    names = [name for name, _ in model.named_modules()] if model else []
    return [name for name in names if name.rpartition(".")[2] in ATTENTION_NAMES]
