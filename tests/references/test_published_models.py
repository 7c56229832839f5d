"""Published models, imported, against the programs that they were published for."""

from pathlib import Path

import ctranslate2
import pytest
import sentencepiece
import torch
from transformers import AutoTokenizer, BertModel, LlamaForCausalLM

from regard.batch import encode_source_rows
from regard.bundle import Bundle
from regard.inference.ctranslate2_engine import CTranslate2Engine
from regard.inference.open import read_export
from regard.inference.text_generator import TextGenerator
from regard.inference.translator import Translator
from regard.interop.argos import Archive
from regard.interop.ctranslate2 import export_ctranslate2
from regard.interop.huggingface import export_family
from regard.interop.import_model import detect
from regard.special_tokens import BEGIN, END
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


@torch.inference_mode()
def test_minilm_hidden_states_equal_transformers() -> None:
    directory = published("minilm")
    theirs = BertModel.from_pretrained(directory).eval()
    bundle = detect(directory).load().to_bundle()
    tokenizer, backend = bundle.tokenizers.target, AutoTokenizer.from_pretrained(directory)
    for text in ("The cat sat on the mat.", "Unbelievably naïve café-goers, aren't they?"):
        row = tokenizer.encode(text)
        given = backend(text)["input_ids"]
        assert [tokenizer.original_ids[token] for token in (*row, END)] == given
        expected = theirs(torch.tensor([given])).last_hidden_state
        torch.testing.assert_close(bundle.model.encode(encode_source_rows([row])), expected, atol=1e-4, rtol=1e-4)


@torch.inference_mode()
def test_smollm2_continues_text_like_transformers(tmp_path: Path) -> None:
    bundle = detect(published("smollm2.gguf")).load().to_bundle()
    export_family(bundle, tmp_path / "llama")
    theirs = LlamaForCausalLM.from_pretrained(tmp_path / "llama").eval()
    tokenizer = bundle.tokenizers.target
    text = "The capital of France is"
    given = [tokenizer.original_ids[token] for token in (BEGIN, *tokenizer.encode(text))]
    expected = theirs.generate(torch.tensor([given]), max_new_tokens=12, do_sample=False, pad_token_id=0)
    [output] = TextGenerator(bundle).generate([text], beam_size=1, max_length_extra=12)
    own = [tokenizer.original_ids[token] for token in output.tokens]
    assert own == expected[0].tolist()[1 : len(own) + 1]
    assert "Paris" in output.text
