"""Which engine a directory is opened with, what is kept for the next time, and what is said when it cannot be."""

import os
from pathlib import Path

import pytest
import torch

import regard
from regard import bundle as bundle_module
from regard.bundle import Bundle, new_bundle, save_bundle
from regard.config import Config, DecodingConfig, RecurrentConfig, RecurrentStack, Stack, TransformerConfig
from regard.errors import RegardError
from regard.export.ctranslate2 import export_ctranslate2
from regard.export.opening import open_translator
from regard.tokens import Tokenizers
from regard.translation.translator import Translator
from tests.export.speakers import SOURCE, TARGET, speaker, texts

pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed")

STACK = Stack(layers=1, width=24, heads=2, inner=20)
TEXTS = texts(8)
ROWS = RecurrentStack(layers=1, width=8)


@pytest.fixture
def bundle() -> Bundle:
    return speaker(TransformerConfig(encoder=STACK, decoder=STACK))


@pytest.fixture
def model(bundle: Bundle, tmp_path: Path) -> Path:
    save_bundle(tmp_path / "model", bundle)
    return tmp_path / "model"


def test_without_a_name_a_model_has_torch_and_an_export_ctranslate2(bundle: Bundle, model: Path) -> None:
    export_ctranslate2(bundle, model.parent / "export", quantization="float32")
    assert open_translator(model).engine == "torch"
    opened = open_translator(model.parent / "export")
    assert opened.engine == "ctranslate2, float32"
    assert opened.translator.parameters == Translator(bundle).parameters
    with pytest.raises(RegardError, match="is an export for ctranslate2"):
        open_translator(model.parent / "export", engine="torch")


def test_who_loads_an_export_as_a_model_is_told_the_call_for_it(bundle: Bundle, tmp_path: Path) -> None:
    export_ctranslate2(bundle, tmp_path / "export", quantization="float32")
    with pytest.raises(RegardError, match=r"or in Python open the export with regard\.load_export\.$"):
        regard.load(tmp_path / "export")
    said = regard.load_export(str(tmp_path / "export")).translate(TEXTS)
    assert [one.text for one in said] == [one.text for one in Translator(bundle).translate(TEXTS)]


def test_ctranslate2_gives_the_text_of_torch_and_auto_is_int8(bundle: Bundle, model: Path) -> None:
    same = open_translator(model, engine="ctranslate2")
    assert same.engine == "ctranslate2, float32"
    assert [one.text for one in same.translator.translate(TEXTS)] == [
        one.text for one in Translator(bundle).translate(TEXTS)
    ]
    assert open_translator(model, engine="auto").engine == "ctranslate2, int8"
    assert open_translator(model, engine="auto", quantization="int16").engine == "ctranslate2, int16"


def test_a_quantization_names_its_engine(bundle: Bundle, model: Path) -> None:
    assert open_translator(model, quantization="int8").engine == "ctranslate2, int8"
    with pytest.raises(RegardError, match="int8 is for ctranslate2, and the engine is torch"):
        open_translator(model, engine="torch", quantization="int8")
    export_ctranslate2(bundle, model.parent / "export", quantization="int16")
    assert open_translator(model.parent / "export", quantization="int16").engine == "ctranslate2, int16"
    with pytest.raises(RegardError, match="is an export in int16, and int8 was asked for"):
        open_translator(model.parent / "export", quantization="int8")


def test_weights_that_are_not_finite_are_not_exported(bundle: Bundle, tmp_path: Path) -> None:
    with torch.no_grad():
        next(bundle.model.parameters())[0, 0] = torch.nan
    with pytest.raises(RegardError, match=r"not finite numbers: source_embedding\.tokens\.weight\. Its training"):
        export_ctranslate2(bundle, tmp_path / "export")
    assert not (tmp_path / "export").exists()
    save_bundle(tmp_path / "model", bundle)
    with pytest.raises(RegardError, match="not finite numbers"):
        open_translator(tmp_path / "model", engine="auto")


def test_what_was_made_is_kept_until_the_weights_change(model: Path) -> None:
    open_translator(model, engine="auto")
    kept = model / "engines" / "ctranslate2-int8" / "model.bin"
    made = kept.stat().st_ino
    open_translator(model, engine="auto")
    assert kept.stat().st_ino == made
    other = speaker(TransformerConfig(encoder=STACK, decoder=STACK), seed=8)
    save_bundle(model.parent / "other", other)
    for name in ("weights.safetensors", "manifest.json"):
        (model / name).write_bytes((model.parent / "other" / name).read_bytes())
    again = open_translator(model, engine="auto", quantization="float32").translator
    open_translator(model, engine="auto")
    assert kept.stat().st_ino != made
    assert again.translate(TEXTS)[0].text == Translator(other).translate(TEXTS)[0].text


def test_an_export_is_not_kept_for_weights_that_came_while_it_was_made(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer, load = speaker(TransformerConfig(encoder=STACK, decoder=STACK), seed=8), bundle_module.load_bundle

    def load_while_training_publishes(directory: Path) -> Bundle:
        loaded = load(directory)
        save_bundle(directory, newer)
        return loaded

    with monkeypatch.context() as patched:
        patched.setattr(bundle_module, "load_bundle", load_while_training_publishes)
        open_translator(model, engine="ctranslate2")
    assert (model / "engines").is_dir()  # an export of the older weights is there
    again = open_translator(model, engine="ctranslate2").translator.translate(TEXTS)
    assert [one.text for one in again] == [one.text for one in Translator(newer).translate(TEXTS)]


def test_a_kept_export_that_is_damaged_is_made_again(model: Path) -> None:
    first = open_translator(model, engine="auto").translator.translate(TEXTS)
    kept = model / "engines" / "ctranslate2-int8"
    for name in ("model.bin", "origin.json", "manifest.json"):
        (kept / name).write_bytes(b"not what it was")
        assert open_translator(model, engine="auto").translator.translate(TEXTS) == first


def test_a_directory_that_cannot_be_written_is_used_all_the_same(model: Path) -> None:
    (model / "engines").write_text("a file where a directory should be")
    opened = open_translator(model, engine="auto")
    assert opened.engine == "ctranslate2, int8"
    assert opened.translator.translate(TEXTS[:2])
    assert sorted(os.listdir(model.parent)) == ["model"]


def test_one_that_is_looked_into_aligns_with_its_own_weights(bundle: Bundle, model: Path) -> None:
    opened = open_translator(model, engine="ctranslate2", is_looked_into=True)
    ours = Translator(bundle).translate(TEXTS, align=True, beam=1)
    theirs = opened.translator.translate(TEXTS, align=True, beam=1)
    assert [one.alignment.links for one in theirs if one.alignment] == [
        one.alignment.links for one in ours if one.alignment
    ]


def test_an_export_alone_cannot_align(bundle: Bundle, tmp_path: Path) -> None:
    export_ctranslate2(bundle, tmp_path / "export")
    with pytest.raises(RegardError, match="no attention to read alignments off"):
        open_translator(tmp_path / "export").translator.translate(TEXTS, align=True)


def test_a_model_that_cannot_be_exported_has_torch_and_the_reason(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = Config(model=RecurrentConfig(embedding=8, encoder=ROWS, decoder=ROWS))
    save_bundle(tmp_path / "rnn", new_bundle(config, Tokenizers(SOURCE, TARGET)))
    opened = open_translator(tmp_path / "rnn", engine="auto")
    assert opened.engine.startswith("torch (model.kind is 'rnn'")
    with pytest.raises(RegardError, match=r"(?s)cannot run .*rnn.*--engine torch"):
        open_translator(tmp_path / "rnn", engine="ctranslate2")


def test_a_recipe_that_samples_has_torch(bundle: Bundle, tmp_path: Path) -> None:
    decoding = DecodingConfig(sample=True)
    sampling = Bundle(Config(model=bundle.config.model, decoding=decoding), bundle.tokenizers, bundle.model)
    save_bundle(tmp_path / "model", sampling)
    assert open_translator(tmp_path / "model", engine="auto").engine.startswith("torch (decoding.sample is true")
    with pytest.raises(RegardError, match="sample"):
        open_translator(tmp_path / "model", engine="ctranslate2")
