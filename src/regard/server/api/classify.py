"""/api/v1 for classifiers: the classes of texts, which share batches, and of an image; with the attention behind."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from regard.inference.classifier import Classification, Classifier
from regard.inference.traced_caption import image_data_uri
from regard.interventions import AnyIntervention
from regard.server.api.captions import ExampleImageCache, ImageQuery, load_square
from regard.server.api.text import InterventionFields, ShortText
from regard.server.api.traces import TraceCache
from regard.server.batcher import BATCH_TOKEN_BUDGET, estimate_tokens
from regard.server.endpoint import Endpoints
from regard.server.errors import ApiError
from regard.server.requests import Upload
from regard.server.service import Service
from regard.tracing.interventions import check_positions, intervene
from regard.tracing.trace import Trace, TraceSummary

ENDPOINTS = Endpoints()
IMAGE_COST = 64  # of one image, in tokens, about
MAX_RETURNED_CLASSES = 1000


class ClassifyRequest(InterventionFields, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Texts to classify; with `attention` each result has the weight of every word in the decision."""

    texts: Annotated[list[str], Meta(min_length=1)]
    model: ShortText | None = None
    top_k: Annotated[int, Meta(ge=1, le=MAX_RETURNED_CLASSES)] = MAX_RETURNED_CLASSES
    attention: bool = False


class ClassProbability(msgspec.Struct, frozen=True, kw_only=True):
    """A class and its probability."""

    label: str
    probability: float


class WordWeight(msgspec.Struct, frozen=True, kw_only=True):
    """A word of the text, and how much of the attention of the decision it gets; all together get 1."""

    text: str
    weight: float


class ClassificationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The class of one text, and the most probable classes, the most probable first."""

    label: str
    probability: float
    classes: list[ClassProbability]
    is_truncated: bool
    words: list[WordWeight] = []


class ClassifyResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The class of each text."""

    model: str
    results: list[ClassificationRecord]


class ClassifiedImage(TraceSummary, frozen=True, kw_only=True):
    """The class of an image, its trace, and the attention of the decision over the cells of its grid, row by row."""

    id: str  # of the trace
    model: str
    image: str  # as the model gets it: a data URI
    rows: int
    columns: int
    weights: list[float]  # empty for a model without attention
    label: str
    probability: float
    classes: list[ClassProbability]


@dataclass(frozen=True)
class ClassifyJob:
    """Texts by one model with the same interventions; requests of several clients share a batch."""

    classifier: Classifier
    attention: bool = False
    interventions: tuple[AnyIntervention, ...] = ()
    sample: tuple[str, ...] = ()

    @property
    def budget(self) -> int:
        return BATCH_TOKEN_BUDGET

    def cost(self, item: str) -> int:
        return estimate_tokens(item)

    def run(self, items: list[str], is_wanted: Callable[[], bool]) -> list[Classification]:  # noqa: ARG002
        with intervene(self.classifier, *self.interventions, sample=self.sample or items):
            return self.classifier.classify(items, trace=self.attention)


@ENDPOINTS.add("POST", "/api/v1/classify", uses_queue=True)
async def classify(service: Service, body: ClassifyRequest) -> ClassifyResponse:
    """Classify texts: the probability of each class and, with `attention`, the weight of each word."""
    service.limits.check_texts(body.texts)
    model = service.models.choose(name=body.model, task="classification")
    classifier = model.require(Classifier)
    if classifier.reads_images:
        raise ApiError(409, "wrong_task", "This model classifies images. Use /api/v1/classify/image.")
    if not all(text.strip() for text in body.texts):
        raise ApiError(400, "blank_text", "A text is blank. Send texts with words.")
    interventions = body.read(service.limits)
    job = ClassifyJob(classifier, body.attention, interventions, body.mean_sample(body.texts))
    found: list[Classification] = await service.batcher.submit(job, body.texts)
    for one in found:
        if one.trace is not None:
            check_positions(interventions, one.trace)
    return ClassifyResponse(model=model.name, results=[_record(classifier, one, body.top_k) for one in found])


@ENDPOINTS.add("POST", "/api/v1/classify/image", upload_field="image", allow_raw_upload=True, uses_queue=True)
async def classify_image(service: Service, upload: Upload[ImageQuery]) -> ClassifiedImage:
    """Classify an image, and trace the attention of the decision over it."""
    query = upload.fields
    model = service.models.choose(name=query.model, task="classification")
    classifier = model.require(Classifier)
    if classifier.image_encoder is None:
        raise ApiError(409, "wrong_task", "This model classifies texts. Use /api/v1/classify.")
    interventions = query.read_interventions()
    picture: Path | bytes = upload.content
    if query.example is not None:
        picture = (await service.component(ExampleImageCache).get(model, query.example)).picture

    def work() -> tuple[NDArray[np.uint8], Classification]:
        square = load_square(classifier, picture)
        with intervene(classifier, *interventions):
            [found] = classifier.classify([square], trace=True)
        return square, found

    square, found = await service.batcher.run_exclusive(work, cost=IMAGE_COST)
    trace: Trace = found.trace
    check_positions(interventions, trace)
    weights, side = classifier.decision_weights(trace), classifier.image_encoder.grid_size
    summary = trace.summary()
    return ClassifiedImage(
        id=service.component(TraceCache).put(trace),
        model=model.name,
        image=image_data_uri(square),
        rows=side,
        columns=side,
        weights=[] if weights is None else weights.tolist(),
        label=found.label,
        probability=found.probability,
        classes=_classes(found, MAX_RETURNED_CLASSES),
        **{name: getattr(summary, name) for name in TraceSummary.__struct_fields__},
    )


def _classes(found: Classification, top_k: int) -> list[ClassProbability]:
    ranked = list(found.probabilities.items())[:top_k]
    return [ClassProbability(label=label, probability=probability) for label, probability in ranked]


def _record(classifier: Classifier, found: Classification, top_k: int) -> ClassificationRecord:
    words: list[WordWeight] = []
    weights = None if found.trace is None else classifier.decision_weights(found.trace)
    if found.trace is not None and weights is not None:
        side = found.trace.source
        words = [
            WordWeight(text=word, weight=float(weights[pieces].sum()))
            for word, pieces in zip(side.words, side.word_pieces, strict=True)
        ]
    return ClassificationRecord(
        label=found.label,
        probability=found.probability,
        classes=_classes(found, top_k),
        is_truncated=found.is_truncated,
        words=words,
    )
