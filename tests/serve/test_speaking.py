"""Speaking for the APIs: languages are found, later sentences wait their turn, none is longer than a model reads."""

import asyncio
import threading
from pathlib import Path

import pytest

from regard.serve.batcher import Batcher
from regard.serve.documents import plain, translate
from regard.serve.finding import find_models
from regard.serve.limits import Limits
from regard.serve.models import Models
from regard.serve.refusals import Refusal
from regard.serve.safety import Keys
from regard.serve.search import BUDGET, Wish
from regard.serve.service import Service
from regard.serve.speaking import direct, language_of, voice
from tests.cli.toy import renamed
from tests.serve.spoken import make_models
from tests.training.made_once import made_once


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    directory, _ = made_once(tmp_path_factory, "spoken", make_models)
    models = Models(find_models([Path(directory) / name / "model" for name in ("there", "back")]))
    assert all(problem is None for _, problem in models.load_new())
    return models


@pytest.fixture(scope="module")
def neighbours(models: Models, tmp_path_factory: pytest.TempPathFactory) -> Models:
    """Models into German, from German itself and from a language of the same script."""
    run, place = models.named("there").directory.parent, tmp_path_factory.mktemp("neighbours")
    languages = {"german": '["de", "de"]', "english": '["en", "de"]'}
    neighbours = Models(find_models([renamed(run, place / name, pair) for name, pair in languages.items()]))
    assert all(problem is None for _, problem in neighbours.load_new())
    return neighbours


@pytest.fixture(scope="module")
def regional(models: Models, tmp_path_factory: pytest.TempPathFactory) -> Models:
    """Models whose languages have regions."""
    run, place = models.named("there").directory.parent, tmp_path_factory.mktemp("regional")
    codes = {"cn": "zh-CN", "tw": "zh_tw", "br": "pt_BR"}
    regional = Models(find_models([renamed(run, place / name, f'["en", "{code}"]') for name, code in codes.items()]))
    assert all(problem is None for _, problem in regional.load_new())
    return regional


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
        while not service.batcher.is_busy:
            await asyncio.sleep(0.001)
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


def test_of_all_files_no_more_than_a_batch_is_in_the_queue(models: Models) -> None:
    lines = [f"{'red ' * 100}{'big ' * number}" for number in range(20)]

    async def run() -> None:
        service = service_over(models, Limits())
        model, release = service.choose(source="en", target="ko"), threading.Event()
        running = asyncio.ensure_future(service.batcher.alone(release.wait, cost=1))
        while not service.batcher.is_busy:
            await asyncio.sleep(0.001)
        voices = [voice(service, model, Wish(beam=2), is_patient=True) for _ in range(4)]
        files = [asyncio.ensure_future(translate([plain("\n".join(lines))], one)) for one in voices]
        while not service.batcher.waiting:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.05)  # for more, which must not come
        waiting, cost = len(service.batcher.waiting), service.batcher.waiting_cost
        release.set()
        assert 1 < waiting < len(lines)
        assert cost <= BUDGET
        said = [outputs[0] for [outputs] in await asyncio.gather(*files)]
        assert said[0].count("\n") == len(lines) - 1
        assert said == said[:1] * 4
        await running
        await service.batcher.close()

    asyncio.run(run())


def test_the_direction_is_found_or_taken(models: Models) -> None:
    service = service_over(models, Limits())
    assert direct(service, "two red cats", source=None, target="ko").model is models.named("there")
    assert direct(service, "고양이", source=None, target="EN-US").model is models.named("back")
    assert direct(service, "고양이", source="en_GB", target="KO").model is models.named("there")
    assert direct(service, "고양이", source=None, target="ko").model is None
    assert direct(service, "고양이", source="ko", target="ko").model is None


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
def test_a_text_is_left_as_it_is_only_where_it_is_surely_in_the_target(
    text: str, name: str | None, neighbours: Models
) -> None:
    direction = direct(service_over(neighbours, Limits()), text, source=None, target="DE")
    assert (direction.model and direction.model.name) == name


def test_where_only_the_target_is_known_a_text_is_left_as_it_is() -> None:
    assert language_of("A man sitting on a bench", ["de", "de-AT"], "de")[0] in ("de", "de-AT")


@pytest.mark.parametrize(
    ("target", "name"),
    [("zh", "cn"), ("ZH-HANS", "cn"), ("zh_TW", "tw"), ("ZH-CN", "cn"), ("pt", "br"), ("pt-BR", "br"), ("PT", "br")],
)
def test_a_language_is_found_with_its_region_or_else_without(target: str, name: str, regional: Models) -> None:
    assert direct(service_over(regional, Limits()), "one", source="en", target=target).model is regional.named(name)


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
