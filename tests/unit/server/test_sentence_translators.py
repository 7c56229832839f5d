"""The service: language directions, and documents translated sentence by sentence through the queue."""

import asyncio
import threading
from pathlib import Path

import pytest

from regard.documents.template import plain_text_template
from regard.documents.translate import translate
from regard.server.auth import ApiKeys
from regard.server.batcher import BATCH_TOKEN_BUDGET, Batcher, DecodeRequest
from regard.server.errors import ApiError
from regard.server.limits import Limits
from regard.server.models import ModelRegistry
from regard.server.service import LanguageDirection, Service, detect_source
from regard.training.model_locations import find_models
from tests.support.api_server import make_models
from tests.support.shared_results import build_once
from tests.support.toy_language import with_languages


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> ModelRegistry:
    directory, _ = build_once(tmp_path_factory, "translators", make_models)
    models = ModelRegistry(find_models([Path(directory) / name / "model" for name in ("there", "back")]))
    while loaded := models.load_changed():
        assert all(problem is None for _, problem in loaded)
    return models


@pytest.fixture(scope="module")
def neighbours(models: ModelRegistry, tmp_path_factory: pytest.TempPathFactory) -> ModelRegistry:
    """Models into German, from German itself and from a language of the same script."""
    run, place = models.get("there").directory.parent, tmp_path_factory.mktemp("neighbours")
    languages = {"german": '["de", "de"]', "english": '["en", "de"]'}
    neighbours = ModelRegistry(
        find_models([with_languages(run, place / name, pair) for name, pair in languages.items()])
    )
    while loaded := neighbours.load_changed():
        assert all(problem is None for _, problem in loaded)
    return neighbours


@pytest.fixture(scope="module")
def regional(models: ModelRegistry, tmp_path_factory: pytest.TempPathFactory) -> ModelRegistry:
    """Models whose languages have regions."""
    run, place = models.get("there").directory.parent, tmp_path_factory.mktemp("regional")
    codes = {"cn": "zh-CN", "tw": "zh_tw", "br": "pt_BR"}
    regional = ModelRegistry(
        find_models([with_languages(run, place / name, f'["en", "{code}"]') for name, code in codes.items()])
    )
    while loaded := regional.load_changed():
        assert all(problem is None for _, problem in loaded)
    return regional


def service_over(models: ModelRegistry, limits: Limits) -> Service:
    return Service(models, limits, ApiKeys([]), Batcher(limits, on_batch=lambda _: None))


def direction_of(service: Service, text: str, *, source: str | None, target: str) -> LanguageDirection:
    [direction] = asyncio.run(service.choose_directions([text], source=source, target=target))
    return direction


def test_full_queue_refuses_only_the_first_sentences(models: ModelRegistry) -> None:
    async def run() -> None:
        limits = Limits(max_queue=1)
        service = service_over(models, limits)
        model = service.models.choose(source="en", target="ko")
        impatient, begun = (service.sentence_translator(model, DecodeRequest()) for _ in range(2))
        patient = service.sentence_translator(model, DecodeRequest(), is_background=True)
        await begun.translate(["one"], False)

        release = threading.Event()
        running = asyncio.ensure_future(service.batcher.run_exclusive(lambda: release.wait(60), cost=1))
        while not service.batcher.is_busy:
            await asyncio.sleep(0.001)
        waiting = asyncio.ensure_future(service.batcher.run_exclusive(lambda: release.wait(60), cost=1))
        await asyncio.sleep(0)
        with pytest.raises(ApiError) as refused:
            await impatient.translate(["two"], False)
        assert refused.value.status == 429
        later = [asyncio.ensure_future(one.translate(["two"], False)) for one in (begun, patient)]
        await asyncio.sleep(0.05)
        assert not any(one.done() for one in later)
        release.set()
        assert [len(output) for output in await asyncio.gather(*later)] == [1, 1]
        await asyncio.gather(running, waiting)
        await service.batcher.close()

    asyncio.run(run())


def test_documents_queue_at_most_one_batch(models: ModelRegistry) -> None:
    lines = [f"{'red ' * 100}{'big ' * number}" for number in range(20)]

    async def run() -> None:
        service = service_over(models, Limits())
        model, release = service.models.choose(source="en", target="ko"), threading.Event()
        running = asyncio.ensure_future(service.batcher.run_exclusive(lambda: release.wait(60), cost=1))
        while not service.batcher.is_busy:
            await asyncio.sleep(0.001)
        translators = [
            service.sentence_translator(model, DecodeRequest(beam_size=2), is_background=True) for _ in range(4)
        ]
        files = [asyncio.ensure_future(translate([plain_text_template("\n".join(lines))], one)) for one in translators]
        while not service.batcher.waiting:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.05)  # for more, which must not come
        waiting, cost = len(service.batcher.waiting), service.batcher.waiting_cost
        release.set()
        assert 1 < waiting < len(lines)
        assert cost <= BATCH_TOKEN_BUDGET
        output = [outputs[0] for [outputs] in await asyncio.gather(*files)]
        assert output[0].count("\n") == len(lines) - 1
        assert output == output[:1] * 4
        await running
        await service.batcher.close()

    asyncio.run(run())


def test_direction_is_detected_or_given(models: ModelRegistry) -> None:
    service = service_over(models, Limits())
    assert direction_of(service, "two red cats", source=None, target="ko").model is models.get("there")
    assert direction_of(service, "고양이", source=None, target="EN-US").model is models.get("back")
    assert direction_of(service, "고양이", source="en_GB", target="KO").model is models.get("there")
    assert direction_of(service, "고양이", source=None, target="ko").model is None
    assert direction_of(service, "고양이", source="ko", target="ko").model is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("A man sitting on a bench under a large tree.", "english"),
        ("Tom was wide awake.", "english"),
        ("12345", "english"),
        ("Ein Mann sitzt auf einer Bank unter einem großen Baum.", None),
        ("Ich habe gestern meinen alten Freund getroffen.", None),
    ],
)
def test_text_in_the_target_stays_untranslated(text: str, name: str | None, neighbours: ModelRegistry) -> None:
    direction = direction_of(service_over(neighbours, Limits()), text, source=None, target="DE")
    assert (direction.model and direction.model.name) == name


def test_only_configured_language_is_the_source() -> None:
    assert detect_source("A man sitting on a bench", ["de", "de-AT"], "de")[0] in ("de", "de-AT")


@pytest.mark.parametrize(
    ("target", "name"),
    [("zh", "cn"), ("ZH-HANS", "cn"), ("zh_TW", "tw"), ("ZH-CN", "cn"), ("pt", "br"), ("pt-BR", "br"), ("PT", "br")],
)
def test_closest_region_is_chosen(target: str, name: str, regional: ModelRegistry) -> None:
    assert direction_of(service_over(regional, Limits()), "one", source="en", target=target).model is regional.get(name)


@pytest.mark.parametrize(("source", "target"), [(None, "ja"), ("ja", "ko"), ("ja", "ja"), ("en", "ja")])
def test_unsupported_direction_is_refused(models: ModelRegistry, source: str | None, target: str) -> None:
    with pytest.raises(ApiError) as refused:
        direction_of(service_over(models, Limits()), "one", source=source, target=target)
    assert refused.value.status == 400


def test_sentence_length_is_counted_in_tokens(models: ModelRegistry) -> None:
    fits = service_over(models, Limits()).sentence_translator(models.get("there"), DecodeRequest()).fits
    assert fits("red " * 1024)
    assert not fits("red " * 1025)
    assert fits("r" * 5000)  # one unknown word
