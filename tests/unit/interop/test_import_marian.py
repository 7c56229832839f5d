"""An imported MarianMTModel gives the logits, tokens and tensors of the transformers library."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import MarianMTModel, MarianTokenizer

from regard.batch import encode_source_rows
from regard.bundle import Bundle, load_bundle
from regard.errors import RegardError
from regard.inference.translator import Translator
from regard.interop.import_model import detect, write_model
from regard.interop.marian import export_huggingface
from regard.interop.sentencepiece_rewriting import read_original_ids
from tests.support.foreign_models import MARIAN_OPTIONS, TEXTS, write_marian

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")


def imported(tmp_path: Path, options: dict[str, Any], seed: int = 0) -> tuple[Any, Any, Bundle]:
    theirs = write_marian(tmp_path / "marian", seed, **options)
    write_model(detect(tmp_path / "marian").load(), tmp_path / "model")
    return theirs, MarianTokenizer.from_pretrained(tmp_path / "marian"), load_bundle(tmp_path / "model")


@pytest.mark.parametrize("seed", range(len(MARIAN_OPTIONS)))
@torch.inference_mode()
def test_logits_equal_those_of_transformers(seed: int, tmp_path: Path) -> None:
    theirs, tokenizer, bundle = imported(tmp_path, MARIAN_OPTIONS[seed], seed)
    target_ids = read_original_ids(bundle.tokenizers.target.to_bytes())
    assert target_ids is not None
    exported_first = {identity: index for index, identity in reversed(list(enumerate(target_ids))) if identity >= 0}
    order = [exported_first[identity] for identity in range(max(target_ids) + 1)]
    for text in TEXTS:
        source, target = (bundle.tokenizers.source.encode(text), bundle.tokenizers.target.encode(TEXTS[0]))
        inputs = tokenizer(text, return_tensors="pt")
        decoder = torch.tensor([[theirs.config.decoder_start_token_id, *(target_ids[one] for one in target)]])
        expected = theirs(**inputs, decoder_input_ids=decoder).logits
        memory = bundle.model.encode(encode_source_rows([source]))
        ours = bundle.model.decode(torch.tensor([[2, *target]]), memory, bundle.model.init_state(memory)).logits
        torch.testing.assert_close(ours[..., order], expected, atol=1e-4, rtol=1e-4)
        assert ours[..., [0, 4]].max() < -1e3 or 0 in order or 4 in order  # what the model lacks is never generated


@pytest.mark.parametrize("seed", range(len(MARIAN_OPTIONS)))
def test_export_restores_the_same_tensors(seed: int, tmp_path: Path) -> None:
    _, _, bundle = imported(tmp_path, MARIAN_OPTIONS[seed], seed)
    export_huggingface(bundle, tmp_path / "back")
    before, after = (load_file(tmp_path / name / "model.safetensors") for name in ("marian", "back"))
    assert before.keys() == after.keys()
    for name in before:
        assert torch.equal(before[name], after[name]), name
    theirs, again = (MarianTokenizer.from_pretrained(tmp_path / name) for name in ("marian", "back"))
    for text in [*TEXTS, ">>xy<< ba be"]:
        assert theirs(text)["input_ids"] == again(text)["input_ids"]
    assert MarianMTModel.from_pretrained(tmp_path / "back").config.pad_token_id == theirs.pad_token_id


def test_translations_equal_those_of_transformers(tmp_path: Path) -> None:
    theirs, tokenizer, bundle = imported(tmp_path, {})
    options = {"max_length_ratio": 0.0, "max_length_extra": 12}
    ours = Translator(bundle).translate(TEXTS, beam_size=3, length_penalty=1.0, **options)
    for text, own in zip(TEXTS, ours, strict=True):
        generated = theirs.generate(
            **tokenizer(text, return_tensors="pt"), num_beams=3, early_stopping=True, max_new_tokens=12
        )
        assert own.text == tokenizer.decode(generated[0], skip_special_tokens=True)


def test_language_code_is_one_token(tmp_path: Path) -> None:
    _, tokenizer, bundle = imported(tmp_path, {})
    ids = read_original_ids(bundle.tokenizers.source.to_bytes()) or []
    ours = bundle.tokenizers.source.encode(">>xy<< ba be")
    assert [ids[one] for one in ours] == tokenizer(">>xy<< ba be")["input_ids"][:-1]


def test_all_misfits_are_reported_at_once(tmp_path: Path) -> None:
    write_marian(tmp_path / "marian")
    path = tmp_path / "marian/config.json"
    text = path.read_text().replace('"swish"', '"mish"').replace('"d_model": 24', '"d_model": 23')
    path.write_text(text.replace('"eos_token_id": 0', '"eos_token_id": "x"'))
    with pytest.raises(RegardError) as refused:
        detect(tmp_path / "marian").load()
    for word in ("mish", "d_model is 23", "eos_token_id is 'x'", "Nothing was written"):
        assert word in str(refused.value)
