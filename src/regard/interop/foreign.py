"""What every importer returns and uses: a foreign model in our terms, one report of all misfits, bounded reading.

Nothing of a foreign file is run, and nothing is written before the whole model fits.
"""

import json
import lzma
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.bundle import Bundle, load_weights, new_bundle, read_tensors
from regard.config import Config
from regard.errors import RegardError
from regard.files import MAX_METADATA_BYTES, open_input, read_input
from regard.interop.ctranslate2 import SUPPRESSED_LOGIT, require_finite_weights
from regard.process import available_memory
from regard.safetensors_header import read_tensor_header
from regard.special_tokens import BEGIN, RESERVED
from regard.struct_decoding import MAX_SHOWN_PROBLEMS, shorten
from regard.tokenization.tokenizer import TokenizerPair

MAX_JSON_BYTES = MAX_METADATA_BYTES
MAX_MODEL_BYTES = 16 << 30  # of all weights; the checkpoints that this program can train are far smaller
UNPICKLE_SECONDS, UNPICKLE_BYTES_PER_SECOND = 60, 20e6  # on a busy machine
ADVICE = "Give a complete model."
MAX_SIZE, MAX_LAYERS = 1 << 20, 256  # of a foreign config
ACTIVATIONS = {  # the names of the transformers library
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "swish": "silu",
    "silu": "silu",
}
Tensors = dict[str, Tensor]
# What zipfile and its decompressors raise for a damaged archive
ZIP_ERRORS = (OSError, EOFError, RuntimeError, ValueError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)


@dataclass(frozen=True)
class ForeignModel:
    """A model of another program as our config, vocabularies and tensors."""

    description: str  # the format and the architecture, for people
    config: Config
    tokenizers: TokenizerPair
    tensors: Tensors
    notes: list[str] = field(default_factory=list)  # where the import differs from the original program

    def to_bundle(self) -> Bundle:
        """The model as a bundle; one error names all tensors that do not fit."""
        with torch.device("meta"):  # compare all shapes before memory is allocated for the sizes of a foreign config
            bundle = new_bundle(self.config, self.tokenizers)
            load_weights(bundle.model, self.tensors, origin="the imported model")
        require_finite_weights(self.tensors)
        bundle.model.to_empty(device="cpu")
        load_weights(bundle.model, self.tensors, origin="the imported model")
        bundle.model.eval()
        return bundle


class Misfits:
    """Everything about a foreign model that has no place here, reported at once."""

    def __init__(self, origin: Path | str) -> None:
        self.origin, self.found = origin, list[str]()

    def require(self, condition: bool, misfit: str) -> None:
        """Note the misfit if the condition does not hold."""
        if not condition:
            self.found.append(misfit)

    def integer(self, settings: dict[str, Any], name: str, *, least: int = 1, most: int = MAX_SIZE) -> int:
        """A whole number of a foreign config; a missing or senseless one is a misfit."""
        value = settings.get(name)
        is_valid = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        self.require(is_valid, f"{name} is {value!r}; supported: a whole number from {least} to {most:,}")
        return int(value) if is_valid and value is not None else least

    def choose(self, name: str, value: Any, choices: dict[Any, Any]) -> Any:
        """Our name for a foreign value; a value without one is a misfit."""
        is_known = isinstance(value, str | int) and value in choices
        self.require(is_known, f"{name} is {value!r}; supported: {', '.join(map(str, choices))}")
        return choices[value] if is_known else next(iter(choices.values()))

    def expect(self, settings: dict[str, Any], **usual: Any) -> None:
        """Options that may only have their usual values, because others change what the model computes."""
        for name, value in usual.items():
            given = settings.get(name, value)
            self.require(given == value or not (given or value), f"{name} is {shorten(given)}; supported: {value!r}")

    def raise_if_any(self) -> None:
        """One error for all of them."""
        if self.found:
            shown, hidden = self.found[:MAX_SHOWN_PROBLEMS], len(self.found) - MAX_SHOWN_PROBLEMS
            lines = "\n".join(
                [*(f"  {misfit}" for misfit in shown), *([f"  and {hidden:,} more"] if hidden > 0 else [])]
            )
            raise RegardError(f"{self.origin} cannot be imported:\n{lines}\nNothing was written.")


# --- settings of the transformers library --------------------------------------------------------------------------

ALIASES = {  # its name of a setting for all families, and the names in some of them
    "hidden_size": ("d_model", "n_embd", "dim"),
    "num_hidden_layers": ("encoder_layers", "num_layers", "n_layer", "n_layers"),
    "num_attention_heads": ("encoder_attention_heads", "num_heads", "n_head", "n_heads"),
    "max_position_embeddings": ("n_positions",),
}
FORCED_TOKENS: tuple[str, ...] = ("forced_bos_token_id", "forced_decoder_ids", "sequence_bias", "suppress_tokens")
FORCED_TOKENS += ("begin_suppress_tokens",)


def check_settings(settings: dict[str, Any], generation: dict[str, Any], misfits: Misfits) -> None:
    """What holds for every family: no quantisation, one value for each setting, and a free choice of tokens.

    `generation` is the content of generation_config.json, which is stronger than config.json.
    """
    misfits.expect(settings, quantization_config=None)
    for name, others in ALIASES.items():
        for other in others:
            given = [shorten(settings.get(one)) for one in (name, other)]
            is_same = settings.get(name) in (None, settings.get(other)) or other not in settings
            misfits.require(is_same, f"{name} is {given[0]} and {other} is {given[1]}; supported: the same number")
    for name in FORCED_TOKENS:
        forced = generation.get(name, settings.get(name))
        misfits.require(forced is None or forced == [], f"{name} is {shorten(forced)}; supported: none")
    start = generation.get("decoder_start_token_id")
    if start is not None:
        misfits.expect(settings, decoder_start_token_id=start)
    unused = [[settings.get(name)] for name in ("pad_token_id", "decoder_start_token_id")]
    bad = [one for one in generation.get("bad_words_ids", settings.get("bad_words_ids")) or [] if one not in unused]
    misfits.require(not bad, f"bad_words_ids has {shorten(bad)}; supported: padding")


# --- reading ---------------------------------------------------------------------------------------------------------


def read_file(path: Path, *, limit: int = MAX_METADATA_BYTES) -> bytes:
    """The bytes of a file of at most `limit` bytes."""
    return read_input(path, max_bytes=limit, advice=ADVICE)


def read_weights(path: Path) -> bytes:
    """The bytes of a file of weights, of at most half of the memory: their tensors are a copy."""
    return read_file(path, limit=min(MAX_MODEL_BYTES, available_memory() // 2))


def parse_json(content: bytes, origin: Path | str, kind: type = dict) -> Any:
    """A JSON document whose outermost value is of this kind."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RegardError(f"{origin} is not JSON: {error}. Get the file again.") from None
    if not isinstance(value, kind):
        raise RegardError(f"{origin} holds a {type(value).__name__}; expected is a {kind.__name__}. Get it again.")
    return value


def read_json(path: Path, kind: type = dict) -> Any:
    """A JSON file."""
    return parse_json(read_file(path, limit=MAX_JSON_BYTES), path, kind)


def read_optional_json(path: Path) -> dict[str, Any]:
    """A JSON object; empty without the file."""
    return read_json(path) if path.exists() else {}


def read_huggingface_tensors(directory: Path) -> Tensors:
    """The tensors of a Hugging Face directory as float32: safetensors, in one file or several, or a pickle.

    Numbers that are not real ones keep their type, which no weight has. Early BERTs have TensorFlow's names of the
    parameters of a LayerNorm.
    """
    single, index = directory / "model.safetensors", directory / "model.safetensors.index.json"
    if single.exists():
        tensors = read_safetensors(single)
    elif index.exists():
        tensors = {}
        for name in _shard_names(index):
            tensors |= read_safetensors(directory / name)
    elif (pickle := directory / "pytorch_model.bin").exists():
        tensors = read_tensors(convert_pickle(read_weights(pickle), pickle), pickle)
    else:
        raise RegardError(
            f"{directory} has no weights: no model.safetensors and no pytorch_model.bin. Download the whole model."
        )
    return {
        name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias"): (
            tensor.float() if tensor.is_floating_point() else tensor
        )
        for name, tensor in tensors.items()
    }


def read_safetensors(path: Path) -> Tensors:
    """The tensors of a safetensors file; its header is compared with its size before memory is allocated for it."""
    with open_input(path, advice=ADVICE) as file:
        read_tensor_header(file, path, ADVICE)
    return read_tensors(read_weights(path), path)


def _shard_names(index: Path) -> list[str]:
    """The files that an index names, which are beside it."""
    weight_map = read_json(index).get("weight_map")
    names = list(weight_map.values()) if isinstance(weight_map, dict) else []
    if not names or not all(isinstance(name, str) and Path(name).name == name for name in names):
        raise RegardError(f"{index} names no files, or files outside its directory. Do not trust its source.")
    return sorted(set(names))


def convert_pickle(content: bytes, path: Path) -> bytes:
    """The tensors of a pickle as safetensors, loaded in a separate process that admits nothing but tensors."""
    command = [sys.executable, "-I", str(Path(__file__).with_name("unpickle.py"))]  # it imports nothing of regard
    seconds = UNPICKLE_SECONDS + len(content) / UNPICKLE_BYTES_PER_SECOND
    try:
        done = subprocess.run(command, input=content, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise RegardError(f"{path} was not read after {seconds:.0f} s. Convert it to safetensors.") from None
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().splitlines() or ["no memory, or a signal"]
        raise RegardError(f"{path} cannot be converted: {reason[-1]}. Get the file again.")
    return done.stdout


# --- vocabularies ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ForeignVocabulary:
    """The pieces of a foreign vocabulary in our order: the reserved ones first."""

    pieces: list[str]
    original_ids: list[int]  # the row of each piece in the original tables; -1: it has none

    @classmethod
    def arrange(
        cls, original: Sequence[str], special_ids: dict[int, int], *, unknown_pieces: Sequence[str] = ()
    ) -> "ForeignVocabulary":
        """Our special ids first, each with its original id, then all other pieces.

        `unknown_pieces` are those that the tokenizer makes and the model does not have: they have the vector of
        <unk>, as in the original program, and are never generated.
        """
        reserved_ids = [special_ids.get(identity, -1) for identity in RESERVED.values()]
        used = set(reserved_ids)
        others = [identity for identity in range(len(original)) if identity not in used]
        pieces = [*RESERVED, *(original[identity] for identity in others), *unknown_pieces]
        unknown_id = reserved_ids[RESERVED["<unk>"]]
        return cls(pieces, [*reserved_ids, *others, *[unknown_id] * len(unknown_pieces)])

    def rows(self, table: Tensor) -> Tensor:
        """The rows of an original table in our order; a piece without one has zeros."""
        ids = torch.tensor(self.original_ids)
        rows = table[ids.clamp(min=0)]
        rows[ids < 0] = 0.0
        return rows

    def output_bias(self, bias: Tensor) -> Tensor:
        """The output layer's bias in our order; a piece without a row of its own is never generated."""
        rows, owners = self.rows(bias), set(owners_of(self.original_ids).values())
        rows[[index for index in range(len(rows)) if index not in owners]] = SUPPRESSED_LOGIT
        return rows


def original_rows(table: Tensor, original_ids: Sequence[int]) -> Tensor:
    """The inverse of `ForeignVocabulary.rows`: our rows in the original order."""
    owners = owners_of(original_ids)
    return table[[owners[identity] for identity in range(len(owners))]]


def owners_of(original_ids: Sequence[int]) -> dict[int, int]:
    """The piece that each original row belongs to: of several, the first; BEGIN only if no other piece has its row."""
    ordered = [index for index in range(len(original_ids)) if index != BEGIN]
    owners: dict[int, int] = {}
    for index in [*ordered, BEGIN]:
        if original_ids[index] >= 0:
            owners.setdefault(original_ids[index], index)
    return owners
