"""Models that change while they are served."""

import shutil
from pathlib import Path

import pytest

from regard.bundle import load_bundle, save_bundle
from regard.serve import failures
from regard.serve.finding import find_models
from regard.serve.models import Models, ServedModel
from tests.language.small_language import make_language
from tests.serve.spoken import make_models
from tests.training.made_once import made_once


@pytest.fixture(scope="session")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory, _ = made_once(tmp_path_factory, "spoken", make_models)
    return directory


def test_a_new_version_is_tried_at_once_and_what_is_gone_does_not_fail(
    toys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures.time, "monotonic", lambda: 100.0)
    place = Path(shutil.copytree(toys / "there" / "model", tmp_path / "young" / "model"))
    (place / "weights.safetensors").write_bytes(b"x")
    models = Models(find_models([], [tmp_path / "young"]))
    [young] = models.all
    assert models.load_new()[0][1] is not None
    assert (young.is_stale, models.failing()) == (False, [young])
    place.rename(tmp_path / "away")
    assert (young.is_stale, models.failing()) == (False, [])
    save_bundle(place, load_bundle(toys / "there" / "model"))
    assert models.load_new() == [(young, None)]
    assert models.failing() == []


def test_a_model_of_another_kind_takes_the_place_of_the_one_before(
    toys: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    speaking, _ = made_once(tmp_path_factory, "language", make_language)
    place = Path(shutil.copytree(toys / "there" / "model", tmp_path / "young" / "model"))
    models = Models(find_models([], [tmp_path / "young"]))
    [young] = models.all
    for directory, takes in ((toys / "there" / "model", "text"), (speaking / "reader" / "model", "blanks")) * 2:
        save_bundle(place, load_bundle(directory))
        assert models.load_new() == [(young, None)]
        record = young.record()
        assert record is not None
        assert record.takes == takes
        assert (young.translator is None, young.language is None) == (takes == "blanks", takes == "text")


def test_a_model_that_can_be_seen_to_be_ready_is_not_to_be_loaded_again(toys: Path) -> None:
    found: list[bool] = []

    class Watched(ServedModel):
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)
            if name == "translator" and value is not None:
                found.append(self.is_stale or bool(self.failures))

    [there] = find_models([toys / "there"], [])
    watched = Watched(there)
    watched.failures.add("too early", None)
    watched.load()
    assert found == [False]
