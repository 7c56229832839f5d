"""What the APIs have in common: languages found or taken, a model for each text, texts in sentences."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from starlette.requests import Request

from regard.serve.batcher import WHILE
from regard.serve.detection import detect
from regard.serve.documents import Template, Voice, translate
from regard.serve.languages import base_code
from regard.serve.leaving import unless_client_leaves
from regard.serve.models import ServedModel
from regard.serve.refusals import Refusal
from regard.serve.search import Wish
from regard.serve.service import Service
from regard.translation.lines import Translation

Result = TypeVar("Result")
BYTES_OF_CHARACTER = 4  # at most, and so many tokens at most
# Times as likely as any other language must the target be for a text to be left as it is: whoever asks for a
# translation has seldom got it already. benchmarks/detection.py prints what other numbers would cost.
SURE = 99


@dataclass(frozen=True)
class Direction:
    """From which language a text is translated, and by which model; None where it is in the target language already."""

    source: str
    confidence: float  # from 0 to 1
    model: ServedModel | None


@dataclass(frozen=True)
class Outcome:
    """The translations of a text, the best first."""

    direction: Direction
    texts: list[str]


def direct(service: Service, text: str, *, source: str | None, target: str) -> Direction:
    """The direction for a text; without a source, from the language that it is taken to be in."""
    service.check_ready()
    confidence = 1.0
    if source is None:
        into = [pair for pair in service.pairs() if base_code(pair.target) == base_code(target)]
        if not into:
            raise Refusal(400, "no_target", "Nothing is translated into the target language here.")
        source, confidence = language_of(text, [code for pair in into for code in (pair.source, pair.target)], target)
    if base_code(source) == base_code(target) and base_code(target) in languages(service):
        return Direction(source, confidence, None)
    return Direction(source, confidence, service.choose(source=source, target=target))


def language_of(text: str, known: Sequence[str], target: str, *, sure: float = SURE) -> tuple[str, float]:
    """The likeliest of the known languages that is not the target, with its confidence; the target if that is sure."""
    found = detect(text, list(dict.fromkeys(known)))
    own = next(one for one in found if base_code(one[0]) == base_code(target))
    others = [one for one in found if base_code(one[0]) != base_code(target)]
    return own if not others or own[1] > sure * others[0][1] else others[0]


async def direct_all(service: Service, texts: list[str], *, source: str | None, target: str) -> list[Direction]:
    """The direction for each text; finding out languages takes a while, during which others are answered."""
    found = [partial(direct, service, text, source=source, target=target) for text in texts]
    return [one() for one in found] if source else await asyncio.to_thread(lambda: [one() for one in found])


def languages(service: Service) -> list[str]:
    """Every language that is translated from or into, each once."""
    return list(dict.fromkeys(base_code(code) for pair in service.pairs() for code in (pair.source, pair.target)))


async def translate_texts(
    service: Service,
    texts: Sequence[str],
    directions: Sequence[Direction],
    *,
    read: Callable[[str], Template],
    wish: Wish,
) -> list[Outcome]:
    """Each text in its direction; those of one model together."""
    outcomes = [Outcome(direction, [text] * wish.nbest) for text, direction in zip(texts, directions, strict=True)]
    for model in dict.fromkeys(direction.model for direction in directions):
        if model is None:
            continue
        places = [place for place, direction in enumerate(directions) if direction.model is model]
        said = await translate([read(texts[place]) for place in places], voice(service, model, wish))
        for place, outputs in zip(places, said, strict=True):
            outcomes[place] = Outcome(directions[place], outputs)
    return outcomes


async def in_time(service: Service, request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """The work's result, unless the client leaves or the deadline passes."""
    try:
        async with asyncio.timeout(service.limits.deadline):
            return await unless_client_leaves(request, work)
    except TimeoutError:
        raise Refusal(
            503, "too_late", "The answer was not ready in time. Send less at a time.", retry_after=5
        ) from None


def voice(service: Service, model: ServedModel, wish: Wish, *, is_patient: bool = False) -> Voice:
    """A model as what says sentences.

    A busy server refuses the first of them, unless the voice is patient; once some have been said, the rest waits.
    """
    has_begun = False

    async def say(sentences: list[str], is_aligned: bool) -> list[list[Translation]]:
        nonlocal has_begun
        search = model.search(replace(wish, alignments=is_aligned), service.limits)
        if is_patient:
            return await service.batcher.submit_patiently(search, sentences)
        while True:
            try:
                said: list[list[Translation]] = await service.batcher.submit(search, sentences)
            except Refusal as refusal:
                if not has_begun or refusal.status != 429:
                    raise
                await asyncio.sleep(WHILE)
            else:
                has_begun = True
                return said

    return Voice(say, _fitting(model), model.search(wish, service.limits).together)


def _fitting(model: ServedModel) -> Callable[[str], bool]:
    """Whether a sentence is within what the model reads; short ones need not be cut into tokens."""
    encode = model.loaded.tokenizers.source.encode
    longest = model.loaded.longest

    def fits(sentence: str) -> bool:
        return BYTES_OF_CHARACTER * len(sentence) < longest or len(encode(sentence)) <= longest

    return fits


def check_key(service: Service, request: Request, *, given: object = None) -> None:
    """Refuse a request without a valid key with 403, as both LibreTranslate and DeepL do."""
    try:
        service.check_key(request, given=given if isinstance(given, str) else None)
    except Refusal as refusal:
        raise Refusal(403, refusal.code, refusal.message) from None
