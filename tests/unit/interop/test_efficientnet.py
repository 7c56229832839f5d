"""A pickle is opened only after its hash is the published one; what comes out is checked like any other weights."""

import hashlib
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from regard.bundle import new_bundle, read_tensors, save_bundle
from regard.config import Config, EfficientNetConfig, RNNConfig
from regard.errors import RegardError
from regard.files import write_manifest
from regard.interop import efficientnet
from regard.interop.efficientnet import import_efficientnet, pretrained_encoder
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair


def pickled(path: Path, tensors: object) -> Path:
    torch.save(tensors, path)
    return path


def publish(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Let this file be the published one."""
    monkeypatch.setattr(efficientnet, "PUBLISHED_SHA256", hashlib.sha256(path.read_bytes()).hexdigest())


def test_a_file_with_another_hash_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    monkeypatch.setattr(subprocess, "run", lambda *given, **_: opened.append(given))
    path = pickled(tmp_path / "weights.pth", {"a": torch.ones(2)})
    with pytest.raises(RegardError, match="It was not opened"):
        import_efficientnet(path, tmp_path / "out")
    assert not opened
    assert not (tmp_path / "out").exists()


def test_right_hash_still_allows_nothing_but_tensors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pickled(tmp_path / "weights.pth", {"a": Path("a path is not a tensor")})
    publish(monkeypatch, path)
    with pytest.raises(RegardError, match="cannot be converted"):
        import_efficientnet(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def write_thesis(out: Path) -> None:
    out.mkdir()
    (out / "thesis.txt").write_text("years of work")


def write_model(out: Path) -> None:
    tokenizer = Tokenizer.train(["ba be bi"], model_type="word", vocab_size=16)
    save_bundle(out, new_bundle(Config(model=RNNConfig()), TokenizerPair(tokenizer, tokenizer)))


def write_import_and_notes(out: Path) -> None:
    out.mkdir()
    (out / "model.safetensors").write_bytes(b"weights")
    write_manifest(out, "pretrained", 1)
    (out / "notes.txt").write_text("of the weights")


@pytest.mark.parametrize("write", [write_thesis, write_model, write_import_and_notes, Path.touch])
def test_directory_that_is_no_earlier_import_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None]
) -> None:
    path, out = pickled(tmp_path / "weights.pth", {"a": torch.ones(2)}), tmp_path / "out"
    publish(monkeypatch, path)
    write(out)
    before = {one: one.read_bytes() for one in [out, *out.rglob("*")] if one.is_file()}
    with pytest.raises(RegardError, match="is not an earlier import of weights alone"):
        import_efficientnet(path, out)
    assert {one: one.read_bytes() for one in [out, *out.rglob("*")] if one.is_file()} == before


def test_empty_directory_is_filled_and_earlier_import_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for number in (2, 3):
        path = pickled(tmp_path / "weights.pth", {"a": torch.ones(number)})
        publish(monkeypatch, path)
        import_efficientnet(path, out)
        assert read_tensors((out / "model.safetensors").read_bytes(), out)["a"].shape == (number,)


def test_missing_file_and_weights_are_reported(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="cannot be read"):
        import_efficientnet(tmp_path / "none.pth", tmp_path / "out")
    with pytest.raises(RegardError, match="regard import efficientnet-lite0 --out"):
        pretrained_encoder(EfficientNetConfig(weights=str(tmp_path / "out")))
    with pytest.raises(RegardError, match="names no weights"):
        pretrained_encoder(EfficientNetConfig())


def test_damaged_or_unfitting_weights_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out = pickled(tmp_path / "weights.pth", {"_conv_stem.weight": torch.ones(2)}), tmp_path / "out"
    publish(monkeypatch, path)
    assert import_efficientnet(path, out) == 1
    with pytest.raises(RegardError, match="does not fit the model"):
        pretrained_encoder(EfficientNetConfig(weights=str(out)))
    content = bytearray((out / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (out / "model.safetensors").write_bytes(content)
    with pytest.raises(RegardError, match="is damaged"):
        pretrained_encoder(EfficientNetConfig(weights=str(out)))
