"""An imported CTranslate2 model gives the tokens of CTranslate2, and so does its export."""

import json
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import pytest
import sentencepiece

from regard.bundle import Bundle
from regard.config import TransformerConfig
from regard.errors import RegardError
from regard.inference.ctranslate2_engine import CTranslate2Engine
from regard.inference.open import read_export
from regard.inference.translator import Translator
from regard.interop.argos import Archive, export_argos
from regard.interop.ctranslate2 import export_ctranslate2
from regard.interop.ctranslate2_import import Variables
from regard.interop.import_model import detect
from tests.support.foreign_models import TEXTS, write_argos, write_ctranslate2

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")

LIMIT = 12


def pieces_by_ctranslate2(directory: Path) -> list[list[str]]:
    processor = sentencepiece.SentencePieceProcessor(model_file=str(directory / "source.spm"))
    translator = ctranslate2.Translator(str(directory), compute_type="float32")
    outputs = translator.translate_batch(
        [processor.encode_as_pieces(text) for text in TEXTS], beam_size=3, max_decoding_length=LIMIT
    )
    return [output.hypotheses[0] for output in outputs]


def pieces_by_us(bundle: Bundle, engine: Any = None) -> list[list[str]]:
    options = {"beam_size": 3, "max_length_ratio": 0.0, "max_length_extra": LIMIT}
    outputs = Translator(bundle, engine=engine).translate(TEXTS, **options)
    return [bundle.tokenizers.target.pieces(output.tokens) for output in outputs]


@pytest.mark.parametrize("quantization", [None, "int8", "int16", "float16"])
def test_tokens_equal_those_of_ctranslate2(quantization: str | None, tmp_path: Path) -> None:
    directory = write_ctranslate2(tmp_path / "ct2", tmp_path, quantization)
    bundle = detect(directory).load().to_bundle()
    expected = pieces_by_ctranslate2(directory)
    assert pieces_by_us(bundle) == expected
    export_ctranslate2(bundle, tmp_path / "back", quantization="float32")
    assert pieces_by_us(bundle, CTranslate2Engine(read_export(tmp_path / "back"))) == expected


def test_int8_weights_survive_import_and_export(tmp_path: Path) -> None:
    directory = write_ctranslate2(tmp_path / "ct2", tmp_path, "int8")
    export_ctranslate2(detect(directory).load().to_bundle(), tmp_path / "back", quantization="int8")
    before, after = (Variables.parse((path / "model.bin").read_bytes(), "") for path in (directory, tmp_path / "back"))
    name = "encoder/layer_0/ffn/linear_1/weight"
    # The width is in another order, so rows move; their numbers do not change.
    assert sorted(map(sorted, before.arrays[name].tolist())) == sorted(map(sorted, after.arrays[name].tolist()))


def test_hidden_source_end_gives_the_same_tokens(tmp_path: Path) -> None:
    directory = write_ctranslate2(tmp_path / "ct2", tmp_path)
    settings = json.loads((directory / "config.json").read_text()) | {"add_source_eos": False}
    (directory / "config.json").write_text(json.dumps(settings))
    bundle = detect(directory).load().to_bundle()
    assert isinstance(bundle.config.model, TransformerConfig)
    assert not bundle.config.model.source_end
    expected = pieces_by_ctranslate2(directory)
    assert pieces_by_us(bundle) == expected
    export_ctranslate2(bundle, tmp_path / "back", quantization="float32")
    assert pieces_by_us(bundle, CTranslate2Engine(read_export(tmp_path / "back"))) == expected


def test_foreign_position_table_is_kept(tmp_path: Path) -> None:
    directory = write_ctranslate2(tmp_path / "ct2", tmp_path)
    content = (directory / "model.bin").read_bytes()
    table = Variables.parse(content, "").tensor("decoder/position_encodings/encodings").numpy()
    changed = (table[::-1] * 0.5).astype(np.float32)
    assert content.count(table.tobytes()) == 1
    (directory / "model.bin").write_bytes(content.replace(table.tobytes(), changed.tobytes()))
    bundle = detect(directory).load().to_bundle()
    assert bundle.config.model.positions == "learned"
    assert pieces_by_us(bundle) == pieces_by_ctranslate2(directory)


def test_argos_package_translates_like_its_model(tmp_path: Path) -> None:
    directory = write_ctranslate2(tmp_path / "ct2", tmp_path, "int8")
    foreign = detect(write_argos(tmp_path / "x.argosmodel", directory)).load()
    assert foreign.config.data.languages == ["xx", "yy"]
    assert pieces_by_us(foreign.to_bundle()) == pieces_by_ctranslate2(directory)


def test_missing_target_model_still_encodes_the_target(tmp_path: Path) -> None:
    directory = write_ctranslate2(tmp_path / "ct2", tmp_path)
    (directory / "target.spm").unlink()
    (directory / "source.spm").rename(directory / "sentencepiece.model")
    foreign = detect(directory).load()
    target = foreign.tokenizers.target
    assert target.decode(target.encode(TEXTS[0])) == TEXTS[0]


def test_unsupported_setting_is_named(tmp_path: Path) -> None:
    directory = write_ctranslate2(tmp_path / "ct2", tmp_path)
    settings = json.loads((directory / "config.json").read_text()) | {"add_source_bos": True}
    (directory / "config.json").write_text(json.dumps(settings))
    with pytest.raises(RegardError, match="add_source_bos is true"):
        detect(directory).load()


def test_exported_argos_package_is_the_same_model(tmp_path: Path) -> None:
    directory = write_ctranslate2(tmp_path / "ct2", tmp_path)
    bundle = detect(write_argos(tmp_path / "x.argosmodel", directory)).load().to_bundle()
    export_argos(bundle, tmp_path / "y.argosmodel", quantization="float32")
    again = detect(tmp_path / "y.argosmodel").load()
    assert again.config.data.languages == ["xx", "yy"]
    assert pieces_by_us(again.to_bundle()) == pieces_by_ctranslate2(directory)
    package = Archive(tmp_path / "y.argosmodel")
    folder = tmp_path / "unpacked"
    folder.mkdir()
    for name in ("model.bin", "config.json", "shared_vocabulary.json"):
        (folder / name).write_bytes(package.read(f"model/{name}") or b"")
    (folder / "source.spm").write_bytes(package.read("sentencepiece.model") or b"")
    assert pieces_by_ctranslate2(folder) == pieces_by_ctranslate2(directory)
