"""Files that someone made to break their reader: what a path may lead to, and bundles with one part replaced."""

import hashlib
import json
import os
import resource
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import numpy as np

from regard.bundle import new_bundle, save_bundle
from regard.config import Config, TransformerConfig, TransformerStackConfig
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair

SPARSE_BYTES = 4 << 30
MAX_SECONDS = 4.0  # of CPU time, so that a busy machine does not matter; the promise is two on an idle one
MAX_WAIT = 60  # seconds until a call that waits for something is stopped
MAX_MEGABYTES = 300
Attack = Callable[[Path], None]

# --- what a path leads to


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_directory(path: Path) -> None:
    path.mkdir()


def link_to_zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def dangling_link(path: Path) -> None:
    path.symlink_to("nothing")


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:  # its name may have 108 bytes, so it is bound from its directory
        before = Path.cwd()
        os.chdir(path.parent)
        try:
            server.bind(path.name)
        finally:
            os.chdir(before)


def sparse_file(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(SPARSE_BYTES)


NOT_FILES: dict[str, Attack] = {
    attack.__name__: attack
    for attack in (make_fifo, make_directory, link_to_zeros, link_to_itself, dangling_link, make_socket)
}

# --- bundles


def write_small_bundle(directory: Path) -> Path:
    """A whole bundle of a tiny Transformer."""
    tokenizer = Tokenizer.train(["ba be bi bo bu da de di"], model_type="word", vocab_size=13)
    stack = TransformerStackConfig(layers=1, width=8, heads=2, ffn_width=12)
    config = Config(model=TransformerConfig(encoder=stack, decoder=stack, share_embeddings=True))
    save_bundle(directory, new_bundle(config, TokenizerPair(tokenizer, tokenizer)))
    return directory


def rewrite_hashes(directory: Path) -> None:
    """Write the hashes of the files as they are now: whoever changes a bundle can also change its manifest."""
    manifest = json.loads((directory / "manifest.json").read_bytes())
    for name in manifest["files"]:
        path = directory / name
        if path.is_file() and path.stat().st_size < SPARSE_BYTES:
            manifest["files"][name] = hashlib.sha256(path.read_bytes()).hexdigest()
    (directory / "manifest.json").write_text(json.dumps(manifest))


def replaced(name: str, content: bytes) -> Attack:
    def attack(directory: Path) -> None:
        (directory / name).write_bytes(content)
        rewrite_hashes(directory)

    return attack


def config_with(**values: Any) -> Attack:
    """The config of the bundle with some values replaced, named with two underscores: model__encoder__layers."""

    def attack(directory: Path) -> None:
        overrides = msgspec.toml.decode((directory / "config.toml").read_bytes())
        for name, value in values.items():
            *sections, key = name.split("__")
            table = overrides
            for section in sections:
                table = table[section]
            table[key] = value
        replaced("config.toml", msgspec.toml.encode(overrides))(directory)

    return attack


def manifest_with(**values: Any) -> Attack:
    def attack(directory: Path) -> None:
        path = directory / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_bytes()) | values))

    return attack


def manifest_with_file(name: str) -> Attack:
    def attack(directory: Path) -> None:
        files = json.loads((directory / "manifest.json").read_bytes())["files"]
        manifest_with(files=files | {name: "0" * 64})(directory)

    return attack


def weights_with(header: Any, data: bytes = b"", *, length: int | None = None) -> Attack:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    content = struct.pack("<Q", len(text) if length is None else length) + text + data
    return replaced("model.safetensors", content)


def weights_changed(change: Callable[[dict[str, Any]], None]) -> Attack:
    """The weights of the bundle with a changed header."""

    def attack(directory: Path) -> None:
        content = (directory / "model.safetensors").read_bytes()
        [length] = struct.unpack("<Q", content[:8])
        header = json.loads(content[8 : 8 + length])
        change(header)
        weights_with(header, content[8 + length :])(directory)

    return attack


def _first(header: dict[str, Any]) -> dict[str, Any]:
    return header[min(name for name in header if name != "__metadata__")]


CONFIGS: dict[str, Attack] = {
    "a million layers": config_with(model__encoder__layers=1_000_000),
    "many layers": config_with(model__encoder__layers=256, model__decoder__layers=256),
    **{f"width {width:,}": config_with(model__encoder__width=width) for width in (65_536, 10**5, 10**6, 10**9, 2**62)},
    "wide feed-forward": config_with(model__encoder__ffn_width=65_536),
    "many learned positions": config_with(model__positions="learned", model__max_position_embeddings=2**20),
    "every width at its limit": config_with(
        model__encoder={"width": 2**16, "heads": 1, "layers": 256, "ffn_width": 2**16},
        model__decoder={"width": 2**16, "heads": 1, "layers": 256, "ffn_width": 2**16},
    ),
    "another kind of model": config_with(model={"kind": "rnn"}),
    "channels beyond 63 bits": config_with(
        model={
            "kind": "classifier-image",
            "classes": 2,
            "image_encoder": {"kind": "cnn", "width": 2**16, "blocks": 16, "heads": 0},
        }
    ),
    "a key of many parts": replaced("config.toml", ".".join("a" * 100_000).encode() + b" = 1"),
    "many dotted keys": replaced("config.toml", "\n".join(f"a{n}.b = 1" for n in range(70_000)).encode()),
    "many unknown keys": replaced("config.toml", "\n".join(f"stepz{n} = 1" for n in range(70_000)).encode()),
    "deep brackets": replaced("config.toml", b"a = " + b"[" * 100_000),
    "latin-1": replaced("config.toml", 'data.languages = ["fran\xe7ais"]'.encode("latin-1")),
    "binary": replaced("config.toml", bytes(range(256)) * 16),
    "UTF-16": replaced("config.toml", "steps = 1".encode("utf-16")),
    "a NUL in a path": config_with(data__train=["a\0b"]),
    "two megabytes": replaced("config.toml", b"#" * 2_000_000),
    "endless output": config_with(decoding__max_length_extra=2**31 - 1),
    "endless ratio": config_with(decoding__max_length_ratio=1e9),
    "a number of many digits": replaced("config.toml", b"a = " + b"9" * 10_000),
}
MANIFESTS: dict[str, Attack] = {
    **{
        f"name {name[:12]!r}": manifest_with_file(name)
        for name in ("a\0b", "../x", "/etc/passwd", "", ".", "..", "a/b", "a\\b", "\ud800", "x" * 5000, "é", "a\nb")
    },
    "a file that is missing": manifest_with_file("missing.bin"),
    "many files": manifest_with(files={f"f{n}": "0" * 64 for n in range(10_000)}),
    "more than a megabyte": manifest_with(files={f"f{n}": "0" * 64 for n in range(100_000)}),
    "files in a list": manifest_with(files=["config.toml"]),
    "a hash that is a number": manifest_with(files={"config.toml": 5}),
    "no files": manifest_with(files={}),
    "a version of many digits": manifest_with(version=10**400),
    "a version in words": manifest_with(version="one"),
    "another kind": manifest_with(kind="x" * 100_000),
    "an unknown field": manifest_with(more=1),
    "deep brackets": lambda directory: (directory / "manifest.json").write_bytes(b"[" * 500_000) and None,
    "not UTF-8": lambda directory: (directory / "manifest.json").write_bytes(b'{"kind": "\xff"}') and None,
    "empty": lambda directory: (directory / "manifest.json").write_bytes(b"") and None,
}
WEIGHTS: dict[str, Attack] = {
    "an endless header": weights_with({}, length=2**63),
    "a header longer than the file": weights_with({}, length=1000),
    "a header of no bytes": weights_with(b"", length=0),
    "seven bytes": replaced("model.safetensors", b"\0" * 7),
    "a header that is not JSON": weights_with(b"\xff" * 100),
    "a header of brackets": weights_with(b"[" * 1_000_000),
    "no tensors": weights_with({}),
    "many small tensors": weights_with(
        {f"t{n}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for n in range(100_000)}
    ),
    "a shape beyond 63 bits": weights_changed(lambda header: _first(header).update(shape=[2**40, 2**40])),
    "a negative shape": weights_changed(lambda header: _first(header).update(shape=[-8])),
    "a shape of many axes": weights_changed(lambda header: _first(header).update(shape=[1] * 100_000)),
    "a shape of text": weights_changed(lambda header: _first(header).update(shape="8")),
    "offsets in reverse": weights_changed(lambda header: _first(header).update(data_offsets=[32, 0])),
    "offsets beyond the file": weights_changed(lambda header: _first(header).update(data_offsets=[0, 2**60])),
    "an unknown type": weights_changed(lambda header: _first(header).update(dtype="F99")),
    "integers": weights_changed(lambda header: _first(header).update(dtype="I32")),
    "a tensor less": weights_changed(lambda header: header.pop(min(header))),
    "an endless name": weights_changed(lambda header: header.update({"x" * 1_000_000: _first(header)})),
    "metadata of numbers": weights_changed(lambda header: header.update(__metadata__={"a": 1})),
}
NOT_A_NUMBER = struct.pack("<f", float("nan"))


def weights_of_nan(directory: Path) -> None:
    path = directory / "model.safetensors"
    replaced(path.name, path.read_bytes()[:-4] + NOT_A_NUMBER)(directory)


def weights_as(dtype: str, numbers: type[np.generic], value: float) -> Attack:
    """The weights of the bundle in another type, each tensor with this as its first number."""

    def attack(directory: Path) -> None:
        content = (directory / "model.safetensors").read_bytes()
        [length] = struct.unpack("<Q", content[:8])
        header, data = json.loads(content[8 : 8 + length]), b""
        for entry in header.values():
            start, stop = (8 + length + offset for offset in entry["data_offsets"])
            tensor = np.frombuffer(content[start:stop], np.float32).astype(numbers)
            tensor[0] = value
            entry |= {"dtype": dtype, "data_offsets": [len(data), len(data) + tensor.nbytes]}
            data += tensor.tobytes()
        weights_with(header, data)(directory)

    return attack


WEIGHTS["a number that is not finite"] = weights_of_nan
WEIGHTS["a number beyond float32"] = weights_as("F64", np.float64, 1e300)
WEIGHTS["numbers of 8 bits"] = weights_as("F8_E4M3", np.int8, 1)
VOCABULARIES: dict[str, Attack] = {
    "zeros": replaced("source.spm", bytes(1000)),
    "empty": replaced("source.spm", b""),
    "an endless piece": replaced("source.spm", b"\x0a" + b"\xff" * 9 + b"\x01" + b"x" * 100),
    "text": replaced("source.spm", b"<unk>\n<s>\n</s>\n" * 1000),
    "a truncated file": lambda directory: replaced("source.spm", (directory / "source.spm").read_bytes()[:-7])(
        directory
    ),
}


def with_sparse_file(name: str) -> Attack:
    """The bundle with one more file, which its manifest lists."""

    def attack(directory: Path) -> None:
        manifest_with_file(name)(directory)
        sparse_file(directory / name)

    return attack


def with_many_files(directory: Path) -> None:
    """The bundle with many links to one sparse file, which is as large as a file may be."""
    content = bytes(60 << 20)
    (directory / "one").write_bytes(content)
    names = ["one", *(f"link{number}" for number in range(40))]
    for name in names[1:]:
        (directory / name).hardlink_to(directory / "one")
    files = json.loads((directory / "manifest.json").read_bytes())["files"]
    manifest_with(files=files | dict.fromkeys(names, hashlib.sha256(content).hexdigest()))(directory)


MORE_FILES: dict[str, Attack] = {
    **{name: with_sparse_file(name) for name in ("words.bin", "more.bin", "more.safetensors", "model.bin", "more")},
    "many files": with_many_files,
}
FILES = ("manifest.json", "config.toml", "source.spm", "target.spm", "model.safetensors")
LINKS: dict[str, Attack] = {}
for _name in FILES:
    for _kind, _attack in (NOT_FILES | {"sparse_file": sparse_file}).items():

        def _replace(directory: Path, name: str = _name, attack: Attack = _attack) -> None:
            (directory / name).unlink()
            attack(directory / name)

        LINKS[f"{_name} {_kind}"] = _replace
BUNDLES = {
    f"{part}: {name}": attack
    for part, attacks in {
        "config": CONFIGS,
        "manifest": MANIFESTS,
        "weights": WEIGHTS,
        "vocabulary": VOCABULARIES,
        "path": LINKS,
        "more files": MORE_FILES,
    }.items()
    for name, attack in attacks.items()
}


# --- limits


@contextmanager
def bounded() -> Iterator[None]:
    """Within, a call must end soon, and must not fill the memory."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"it waited for more than {MAX_WAIT} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(MAX_WAIT)
    started, peak = time.process_time(), _peak_megabytes()
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert time.process_time() - started < MAX_SECONDS
    assert _peak_megabytes() - peak < MAX_MEGABYTES


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
