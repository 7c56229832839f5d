"""GGUF files of Llama-style models, as llama.cpp has them: dequantised to float32 by the `gguf` package.

The file has the tensors of Llama under other names. The rows of the query and key matrices are in llama.cpp's order,
in which the two entries of a rotated pair are neighbours; here they are half a head apart.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.errors import RegardError
from regard.files import open_input
from regard.interop.foreign import MAX_LAYERS, MAX_MODEL_BYTES, ForeignModel, Misfits, Tensors
from regard.interop.gguf_header import check_gguf_header
from regard.interop.huggingface_family import arrange_tokenizer, assemble
from regard.interop.llama import LLAMA, LLAMA_BLOCK

MAGIC = b"GGUF"
INSTALL_HINT = "pip install 'regard[gguf]'"
QUANTIZATIONS = ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1")
SPECIAL_TYPE = 3  # of a token: control
SPLITTERS: dict[str, list[dict[str, Any]]] = {  # how text is split before BPE, by llama.cpp's name
    "gpt-2": [],
    "smollm": [{"type": "Digits", "individual_digits": True}],
}
NAMES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_norm": "input_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_down": "mlp.down_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_norm": "post_attention_layernorm",
}
assert set(NAMES.values()) == set(LLAMA_BLOCK.values())  # noqa: S101


def is_gguf(path: Path) -> bool:
    """Whether a file begins as a GGUF file does."""
    with open_input(path, advice="Give a complete model.") as file:
        return file.read(len(MAGIC)) == MAGIC


def import_gguf(path: Path) -> ForeignModel:
    """A Llama-style decoder."""
    try:
        from gguf import GGUFReader
        from gguf.quants import dequantize
    except ImportError:
        raise RegardError(f"a GGUF file needs the package gguf: {INSTALL_HINT}") from None
    if path.stat().st_size > MAX_MODEL_BYTES:
        raise RegardError(f"{path} has more than {MAX_MODEL_BYTES:,} bytes. Give a smaller model.")
    check_gguf_header(path)
    reader, misfits = GGUFReader(path), Misfits(path)
    values = {name: field.contents() for name, field in reader.fields.items()}
    architecture = values.get("general.architecture")
    misfits.require(architecture == "llama", f"the architecture is {architecture!r}; supported: llama")
    kinds = {tensor.tensor_type.name for tensor in reader.tensors}
    for kind in sorted(kinds - set(QUANTIZATIONS)):
        misfits.require(False, f"tensors are quantised as {kind}; supported: {', '.join(QUANTIZATIONS)}")
    settings = _settings(values, misfits)
    table = LLAMA.read(settings, misfits)
    misfits.raise_if_any()
    tensors: Tensors = {}
    for tensor in reader.tensors:
        name = _huggingface_name(tensor.name, misfits)
        array = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        tensors[name] = torch.from_numpy(array.copy())
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            sizes = table["transformer"]
            heads = sizes["heads"] if "q_proj" in name else sizes["key_value_heads"] or sizes["heads"]
            tensors[name] = _halves(tensors[name], heads)
    misfits.raise_if_any()
    tokenizer, special = _tokenizer(values, misfits)
    misfits.raise_if_any()
    names, vocabulary, own = arrange_tokenizer(tokenizer, LLAMA, special, settings["vocab_size"], str(path))
    table["tie_word_embeddings"] = "lm_head.weight" not in tensors
    foreign = assemble(path, LLAMA, table, tensors, vocabulary, own, misfits, names)
    description = f"GGUF, {values.get('general.name', architecture)}, {', '.join(sorted(kinds))}"
    return ForeignModel(description, foreign.config, foreign.tokenizers, foreign.tensors, foreign.notes)


def _settings(values: dict[str, Any], misfits: Misfits) -> dict[str, Any]:
    """The settings under the names of the transformers library."""
    names = {
        "num_hidden_layers": "llama.block_count",
        "hidden_size": "llama.embedding_length",
        "intermediate_size": "llama.feed_forward_length",
        "num_attention_heads": "llama.attention.head_count",
        "num_key_value_heads": "llama.attention.head_count_kv",
        "max_position_embeddings": "llama.context_length",
        "rms_norm_eps": "llama.attention.layer_norm_rms_epsilon",
        "rope_theta": "llama.rope.freq_base",
    }
    scaling = values.get("llama.rope.scaling.type", "none")
    misfits.require(scaling == "none", f"llama.rope.scaling.type is {scaling!r}; supported: none")
    misfits.expect(values, **{"llama.rope.scale_linear": 1.0, "llama.attention.causal": True})
    settings = {own: values[name] for own, name in names.items() if name in values}
    settings = {own: int(value) if isinstance(value, int) else value for own, value in settings.items()}
    misfits.integer(settings, "num_hidden_layers", most=MAX_LAYERS)
    head_width = misfits.integer(settings, "hidden_size") // misfits.integer(settings, "num_attention_heads")
    for name in ("rope.dimension_count", "attention.key_length", "attention.value_length"):
        misfits.expect(values, **{f"llama.{name}": head_width})
    return settings | {"vocab_size": len(values.get("tokenizer.ggml.tokens") or [])}


def _huggingface_name(name: str, misfits: Misfits) -> str:
    outside = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}
    outside |= {"output.weight": "lm_head.weight"}
    if name in outside:
        return outside[name]
    parts = name.split(".")
    is_block = len(parts) == 4 and parts[0] == "blk" and parts[1].isdecimal() and parts[2] in NAMES
    misfits.require(is_block and parts[3] == "weight", f"{name} is not part of a Llama-style model")
    return f"model.layers.{parts[1]}.{NAMES[parts[2]]}.weight" if is_block else name


def _halves(weight: Tensor, heads: int) -> Tensor:
    """Rows from llama.cpp's order, pairs beside each other, to ours, pairs half a head apart."""
    pairs = weight.reshape(heads, -1, 2, weight.shape[1])
    return pairs.transpose(1, 2).reshape(weight.shape).contiguous()


def _tokenizer(values: dict[str, Any], misfits: Misfits) -> tuple[dict[str, Any], dict[str, Any]]:
    """A tokenizer.json from the tokens and merges in the file, and its special tokens."""
    kind, splitter = values.get("tokenizer.ggml.model"), values.get("tokenizer.ggml.pre")
    misfits.require(kind == "gpt2", f"the tokenizer is {kind!r}; supported: gpt2 (byte-level BPE)")
    misfits.require(splitter in SPLITTERS, f"the tokenizer splits as {splitter!r}; supported: {', '.join(SPLITTERS)}")
    tokens, types = values.get("tokenizer.ggml.tokens") or [], values.get("tokenizer.ggml.token_type") or []
    merges = [merge.split(" ") for merge in values.get("tokenizer.ggml.merges") or []]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    tokenizer = {
        "version": "1.0",
        "added_tokens": [
            {"id": index, "content": token} | flags
            for index, (token, kind) in enumerate(zip(tokens, types, strict=False))
            if kind == SPECIAL_TYPE
        ],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [*SPLITTERS.get(str(splitter), []), byte_level],
        },
        "post_processor": None,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": {token: index for index, token in enumerate(tokens)}, "merges": merges},
    }
    ids = {"bos_token_id": "bos", "eos_token_id": "eos", "unk_token": "unknown", "pad_token": "padding"}
    special = {own: values.get(f"tokenizer.ggml.{name}_token_id") for own, name in ids.items()}
    return tokenizer, {name: int(value) for name, value in special.items() if value is not None}
