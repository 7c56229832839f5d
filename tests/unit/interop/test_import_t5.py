"""An imported T5 generates the tokens of the transformers library, with either kind of tokenizer file."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file

from regard.bundle import load_bundle, new_bundle
from regard.config import Config, TransformerConfig, TransformerStackConfig
from regard.errors import RegardError
from regard.inference.head_ablation import Head
from regard.inference.head_pruning import without_heads
from regard.inference.translator import Translator
from regard.interop.export_model import EXPORT_FORMATS
from regard.interop.huggingface import export_family
from regard.interop.import_model import detect, write_model
from regard.interop.sentencepiece_rewriting import read_original_ids
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair
from tests.support.foreign_models import LINES, foreign_sentencepiece, write_family

TEXTS = [*LINES[:5], "ba Q, bé be!", "ka mo", "ba"]
# Without its cache: that of transformers 5.22 fails where the decoder has more layers than the encoder.
COMMON: dict[str, Any] = {"max_new_tokens": 12, "bad_words_ids": [[0]], "do_sample": False, "use_cache": False}
LIMITS: dict[str, Any] = {"max_length_ratio": 0.0, "max_length_extra": 12}


@pytest.mark.parametrize("seed", range(6))
def test_generated_tokens_equal_those_of_transformers(seed: int, tmp_path: Path) -> None:
    theirs = write_family(tmp_path / "theirs", "t5", seed)
    bundle = detect(tmp_path / "theirs").load().to_bundle()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "theirs/tokenizer.json"))
    greedy, beam = (Translator(bundle).translate(TEXTS, beam_size=size, **LIMITS) for size in (1, 3))
    for text, *both in zip(TEXTS, greedy, beam, strict=True):
        ids = torch.tensor([[*tokenizer(text, add_special_tokens=False)["input_ids"], 1]])
        for own, size in zip(both, (1, 3), strict=True):
            expected = theirs.generate(ids, num_beams=size, early_stopping=size > 1, **COMMON)[0].tolist()
            written = [bundle.tokenizers.target.original_ids[token] for token in own.tokens]
            assert written == [token for token in expected[1:] if token not in (0, 1)]


def test_tokenizer_file_is_restored(tmp_path: Path) -> None:
    write_family(tmp_path / "theirs", "t5", 0)
    export_family(detect(tmp_path / "theirs").load().to_bundle(), tmp_path / "back")
    before, after = (json.loads((tmp_path / name / "tokenizer.json").read_text()) for name in ("theirs", "back"))
    assert after == before


def test_sentencepiece_model_stands_in_for_tokenizer_json(tmp_path: Path) -> None:
    theirs = write_family(tmp_path / "theirs", "t5", 1)
    (tmp_path / "theirs/tokenizer.json").unlink()
    size = theirs.config.vocab_size
    special = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
    model = foreign_sentencepiece(LINES, vocab_size=size - 7, **special)
    (tmp_path / "theirs/spiece.model").write_bytes(model)
    (tmp_path / "theirs/tokenizer_config.json").write_text(json.dumps({"extra_ids": 5}))
    write_model(detect(tmp_path / "theirs").load(), tmp_path / "model")
    bundle = load_bundle(tmp_path / "model")
    ids, own = read_original_ids(bundle.tokenizers.target.to_bytes()) or [], bundle.tokenizers.target
    assert [own.vocabulary[ids.index(size - 7 + place)] for place in range(5)] == [
        f"<extra_id_{number}>" for number in (4, 3, 2, 1, 0)
    ]
    for text, output in zip(TEXTS, Translator(bundle).translate(TEXTS, beam_size=1, **LIMITS), strict=True):
        source = [ids[token] for token in own.encode(text)]
        expected = theirs.generate(torch.tensor([[*source, 1]]), **COMMON)[0].tolist()
        assert [ids[token] for token in output.tokens] == [token for token in expected[1:] if token not in (0, 1)]
    export_family(bundle, tmp_path / "back")
    assert (tmp_path / "back/spiece.model").read_bytes() == model
    before, after = (load_file(tmp_path / name / "model.safetensors") for name in ("theirs", "back"))
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_other_formats_name_what_they_lack(tmp_path: Path) -> None:
    write_family(tmp_path / "theirs", "t5", 2)
    bundle = detect(tmp_path / "theirs").load().to_bundle()
    for name in ("ctranslate2", "marian"):
        with pytest.raises(RegardError, match='positions is "relative"'):
            EXPORT_FORMATS[name].write(bundle, tmp_path / name, "float32", None)
        assert not (tmp_path / name).exists()


def test_heads_that_share_a_bias_are_not_pruned() -> None:
    stack = TransformerStackConfig(layers=2, width=8, heads=2, ffn_width=8)
    tokenizer = Tokenizer.train(LINES[:50], vocab_size=60)
    config = Config(model=TransformerConfig(encoder=stack, decoder=stack, positions="relative"))
    bundle = new_bundle(config, TokenizerPair(tokenizer, tokenizer))
    with pytest.raises(RegardError, match="--role cross"):
        without_heads(bundle, [Head("encoder-self", 0, 1)])
    smaller = without_heads(bundle, [Head("cross", 0, 1)]).config.model
    assert isinstance(smaller, TransformerConfig)
    assert smaller.decoder.cross_attention_heads == [1, 2]
