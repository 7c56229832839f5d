"""Truncated, tampered, oversized, partial and hostile foreign models: a clear error, nothing written."""

import io
import json
import os
import shutil
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from regard.cli import EXIT_WRONG_INPUT, run
from regard.errors import RegardError
from regard.interop.import_model import detect, write_model
from regard.interop.marian_native_export import export_marian
from tests.support.foreign_models import (
    SOURCE_SPM,
    write_argos,
    write_ctranslate2,
    write_family,
    write_marian,
    write_vit,
)
from tests.support.hostile_files import bounded
from tests.support.random_translators import marian_translator

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("whole") / "marian"
    write_marian(directory)
    return directory


@pytest.fixture(scope="module")
def ctranslate2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    return write_ctranslate2(folder / "ct2", folder, "int8")


def refused(path: Path, out: Path) -> str:
    """The error of an import, which wrote nothing."""
    with pytest.raises(RegardError) as error:
        write_model(detect(path).load(), out)
    assert not out.exists()
    assert not list(out.parent.glob(f"{out.name}*"))
    return str(error.value)


def drop_tensor(directory: Path) -> None:
    tensors = load_file(directory / "model.safetensors")
    del tensors["model.decoder.layers.0.fc2.bias"]
    save_file(tensors, directory / "model.safetensors")


def swap_shape(directory: Path) -> None:
    tensors = load_file(directory / "model.safetensors")
    tensors["model.decoder.layers.0.fc1.weight"] = tensors["model.decoder.layers.0.fc1.weight"].T.contiguous()
    save_file(tensors, directory / "model.safetensors")


def add_nan(directory: Path) -> None:
    tensors = load_file(directory / "model.safetensors")
    tensors["model.decoder.layers.0.fc1.bias"][3] = torch.nan
    save_file(tensors, directory / "model.safetensors")


def truncate(directory: Path) -> None:
    content = (directory / "model.safetensors").read_bytes()
    (directory / "model.safetensors").write_bytes(content[: len(content) // 2])


def set_option(name: str, value: object) -> Callable[[Path], None]:
    def change(directory: Path) -> None:
        settings = json.loads((directory / "config.json").read_text())
        (directory / "config.json").write_text(json.dumps(settings | {name: value}))

    return change


def overwrite(name: str, content: bytes) -> Callable[[Path], None]:
    def change(directory: Path) -> None:
        (directory / name).write_bytes(content)

    return change


def replace_weights(name: str, content: bytes) -> Callable[[Path], None]:
    def change(directory: Path) -> None:
        (directory / "model.safetensors").unlink()
        (directory / name).write_bytes(content)

    return change


MARIAN_FAULTS: dict[str, tuple[Callable[[Path], None], str]] = {
    "missing tensor": (drop_tensor, "fc2.bias is missing"),
    "wrong shape": (swap_shape, "fc1.weight is"),
    "not a number": (add_nan, "not finite"),
    "truncated weights": (truncate, "damaged"),
    "no weights": (lambda directory: (directory / "model.safetensors").unlink(), "has no weights"),
    "empty weights": (overwrite("model.safetensors", b""), "damaged"),
    "not json": (overwrite("config.json", b"{"), "is not JSON"),
    "deep json": (overwrite("vocab.json", b"[" * 100_000), "is not JSON"),
    "json list": (overwrite("vocab.json", b"[]"), "expected is a dict"),
    "foreign architecture": (set_option("model_type", "mamba"), "model_type 'mamba'"),
    "architecture in a list": (set_option("model_type", ["marian"]), "model_type ['marian']"),
    "sparse sentencepiece": (lambda directory: os.truncate(directory / "source.spm", 1 << 33), "at most 67,108,864"),
    "sparse vocabulary": (lambda directory: os.truncate(directory / "vocab.json", 1 << 33), "at most 67,108,864"),
    "sparse pickle": (
        lambda directory: (
            replace_weights("pytorch_model.bin", b"")(directory),
            os.truncate(directory / "pytorch_model.bin", 1 << 40),
        ),
        "are allowed",
    ),
    "many layers": (set_option("encoder_layers", 10**9), "encoder_layers is 1000000000"),
    "huge width": (set_option("d_model", 2**16), "weight"),
    "huge vocabulary": (set_option("vocab_size", 2**20), "vocab_size"),
    "text for a number": (set_option("d_model", "512"), "d_model is '512'"),
    "odd heads": (set_option("encoder_attention_heads", 5), "divide evenly"),
    "damaged sentencepiece": (overwrite("source.spm", b"\x0a\xff\xff\xff\xff\x0f"), "sentencepiece model"),
    "no sentencepiece": (lambda directory: (directory / "target.spm").unlink(), "cannot be read"),
    "pickle with code": (replace_weights("pytorch_model.bin", b"cos\nsystem\n(S'touch pwned'\ntR."), "be converted"),
    "shards without names": (
        replace_weights("model.safetensors.index.json", b'{"weight_map": {"a": ["x"]}}'),
        "names no files",
    ),
    "foreign tensors": (
        lambda directory: save_file({f"a{i}": torch.ones(1) for i in range(200)}, directory / "model.safetensors"),
        "more\nNothing was written",
    ),
    "larger than its header": (
        lambda directory: os.truncate(directory / "model.safetensors", 1 << 40),
        "its header describes",
    ),
    "complex numbers": (
        lambda directory: save_file(
            {name: one.to(torch.complex64) for name, one in load_file(directory / "model.safetensors").items()},
            directory / "model.safetensors",
        ),
        "has the type torch.complex64",
    ),
    "shards outside": (
        replace_weights("model.safetensors.index.json", b'{"weight_map": {"a": "../x.safetensors"}}'),
        "outside its directory",
    ),
}


@pytest.mark.parametrize("fault", MARIAN_FAULTS)
def test_damaged_marian_directory_is_refused(fault: str, marian: Path, tmp_path: Path) -> None:
    change, message = MARIAN_FAULTS[fault]
    shutil.copytree(marian, tmp_path / "copy")
    change(tmp_path / "copy")
    assert message in refused(tmp_path / "copy", tmp_path / "out")


def pickled(content: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def compressed(archive: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            new.writestr(info.filename, old.read(info))
    return buffer.getvalue()


PICKLES = {
    "no tensors": (pickled([1]), "holds no tensors by name"),
    "numbered tensors": (pickled({1: torch.ones(2)}), "holds no tensors by name"),
    "nested": (pickled({"a": {"b": torch.ones(2)}}), "a is not a dense tensor"),
    "sparse": (pickled({"a": torch.ones(2).to_sparse()}), "a is not a dense tensor"),
    "without numbers": (pickled({"a": torch.empty(1 << 40, device="meta")}), "a is not a dense tensor"),
    "repeated numbers": (pickled({"a": torch.zeros(1).expand(1 << 40)}), "a has more numbers than the file"),
    "many views": (pickled(dict.fromkeys(map(str, range(9)), torch.ones(1000))), "many times the numbers"),
    "compressed": (compressed(pickled({"a": torch.zeros(1 << 20)})), "it is compressed"),
    "empty": (b"", "EOFError"),
}


@pytest.mark.parametrize("fault", PICKLES)
def test_hostile_pickle_is_refused(fault: str, marian: Path, tmp_path: Path) -> None:
    content, message = PICKLES[fault]
    shutil.copytree(marian, tmp_path / "copy")
    replace_weights("pytorch_model.bin", content)(tmp_path / "copy")
    assert message in refused(tmp_path / "copy", tmp_path / "out")


def test_pickle_with_tied_tensors_is_read(marian: Path, tmp_path: Path) -> None:
    """As transformers wrote them before safetensors: one table under several names."""
    shutil.copytree(marian, tmp_path / "copy")
    tensors = load_file(marian / "model.safetensors")
    tensors["lm_head.weight"] = tensors["model.shared.weight"]
    replace_weights("pytorch_model.bin", pickled(tensors))(tmp_path / "copy")
    bundles = [detect(path).load().to_bundle() for path in (marian, tmp_path / "copy")]
    assert all(map(torch.equal, *(bundle.model.state_dict().values() for bundle in bundles)))


def change_tensor(name: str, change: Callable[[torch.Tensor], torch.Tensor | None]) -> Callable[[Path], None]:
    """Replace one tensor of a directory, or remove it."""

    def changed(directory: Path) -> None:
        tensors = load_file(directory / "model.safetensors")
        new = change(tensors.pop(name))
        save_file(tensors if new is None else tensors | {name: new.contiguous()}, directory / "model.safetensors")

    return changed


def add_tensor(directory: Path) -> None:
    tensors = load_file(directory / "model.safetensors")
    save_file(tensors | {"adapter.weight": torch.ones(2)}, directory / "model.safetensors")


def sentinels(number: int) -> Callable[[Path], None]:
    """T5 with a sentencepiece model and this number of sentinels."""

    def changed(directory: Path) -> None:
        (directory / "tokenizer.json").unlink()
        (directory / "spiece.model").write_bytes(SOURCE_SPM)
        (directory / "tokenizer_config.json").write_text(json.dumps({"extra_ids": number}))

    return changed


BIAS = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
FAMILY_FAULTS: dict[tuple[str, str], tuple[Callable[[Path], None], str]] = {
    ("t5", "no bias"): (change_tensor(BIAS, lambda _: None), f"{BIAS} is missing"),
    ("t5", "other buckets"): (change_tensor(BIAS, lambda tensor: tensor[1:]), "positions.weight"),
    ("t5", "not a number"): (change_tensor(BIAS, lambda tensor: tensor * torch.nan), "not finite"),
    ("t5", "foreign tensor"): (add_tensor, "adapter.weight is not part of T5"),
    ("t5", "truncated weights"): (truncate, "damaged"),
    ("t5", "huge layers"): (set_option("num_decoder_layers", 10**9), "num_decoder_layers is 1000000000"),
    ("t5", "huge width"): (set_option("d_kv", 2**19), "query.weight"),
    ("t5", "huge vocabulary"): (set_option("vocab_size", 2**20), "vocab_size is 1,048,576"),
    ("t5", "huge buckets"): (set_option("relative_attention_num_buckets", 2**30), "relative_attention_num_buckets is"),
    ("t5", "short distance"): (set_option("relative_attention_max_distance", 4), "larger than half"),
    ("t5", "foreign activation"): (set_option("feed_forward_proj", "gated-mish"), "'mish'"),
    ("t5", "text for a number"): (set_option("num_heads", "8"), "num_heads is '8'"),
    ("t5", "foreign tokenizer"): (overwrite("tokenizer.json", b'{"model": {"type": "WordLevel"}}'), "'WordLevel'"),
    ("t5", "damaged tokenizer"): (
        overwrite("tokenizer.json", b'{"model": {"type": "Unigram", "vocab": 3}}'),
        "damaged",
    ),
    ("t5", "many sentinels"): (sentinels(10**12), "extra_ids is 1000000000000"),
    ("t5", "no tokenizer"): (lambda directory: (directory / "tokenizer.json").unlink(), "has no spiece.model"),
    ("vit", "no class head"): (change_tensor("classifier.weight", lambda _: None), "no class head"),
    ("vit", "no positions"): (
        change_tensor("vit.embeddings.position_embeddings", lambda _: None),
        "position_embeddings is missing",
    ),
    ("vit", "fewer positions"): (
        change_tensor("vit.embeddings.position_embeddings", lambda tensor: tensor[:, 1:]),
        "network.positions",
    ),
    ("vit", "not a number"): (change_tensor("classifier.bias", lambda tensor: tensor * torch.nan), "not finite"),
    ("vit", "foreign tensor"): (add_tensor, "adapter.weight is not part of ViT"),
    ("vit", "truncated weights"): (truncate, "damaged"),
    ("vit", "huge image"): (set_option("image_size", 2**20), "image_size is 1048576"),
    ("vit", "uneven patches"): (set_option("patch_size", 7), "divide evenly into patches"),
    ("vit", "no patches"): (set_option("patch_size", 0), "patch_size is 0"),
    ("vit", "two sides"): (set_option("image_size", [8, 16]), "image_size is [8, 16]"),
    ("vit", "grey images"): (set_option("num_channels", 1), "num_channels is 1"),
    ("vit", "without biases"): (set_option("qkv_bias", False), "qkv_bias is false"),
    ("vit", "foreign processor"): (overwrite("preprocessor_config.json", b"[]"), "expected is a dict"),
    ("bert", "no pooler"): (
        change_tensor("bert.pooler.dense.weight", lambda _: None),
        "pooler.dense.weight is missing",
    ),
    ("bert", "one output"): (change_tensor("classifier.weight", lambda tensor: tensor[:1]), "its head has 1 outputs"),
    ("bert", "short bias"): (change_tensor("classifier.bias", lambda tensor: tensor[:1]), "head.output.bias"),
    ("bert", "fewer labels"): (set_option("id2label", {"0": "good"}), "the head has 3 classes"),
    ("bert", "truncated weights"): (truncate, "damaged"),
}


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("families")
    write_family(folder / "t5", "t5", 0)
    write_family(folder / "bert", "bert", 0, labels=["good", "bad", "so so"])
    write_vit(folder / "vit", 0)
    return folder


@pytest.mark.parametrize(("name", "fault"), FAMILY_FAULTS)
def test_damaged_family_is_refused(name: str, fault: str, families: Path, tmp_path: Path) -> None:
    change, message = FAMILY_FAULTS[name, fault]
    shutil.copytree(families / name, tmp_path / "copy")
    change(tmp_path / "copy")
    assert message in refused(tmp_path / "copy", tmp_path / "out")


def test_every_truncated_or_tampered_binary_is_refused(ctranslate2: Path, tmp_path: Path) -> None:
    shutil.copytree(ctranslate2, tmp_path / "copy")
    whole, chance = (ctranslate2 / "model.bin").read_bytes(), Random(2)
    header = whole.index(b"decoder/embeddings/weight")
    for length in [0, 3, 10, *chance.sample(range(len(whole)), 12), len(whole) - 1]:
        (tmp_path / "copy/model.bin").write_bytes(whole[:length])
        refused(tmp_path / "copy", tmp_path / "out")
    for place in chance.sample(range(header), 12):  # names, ranks and sizes; a flipped weight is another weight
        changed = bytearray(whole)
        changed[place] ^= 0xFF
        (tmp_path / "copy/model.bin").write_bytes(bytes(changed))
        try:
            write_model(detect(tmp_path / "copy").load(), tmp_path / "changed")
        except RegardError:
            assert not (tmp_path / "changed").exists()
        else:  # the byte is part of a number that the model uses, such as alignment_heads
            shutil.rmtree(tmp_path / "changed")


@pytest.mark.parametrize("name", ["shared_vocabulary.json", "source.spm", "config.json"])
def test_sparse_metadata_is_not_read(name: str, ctranslate2: Path, tmp_path: Path) -> None:
    shutil.copytree(ctranslate2, tmp_path / "copy")
    os.truncate(tmp_path / "copy" / name, 1 << 33)
    with bounded():
        assert "at most 67,108,864" in refused(tmp_path / "copy", tmp_path / "out")


def test_vocabulary_of_another_size_is_refused(ctranslate2: Path, tmp_path: Path) -> None:
    shutil.copytree(ctranslate2, tmp_path / "copy")
    path = tmp_path / "copy/shared_vocabulary.json"
    path.write_text(json.dumps(json.loads(path.read_text())[:-1]))
    assert "rows for a vocabulary of" in refused(tmp_path / "copy", tmp_path / "out")


def test_declared_size_is_not_allocated(ctranslate2: Path, tmp_path: Path) -> None:
    shutil.copytree(ctranslate2, tmp_path / "copy")
    name = b"encoder/huge\0"
    variable = struct.pack("<H", len(name)) + name + struct.pack("<BIIBI", 2, 2**31, 2**31, 0, 2**32 - 1)
    header = struct.pack("<I", 6) + struct.pack("<H", 16) + b"TransformerSpec\0" + struct.pack("<II", 7, 1)
    (tmp_path / "copy/model.bin").write_bytes(header + variable)
    assert "4,294,967,295 bytes" in refused(tmp_path / "copy", tmp_path / "out")


# --- Marian's own checkpoints ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("whole") / "native"
    export_marian(marian_translator("firefox"), directory, quantization="int8")
    return directory


def test_truncated_or_tampered_checkpoint_is_refused(native: Path, tmp_path: Path) -> None:
    shutil.copytree(native, tmp_path / "copy")
    [path] = (tmp_path / "copy").glob("model*.bin")
    whole, chance = path.read_bytes(), Random(2)
    for length in [17, 40, *chance.sample(range(17, len(whole)), 8), len(whole) - 1]:
        path.write_bytes(whole[:length])
        refused(path, tmp_path / "out")
    for place in chance.sample(range(8, 16 + 32 * whole[8]), 24):  # the number of items, and their lengths and types
        changed = bytearray(whole)
        changed[place] ^= 0x7F
        path.write_bytes(bytes(changed))
        refused(path, tmp_path / "out")


def header(name: bytes, kind: int, shape: tuple[int, ...], length: int) -> bytes:
    head = struct.pack("<QQ4Q", 1, 1, len(name), kind, len(shape), length)
    return head + name + struct.pack(f"<{len(shape)}i", *shape) + struct.pack("<Q", 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (struct.pack("<QQ", 1, 2**60) + bytes(64), "not a checkpoint of Marian"),
        (header(b"Wemb\0", 0x404, (2**31 - 1, 2**31 - 1), 16) + bytes(16), "damaged"),
        (header(b"Wemb\0", 0x404, (-4, -1), 16) + bytes(16), "damaged"),
        (header(b"Wemb\0", 0x404, (2, 2), 2**62) + bytes(16), "damaged"),
        (header(b"Wemb\0", 0x802, (2, 2), 16) + bytes(16), "packed for one kind of processor"),
        (header(b"Wemb\0", 0x404, (2, 2), 16) + bytes(16), "no special:model.yml"),
        (header(b"special:model.yml\0", 0x101, (4,), 4) + b"a: 1", "type is None"),
    ],
)
def test_hostile_checkpoint_is_refused(content: bytes, message: str, native: Path, tmp_path: Path) -> None:
    shutil.copytree(native, tmp_path / "copy")
    [path] = (tmp_path / "copy").glob("model*.bin")
    path.write_bytes(content)
    assert message in refused(path, tmp_path / "out")


def npy(shape: str, content: bytes, kind: str = "<f4") -> bytes:
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (npy("(2, 2)", bytes(8)), "damaged"),
        (npy("(1073741824, 1073741824)", bytes(8)), "damaged"),
        (npy("(1,)", b"cos\nsystem\n(S'touch pwned'\ntR.", "|O"), "is an array of object"),
        (npy("(4194304,)", bytes(1 << 24)), "many times its size"),
        (b"nothing", "damaged"),
    ],
)
def test_hostile_npz_is_refused(member: bytes, message: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Wemb.npy", member)
        archive.writestr("special:model.yml.npy", npy("(4,)", b"a: 1", "|i1"))
    assert message in refused(tmp_path / "model.npz", tmp_path / "out")


def test_vocabulary_of_another_model_is_refused(native: Path, tmp_path: Path) -> None:
    shutil.copytree(native, tmp_path / "copy")
    (tmp_path / "copy/vocab.spm").write_bytes(SOURCE_SPM)
    assert "does not fit the model" in refused(tmp_path / "copy", tmp_path / "out")
    (tmp_path / "copy/vocab.spm").unlink()
    assert "has 0 sentencepiece models" in refused(tmp_path / "copy", tmp_path / "out")


def linked(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


@pytest.mark.parametrize("name", ["../../evil", "/etc/evil", "a/../../evil", "..\\evil", "C:evil"])
def test_archive_with_outside_name_is_refused(name: str, ctranslate2: Path, tmp_path: Path) -> None:
    path = write_argos(tmp_path / "x.argosmodel", ctranslate2, **{name: b"x"})
    assert "outside of it" in refused(path, tmp_path / "out")


def test_archive_with_link_is_refused(ctranslate2: Path, tmp_path: Path) -> None:
    path = write_argos(tmp_path / "x.argosmodel", ctranslate2)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(linked("translate-xx_yy-1_0/link"), "/etc/passwd")
    assert "holds a link" in refused(path, tmp_path / "out")


def test_archive_bomb_is_refused(ctranslate2: Path, tmp_path: Path) -> None:
    path = write_argos(tmp_path / "x.argosmodel", ctranslate2, bomb=bytes(1 << 26))
    assert "would grow from" in refused(path, tmp_path / "out")


def test_understated_member_size_is_refused(ctranslate2: Path, tmp_path: Path) -> None:
    """A bomb that declares a small size; zipfile stops at the declared size, and the checksum differs."""
    path = write_argos(tmp_path / "x.argosmodel", ctranslate2)
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("translate-xx_yy-1_0/model/model.bin")
    content = bytearray(path.read_bytes())
    place = content.rindex(info.filename.encode()) - 46
    struct.pack_into("<I", content, place + 24, 100)  # the uncompressed size in the central directory
    path.write_bytes(bytes(content))
    assert "model.bin" in refused(path, tmp_path / "out")


def test_tampered_archive_is_refused(ctranslate2: Path, tmp_path: Path) -> None:
    """Wrong bits of compressed data raise other errors than those of zipfile."""
    path = write_argos(tmp_path / "x.argosmodel", ctranslate2)
    with zipfile.ZipFile(path) as archive:
        offset = archive.getinfo("translate-xx_yy-1_0/model/model.bin").header_offset
    whole = path.read_bytes()
    for place in range(offset + 100, offset + 400, 15):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        refused(path, tmp_path / "out")


@pytest.mark.parametrize("length", [10, 1_000, -30])
def test_truncated_archive_is_refused(length: int, ctranslate2: Path, tmp_path: Path) -> None:
    path = write_argos(tmp_path / "x.argosmodel", ctranslate2)
    path.write_bytes(path.read_bytes()[:length])
    assert "not a complete zip archive" in refused(path, tmp_path / "out")


def test_archive_without_a_model_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("notes.txt", "nothing")
    (tmp_path / "x.zip").write_bytes(buffer.getvalue())
    assert "not a package of Argos Translate" in refused(tmp_path / "x.zip", tmp_path / "out")


def test_command_reports_and_writes_nothing(marian: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(marian, tmp_path / "copy")
    drop_tensor(tmp_path / "copy")
    assert run(["import", str(tmp_path / "copy"), "--out", str(tmp_path / "out")]) == EXIT_WRONG_INPUT
    printed = capsys.readouterr()
    assert "Hugging Face directory, marian" in printed.out + printed.err
    assert "fc2.bias is missing" in printed.err
    assert "Traceback" not in printed.err
    assert not (tmp_path / "out").exists()
