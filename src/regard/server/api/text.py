"""/api/v1 for texts: the models, translation, streamed translation, text generation and filling of masks."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.requests import Request

from regard.batch import encode_source_rows
from regard.config import DecodeOptions, DecodingConfig
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.loop import best_hypotheses, decode_steps
from regard.errors import RegardError
from regard.inference.mask_filler import DEFAULT_TOP_K, MaskFiller
from regard.inference.text_generator import TextGenerator
from regard.inference.translator import Translation, Translator
from regard.models.interface import GenerativeModel, Source
from regard.server.batcher import DecodeRequest, TranslateJob, estimate_tokens
from regard.server.endpoint import (
    ONE_SENTENCE,
    EmitEvent,
    Endpoint,
    EventStream,
    StreamEvent,
    event_stream,
    stream_events,
)
from regard.server.errors import ApiError
from regard.server.limits import Limits
from regard.server.models import ModelRecord
from regard.server.service import Service
from regard.tokenization.text import WORD
from regard.tracing.alignment import WordAlignment

MAX_NEW_TOKENS = 500  # that one request may have generated
MAX_MASKS = 16  # of one text: each takes a forward pass

BeamSize = Annotated[int, Meta(ge=1, le=1000)]
ShortText = Annotated[str, Meta(max_length=200)]


class WordSpan(msgspec.Struct, frozen=True):
    """A word and its characters: from `start`, before `end`."""

    text: str
    start: int
    end: int


class WordLinks(msgspec.Struct, frozen=True, kw_only=True):
    """The words of both sides, and the links [source word, target word] between them."""

    links: list[tuple[int, int]]
    source_words: list[WordSpan]
    target_words: list[WordSpan]


class TranslationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One translation of a text."""

    text: str
    score: float
    log_probability: float
    alignment: WordLinks | None = None
    is_truncated: bool = False
    is_finished: bool = True


class TranslateRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Texts to translate, by the name of a model or by languages."""

    texts: Annotated[list[str], Meta(min_length=1)]
    model: ShortText | None = None
    source: ShortText | None = None
    target: ShortText | None = None
    beam_size: BeamSize | None = None
    nbest: BeamSize = 1
    align: bool = False
    split: bool = False  # into sentences; otherwise each text is one sentence


class TranslateResponse(msgspec.Struct, frozen=True, kw_only=True):
    """For each text its best translations, the best first."""

    model: str
    translations: list[list[TranslationRecord]]


class StreamRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text whose translation is streamed."""

    text: str
    model: ShortText | None = None
    beam_size: BeamSize | None = None


class ModelsResponse(msgspec.Struct, frozen=True):
    """The models that are served."""

    models: list[ModelRecord]


class CompleteRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text to continue, which may be empty."""

    text: str
    model: ShortText | None = None
    beam_size: BeamSize | None = None
    nbest: BeamSize = 1
    do_sample: bool = False  # sample each token instead of searching for the likeliest text
    temperature: Annotated[float, Meta(gt=0, le=100)] = 1.0
    max_new_tokens: Annotated[int, Meta(ge=1, le=MAX_NEW_TOKENS)] | None = None


class CompletionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A generated text from its beginning; the scores are those of the whole text."""

    text: str
    score: float
    log_probability: float
    is_finished: bool


class CompleteResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The generated texts, the best first."""

    model: str
    continuations: list[CompletionRecord]


class FillRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text with masks, each written as ___."""

    text: Annotated[str, Meta(min_length=1)]
    model: ShortText | None = None
    top_k: Annotated[int, Meta(ge=1, le=100)] = DEFAULT_TOP_K


class TokenPredictionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A token that may replace a mask."""

    token: str
    probability: float


class FillResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The text with its masks filled, and for each mask the likeliest tokens, the likeliest first."""

    model: str
    text: str
    masks: list[list[TokenPredictionRecord]]


async def list_models(service: Service, body: None, request: Request) -> ModelsResponse:  # noqa: ARG001
    """The models that are served."""
    return ModelsResponse([record for one in service.models.all if (record := one.record()) is not None])


async def translate(service: Service, body: TranslateRequest, request: Request) -> TranslateResponse:  # noqa: ARG001
    """Translations with scores and, on request, word alignments."""
    model = service.models.choose(name=body.model, source=body.source, target=body.target)
    options = DecodeRequest(beam_size=body.beam_size, nbest=body.nbest, align=body.align)
    if not body.split:
        outputs = await service.translate_with(model, body.texts, options)
    elif body.nbest > 1 or body.align:
        raise ApiError(
            400,
            "bad_split",
            "A text that is split has one translation and no alignment. Remove nbest and align, or send each sentence "
            "as a text.",
        )
    else:
        outputs = [[output] for output in await service.translate_split(model, body.texts, options)]
    pairs = zip(body.texts, outputs, strict=True)
    records = [[translation_record(text, output) for output in own] for text, own in pairs]
    return TranslateResponse(model=model.name, translations=records)


async def stream(service: Service, body: StreamRequest, request: Request) -> EventStream:
    """A translation as it grows."""
    service.limits.check_texts([body.text])
    model = service.models.choose(name=body.model)
    job = model.translate_job(DecodeRequest(beam_size=body.beam_size, align=True), service.limits)
    return EventStream(request, stream_translation(service, job, body.text))


async def complete(service: Service, body: CompleteRequest, request: Request) -> CompleteResponse:  # noqa: ARG001
    """Continuations of a text."""
    service.limits.check_texts([body.text])
    model = service.models.choose(name=body.model, task="text-generation")
    generator = model.require(TextGenerator)
    options = _generation_options(generator, body, service.limits)
    config = generator.decoding_config(**options)
    cost = config.num_hypotheses * (estimate_tokens(body.text) + config.max_length_extra)
    [outputs] = await service.batcher.run_exclusive(lambda: generator.nbest([body.text], **options), cost=cost)
    records = [
        CompletionRecord(
            text=one.text, score=one.score, log_probability=one.log_probability, is_finished=one.is_finished
        )
        for one in outputs
    ]
    return CompleteResponse(model=model.name, continuations=records)


async def fill(service: Service, body: FillRequest, request: Request) -> FillResponse:  # noqa: ARG001
    """The likeliest tokens for the masks of a text."""
    service.limits.check_texts([body.text])
    model = service.models.choose(name=body.model, task="fill-mask")
    filler = model.require(MaskFiller)
    try:
        masks = filler.mask_count(body.text)
    except RegardError as error:
        raise ApiError(400, "bad_masks", str(error)) from None
    if not 1 <= masks <= MAX_MASKS:
        raise ApiError(400, "bad_masks", f"The text has {masks} masks. Write ___ for each mask, 1 to {MAX_MASKS}.")
    cost = masks * estimate_tokens(body.text)
    [filled] = await service.batcher.run_exclusive(lambda: filler.fill([body.text], top_k=body.top_k), cost=cost)
    records = [
        [TokenPredictionRecord(token=one.token, probability=one.probability) for one in own]
        for own in filled.predictions
    ]
    return FillResponse(model=model.name, text=filled.text, masks=records)


def _generation_options(generator: TextGenerator, body: CompleteRequest, limits: Limits) -> DecodeOptions:
    """The decoding options of a request, within the limits of the server."""
    own = generator.decoding_config()
    beam_size = min(own.beam_size, limits.max_beam_size) if body.beam_size is None else body.beam_size
    limits.check_search(beam_size, body.nbest)
    return DecodeOptions(
        beam_size=max(beam_size, body.nbest),
        nbest=body.nbest,
        do_sample=body.do_sample,
        temperature=body.temperature,
        max_length_extra=body.max_new_tokens or min(MAX_NEW_TOKENS, own.max_length_extra),
    )


# --- records ---


def translation_record(text: str, output: Translation) -> TranslationRecord:
    """The record of a translation of this text."""
    alignment = None if output.alignment is None else word_links(text, output.text, output.alignment)
    return TranslationRecord(
        text=output.text,
        score=output.score,
        log_probability=output.log_probability,
        alignment=alignment,
        is_truncated=output.is_truncated,
        is_finished=output.is_finished,
    )


def word_links(source: str, target: str, alignment: WordAlignment) -> WordLinks:
    """The links of an alignment, with the positions of the words in the texts."""
    return WordLinks(
        links=sorted(alignment.links),
        source_words=locate_words(source, alignment.source_words),
        target_words=locate_words(target, alignment.target_words),
    )


def locate_words(text: str, words: Sequence[str]) -> list[WordSpan]:
    """Each word with its position; a word that the text lacks (a model may end in a lone mark) is empty."""
    found = [match.span() for match in WORD.finditer(text)][: len(words)]
    found += [(len(text), len(text))] * (len(words) - len(found))
    return [WordSpan(text[start:end], start, end) for start, end in found]


# --- streams ---


def stream_translation(service: Service, job: TranslateJob, text: str) -> AsyncIterator[StreamEvent]:
    """Events `partial` with the text so far, then `done` with the record, or `error`."""

    def work(emit: EmitEvent) -> Translation:
        if job.translator.bundle is None:
            return job.run([text])[0][0]  # an export does not show its steps
        return job.align(text, _decode_and_emit(job.translator, text, job.config, emit))

    return stream_events(service, work, lambda output: translation_record(text, output), cost=job.cost(text))


def _decode_and_emit(translator: Translator, text: str, config: DecodingConfig, emit: EmitEvent) -> Translation:
    model, target = translator.require_bundle("streams").model, translator.tokenizers.target
    row = translator.tokenizers.source.encode(text)
    if not row:
        return Translation("", 0.0, 0.0, [])
    source = encode_source_rows([row[: translator.max_source_tokens]], device=next(model.parameters()).device)
    best = decode_with_callback(model, source, config, lambda tokens: emit("partial", {"text": target.decode(tokens)}))  # type: ignore[arg-type]
    if best is None:
        return Translation("", 0.0, 0.0, [])  # nobody receives it
    is_truncated = len(row) > translator.max_source_tokens
    return replace(Translation.from_hypothesis(best, target), is_truncated=is_truncated)


def decode_with_callback(
    model: GenerativeModel, source: Source, config: DecodingConfig, on_step: Callable[[list[int]], bool]
) -> Hypothesis | None:
    """The best hypothesis of one source; `on_step` gets the best tokens after each step and returns whether to go on.

    None if it stopped.
    """
    for found in decode_steps(model, source, config):
        if not on_step(found.best_so_far()[0]):
            return None
    return best_hypotheses(found, config)[0][0]


ENDPOINTS = [
    Endpoint(
        method="GET",
        path="/api/v1/models",
        handler=list_models,
        response=ModelsResponse,
        summary="The models that are served.",
    ),
    Endpoint(
        method="POST",
        path="/api/v1/translate",
        handler=translate,
        body=TranslateRequest,
        response=TranslateResponse,
        uses_queue=True,
        summary="Translate texts: n-best, scores, and links between words as ranges of characters.",
        description=f"{ONE_SENTENCE} With `split` a text is translated sentence by sentence: one translation, whose "
        "log-probability is the sum of those of its sentences and whose score is their mean; no n-best, no links.",
    ),
    Endpoint(
        method="POST",
        path="/api/v1/stream",
        handler=stream,
        body=StreamRequest,
        response=event_stream("partial", "done", "error"),
        uses_queue=True,
        summary="Translate a text as a stream: events `partial` with the text so far, then `done` or `error`.",
        description=ONE_SENTENCE,
    ),
    Endpoint(
        method="POST",
        path="/api/v1/complete",
        handler=complete,
        body=CompleteRequest,
        response=CompleteResponse,
        uses_queue=True,
        summary="Continue a text with a decoder-only model.",
        description="The likeliest text, the `nbest` likeliest, or with `do_sample` as many samples.",
    ),
    Endpoint(
        method="POST",
        path="/api/v1/fill",
        handler=fill,
        body=FillRequest,
        response=FillResponse,
        uses_queue=True,
        summary="Fill the masks of a text with an encoder-only model.",
        description="A mask is written `___` and stands for one token of the model's vocabulary.",
    ),
]
