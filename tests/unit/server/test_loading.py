"""Models that change while they are served."""

import shutil
from pathlib import Path

import pytest

from regard.bundle import load_bundle, new_bundle, save_bundle
from regard.config import Config, EncoderOnlyConfig, TransformerStackConfig
from regard.inference.mask_filler import MaskFiller
from regard.server import models as models_module
from regard.server.models import ModelRegistry, ServedModel
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair
from regard.training.model_locations import find_models
from tests.support.api_server import make_models
from tests.support.shared_results import build_once
from tests.support.small_language import make_language


@pytest.fixture(scope="session")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory, _ = build_once(tmp_path_factory, "translators", make_models)
    return directory


def test_new_version_is_tried_at_once(toys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models_module.time, "monotonic", lambda: 100.0)
    place = Path(shutil.copytree(toys / "there" / "model", tmp_path / "young" / "model"))
    (place / "model.safetensors").write_bytes(b"x")
    models = ModelRegistry(find_models([], [tmp_path / "young"]))
    [young] = models.all
    assert models.load_changed()[0][1] is not None
    assert (young.is_stale, models.failing()) == (False, [young])
    place.rename(tmp_path / "away")
    assert (young.is_stale, models.failing()) == (False, [])
    save_bundle(place, load_bundle(toys / "there" / "model"))
    assert models.load_changed() == [(young, None)]
    assert models.failing() == []


def test_model_for_another_task_replaces_the_first(
    toys: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    speaking, _ = build_once(tmp_path_factory, "language", make_language)
    place = Path(shutil.copytree(toys / "there" / "model", tmp_path / "young" / "model"))
    models = ModelRegistry(find_models([], [tmp_path / "young"]))
    [young] = models.all
    for directory, takes in (
        (toys / "there" / "model", "translation"),
        (speaking / "reader" / "model", "fill-mask"),
    ) * 2:
        save_bundle(place, load_bundle(directory))
        assert models.load_changed() == [(young, None)]
        record = young.record()
        assert record is not None
        assert record.task == takes
        assert young.pipeline is not None
        assert young.pipeline.task == takes


def test_encoder_without_a_head_is_served(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train(["a small house"], model_type="word", vocab_size=12)
    stack = TransformerStackConfig(layers=1, width=8, heads=2, ffn_width=8)
    config = Config(model=EncoderOnlyConfig(transformer=stack, masked_head=False))
    save_bundle(tmp_path / "vectors" / "model", new_bundle(config, TokenizerPair(tokenizer, tokenizer)))
    models = ModelRegistry(find_models([], [tmp_path / "vectors"]))
    [vectors] = models.all
    assert models.load_changed() == [(vectors, None)]
    record = vectors.record()
    assert record is not None
    assert (record.task, record.fills_masks) == ("fill-mask", False)
    trace = vectors.require(MaskFiller).trace("a house")
    assert trace.layers
    assert trace.prediction is None


def test_ready_model_is_never_stale(toys: Path) -> None:
    found: list[bool] = []

    class Watched(ServedModel):
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)
            if name == "pipeline" and value is not None:
                found.append(self.is_stale or bool(self.failures))

    [there] = find_models([toys / "there"], [])
    watched = Watched(there)
    watched.failures.add("too early", None)
    watched.load()
    assert found == [False]
