"""Models that regard trained itself, vocabulary included, give the same ids and logits in the transformers library."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import regard
from regard.batch import encode_source_rows
from regard.bundle import Bundle, new_bundle, save_bundle
from regard.config import Config
from regard.errors import RegardError
from regard.inference.text_generator import TextGenerator
from regard.interop.huggingface import export_family
from regard.interop.import_model import detect, write_model
from regard.special_tokens import BEGIN, MASK, PADDING, UNKNOWN
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair
from tests.support.foreign_models import LINES
from tests.support.small_models import randomise

STACK = {"layers": 2, "width": 24, "heads": 4, "ffn_width": 32}
BERT = {"kind": "encoder-only", "norm": "post", "positions": "learned", "transformer": STACK}
GPT = {"kind": "decoder-only", "norm": "pre", "positions": "learned", "transformer": STACK}
LLAMA = {
    "kind": "decoder-only",
    "norm_type": "rms_norm",
    "linear_bias": False,
    "gated_ffn": True,
    "activation": "silu",
    "positions": "rotary",
    "transformer": STACK,
}
KOREAN = ["나는 학교에 간다", "AI가 세상을 바꾼다", "고양이가 물고기를 먹는다"]
TEXTS = [LINES[0], "  ba\u3000Q,\tbé be! ", "학교 간다", "e\u0301 zz ①½ 🙂🙂", ""]
NEVER = [PADDING, UNKNOWN, BEGIN, MASK]  # regard generates none of them
LABELS = ["good", "bad", "so so"]


def own_model(model: dict[str, Any], model_type: str = "unigram", vocab_size: int = 100, **data: Any) -> Bundle:
    tokenizer = Tokenizer.train([*LINES, *KOREAN], model_type=model_type, vocab_size=vocab_size)  # type: ignore[arg-type]
    table = {"model": model, "tokenizer": {"model_type": model_type, "vocab_size": vocab_size}, "data": data}
    bundle = new_bundle(Config.from_dict(table), TokenizerPair(tokenizer, tokenizer))
    randomise(bundle.model, seed=7).eval()
    return bundle


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
@pytest.mark.parametrize("vocab_size", [100, 1100])  # without and with pieces for bytes
@torch.inference_mode()
def test_classifier_of_our_own_equals_its_export(tmp_path: Path, model_type: str, vocab_size: int) -> None:
    bundle = own_model(BERT | {"classes": 3}, model_type, vocab_size, labels=LABELS)
    assert export_family(bundle, tmp_path / "out") == "BertForSequenceClassification"
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "out").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    assert theirs.config.id2label == dict(enumerate(LABELS))
    for text in TEXTS:
        expected = theirs(**tokenizer(text, return_tensors="pt")).logits
        own = bundle.model(encode_source_rows([bundle.tokenizers.source.encode(text)]))
        torch.testing.assert_close(own, expected, atol=1e-4, rtol=1e-4)
    batch = tokenizer(TEXTS[:3], padding=True, return_tensors="pt")
    rows = [bundle.tokenizers.source.encode(text) for text in TEXTS[:3]]
    torch.testing.assert_close(bundle.model(encode_source_rows(rows)), theirs(**batch).logits, atol=1e-4, rtol=1e-4)


@torch.inference_mode()
def test_own_masked_language_model_equals_its_export(tmp_path: Path) -> None:
    bundle = own_model(BERT)
    assert export_family(bundle, tmp_path / "out") == "BertForMaskedLM"
    theirs = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / "out").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    given = tokenizer(f"ba be {tokenizer.mask_token} ba", return_tensors="pt")
    own = bundle.model(encode_source_rows([given["input_ids"][0, :-1].tolist()]))
    torch.testing.assert_close(own, theirs(**given).logits, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("model", [GPT, LLAMA], ids=["gpt2", "llama"])
@torch.inference_mode()
def test_language_model_of_our_own_equals_its_export(tmp_path: Path, model: dict[str, Any]) -> None:
    bundle = own_model(model)
    export_family(bundle, tmp_path / "out")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    given = tokenizer(KOREAN[0], return_tensors="pt")
    assert given["input_ids"][0].tolist() == [BEGIN, *bundle.tokenizers.target.encode(KOREAN[0])]
    expected = theirs.generate(given["input_ids"], max_new_tokens=10, do_sample=False, suppress_tokens=NEVER)
    expected = expected[0, 1:].tolist()
    [output] = TextGenerator(bundle).generate([KOREAN[0]], beam_size=1, max_length_extra=10)
    assert output.tokens == expected[: len(output.tokens)]
    assert tokenizer.decode(output.tokens, skip_special_tokens=True) == bundle.tokenizers.target.decode(output.tokens)


def test_export_comes_back_as_the_same_classifier(tmp_path: Path) -> None:
    bundle = own_model(BERT | {"classes": 3}, labels=LABELS)
    export_family(bundle, tmp_path / "out")
    write_model(detect(tmp_path / "out").load(), tmp_path / "back")
    save_bundle(tmp_path / "model", bundle)
    before, after = regard.load(tmp_path / "model"), regard.load(tmp_path / "back")
    for first, second in zip(before.classify(TEXTS[:3]), after.classify(TEXTS[:3]), strict=True):  # type: ignore[union-attr]
        assert first.probabilities == pytest.approx(second.probabilities, abs=1e-4)


@pytest.mark.parametrize(
    ("changes", "model_type", "message"),
    [
        (
            {"norm": "pre"},
            "unigram",
            "model.norm is 'pre', and BERT's is 'post'(.|\n)*another one with --set model.norm=post",
        ),
        ({"positions": "rotary"}, "unigram", "model.positions is 'rotary', and BERT's is 'learned'"),
        ({"pooling": "mean"}, "unigram", "model.pooling is 'mean', and BERT's is 'first'"),
        ({}, "word", "tokenizer.model_type is 'word'"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, changes: dict[str, Any], model_type: str, message: str) -> None:
    bundle = own_model(BERT | {"classes": 3} | changes, model_type, labels=LABELS)
    with pytest.raises(RegardError, match=message):
        export_family(bundle, tmp_path / "out")
