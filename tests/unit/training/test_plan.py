"""A plan from a recipe, a config or a run; and `regard.train`, which runs it from Python."""

from pathlib import Path

import pytest

import regard
from regard.config import Config
from regard.errors import RegardError
from regard.files import CONFIG_FILE
from regard.training.events import (
    CheckpointSaved,
    TrainingEnded,
    TrainingEvent,
    TrainingStarted,
)
from regard.training.plan import TrainOptions, make_plan
from tests.support.toy_language import write_corpus

OVERRIDES = ("training.steps=4", "training.validate_every=4", "training.checkpoint_every=2", "training.threads=1")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("corpus")
    write_corpus(directory)
    return directory


def weights(run: Path) -> bytes:
    return (run / "checkpoints" / "step-00000004" / "model.safetensors").read_bytes()


def test_train_yields_events_from_a_recipe(corpus: Path, tmp_path: Path) -> None:
    events: list[TrainingEvent] = list(regard.train(corpus / "attending.toml", run=tmp_path / "a", overrides=OVERRIDES))
    assert isinstance(events[0], TrainingStarted)
    assert isinstance(events[-1], TrainingEnded)
    assert events[-1].step == 4
    assert regard.load(tmp_path / "a").languages == ("en", "ko")


def test_a_stopped_iterator_resumes_exactly(corpus: Path, tmp_path: Path) -> None:
    config = Config.load(corpus / "attending.toml", overrides=OVERRIDES)
    list(regard.train(config, run=tmp_path / "whole"))
    for event in regard.train(config, run=tmp_path / "stopped"):
        if isinstance(event, CheckpointSaved):
            break
    events = list(regard.train(config, run=tmp_path / "stopped", resume=True))
    assert events[0].step == 2
    assert weights(tmp_path / "stopped") == weights(tmp_path / "whole")


def test_a_run_is_not_overwritten(corpus: Path, tmp_path: Path) -> None:
    config = Config.load(corpus / "attending.toml", overrides=OVERRIDES)
    list(regard.train(config, run=tmp_path / "run"))
    with pytest.raises(RegardError, match="holds a run already"):
        next(regard.train(config, run=tmp_path / "run"))


def test_plans_name_their_run_and_config(corpus: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    plan = make_plan(TrainOptions(corpus / "transformer.toml", overrides=OVERRIDES))
    assert plan.run == Path("runs/transformer")
    assert plan.config.training.steps == 4
    assert not (plan.run / CONFIG_FILE).exists()


def test_an_unknown_recipe_lists_those_that_exist(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="world-transformer"):
        next(regard.train("world-transfomer", run=tmp_path))
