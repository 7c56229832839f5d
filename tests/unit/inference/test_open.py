"""Which engine a directory is opened with, what is kept for the next time, and the error when it cannot be."""

import os
from hashlib import sha256
from pathlib import Path

import pytest
import torch

import regard
from regard import bundle as bundle_module
from regard.bundle import Bundle, new_bundle, save_bundle
from regard.config import (
    Config,
    DecodingConfig,
    RecurrentLayersConfig,
    RNNConfig,
    TransformerConfig,
    TransformerStackConfig,
)
from regard.errors import RegardError
from regard.inference import open as open_module
from regard.inference.open import load
from regard.inference.translator import Translator
from regard.interop.ctranslate2 import export_ctranslate2
from regard.tokenization.tokenizer import TokenizerPair
from tests.support.random_translators import SOURCE, TARGET, random_translator, texts

pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed")

STACK = TransformerStackConfig(layers=1, width=24, heads=2, ffn_width=20)
TEXTS = texts(8)
ROWS = RecurrentLayersConfig(layers=1, width=8)


@pytest.fixture
def bundle() -> Bundle:
    return random_translator(TransformerConfig(encoder=STACK, decoder=STACK))


@pytest.fixture
def model(bundle: Bundle, tmp_path: Path) -> Path:
    save_bundle(tmp_path / "model", bundle)
    return tmp_path / "model"


def test_default_engine_is_ctranslate2_in_float32(bundle: Bundle, model: Path) -> None:
    export_ctranslate2(bundle, model.parent / "export", quantization="float32")
    assert load(model).engine.description == "ctranslate2, float32"
    assert load(model, engine="torch").engine.description == "torch"
    opened = load(model.parent / "export")
    assert opened.engine.description == "ctranslate2, float32"
    assert opened.num_parameters == Translator(bundle).num_parameters
    with pytest.raises(RegardError, match="is an export for ctranslate2"):
        load(model.parent / "export", engine="torch")


def test_the_public_load_opens_an_export(bundle: Bundle, tmp_path: Path) -> None:
    export_ctranslate2(bundle, tmp_path / "export", quantization="float32")
    output = regard.load(str(tmp_path / "export")).translate(TEXTS)
    assert [one.text for one in output] == [one.text for one in Translator(bundle).translate(TEXTS)]


def test_ctranslate2_and_auto_give_the_text_of_torch(bundle: Bundle, model: Path) -> None:
    same = load(model, engine="ctranslate2")
    assert same.engine.description == "ctranslate2, float32"
    assert [one.text for one in same.translate(TEXTS)] == [one.text for one in Translator(bundle).translate(TEXTS)]
    assert load(model, engine="auto").engine.description == "ctranslate2, float32"
    assert load(model, engine="auto", quantization="int16").engine.description == "ctranslate2, int16"


def test_a_quantization_names_its_engine(bundle: Bundle, model: Path) -> None:
    assert load(model, quantization="int8").engine.description == "ctranslate2, int8"
    with pytest.raises(RegardError, match="int8 is for ctranslate2, but the engine is torch"):
        load(model, engine="torch", quantization="int8")
    export_ctranslate2(bundle, model.parent / "export", quantization="int16")
    assert load(model.parent / "export", quantization="int16").engine.description == "ctranslate2, int16"
    with pytest.raises(RegardError, match="is an export in int16, and int8 was requested"):
        load(model.parent / "export", quantization="int8")


def test_weights_that_are_not_finite_are_not_exported(bundle: Bundle, tmp_path: Path) -> None:
    with torch.no_grad():
        next(bundle.model.parameters())[0, 0] = torch.nan
    with pytest.raises(RegardError, match=r"not finite numbers: source_embedding\.tokens\.weight\. Its training"):
        export_ctranslate2(bundle, tmp_path / "export")
    assert not (tmp_path / "export").exists()
    save_bundle(tmp_path / "model", bundle)
    with pytest.raises(RegardError, match="not finite numbers"):
        load(tmp_path / "model", engine="auto")


def test_converted_model_is_kept_until_weights_change(model: Path) -> None:
    load(model, engine="auto")
    kept = model / "engines" / "ctranslate2-float32" / "model.bin"
    made = kept.stat().st_ino
    load(model, engine="auto")
    assert kept.stat().st_ino == made
    other = random_translator(TransformerConfig(encoder=STACK, decoder=STACK), seed=8)
    save_bundle(model.parent / "other", other)
    for name in ("model.safetensors", "manifest.json"):
        (model / name).write_bytes((model.parent / "other" / name).read_bytes())
    again = load(model, engine="auto", quantization="float32")
    load(model, engine="auto")
    assert kept.stat().st_ino != made
    assert again.translate(TEXTS)[0].text == Translator(other).translate(TEXTS)[0].text


def test_kept_export_is_made_again_for_another_config(model: Path) -> None:
    load(model, engine="auto")
    config, manifest = model / "config.toml", model / "manifest.json"
    before = sha256(config.read_bytes()).hexdigest()
    config.write_text(config.read_text().replace('closing_mark = ""', 'closing_mark = "!"'))
    manifest.write_text(manifest.read_text().replace(before, sha256(config.read_bytes()).hexdigest()))
    opened = load(model, engine="auto", with_weights=False)
    assert opened.config.data.closing_mark == "!"


def test_export_is_not_kept_for_newer_weights(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newer, load_bundle = (
        random_translator(TransformerConfig(encoder=STACK, decoder=STACK), seed=8),
        bundle_module.load_bundle,
    )

    def load_while_training_publishes(directory: Path) -> Bundle:
        loaded = load_bundle(directory)
        save_bundle(directory, newer)
        return loaded

    with monkeypatch.context() as patched:
        patched.setattr(bundle_module, "load_bundle", load_while_training_publishes)
        load(model, engine="ctranslate2")
    assert (model / "engines").is_dir()  # an export of the older weights is there
    again = load(model, engine="ctranslate2").translate(TEXTS)
    assert [one.text for one in again] == [one.text for one in Translator(newer).translate(TEXTS)]


def test_damaged_kept_export_is_made_again(model: Path) -> None:
    first = load(model, engine="auto").translate(TEXTS)
    kept = model / "engines" / "ctranslate2-float32"
    for name in ("model.bin", "export.json", "manifest.json"):
        (kept / name).write_bytes(b"not what it was")
        assert load(model, engine="auto").translate(TEXTS) == first


def test_unwritable_model_is_kept_in_the_user_cache(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (model / "engines").write_text("a file where a directory should be")
    opened = load(model, engine="auto")
    assert opened.engine.description == "ctranslate2, float32"
    assert opened.translate(TEXTS[:2])
    assert sorted(os.listdir(model.parent)) == ["cache", "model"]
    [kept] = tmp_path.glob("cache/regard/engines/*/ctranslate2-float32/model.bin")
    made = kept.stat().st_ino
    assert load(model, with_weights=False).translate(TEXTS[:2])
    assert kept.stat().st_ino == made


def test_installed_model_is_not_written_to(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(open_module, "PACKAGE", model.parent.resolve())
    before = sorted(model.iterdir())
    assert load(model).engine.name == "ctranslate2"
    assert sorted(model.iterdir()) == before
    assert list(tmp_path.glob("cache/regard/engines/*/ctranslate2-float32/model.bin"))


def test_without_any_writable_place_it_works(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_text("a file where a directory should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (model / "engines").write_text("a file where a directory should be")
    opened = load(model)
    assert opened.engine.name == "ctranslate2"
    assert opened.translate(TEXTS[:2])


def test_sampling_uses_torch_where_weights_are_loaded(bundle: Bundle, model: Path) -> None:
    opened = load(model, engine="auto")
    torch.manual_seed(3)
    sampled = opened.translate(TEXTS, do_sample=True)
    torch.manual_seed(3)
    assert [one.text for one in sampled] == [one.text for one in Translator(bundle).translate(TEXTS, do_sample=True)]
    with pytest.raises(RegardError, match=r"do_sample.*Use the torch engine"):
        load(model, with_weights=False).translate(TEXTS, do_sample=True)


def test_inspected_model_aligns_with_its_own_weights(bundle: Bundle, model: Path) -> None:
    opened = load(model, engine="ctranslate2", with_weights=True)
    ours = Translator(bundle).translate(TEXTS, align=True, beam_size=1)
    theirs = opened.translate(TEXTS, align=True, beam_size=1)
    assert [one.alignment.links for one in theirs if one.alignment] == [
        one.alignment.links for one in ours if one.alignment
    ]


def test_an_export_alone_cannot_align(bundle: Bundle, tmp_path: Path) -> None:
    export_ctranslate2(bundle, tmp_path / "export")
    with pytest.raises(RegardError, match="without its weights, and alignments need them"):
        load(tmp_path / "export").translate(TEXTS, align=True)


def test_unexportable_model_uses_torch_with_the_reason(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = Config(model=RNNConfig(embedding_width=8, encoder=ROWS, decoder=ROWS))
    save_bundle(tmp_path / "rnn", new_bundle(config, TokenizerPair(SOURCE, TARGET)))
    opened = load(tmp_path / "rnn", engine="auto")
    assert opened.engine.description.startswith("torch (model.kind is 'rnn'")
    with pytest.raises(RegardError, match=r"(?s)cannot run .*rnn.*Use the torch engine"):
        load(tmp_path / "rnn", engine="ctranslate2")


def test_a_recipe_that_samples_has_torch(bundle: Bundle, tmp_path: Path) -> None:
    decoding = DecodingConfig(do_sample=True)
    sampling = Bundle(Config(model=bundle.config.model, decoding=decoding), bundle.tokenizers, bundle.model)
    save_bundle(tmp_path / "model", sampling)
    assert load(tmp_path / "model", engine="auto").engine.description.startswith("torch (decoding.do_sample is true")
    with pytest.raises(RegardError, match="sample"):
        load(tmp_path / "model", engine="ctranslate2")
