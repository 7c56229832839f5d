"""Speaking for the APIs: languages are found, later sentences wait their turn, none is longer than a model reads."""

import asyncio
import threading
from pathlib import Path

import pytest

from regard.serve.batcher import Batcher
from regard.serve.finding import find_models
from regard.serve.limits import Limits
from regard.serve.models import Models
from regard.serve.refusals import Refusal
from regard.serve.safety import Keys
from regard.serve.search import Wish
from regard.serve.service import Service
from regard.serve.speaking import direct, voice
from tests.serve.spoken import make_models
from tests.training.made_once import made_once


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    directory, _ = made_once(tmp_path_factory, "spoken", make_models)
    models = Models(find_models([Path(directory) / name / "model" for name in ("there", "back")]))
    assert all(problem is None for _, problem in models.load_new())
    return models


def service_over(models: Models, limits: Limits) -> Service:
    return Service(models, limits, Keys([]), Batcher(limits, told=lambda _: None))


def test_a_busy_server_refuses_the_first_sentences_and_lets_the_later_wait(models: Models) -> None:
    async def run() -> None:
        limits = Limits(waiting_texts=1)
        service = service_over(models, limits)
        model = service.choose(source="en", target="ko")
        impatient, begun = (voice(service, model, Wish()) for _ in range(2))
        patient = voice(service, model, Wish(), is_patient=True)
        await begun.say(["one"], False)

        release = threading.Event()
        running = asyncio.ensure_future(service.batcher.alone(release.wait, cost=1))
        await asyncio.sleep(0.05)
        waiting = asyncio.ensure_future(service.batcher.alone(release.wait, cost=1))
        await asyncio.sleep(0)
        with pytest.raises(Refusal) as refused:
            await impatient.say(["two"], False)
        assert refused.value.status == 429
        later = [asyncio.ensure_future(one.say(["two"], False)) for one in (begun, patient)]
        await asyncio.sleep(0.05)
        assert not any(one.done() for one in later)
        release.set()
        assert [len(said) for said in await asyncio.gather(*later)] == [1, 1]
        await asyncio.gather(running, waiting)
        await service.batcher.close()

    asyncio.run(run())


def test_the_direction_is_found_or_taken(models: Models) -> None:
    service = service_over(models, Limits())
    assert direct(service, "two red cats", source=None, target="ko").model is models.named("there")
    assert direct(service, "고양이", source=None, target="EN-US").model is models.named("back")
    assert direct(service, "고양이", source="en_GB", target="KO").model is models.named("there")
    assert direct(service, "고양이", source=None, target="ko").model is None
    assert direct(service, "고양이", source="ko", target="ko").model is None


@pytest.mark.parametrize(("source", "target"), [(None, "ja"), ("ja", "ko"), ("ja", "ja"), ("en", "ja")])
def test_a_direction_that_no_model_has_is_refused(models: Models, source: str | None, target: str) -> None:
    with pytest.raises(Refusal) as refused:
        direct(service_over(models, Limits()), "one", source=source, target=target)
    assert refused.value.status == 400


def test_whether_a_sentence_fits_is_counted_in_tokens(models: Models) -> None:
    fits = voice(service_over(models, Limits()), models.named("there"), Wish()).fits
    assert fits("red " * 1024)
    assert not fits("red " * 1025)
    assert fits("r" * 5000)  # one unknown word
