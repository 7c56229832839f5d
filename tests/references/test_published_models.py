"""Published models, imported, against the programs that they were published for."""

from pathlib import Path

import ctranslate2
import pytest
import sentencepiece

from regard.bundle import Bundle
from regard.inference.ctranslate2_engine import CTranslate2Engine
from regard.inference.translator import Translator
from regard.interop.argos import Archive
from regard.interop.ctranslate2 import export_ctranslate2, read_export
from regard.interop.import_model import detect
from tests.support.published_weights import published

pytestmark = [pytest.mark.weights, pytest.mark.slow]
SENTENCES = 8


def news(count: int) -> list[str]:
    """Sentences of the People's Daily (January 1998), whose words have tags that are removed."""
    found: list[str] = []
    with published("peoples-daily.txt").open(encoding="utf-8") as lines:
        for line in lines:
            words = (word.rpartition("/")[0].lstrip("[") for word in line.split())
            found += [f"{one}。" for one in "".join(words).split("。") if 8 <= len(one) <= 60]
            if len(found) >= count:
                break
    return found[:count]


@pytest.fixture(scope="module")
def zh_en() -> Bundle:
    return detect(published("zh-en.argosmodel")).load().to_bundle()


def pieces_by_ctranslate2(texts: list[str], folder: Path) -> list[list[str]]:
    archive = Archive(published("zh-en.argosmodel"))
    for name in ("model.bin", "config.json", "shared_vocabulary.json"):
        (folder / name).write_bytes(archive.read(f"model/{name}") or b"")
    processor = sentencepiece.SentencePieceProcessor(model_proto=archive.read("sentencepiece.model"))
    translator = ctranslate2.Translator(str(folder), compute_type="float32")
    outputs = translator.translate_batch(
        [processor.encode_as_pieces(text) for text in texts], beam_size=1, max_decoding_length=200
    )
    return [output.hypotheses[0] for output in outputs]


def test_opus_translates_like_ctranslate2(zh_en: Bundle, tmp_path: Path) -> None:
    texts = news(SENTENCES)
    expected = pieces_by_ctranslate2(texts, tmp_path)
    target = zh_en.tokenizers.target
    ours = Translator(zh_en).translate(texts, beam_size=1)
    assert [target.pieces(output.tokens) for output in ours] == expected
    export_ctranslate2(zh_en, tmp_path / "back", quantization="float32")
    exported = Translator(zh_en, engine=CTranslate2Engine(read_export(tmp_path / "back")))
    assert [target.pieces(output.tokens) for output in exported.translate(texts, beam_size=1)] == expected
