"""Which models and runs a path leads to."""

from pathlib import Path

import pytest

from regard.errors import RegardError
from regard.training.model_locations import find_models


def made(place: Path, *files: str) -> Path:
    for name in files:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("{}")
    return place


def test_model_has_the_name_of_its_run(tmp_path: Path) -> None:
    run = made(tmp_path / "runs" / "first", "model/manifest.json", "events.jsonl")
    for path in (run, run / "model"):
        [found] = find_models([path])
        assert (found.name, found.directory, found.run, found.is_required) == ("first", run / "model", run, True)


def test_model_without_run_has_its_own_name(tmp_path: Path) -> None:
    model = made(tmp_path / "export", "manifest.json")
    [found] = find_models([model])
    assert (found.name, found.run) == ("export", None)


def test_folder_lists_every_run_and_untrained_is_optional(tmp_path: Path) -> None:
    made(tmp_path, "b/model/manifest.json", "a/events.jsonl", "data/train.en")
    found = find_models([tmp_path])
    assert [(one.name, one.is_required) for one in found] == [("a", False), ("b", False)]


def test_future_run_may_be_named(tmp_path: Path) -> None:
    [found] = find_models([], [tmp_path / "later"])
    assert (found.name, found.directory) == ("later", tmp_path / "later" / "model")


def test_duplicates_are_listed_once_and_equal_names_distinguished(tmp_path: Path) -> None:
    one = made(tmp_path / "x" / "same", "model/manifest.json")
    other = made(tmp_path / "y" / "same", "model/manifest.json")
    found = find_models([one, other, one / "model"], [one])
    assert [(model.name, model.directory.parent) for model in found] == [("same", one), ("same-2", other)]


def test_a_path_without_a_model_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", made(tmp_path / "z", "file") / "file"):
        with pytest.raises(RegardError, match="has no model"):
            find_models([path])
