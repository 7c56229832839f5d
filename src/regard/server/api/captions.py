"""/api/v1 for images: captions with a trace, streamed captions, and example images.

The trace of an image is in the same cache as those of texts, so the same routes return its maps and its arithmetic. The
bytes of an image are untrusted: they are bounded, decoded safely, and sent back only as the square that the model gets.
"""

import asyncio
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response

from regard.data.captions import find_captions_file, read_captioned
from regard.data.images import IMAGE_FORMATS, MAX_PIXELS, encode_png
from regard.errors import RegardError
from regard.inference.captioner import Caption, Captioner
from regard.inference.classifier import Classifier
from regard.inference.traced_caption import (
    PNG_TYPE,
    CaptionSummary,
    GoldCaption,
    TracedCaption,
    caption_summary,
    image_data_uri,
)
from regard.interventions import AnyIntervention, HeadIntervention, read_interventions
from regard.pretrained import is_pretrained
from regard.server.api.text import MAX_INTERVENTIONS, ShortText, decode_with_callback
from regard.server.api.traces import TraceCache
from regard.server.batcher import BatchCancelled
from regard.server.endpoint import Content, EmitEvent, Endpoints, EventStream, Number, event_stream, stream_events
from regard.server.errors import ApiError
from regard.server.models import ServedModel
from regard.server.requests import Upload
from regard.server.service import Service
from regard.tracing.image_maps import partial_word_maps
from regard.tracing.interventions import check_positions, intervene
from regard.training.runs import probed_images

ENDPOINTS = Endpoints()
WEIGHT_DECIMALS = 4  # of the weights in a stream
MAX_EXAMPLE_IMAGES = 12  # of the model's validation set


class ImageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A model, the number of an example image instead of an uploaded one, and what to change in the model."""

    model: str | None = None
    example: Number | None = None
    interventions: list[ShortText] | ShortText = []  # strings; repeat the field for several

    def read_interventions(self) -> tuple[AnyIntervention, ...]:
        """The interventions as objects."""
        given = [self.interventions] if isinstance(self.interventions, str) else self.interventions
        if len(given) > MAX_INTERVENTIONS:
            message = f"{len(given)} interventions were given; at most {MAX_INTERVENTIONS} are allowed."
            raise ApiError(400, "bad_form", message)
        return tuple(read_interventions(given))


class CaptionQuery(ImageQuery, frozen=True, kw_only=True):
    """The same, and a beam size."""

    beam_size: Annotated[int, Meta(ge=1, le=1000)] | None = None


class ImagePreview(msgspec.Struct, frozen=True, kw_only=True):
    """The first event of a stream: the image as the model gets it, and the size of its grid."""

    image: str  # a data URI
    rows: int
    columns: int


class WordMap(msgspec.Struct, frozen=True):
    """A word and its attention weights over the cells of the grid, row by row."""

    text: str
    weights: list[float]


class PartialCaption(msgspec.Struct, frozen=True):
    """The caption so far; without words for a model that has no attention."""

    text: str
    words: list[WordMap]


class ExampleImageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An image to try."""

    number: int
    captions: list[str]
    has_boxes: bool


class ExampleImagesResponse(msgspec.Struct, frozen=True):
    """The images to try."""

    examples: list[ExampleImageRecord]


@dataclass(frozen=True)
class ExampleImage:
    """An image, its captions, and the boxes of the words of its caption if they are known."""

    picture: Path | bytes
    captions: list[str]
    gold: GoldCaption | None


class ExampleImageCache:
    """The example images of each captioner; only these need the world of scenes, so only they import it."""

    def __init__(self) -> None:
        self._by_directory: dict[Path, list[ExampleImage]] = {}

    async def all(self, model: ServedModel) -> list[ExampleImage]:
        """The first images of the model's validation set; none if it no longer exists.

        For the captioner that comes with regard they are drawn: new scenes, none of which it was trained on.
        """
        pipeline = model.pipeline if isinstance(model.pipeline, Classifier) else model.require(Captioner)
        if model.directory not in self._by_directory:
            load: Any = _draw_examples if is_pretrained(model.directory) else _load_examples
            load = _load_labelled_examples if isinstance(pipeline, Classifier) else load
            self._by_directory[model.directory] = await asyncio.to_thread(load, pipeline)
        return self._by_directory[model.directory]

    async def get(self, model: ServedModel, number: int) -> ExampleImage:
        """The example image of that number."""
        examples = await self.all(model)
        if number >= len(examples):
            raise ApiError(404, "no_image", f"There are {len(examples)} example images, counted from 0.")
        return examples[number]


def _load_examples(captioner: Captioner) -> list[ExampleImage]:
    from regard.worlds.scenes import read_boxes

    data = captioner.bundle.config.data
    if not data.valid:
        return []
    directory, split = data.valid[0], data.valid[1] if len(data.valid) > 1 else None
    try:
        captioned = read_captioned(directory, split=split, images=data.image_folder or None)[:MAX_EXAMPLE_IMAGES]
        boxes_file = find_captions_file(Path(directory)).with_name("boxes.jsonl")
        boxes = read_boxes(boxes_file) if boxes_file.is_file() else {}
    except RegardError:
        return []
    return [
        ExampleImage(one.image, one.captions, GoldCaption.from_boxes(boxes.get("/".join(one.image.parts[-2:]))))
        for one in captioned
    ]


def _load_labelled_examples(classifier: Classifier) -> list[ExampleImage]:
    """The images whose attention was saved in training; none if their files no longer exist."""
    if not classifier.reads_images:
        return []
    try:
        images = [path for path in probed_images(classifier.config) if path.is_file()]
    except RegardError:
        return []
    return [ExampleImage(path, [classifier.classify([path])[0].label], None) for path in images]


def _draw_examples(captioner: Captioner) -> list[ExampleImage]:
    from regard.worlds.scenes import GoldBoxes, caption_text, draw_scene, draw_splits, gold_boxes, scene_caption

    drawn = []
    for scene in draw_splits({"test": MAX_EXAMPLE_IMAGES})["test"]:
        words = scene_caption(scene)
        boxes = GoldBoxes("", [word.text for word in words], gold_boxes(scene, words))
        png = encode_png(draw_scene(scene, captioner.image_encoder.image_size).transpose(1, 2, 0))
        drawn.append(ExampleImage(png, [caption_text(words)], GoldCaption.from_boxes(boxes)))
    return drawn


@dataclass(frozen=True, eq=False)
class CaptionInput:
    """A decoded image, the model for it, and the gold caption if there is one."""

    model: ServedModel
    square: NDArray[np.uint8]
    beam_size: int
    gold: GoldCaption | None
    interventions: tuple[AnyIntervention, ...] = ()

    @contextmanager
    def intervene(self) -> Iterator[None]:
        """The interventions of the request; a mean is taken over its own caption."""
        captioner, sample = self.captioner, []
        if any(isinstance(one, HeadIntervention) and one.action == "mean" for one in self.interventions):
            [caption] = captioner.caption([self.square], beam_size=1, nbest=1)
            sample = [(captioner.to_batch([self.square]), caption.tokens)]
        with intervene(captioner, *self.interventions, sample=sample):
            yield

    @property
    def captioner(self) -> Captioner:
        return self.model.require(Captioner)

    @property
    def cost(self) -> int:
        """The approximate number of decoded tokens, those of all hypotheses together."""
        return self.captioner.decoding_config().max_length_extra * self.beam_size

    def record(self, service: Service, traced: TracedCaption) -> CaptionSummary:
        """The record of a caption, whose trace is in the cache from now on."""
        trace_id = service.component(TraceCache).put(traced.trace)
        return caption_summary(traced, identity=trace_id, model=self.model.name)


@ENDPOINTS.add("POST", "/api/v1/captions", upload_field="image", allow_raw_upload=True, uses_queue=True)
async def caption(service: Service, upload: Upload[CaptionQuery]) -> CaptionSummary:
    """Caption an image, and trace the attention of each word."""
    given = await _read_input(service, upload)
    traced = await service.batcher.run_exclusive(functools.partial(caption_image, given), cost=given.cost)
    return given.record(service, traced)


@ENDPOINTS.add(
    "POST",
    "/api/v1/captions/stream",
    upload_field="image",
    allow_raw_upload=True,
    uses_queue=True,
    response=event_stream("image", "partial", "done", "error"),
)
async def stream(service: Service, upload: Upload[CaptionQuery], request: Request) -> EventStream:
    """Caption an image as a stream.

    Events: `image`, `partial` with the words so far and their attention maps, then `done` with the whole response, or
    `error`.
    """
    given = await _read_input(service, upload)
    work = functools.partial(stream_caption, given)
    events = stream_events(service, work, lambda traced: given.record(service, traced), cost=given.cost)
    return EventStream(request, events)


@ENDPOINTS.add("GET", "/api/v1/models/{name}/examples")
async def list_examples(service: Service, name: str) -> ExampleImagesResponse:
    """Images to try: the first of the model's validation set."""
    examples = await service.component(ExampleImageCache).all(service.models.get(name))
    return ExampleImagesResponse(
        [
            ExampleImageRecord(number=number, captions=one.captions, has_boxes=one.gold is not None)
            for number, one in enumerate(examples)
        ]
    )


@ENDPOINTS.add("GET", "/api/v1/models/{name}/examples/{number:number}", response=Content(PNG_TYPE))
async def example_image(service: Service, name: str, number: int) -> Response:
    """One of them as the model gets it."""
    model = service.models.get(name)
    example = await service.component(ExampleImageCache).get(model, number)
    pipeline = model.pipeline if isinstance(model.pipeline, Classifier) else model.require(Captioner)
    square = await asyncio.to_thread(load_square, pipeline, example.picture)
    return Response(encode_png(square.transpose(1, 2, 0)), media_type=PNG_TYPE)


async def _read_input(service: Service, upload: Upload[CaptionQuery]) -> CaptionInput:
    """The input of a caption; a file that is not an image is an error before the response starts."""
    query = upload.fields
    model = service.models.choose(name=query.model, task="image-to-text")
    captioner = model.require(Captioner)
    beam_size = service.limits.choose_beam_size(captioner.decoding_config().beam_size, query.beam_size)
    picture: Path | bytes = upload.content
    gold = None
    if query.example is not None:
        example = await service.component(ExampleImageCache).get(model, query.example)
        picture, gold = example.picture, example.gold
    square = await service.batcher.run_exclusive(lambda: load_square(captioner, picture), cost=1)
    return CaptionInput(model, square, beam_size, gold, query.read_interventions())


def load_square(captioner: Captioner | Classifier, picture: Path | bytes) -> NDArray[np.uint8]:
    """The image as the model gets it; the error does not repeat the reason, which may contain bytes of the image."""
    try:
        return captioner.load_image(picture)
    except RegardError as error:
        reason = str(error)
    if f"{MAX_PIXELS:,}" in reason:
        raise ApiError(413, "image_too_large", f"An image may have {MAX_PIXELS:,} pixels at most. Make it smaller.")
    if "32 bits per pixel" in reason:
        raise ApiError(415, "bad_image", "This image has 32 bits per pixel. Save it with 8 or 16 bits.")
    raise ApiError(415, "bad_image", f"This is not a valid image. Send a complete file of {', '.join(IMAGE_FORMATS)}.")


def caption_image(given: CaptionInput) -> TracedCaption:
    """The caption of an image, and its trace."""
    captioner, square = given.captioner, given.square
    with given.intervene():
        (best,) = captioner.caption([square], beam_size=given.beam_size, nbest=1)
        trace = captioner.trace(square, best.tokens)
    check_positions(given.interventions, trace)
    return TracedCaption(square, captioner.image_encoder.grid_size, best, trace, given.gold)


def stream_caption(given: CaptionInput, emit: EmitEvent) -> TracedCaption:
    """The same, with an event for each word and its attention map."""
    captioner, square = given.captioner, given.square
    side, target = captioner.image_encoder.grid_size, captioner.bundle.tokenizers.target

    def emit_words(tokens: list[int]) -> bool:
        words = [
            WordMap(word, [round(float(weight), WEIGHT_DECIMALS) for weight in weights.ravel()])
            for word, weights in partial_word_maps(captioner.bundle, grid, tokens)
        ]
        return emit("partial", PartialCaption(target.decode(tokens), words))

    emit("image", ImagePreview(image=image_data_uri(square), rows=side, columns=side))
    config = captioner.decoding_config(beam_size=given.beam_size, nbest=1)
    with given.intervene():
        grid = captioner.encode_image(square)
        best = decode_with_callback(captioner.bundle.model, grid, config, emit_words)  # type: ignore[arg-type]
        if best is None:
            raise BatchCancelled
        trace = captioner.trace(square, best.tokens)
    check_positions(given.interventions, trace)
    return TracedCaption(square, side, Caption.from_hypothesis(best, target), trace, given.gold)
