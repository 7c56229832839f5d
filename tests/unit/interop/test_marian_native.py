"""Marian's own checkpoints, in and out: `.bin` as float32 and int8, `.npz`, and the vocabularies beside them."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.batch import encode_source_rows
from regard.bundle import Bundle, named_tensors
from regard.errors import RegardError
from regard.interop.import_model import detect
from regard.interop.marian_files import OPTIONS_ITEM, parse_options, read_checkpoint
from regard.interop.marian_native_export import export_marian
from regard.special_tokens import BEGIN
from tests.support.random_translators import MARIAN_STYLES, marian_translator, random_translator, texts


def logits(bundle: Bundle, text: str) -> torch.Tensor:
    source, target = bundle.tokenizers.source.encode(text), bundle.tokenizers.target.encode("ba be bi")
    memory = bundle.model.encode(encode_source_rows([source]))
    output = bundle.model.decode(torch.tensor([[BEGIN, *target]]), memory, bundle.model.init_state(memory))
    return output.logits[..., 5 : bundle.tokenizers.target.vocab_size]


def reference_matrices(directory: Path) -> dict[str, np.ndarray]:
    [path] = directory.glob("model*.bin")
    return read_checkpoint(path).arrays


@pytest.mark.parametrize("style", MARIAN_STYLES)
@torch.inference_mode()
def test_exported_model_is_imported_unchanged(style: str, tmp_path: Path) -> None:
    bundle = marian_translator(style)
    export_marian(bundle, tmp_path / "marian")
    back = detect(tmp_path / "marian").load().to_bundle()
    theirs = named_tensors(back.model)
    for name, tensor in named_tensors(bundle.model).items():
        if "output" not in name and not name.endswith("tokens.weight"):  # their rows are padded
            assert torch.equal(theirs[name], tensor), name
    size = bundle.tokenizers.target.vocab_size
    for text in texts(4):
        ours, read = logits(bundle, text), logits(back, text)[..., : size - 5]
        torch.testing.assert_close(read, ours, atol=1e-5, rtol=1e-5)


@torch.inference_mode()
def test_int8_export_has_small_rounding_errors(tmp_path: Path) -> None:
    bundle = marian_translator("firefox")
    for precision in ("float32", "int8"):
        export_marian(bundle, tmp_path / precision, quantization=precision)
    exact, rounded = (reference_matrices(tmp_path / precision) for precision in ("float32", "int8"))
    assert exact.keys() == rounded.keys()
    for name, array in exact.items():
        step = np.abs(array).max() / 127 if min(array.shape) > 1 else 0.0
        assert np.abs(array - rounded[name]).max() <= step / 2 * 1.001, name


@torch.inference_mode()
def test_npz_is_read_like_bin(tmp_path: Path) -> None:
    bundle = marian_translator("self-attention")
    export_marian(bundle, tmp_path / "bin")
    [path] = (tmp_path / "bin").glob("model*.bin")
    content, arrays = path.read_bytes(), read_checkpoint(path).arrays
    options = content[content.index(b"dec-cell") :].rstrip(b"\0")
    (tmp_path / "npz").mkdir()
    np.savez(tmp_path / "npz/model.npz", **arrays, **{OPTIONS_ITEM: np.frombuffer(options, np.int8)})
    (tmp_path / "npz/vocab.spm").write_bytes(bundle.tokenizers.source.to_bytes())
    back = detect(tmp_path / "npz").load().to_bundle()
    torch.testing.assert_close(logits(back, "ba be"), logits(detect(path).load().to_bundle(), "ba be"))


def test_all_misfits_of_options_are_reported(tmp_path: Path) -> None:
    bundle = marian_translator("firefox")
    export_marian(bundle, tmp_path / "marian")
    [path] = (tmp_path / "marian").glob("model*.bin")
    content = path.read_bytes().replace(b"dec-cell: ssru", b"dec-cell: lstm").replace(b'"dan"', b'"dah"')
    path.write_bytes(content.replace(b"ulr: false", b"ulr: true "))
    with pytest.raises(RegardError) as refused:
        detect(tmp_path / "marian").load()
    for word in ("dec-cell is 'lstm'", "dah", "ulr is true", "Nothing was written"):
        assert word in str(refused.value)


def test_export_names_every_reason_and_setting(tmp_path: Path) -> None:
    from regard.config import TransformerConfig, TransformerStackConfig

    stack = TransformerStackConfig(layers=1, width=16, heads=2, ffn_width=16)
    bundle = random_translator(TransformerConfig(encoder=stack, decoder=stack, activation="gelu"))
    with pytest.raises(RegardError) as refused:
        export_marian(bundle, tmp_path / "marian")
    for word in (
        "model.zero_begin=true",
        "model.sinusoidal_base=",
        "model.norm_epsilon=1e-06",
        "model.activation=relu",
    ):
        assert f"--set {word}" in str(refused.value)
    assert not (tmp_path / "marian").exists()


def test_several_checkpoints_in_a_directory_are_refused(tmp_path: Path) -> None:
    bundle = marian_translator("firefox")
    export_marian(bundle, tmp_path / "marian")
    [path] = (tmp_path / "marian").glob("model*.bin")
    (tmp_path / "marian/other.bin").write_bytes(path.read_bytes())
    with pytest.raises(RegardError, match="several models of Marian"):
        detect(tmp_path / "marian")
    assert detect(path).name == "Marian checkpoint"


def test_options_have_values_and_lists() -> None:
    text = 'a: 1\nb: []\nc:\n  - x\n  - "y"\nd: ""\n# e: 2\n'
    assert parse_options(text) == {"a": "1", "b": [], "c": ["x", "y"], "d": ""}


def test_zip_with_other_members_is_no_checkpoint(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("a.npy", b"x")
    with pytest.raises(RegardError, match="Argos"):
        detect(tmp_path / "x.npz").load()
