"""/api/v1 for texts: the models, translation, streamed translation, text generation and filling of masks."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.requests import Request

from regard.batch import encode_source_rows
from regard.config import DecodeOptions, DecodingConfig
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.loop import best_hypotheses, decode_steps
from regard.errors import RegardError
from regard.inference.interface import GeneratedText
from regard.inference.mask_filler import DEFAULT_TOP_K, FilledText, MaskFiller
from regard.inference.text_generator import TextGenerator
from regard.inference.translator import Translation, Translator
from regard.interventions import AnyIntervention, GivenIntervention, HeadIntervention, read_interventions
from regard.models.interface import GenerativeModel, Source
from regard.server.batcher import BatchCancelled, DecodeRequest, TranslateJob, estimate_tokens
from regard.server.endpoint import (
    ONE_SENTENCE,
    EmitEvent,
    Endpoints,
    EventStream,
    event_stream,
    stream_events,
)
from regard.server.errors import ApiError
from regard.server.limits import Limits
from regard.server.models import ModelRecord
from regard.server.service import Service
from regard.tokenization.text import WORD
from regard.tracing.alignment import WordAlignment
from regard.tracing.interventions import intervene

ENDPOINTS = Endpoints()
MAX_NEW_TOKENS = 500  # that one request may have generated
MAX_INTERVENTIONS, MAX_SAMPLE_TEXTS = 32, 32
MAX_WORDS = 5_000  # of a word list
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
    confidence: float = 1.0  # the geometric mean of the tokens' probabilities, from 0 to 1


class InterventionFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change in the model, as objects (counted from 0) or strings (counted from 1)."""

    interventions: Annotated[list[GivenIntervention], Meta(max_length=MAX_INTERVENTIONS)] = []
    sample: Annotated[list[str], Meta(max_length=MAX_SAMPLE_TEXTS)] = []  # for a mean; empty: over the texts themselves

    def read(self, limits: Limits) -> tuple[AnyIntervention, ...]:
        """The interventions as objects; their texts are within the limits."""
        found = read_interventions(self.interventions)
        texts = [getattr(one, name, None) for one in found for name in ("text", "target", "prefix")]
        limits.check_texts([*self.sample, *(text for text in texts if isinstance(text, str))])
        return tuple(found)

    def mean_sample(self, texts: list[str]) -> tuple[str, ...]:
        """What a mean is taken over: part of the job, as a batch may have other texts than those of the request."""
        found = read_interventions(self.interventions)
        has_mean = any(isinstance(one, HeadIntervention) and one.action == "mean" for one in found)
        return tuple(self.sample or texts[:MAX_SAMPLE_TEXTS]) if has_mean else ()


class TranslateRequest(InterventionFields, frozen=True, kw_only=True, forbid_unknown_fields=True):
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
    """For each text its best translations, the best first, and the words that the model has no pieces for."""

    model: str
    translations: list[list[TranslationRecord]]
    unknown_words: list[list[str]]


class StreamRequest(InterventionFields, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text whose translation is streamed."""

    text: str
    model: ShortText | None = None
    beam_size: BeamSize | None = None


class ModelsResponse(msgspec.Struct, frozen=True):
    """The models that are served."""

    models: list[ModelRecord]


class WordsResponse(msgspec.Struct, frozen=True):
    """Words that are tokens of a model."""

    words: list[str]


class CompleteRequest(InterventionFields, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text to continue, which may be empty."""

    text: str
    model: ShortText | None = None
    beam_size: BeamSize | None = None
    nbest: BeamSize = 1
    do_sample: bool = False  # sample each token instead of searching for the most likely text
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


class FillRequest(InterventionFields, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text with masks, each written as ___."""

    text: Annotated[str, Meta(min_length=1)]
    model: ShortText | None = None
    top_k: Annotated[int, Meta(ge=1, le=100)] = DEFAULT_TOP_K


class TokenPredictionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A token that may replace a mask."""

    token: str
    probability: float


class FillResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The text with its masks filled, and for each mask the most likely tokens, the most likely first."""

    model: str
    text: str
    masks: list[list[TokenPredictionRecord]]


@ENDPOINTS.add("GET", "/api/v1/models")
async def list_models(service: Service) -> ModelsResponse:
    """The models that are served."""
    return ModelsResponse([record for one in service.models.all if (record := one.record()) is not None])


@ENDPOINTS.add("GET", "/api/v1/models/{name}/words")
async def list_words(service: Service, name: str) -> WordsResponse:
    """The words that have a piece of their own in the vocabulary of the source, in alphabetical order."""
    return WordsResponse(service.models.get(name).bundle.tokenizers.source.whole_words()[:MAX_WORDS])


@ENDPOINTS.add(
    "POST",
    "/api/v1/translate",
    uses_queue=True,
    description=f"{ONE_SENTENCE} With `split` a text is translated sentence by sentence: one translation, whose "
    "log-probability is the sum of those of its sentences and whose score is their mean; no n-best, no links.",
)
async def translate(service: Service, body: TranslateRequest) -> TranslateResponse:
    """Translate texts: n-best, scores, and links between words as ranges of characters."""
    model = service.models.choose(name=body.model, source=body.source, target=body.target)
    changes = body.read(service.limits), body.mean_sample(body.texts)
    options = DecodeRequest(body.beam_size, body.nbest, body.align, *changes)
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
    unknown = [model.require(Translator).unknown_words(text) for text in body.texts]
    return TranslateResponse(model=model.name, translations=records, unknown_words=unknown)


@ENDPOINTS.add(
    "POST",
    "/api/v1/stream",
    uses_queue=True,
    response=event_stream("partial", "done", "error"),
    description=ONE_SENTENCE,
)
async def stream(service: Service, body: StreamRequest, request: Request) -> EventStream:
    """Translate a text as a stream: events `partial` with the text so far, then `done` or `error`."""
    service.limits.check_texts([body.text])
    model = service.models.choose(name=body.model)
    options = DecodeRequest(body.beam_size, 1, True, body.read(service.limits), tuple(body.sample))
    job = model.translate_job(options, service.limits)
    work = functools.partial(stream_translation, job, body.text)
    events = stream_events(service, work, functools.partial(translation_record, body.text), cost=job.cost(body.text))
    return EventStream(request, events)


@ENDPOINTS.add("POST", "/api/v1/complete", uses_queue=True)
async def complete(service: Service, body: CompleteRequest) -> CompleteResponse:
    """Continue a text with a decoder-only model.

    The most likely text, the `nbest` most likely, or with `do_sample` as many samples.
    """
    service.limits.check_texts([body.text])
    model = service.models.choose(name=body.model, task="text-generation")
    generator = model.require(TextGenerator)
    own = generator.decoding_config()
    options = DecodeOptions(
        beam_size=service.limits.choose_beam_size(own.beam_size, body.beam_size, body.nbest),
        nbest=body.nbest,
        do_sample=body.do_sample,
        temperature=body.temperature,
        max_length_extra=body.max_new_tokens or min(MAX_NEW_TOKENS, own.max_length_extra),
    )
    config = generator.decoding_config(**options)
    cost = config.num_hypotheses * (estimate_tokens(body.text) + config.max_length_extra)
    interventions = body.read(service.limits)

    def generate() -> list[list[GeneratedText]]:
        with intervene(generator, *interventions, sample=body.sample or [body.text]):
            return generator.nbest([body.text], **options)

    [outputs] = await service.batcher.run_exclusive(generate, cost=cost)
    records = [
        CompletionRecord(
            text=one.text, score=one.score, log_probability=one.log_probability, is_finished=one.is_finished
        )
        for one in outputs
    ]
    return CompleteResponse(model=model.name, continuations=records)


@ENDPOINTS.add("POST", "/api/v1/fill", uses_queue=True)
async def fill(service: Service, body: FillRequest) -> FillResponse:
    """Fill the masks of a text with an encoder-only model.

    A mask is written `___` and stands for one token of the model's vocabulary.
    """
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
    interventions = body.read(service.limits)

    def predict() -> list[FilledText]:
        with intervene(filler, *interventions, sample=body.sample or [body.text]):
            return filler.fill([body.text], top_k=body.top_k)

    [filled] = await service.batcher.run_exclusive(predict, cost=cost)
    records = [
        [TokenPredictionRecord(token=one.token, probability=one.probability) for one in own]
        for own in filled.predictions
    ]
    return FillResponse(model=model.name, text=filled.text, masks=records)


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
        confidence=output.confidence,
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


def stream_translation(job: TranslateJob, text: str, emit: EmitEvent) -> Translation:
    """The translation, with an event `partial` for the text so far after each step."""
    translator, tokenizers = job.translator, job.translator.tokenizers
    if translator.bundle is None:
        return job.run([text])[0][0]  # an export does not show its steps
    row = translator.encode_source(text)
    if not row:
        return job.align(text, Translation("", 0.0, 0.0, []))
    model: Any = translator.bundle.model
    source = encode_source_rows([row[: translator.max_source_tokens]], device=next(model.parameters()).device)
    with job.intervene([text]):
        best = decode_with_callback(
            model, source, job.config, lambda tokens: emit("partial", {"text": tokenizers.target.decode(tokens)})
        )
        if best is None:
            raise BatchCancelled
        is_truncated = len(row) > translator.max_source_tokens
        return job.align(text, replace(Translation.from_hypothesis(best, tokenizers.target), is_truncated=is_truncated))


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
