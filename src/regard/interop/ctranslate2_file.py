"""model.bin of CTranslate2: its variables, and whether they are those of a config; nothing here imports torch.

CTranslate2 itself trusts the shapes in the file, and reads beyond its memory where they are wrong.
"""

import math
import struct
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from regard.config import ModelConfig, TransformerConfig
from regard.errors import RegardError
from regard.tokenization.tokenizer import TokenizerPair

VERSIONS = range(4, 7)  # with the type of each variable
DTYPES: dict[int, str] = {0: "<f4", 1: "i1", 2: "<i2", 3: "<i4", 4: "<f2"}
MAX_AXES = 8
DTYPE_NAMES = {0: "float32", 1: "int8", 2: "int16", 4: "float16"}

Array = NDArray[Any]
Shape = tuple[int, ...]


def read_model_file(content: bytes, origin: str) -> tuple[str, dict[str, Array], dict[str, str]]:
    """The name of the model's class, its variables, and the other names of some of them.

    Every length is checked against the file before it is used.
    """
    reader = _Reader(content, origin)
    version = reader.number("I")
    if version not in VERSIONS:
        raise RegardError(
            f"{origin} is a model.bin of version {version}; supported: {VERSIONS[0]} to {VERSIONS[-1]}. "
            "Convert the model again with a newer CTranslate2."
        )
    spec, _revision = reader.text(), reader.number("I")
    arrays = dict(reader.variable() for _ in range(reader.number("I")))
    aliases = {reader.text(): reader.text() for _ in range(reader.number("I"))}
    return spec, arrays, aliases


def check_model_file(content: bytes, origin: str, config: ModelConfig, tokenizers: TokenizerPair) -> None:
    """Refuse a file whose variables do not have the names and shapes of this model."""
    spec, arrays, aliases = read_model_file(content, origin)
    model = cast(TransformerConfig, config)
    vocabularies = tokenizers.source.vocab_size, tokenizers.target.vocab_size
    found = arrays | {name: arrays[own] for name, own in aliases.items() if own in arrays}
    expected = dict(_expected_shapes(model, vocabularies))
    problems = [] if spec == "TransformerSpec" else [f"it is a {spec[:40]!r}"]
    for name in sorted(expected.keys() | {name for name, one in found.items() if one.ndim} | aliases.keys()):
        rows = expected.get(name.removesuffix("_scale"), ())[:1]
        shape, wanted = found[name].shape if name in found else None, expected.get(name, rows)
        if name.endswith("position_encodings/encodings"):
            wanted = (*(shape or ())[:1], getattr(getattr(model, name.partition("/")[0], None), "width", 0))
        if shape != wanted and not (name.endswith("_scale") and rows and shape == ()):
            problems.append(f"{name[:100]!r} is {shape and shape[:9]}, not {wanted}")
    numbers = {"multi_query_attention": 0, "alibi": 0, "rotary_dim": 0, "alignment_layer": -1, "alignment_heads": 1}
    for name, array in found.items():
        side, _, own = name.partition("/")
        heads = getattr(getattr(model, side, None), "heads", None)
        number = heads if own == "num_heads" else numbers.get(name.rpartition("/")[2])
        if number is not None and array.tolist() != number:
            problems.append(f"{name[:100]!r} is not {number}")
    if problems:
        more = f"; and {len(problems) - 1} more" if len(problems) > 1 else ""
        raise RegardError(f"{origin} does not fit its config: {problems[0]}{more}. Export the model again.")


def _expected_shapes(model: TransformerConfig, vocabularies: tuple[int, int]) -> Iterator[tuple[str, Shape]]:
    """The name and shape of each matrix and vector, but for tables of positions and scales."""
    tables = "encoder/embeddings_0", "decoder/embeddings"
    for side, table, pieces in zip(("encoder", "decoder"), tables, vocabularies, strict=True):
        stack = getattr(model, side)
        width, inner = stack.width, stack.ffn_width
        blocks = {"self_attention": [(3 * width, width), (width, width)], "ffn": [(inner, width), (width, inner)]}
        if side == "decoder":
            blocks["attention"] = [(width, width), (2 * width, model.encoder.width), (width, width)]
            yield from _linear("decoder/projection", (pieces, width))
        yield f"{table}/weight", (pieces, width)
        norms = [f"{side}/layer_norm"] if model.norm == "pre" else []
        for layer in range(stack.layers):
            for block, linears in blocks.items():
                name = f"{side}/layer_{layer}/{block}"
                norms.append(f"{name}/layer_norm")
                for number, shape in enumerate(linears):
                    yield from _linear(f"{name}/linear_{number}", shape)
        yield from ((f"{norm}/{part}", (width,)) for norm in norms for part in ("beta", "gamma"))


def _linear(name: str, shape: tuple[int, int]) -> Iterator[tuple[str, Shape]]:
    yield f"{name}/weight", shape
    yield f"{name}/bias", shape[:1]


class _Reader:
    """Takes numbers, texts and arrays from the bytes of a model.bin."""

    def __init__(self, content: bytes, origin: str) -> None:
        self.content, self.origin, self.position = memoryview(content), origin, 0

    def take(self, length: int) -> memoryview:
        if not 0 <= length <= len(self.content) - self.position:
            raise RegardError(f"{self.origin} is truncated or damaged at byte {self.position:,}. Get the file again.")
        self.position += length
        return self.content[self.position - length : self.position]

    def number(self, kind: str) -> int:
        value: int = struct.unpack(f"<{kind}", self.take(struct.calcsize(kind)))[0]
        return value

    def text(self) -> str:
        return bytes(self.take(self.number("H"))).rstrip(b"\0").decode(errors="replace")

    def variable(self) -> tuple[str, Array]:
        name, rank = self.text(), self.number("B")
        shape = [self.number("I") for _ in range(rank)]
        kind, length = self.number("B"), self.number("I")
        if kind not in DTYPES:
            raise RegardError(f"{self.origin}: {name[:100]!r} has numbers of type {kind}; supported: {DTYPE_NAMES}.")
        if rank > MAX_AXES or length != math.prod(shape) * np.dtype(DTYPES[kind]).itemsize:
            raise RegardError(f"{self.origin}: {name[:100]!r} has {length:,} bytes for {shape[:9]}. Get it again.")
        return name, np.frombuffer(self.take(length), dtype=DTYPES[kind]).reshape(shape)
