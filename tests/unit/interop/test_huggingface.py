"""MarianMTModel and MarianTokenizer, given an exported directory, say what the model says."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from transformers import MarianMTModel, MarianTokenizer

from regard.batch import Batch
from regard.bundle import Bundle, new_bundle
from regard.config import AttentionRNNConfig, Config, TransformerConfig, TransformerStackConfig
from regard.errors import RegardError
from regard.inference.translator import Translator
from regard.interop.marian import export_huggingface, unsupported_features
from regard.special_tokens import END
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair
from tests.support.random_translators import SOURCE, TARGET, WORDS, random_translator, texts

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")

CHANCE = Random(5)
LINES = [" ".join("".join(CHANCE.choices(WORDS, k=CHANCE.randint(1, 3))) for _ in range(5)) for _ in range(300)]
ONE = Tokenizer.train(LINES, model_type="unigram", vocab_size=90)
OTHER = Tokenizer.train(LINES[::2], model_type="bpe", vocab_size=80)
TEXTS = texts(12)
LIMIT = 12


def shape(**options: Any) -> TransformerConfig:
    encoder, decoder = (
        TransformerStackConfig(layers=2, width=24, heads=2, ffn_width=20),
        TransformerStackConfig(layers=1, width=24, heads=3, ffn_width=28),
    )
    return TransformerConfig(encoder=encoder, decoder=decoder, **options)


SHAPES = {
    "shared-tied": shape(share_embeddings=True),
    "separate-tied": shape(activation="gelu"),
    "separate-untied": shape(activation="silu", tie_word_embeddings=False),
    "shared-untied": shape(share_embeddings=True, tie_word_embeddings=False),
}


def exported(bundle: Bundle, directory: Path) -> tuple[Any, Any]:
    export_huggingface(bundle, directory)
    model, report = MarianMTModel.from_pretrained(directory, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    return model, MarianTokenizer.from_pretrained(directory)


def found(model: Any, tokenizer: Any, lines: list[str], **options: Any) -> torch.Tensor:
    inputs = tokenizer(lines, return_tensors="pt", padding=True)
    model.generation_config.max_length = None  # the test has a bound of its own
    outputs: torch.Tensor = model.generate(**inputs, max_new_tokens=LIMIT, **options)
    return outputs


@pytest.mark.parametrize("name", SHAPES)
def test_marian_gives_the_same_text(name: str, tmp_path: Path) -> None:
    config = SHAPES[name]
    bundle = random_translator(config, tokenizers=TokenizerPair(ONE, ONE if config.share_embeddings else OTHER))
    model, tokenizer = exported(bundle, tmp_path / "marian")
    for beam, penalty in ((1, 1.0), (4, 0.7)):
        search = {"num_beams": beam, "early_stopping": True, "length_penalty": penalty} if beam > 1 else {}
        theirs = found(model, tokenizer, TEXTS, **(search or {"num_beams": 1, "early_stopping": False}))
        options = {"beam_size": beam, "length_penalty": penalty, "max_length_ratio": 0.0, "max_length_extra": LIMIT}
        ours = Translator(bundle).translate(TEXTS, **options)
        for own, other in zip(ours, theirs.tolist(), strict=True):
            tokens = other[1:]  # after BEGIN
            assert own.tokens == (tokens[: tokens.index(END)] if END in tokens else tokens)


def test_both_tokenizers_give_the_same_ids(tmp_path: Path) -> None:
    bundle = random_translator(SHAPES["separate-tied"], tokenizers=TokenizerPair(ONE, OTHER))
    _, tokenizer = exported(bundle, tmp_path / "marian")
    for text in [*LINES[:20], "zzz ba", "ba"]:
        assert tokenizer(text)["input_ids"] == [*ONE.encode(text), END]
        assert tokenizer(text_target=text)["input_ids"] == [*OTHER.encode(text), END]
        assert tokenizer.decode(OTHER.encode(text), skip_special_tokens=True) == OTHER.decode(OTHER.encode(text)) or (
            "⁇" in OTHER.decode(OTHER.encode(text))
        )


def test_trained_model_gives_same_text_by_own_settings(tmp_path: Path) -> None:
    """With nothing but from_pretrained and generate: beam, penalty and symbols are in the directory."""
    bundle = copier()
    model, tokenizer = exported(bundle, tmp_path / "marian")
    lines = LINES[:16]
    theirs = tokenizer.batch_decode(
        model.generate(**tokenizer(lines, return_tensors="pt", padding=True)), skip_special_tokens=True
    )
    ours = [output.text for output in Translator(bundle).translate(lines)]
    assert theirs == ours
    assert sum(own.split()[:1] == line.split()[:1] for own, line in zip(ours, lines, strict=True)) > 8


def copier() -> Bundle:
    """A small model that has learnt to say the first two words it reads."""
    torch.manual_seed(0)
    stack = TransformerStackConfig(layers=1, width=48, heads=2, ffn_width=96)
    config = TransformerConfig(encoder=stack, decoder=stack, share_embeddings=True, dropout=0.0)
    bundle = new_bundle(Config(model=config), TokenizerPair(ONE, ONE))
    model: Any = bundle.model
    optimiser = torch.optim.Adam(model.parameters(), lr=4e-3)
    rows = [(ONE.encode(line), ONE.encode(" ".join(line.split()[:2]))) for line in LINES]
    for step in range(150):
        some = [rows[(step * 32 + place) % len(rows)] for place in range(32)]
        batch = Batch.from_pairs([source for source, _ in some], [target for _, target in some])
        memory = model.encode(batch.source)
        logits = model.decode(batch.inputs.tokens, memory, model.init_state(memory)).logits
        wanted = batch.outputs.tokens.masked_fill(~batch.outputs.is_real, -100)
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=-100).backward()
        optimiser.step()
        optimiser.zero_grad()
    model.eval()
    return bundle


def test_every_reason_against_an_export_is_named(tmp_path: Path) -> None:
    words = TokenizerPair(SOURCE, TARGET)
    stack = TransformerStackConfig(layers=1, width=24, heads=2, ffn_width=20)
    wide = TransformerStackConfig(layers=1, width=36, heads=2, ffn_width=20)
    config = TransformerConfig(
        encoder=stack, decoder=wide, norm="pre", positions="learned", decoder_autoregression="ssru"
    )
    reasons = unsupported_features(Config(model=config), words)
    for word in ("ssru", "pre", "learned", "24 and 36", "word"):
        assert sum(word in reason for reason in reasons) >= 1
    assert len(reasons) == 5
    with pytest.raises(RegardError) as refused:
        export_huggingface(new_bundle(Config(model=config), words), tmp_path / "marian")
    assert all(reason in str(refused.value) for reason in reasons)
    settings = ["decoder_autoregression=self-attention", "norm=post", "positions=sinusoidal", "decoder.width=24"]
    changed = [*(f"--set model.{setting}" for setting in settings), "--set tokenizer.model_type=unigram"]
    assert f"Train another one with {' '.join(changed)}, or use" in str(refused.value)
    assert not (tmp_path / "marian").exists()
    assert len(unsupported_features(Config(model=AttentionRNNConfig()), words)) == 1


def test_only_unsupported_settings_are_named(tmp_path: Path) -> None:
    stack = TransformerStackConfig(layers=1, width=24, heads=2, ffn_width=20)
    bundle = new_bundle(
        Config(model=TransformerConfig(encoder=stack, decoder=stack, norm="pre")), TokenizerPair(ONE, OTHER)
    )
    with pytest.raises(RegardError, match=r"Train another one with --set model\.norm=post, or use the torch engine"):
        export_huggingface(bundle, tmp_path / "marian")


def test_weights_that_are_not_finite_are_not_exported(tmp_path: Path) -> None:
    stack = TransformerStackConfig(layers=1, width=24, heads=2, ffn_width=20)
    bundle = new_bundle(Config(model=TransformerConfig(encoder=stack, decoder=stack)), TokenizerPair(ONE, OTHER))
    with torch.no_grad():
        next(bundle.model.parameters())[0, 0] = torch.inf
    with pytest.raises(RegardError, match="not finite numbers"):
        export_huggingface(bundle, tmp_path / "marian")
    assert not (tmp_path / "marian").exists()
