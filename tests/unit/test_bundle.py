"""A bundle comes back as it was saved, or an error names the file; loading one runs no code of its maker."""

import hashlib
import random
from pathlib import Path
from typing import Any

import pytest
import torch

from regard import files as manifest_module
from regard.batch import Batch
from regard.bundle import Bundle, load_bundle, new_bundle, save_bundle
from regard.config import (
    AttentionRNNConfig,
    Config,
    DecoderOnlyConfig,
    ModelConfig,
    RecurrentLayersConfig,
    RNNConfig,
    TransformerConfig,
    TransformerStackConfig,
)
from regard.errors import RegardError
from regard.files import copy_model
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair

STACK = TransformerStackConfig(layers=1, width=8, heads=2, ffn_width=12)
ROWS = RecurrentLayersConfig(layers=1, width=8)
MODELS: list[ModelConfig] = [
    RNNConfig(embedding_width=8, encoder=ROWS, decoder=ROWS),
    AttentionRNNConfig(embedding_width=8, encoder=ROWS, decoder=ROWS),
    TransformerConfig(encoder=STACK, decoder=STACK, share_embeddings=True),
    TransformerConfig(
        encoder=STACK, decoder=STACK, tie_word_embeddings=False, positions="learned", max_position_embeddings=30
    ),
    DecoderOnlyConfig(transformer=STACK),
]
TOKENIZER = Tokenizer.train(["ba be bi bo bu da de di"], model_type="word", vocab_size=32)


def bundle_of(model: ModelConfig) -> Bundle:
    torch.manual_seed(3)
    bundle = new_bundle(Config(model=model), TokenizerPair(TOKENIZER, TOKENIZER))
    bundle.model.eval()
    return bundle


def logits_of(bundle: Bundle) -> torch.Tensor:
    batch = Batch.from_pairs([[5, 6, 7], [8]], [[6, 5], [7, 8, 5]])
    memory = bundle.model.encode(batch.source)
    return bundle.model.decode(batch.inputs.tokens, memory, bundle.model.init_state(memory)).logits


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_save_and_load_gives_the_same_logits(model: ModelConfig, tmp_path: Path) -> None:
    bundle = bundle_of(model)
    save_bundle(tmp_path / "model", bundle)
    loaded = load_bundle(tmp_path / "model")
    assert loaded.config == bundle.config
    assert loaded.tokenizers == bundle.tokenizers
    assert loaded.tokenizers.source is loaded.tokenizers.target  # it remembers the cuts of words, once for both sides
    assert torch.equal(logits_of(loaded), logits_of(bundle))


def error_of(directory: Path) -> str | None:
    try:
        load_bundle(directory)
    except RegardError as error:
        return str(error)
    return None


def test_any_flipped_bit_is_detected_and_named(tmp_path: Path) -> None:
    save_bundle(tmp_path / "model", bundle_of(MODELS[2]))
    chance = random.Random(0)
    for path in sorted((tmp_path / "model").iterdir()):
        content = path.read_bytes()
        for place in chance.sample(range(len(content)), min(40, len(content))):
            changed = bytearray(content)
            changed[place] ^= 1 << chance.randrange(8)
            path.write_bytes(changed)
            error = error_of(tmp_path / "model")
            if error is None:  # a change of white space in the manifest changes nothing that is read
                assert path.name == "manifest.json"
            else:
                assert str(tmp_path / "model") in error
        path.write_bytes(content)
    load_bundle(tmp_path / "model")


def test_bundle_replaced_while_reading_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    older, newer = bundle_of(MODELS[0]), bundle_of(MODELS[1])
    save_bundle(tmp_path / "model", older)
    coming, read = [newer], manifest_module.read_manifest

    def read_while_another_is_published(*given: Any) -> manifest_module.Manifest:
        found = read(*given)
        if coming:
            save_bundle(tmp_path / "model", coming.pop())
        return found

    monkeypatch.setattr(manifest_module, "read_manifest", read_while_another_is_published)
    loaded = load_bundle(tmp_path / "model")
    assert loaded.config == newer.config
    assert torch.equal(logits_of(loaded), logits_of(newer))
    assert loaded.digest == hashlib.sha256((tmp_path / "model" / "model.safetensors").read_bytes()).hexdigest()


@pytest.mark.parametrize("keep", [0, 1, 0.5])
def test_a_truncated_file_is_noticed(tmp_path: Path, keep: float) -> None:
    save_bundle(tmp_path / "model", bundle_of(MODELS[0]))
    for path in sorted((tmp_path / "model").iterdir()):
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * keep) if keep < 1 else len(content) - 2])
        with pytest.raises(RegardError, match=r"damaged|cannot be read|not a"):
            load_bundle(tmp_path / "model")
        path.write_bytes(content)


def test_weights_of_another_model_list_every_difference(tmp_path: Path) -> None:
    from regard.files import write_manifest

    save_bundle(tmp_path / "one", bundle_of(MODELS[0]))
    save_bundle(tmp_path / "two", bundle_of(MODELS[1]))
    (tmp_path / "one" / "model.safetensors").write_bytes((tmp_path / "two" / "model.safetensors").read_bytes())
    write_manifest(tmp_path / "one", "model", 1)
    with pytest.raises(RegardError) as caught:
        load_bundle(tmp_path / "one")
    assert "cross_attention.score.vector is not part of this model" in str(caught.value)
    assert "is missing" in str(caught.value) or "not (" in str(caught.value)


def test_a_manifest_cannot_reach_outside_its_directory(tmp_path: Path) -> None:
    save_bundle(tmp_path / "model", bundle_of(MODELS[0]))
    manifest = tmp_path / "model" / "manifest.json"
    manifest.write_text(manifest.read_text().replace("config.toml", "../config.toml"))
    with pytest.raises(RegardError, match="outside"):
        load_bundle(tmp_path / "model")


@pytest.mark.parametrize("what", ["nothing", "file", "empty"])
def test_directory_without_a_bundle_is_named(tmp_path: Path, what: str) -> None:
    path = tmp_path / what
    if what == "file":
        path.write_text("hello")
    elif what == "empty":
        path.mkdir()
    with pytest.raises(RegardError, match="is not a model"):
        load_bundle(path)


def test_saving_keeps_files_that_are_not_a_model(tmp_path: Path) -> None:
    bundle = bundle_of(MODELS[0])
    save_bundle(tmp_path / "model", bundle)
    save_bundle(tmp_path / "model", bundle)  # a model replaces a model
    (tmp_path / "empty").mkdir()
    save_bundle(tmp_path / "empty", bundle)
    attempts = (lambda: save_bundle(tmp_path, bundle), lambda: copy_model(tmp_path / "model", tmp_path))
    for attempt in attempts:
        with pytest.raises(RegardError, match=r"has other files than those of a model\. Give a new directory"):
            attempt()
    assert load_bundle(tmp_path / "model").config == bundle.config


def test_bundle_cannot_carry_code() -> None:
    """Nothing in the source reads pickles, evaluates text, or loads what a config names.

    One module does, in a process of its own, after the file's hash was held against the published one.
    """
    forbidden = ("import pickle", "torch.load(", "eval(", "exec(", "__import__(", "trust_remote_code")
    source = Path(__file__).parents[2] / "src"
    for path in source.rglob("*.py"):
        text = path.read_text(encoding="utf-8").replace(".eval(", "")
        if path == source / "regard" / "interop" / "unpickle.py":
            assert text.count("torch.load(") == text.count("weights_only=True)") == 1
            text = text.replace("torch.load(", "")
        assert not [word for word in forbidden if word in text], path
