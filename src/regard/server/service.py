"""What every API calls: models, limits, keys, the queue, and texts translated by language pair.

A handler in `regard.server.api` turns a request into calls of a `Service`, and the results into the JSON of its API.
What a service cannot do raises `ApiError`.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from regard.documents import (
    Segment,
    SentenceTranslator,
    Template,
    plain_text_template,
    read_document,
    translate,
    translate_joined,
)
from regard.inference.translator import Translation, Translator
from regard.languages import base_code, detect_language
from regard.server.auth import ApiKeys
from regard.server.batcher import RETRY_SECONDS, Batcher, DecodeRequest
from regard.server.document_jobs import DocumentJob, DocumentJobs, result_name
from regard.server.errors import ApiError
from regard.server.limits import Limits, RateLimiter
from regard.server.models import ModelRegistry, ServedModel

MAX_TOKENS_PER_CHARACTER = 4

# How many times as likely as any other language the target must be for a text to stay untranslated: a client that
# requests a translation seldom has it already. benchmarks/detection.py prints the errors for other numbers.
TARGET_ODDS = 9

Component = TypeVar("Component")


@dataclass(frozen=True)
class LanguagePair:
    """Source and target of a model, as language codes such as "en" and "ko"."""

    source: str
    target: str


@dataclass(frozen=True)
class LanguageDirection:
    """The source language of a text and the model that translates it; None if it is in the target language already."""

    source: str
    confidence: float  # from 0 to 1
    model: ServedModel | None


@dataclass(frozen=True)
class TranslatedText:
    """The translations of a text, the best first."""

    direction: LanguageDirection
    texts: list[str]


class Service:
    """The parts of the server, and the operations that the APIs share."""

    def __init__(
        self,
        models: ModelRegistry,
        limits: Limits,
        keys: ApiKeys,
        batcher: Batcher,
        components: Iterable[object] = (),
    ) -> None:
        self.models = models
        self.limits = limits
        self.keys = keys
        self.batcher = batcher
        self.jobs = DocumentJobs()
        self.rate_limiter = RateLimiter(limits)
        self.characters: Counter[int | None] = Counter()  # translated through DeepL's API, by key
        self.is_draining = False
        self._components = {type(one): one for one in components}

    def component(self, kind: type[Component]) -> Component:
        """The instance of a class that only some endpoints need, such as a cache."""
        component = self._components[kind]
        assert isinstance(component, kind)  # noqa: S101  (for the type checker)
        return component

    @property
    def is_ready(self) -> bool:
        """Whether the server admits requests and at least one model is ready."""
        return not self.is_draining and any(one.is_ready for one in self.models.all)

    def pairs(self) -> list[LanguagePair]:
        """The language pairs of the ready translators, each once, in the order of the models."""
        found = [LanguagePair(*one.languages) for one in self.models.ready() if all(one.languages)]
        return list(dict.fromkeys(found))

    def languages(self) -> list[str]:
        """Every language that is a source or a target, each once."""
        return list(dict.fromkeys(base_code(code) for pair in self.pairs() for code in (pair.source, pair.target)))

    async def detect(self, text: str) -> list[tuple[str, float]]:
        """The served languages with the confidence, from 0 to 1, that the text is in them, the most likely first."""
        if not self.models.ready():
            raise self.models.not_ready_error()
        return await asyncio.to_thread(detect_language, text, sorted(self.languages()))

    async def translate_with(
        self, model: ServedModel, texts: list[str], options: DecodeRequest
    ) -> list[list[Translation]]:
        """For each text, as one sentence, its best translations by the model."""
        self.limits.check_texts(texts)
        outputs: list[list[Translation]] = await self.batcher.submit(model.translate_job(options, self.limits), texts)
        return outputs

    async def translate_split(self, model: ServedModel, texts: list[str], options: DecodeRequest) -> list[Translation]:
        """For each text its translation by the model, sentence by sentence."""
        self.limits.check_texts(texts)
        templates = [plain_text_template(text) for text in texts]
        return await translate_joined(templates, self.sentence_translator(model, options))

    async def translate(
        self,
        texts: list[str],
        *,
        source: str | None,
        target: str,
        read: Callable[[str], Template],
        options: DecodeRequest,
    ) -> list[TranslatedText]:
        """Each text by the model for its language pair; without a source, its language is detected."""
        self.limits.check_texts(texts)
        self.limits.choose_beam_size(1, None, options.nbest)  # raises for too many, also if nothing is translated
        directions = await self.choose_directions(texts, source=source, target=target)
        translated = [TranslatedText(one, [text] * options.nbest) for text, one in zip(texts, directions, strict=True)]
        for model in dict.fromkeys(direction.model for direction in directions):
            if model is None:
                continue
            indices = [index for index, direction in enumerate(directions) if direction.model is model]
            templates = [read(texts[index]) for index in indices]
            outputs = await translate(templates, self.sentence_translator(model, options))
            for index, own in zip(indices, outputs, strict=True):
                translated[index] = TranslatedText(directions[index], own)
        return translated

    async def choose_directions(
        self, texts: Sequence[str], *, source: str | None, target: str
    ) -> list[LanguageDirection]:
        """The language direction of each text; detection runs in a thread."""

        if not self.models.ready():
            raise self.models.not_ready_error()
        if source is not None:
            found = [(source, 1.0)] * len(texts)
        else:
            into = [pair for pair in self.pairs() if base_code(pair.target) == base_code(target)]
            if not into:
                raise ApiError(400, "no_target", "No model translates into the target language. See GET /languages.")
            known = [code for pair in into for code in (pair.source, pair.target)]
            found = await asyncio.to_thread(lambda: [detect_source(text, known, target) for text in texts])
        is_target = base_code(target) in self.languages()
        return [
            LanguageDirection(
                code,
                confidence,
                None
                if is_target and base_code(code) == base_code(target)
                else self.models.choose(source=code, target=target),
            )
            for code, confidence in found
        ]

    async def start_document(self, name: str, content: bytes, *, source: str | None, target: str) -> DocumentJob:
        """Start to translate a file in the background."""
        document = await asyncio.to_thread(read_document, name, content)
        text = " ".join(piece.text for piece in document if isinstance(piece, Segment))
        [direction] = await self.choose_directions([text], source=source, target=target)

        async def work(job: DocumentJob) -> str:
            if direction.model is None:
                return "".join(piece if isinstance(piece, str) else piece.raw for piece in document)
            translator = self.sentence_translator(direction.model, DecodeRequest(), is_background=True)
            return (await translate([document], translator, progress=job.report_progress))[0][0]

        job = self.jobs.start(result_name(name, base_code(target)), work)
        job.characters = len(text)
        return job

    def sentence_translator(
        self, model: ServedModel, options: DecodeRequest, *, is_background: bool = False
    ) -> SentenceTranslator:
        """The model as a translator of the sentences of documents.

        If the queue is full, the first batch of a document is refused; later ones wait. In the background every batch
        waits.
        """
        has_begun = False

        async def translate(sentences: list[str], is_aligned: bool) -> list[list[Translation]]:
            nonlocal has_begun
            job = model.translate_job(replace(options, align=is_aligned), self.limits)
            if is_background:
                return await self.batcher.submit_background(job, sentences)
            while has_begun and self.batcher.is_full:
                await asyncio.sleep(RETRY_SECONDS)
            outputs: list[list[Translation]] = await self.batcher.submit(job, sentences)
            has_begun = True
            return outputs

        translator = model.require(Translator)
        encode, longest = translator.encode_source, translator.max_source_tokens

        def fits(sentence: str) -> bool:  # within the model's maximum length; a short one need not be tokenised
            return MAX_TOKENS_PER_CHARACTER * len(sentence) < longest or len(encode(sentence)) <= longest

        return SentenceTranslator(translate, fits, model.translate_job(options, self.limits).batch_size)


def detect_source(
    text: str, known: Sequence[str], target: str, *, target_odds: float = TARGET_ODDS
) -> tuple[str, float]:
    """The most likely language other than the target, with its confidence; the target only if it is far more likely."""
    found = detect_language(text, list(dict.fromkeys(known)))
    own = next(one for one in found if base_code(one[0]) == base_code(target))
    others = [one for one in found if base_code(one[0]) != base_code(target)]
    return own if not others or own[1] > target_odds * others[0][1] else others[0]
