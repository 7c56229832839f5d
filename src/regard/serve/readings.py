"""How well every head aligns, measured once for each model against sentences whose links are known."""

import asyncio

import msgspec

from regard.serve.gold import Gold, GoldFiles
from regard.serve.models import ServedModel
from regard.serve.refusals import Refusal
from regard.translation.alignment import Reading, score_readings
from regard.translation.translator import Translator


class ReadingRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A way to read links off the attention, and its alignment error rate; None for a layer or head: their mean."""

    layer: int | None
    head: int | None
    when_read: bool
    error: float


class ReadingsAnswer(msgspec.Struct, frozen=True):
    """All ways, the best first."""

    readings: list[ReadingRecord]


class Readings:
    """The measurements, each made once, in a thread of its own."""

    def __init__(self, gold: GoldFiles) -> None:
        self.gold = gold
        self._measured: dict[str, tuple[Translator, asyncio.Task[ReadingsAnswer]]] = {}

    async def of(self, model: ServedModel) -> ReadingsAnswer:
        """The measurement of a model; from then on its alignments are read in the best way."""
        translator = model.inspected
        known = self._measured.get(model.name)
        if known is None or known[0] is not translator:
            known = (translator, asyncio.ensure_future(self._measure(model, translator)))
            self._measured[model.name] = known
        try:
            return await asyncio.shield(known[1])
        except Exception:
            self._measured.pop(model.name, None)  # what was missing may be there when it is asked for again
            raise

    async def _measure(self, model: ServedModel, translator: Translator) -> ReadingsAnswer:
        if not model.has_cross_attention:
            raise Refusal(409, "no_attention", "In this model the target does not look at the source.")
        gold = await asyncio.to_thread(lambda: self.gold.of(model.languages).measured())
        if not gold.sources:
            raise Refusal(409, "no_gold", "There are no gold links for these languages. Start with --gold PREFIX.")
        answer = await asyncio.to_thread(_scored, translator, gold)
        best = answer.readings[0]
        if model.translator is translator:  # and no newer one, loaded meanwhile
            model.reading = Reading(best.layer, best.head, best.when_read)
        return answer


def _scored(translator: Translator, gold: Gold) -> ReadingsAnswer:
    scored = score_readings(translator.bundle, gold.sources, gold.targets, gold.links)
    return ReadingsAnswer(
        [
            ReadingRecord(layer=reading.layer, head=reading.head, when_read=reading.when_read, error=score.error)
            for reading, score in scored
        ]
    )
