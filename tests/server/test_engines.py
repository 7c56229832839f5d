"""Who translates for the server: the engine asked for, with the model at hand for all that the engine cannot do."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from benchmarks.http_load import serving

from regard.bundle import load_bundle, save_bundle
from regard.config import Config
from regard.inference.open import load
from regard.inference.translator import Translation, Translator
from regard.interop.ctranslate2 import export_ctranslate2
from regard.server.batcher import DecodeRequest
from regard.server.limits import Limits
from regard.server.models import ModelRegistry, ServedModel
from regard.training.model_locations import find_models
from tests.support.api_server import make_models
from tests.support.shared_results import build_once

pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed")

TEXTS = ["one red cat", "two big dogs", "red red red"]


@pytest.fixture
def model(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Path:
    """A model of its own: what an engine runs is kept inside it."""
    directory, _ = build_once(tmp_path_factory, "translators", make_models)
    return Path(shutil.copytree(directory / "there" / "model", tmp_path / "run" / "model"))


def loaded(models: ModelRegistry) -> ServedModel:
    [(one, problem)] = models.load_changed()
    assert problem is None
    return one


def change(model: Path, *settings: str) -> None:
    """Save the model again with another config."""
    bundle = load_bundle(model)
    save_bundle(model, replace(bundle, config=Config.from_toml(bundle.config.to_toml(), overrides=settings)))


def aligned(served: ServedModel) -> list[Translation]:
    return [output for [output] in served.translate_job(DecodeRequest(align=True), Limits()).run(TEXTS)]


def test_default_engine_equals_torch_and_keeps_attention(model: Path) -> None:
    plain, quick = (loaded(ModelRegistry(find_models([model]), engine=engine)) for engine in ("torch", "auto"))
    assert (plain.engine, quick.engine) == ("torch", "ctranslate2, float32")
    assert quick.require(Translator).engine.name == "ctranslate2"
    for one, other in zip(aligned(plain), aligned(quick), strict=True):
        assert one.text == other.text
        assert one.alignment is not None
        assert other.alignment is not None
        assert one.alignment.links == other.alignment.links
    assert quick.record() == plain.record()


def test_decoding_follows_the_model_in_use(model: Path) -> None:
    """A request can come after a new model is read and before it is in use."""
    models = ModelRegistry(find_models([model]), engine="torch")
    served = loaded(models)
    first = served.translate_job(DecodeRequest(), Limits())
    change(model, "decoding.length_penalty=0.25")
    served.pipeline = load(model, task="translation", engine="torch")
    assert served.translate_job(DecodeRequest(), Limits()).config.length_penalty == 0.25 != first.config.length_penalty


def test_changed_model_changes_for_the_engine_too(model: Path) -> None:
    models = ModelRegistry(find_models([model]), engine="ctranslate2")
    first = loaded(models).require(Translator)
    assert models.load_changed() == []  # what was kept inside the model does not make it another
    change(model, 'data.languages=["en", "de"]')
    second = loaded(models)
    assert second.languages == ("en", "de")
    assert second.require(Translator).engine is not first.engine


def test_auto_falls_back_to_torch_but_ctranslate2_fails(model: Path) -> None:
    change(model, "decoding.do_sample=true")
    served = loaded(ModelRegistry(find_models([model]), engine="auto"))
    assert served.engine.startswith("torch (decoding.do_sample is true")
    assert served.require(Translator).engine.name == "torch"
    [(_, problem)] = ModelRegistry(find_models([model]), engine="ctranslate2").load_changed()
    assert "the ctranslate2 engine cannot run" in str(problem)


def test_export_serves_the_engine_it_was_made_for(model: Path, tmp_path: Path) -> None:
    export_ctranslate2(load_bundle(model), tmp_path / "export", quantization="int8")
    assert loaded(ModelRegistry(find_models([tmp_path / "export"]), engine="auto")).engine == "ctranslate2, int8"
    [(_, problem)] = ModelRegistry(find_models([tmp_path / "export"]), engine="torch").load_changed()
    assert "is an export for ctranslate2" in str(problem)


def test_int8_on_request_traces_its_own_output(model: Path, tmp_path: Path) -> None:
    with serving([model], tmp_path / "log", "--quantization", "int8") as server:

        def post(path: str, **asked: object) -> httpx.Response:
            return httpx.post(f"{server.url}/api/v1/{path}", json=asked, timeout=60)

        for text in TEXTS:
            [[found]] = post("translate", texts=[text], align=True).json()["translations"]
            trace = post("traces", text=text).json()
            assert trace["translation"] == found
            assert trace["text"] == found["text"]
            assert post("stream", text=text).text.count("event: partial") > 1
        [ready] = [line for line in map(json.loads, server.log.read_text().splitlines()) if "engine" in line]
    assert (ready["message"], ready["engine"]) == ("a model is ready", "ctranslate2, int8")
