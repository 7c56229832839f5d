"""Translating for the queue: decoding ends at its next step when nobody wants the outputs any more."""

import pytest

from regard.inference.translator import Translator
from regard.server.batcher import BatchCancelled, TranslateJob
from tests.unit.inference.test_translator import ATTENDING, TRANSFORMER, bundle_of

TEXTS = ["ba be bi", "da", "de di ba be bi bo bu da"]


@pytest.mark.parametrize("model", [ATTENDING, TRANSFORMER], ids=["attending", "transformer"])
@pytest.mark.parametrize("patience", [1, 3, 10])
def test_decoding_ends_once_its_outputs_are_unwanted(model: object, patience: int) -> None:
    translator = Translator(bundle_of(model))  # type: ignore[arg-type]
    search = TranslateJob(
        translator, translator.decoding_config(beam_size=2, max_length_ratio=1.0, max_length_extra=40)
    )
    asked = []

    def is_wanted() -> bool:
        asked.append(True)
        return len(asked) < patience

    with pytest.raises(BatchCancelled):
        search.run(TEXTS, is_wanted)
    assert len(asked) == patience


def test_wanted_outputs_equal_the_translator_and_poll_steps() -> None:
    translator = Translator(bundle_of(TRANSFORMER))
    search = TranslateJob(translator, translator.decoding_config(beam_size=2))
    asked = []
    outputs = search.run(TEXTS, lambda: not asked.append(True))  # type: ignore[func-returns-value]
    assert [own[0].text for own in outputs] == [one.text for one in translator.translate(TEXTS, beam_size=2)]
    longest = max(len(one.tokens) for own in outputs for one in own)
    assert len(asked) >= longest
