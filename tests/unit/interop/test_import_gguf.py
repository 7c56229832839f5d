"""An imported GGUF file gives the logits of transformers on the dequantised weights; a damaged one is refused."""

import json
import struct
from pathlib import Path
from random import Random
from typing import Any

import gguf
import pytest
import torch
import transformers
from gguf.quants import dequantize, quantize

from regard.batch import encode_source_rows
from regard.errors import RegardError
from regard.interop.foreign import owners_of
from regard.interop.gguf import NAMES
from regard.interop.import_model import detect, write_model
from tests.support.foreign_models import LINES, randomised, write_tokenizer

QUANTIZATIONS = {name: gguf.GGMLQuantizationType[name] for name in ("F32", "F16", "Q8_0", "Q4_0", "Q4_1")}
OUTSIDE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def write_gguf(path: Path, quantization: str, seed: int, **values: float) -> Any:
    """A random Llama as llama.cpp has it; returns the model of transformers with the dequantised weights."""
    size = write_tokenizer(path.parent, "causal")
    sizes = {"hidden_size": 64, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = transformers.LlamaConfig(vocab_size=size, num_key_value_heads=2, max_position_embeddings=64, **sizes)
    model = randomised(transformers.LlamaForCausalLM(config), seed)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_embedding_length(64)
    writer.add_feed_forward_length(32)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_context_length(64)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10_000.0)
    for key, value in values.items():
        add = writer.add_uint32 if isinstance(value, int) else writer.add_float32
        add(f"llama.{key}", value)
    add_tokenizer(writer, json.loads((path.parent / "tokenizer.json").read_text()))
    for name, parameter in model.named_parameters():
        kind = QUANTIZATIONS[quantization] if parameter.dim() > 1 else gguf.GGMLQuantizationType.F32
        packed = quantize(parameter.detach().numpy(), kind)
        parameter.data = torch.from_numpy(dequantize(packed, kind).copy())
        heads = 4 if "q_proj" in name else 2 if "k_proj" in name else 0
        if heads:  # llama.cpp puts the two entries of a rotated pair beside each other
            rows = packed.reshape(heads, 2, -1, packed.shape[-1]).swapaxes(1, 2)
            packed = rows.reshape(packed.shape)
        writer.add_tensor(gguf_name(name), packed, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return model


def add_tokenizer(writer: Any, tokenizer: dict[str, Any]) -> None:
    tokens = sorted(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token == "<|endoftext|>" else 1 for token in tokens])  # noqa: S105
    writer.add_token_merges([" ".join(merge) for merge in tokenizer["model"]["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)


def gguf_name(name: str) -> str:
    bare = name.removesuffix(".weight")
    if bare in OUTSIDE:
        return f"{OUTSIDE[bare]}.weight"
    _, _, index, part = bare.split(".", 3)
    return f"blk.{index}.{next(own for own, their in NAMES.items() if their == part)}.weight"


@pytest.mark.parametrize("quantization", QUANTIZATIONS)
@torch.inference_mode()
def test_logits_equal_the_dequantised_model(quantization: str, tmp_path: Path) -> None:
    theirs = write_gguf(tmp_path / "model.gguf", quantization, seed=4)
    bundle = detect(tmp_path / "model.gguf").load().to_bundle()
    tokenizer = bundle.tokenizers.target
    owners = owners_of(tokenizer.original_ids)
    tokens = [2, *tokenizer.encode(LINES[0])]
    memory = bundle.model.encode(encode_source_rows([[]]))
    ours = bundle.model.decode(torch.tensor([tokens]), memory, bundle.model.init_state(memory)).logits
    expected = theirs(torch.tensor([[tokenizer.original_ids[token] for token in tokens]])).logits
    torch.testing.assert_close(ours[..., [owners[one] for one in range(len(owners))]], expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "value"),
    [("rope.dimension_count", 8), ("rope.scale_linear", 0.5), ("attention.key_length", 32), ("attention.causal", 0)],
)
def test_value_that_changes_the_model_is_refused(name: str, value: float, tmp_path: Path) -> None:
    write_gguf(tmp_path / "model.gguf", "F32", seed=1, **{name: value})
    with pytest.raises(RegardError, match=name):
        detect(tmp_path / "model.gguf").load()


def test_truncated_or_foreign_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    write_gguf(path, "Q8_0", seed=1)
    whole, chance = path.read_bytes(), Random(3)
    end = len(whole) - 32  # after the last tensor the file is padded to 32 bytes
    for length in [4, 12, 24, *chance.sample(range(30, end), 10), end]:
        path.write_bytes(whole[:length])
        with pytest.raises(RegardError):
            write_model(detect(path).load(), tmp_path / "out")
        assert not (tmp_path / "out").exists()
    path.write_bytes(whole.replace(b"llama", b"mamba"))
    with pytest.raises(RegardError):
        detect(path).load()


def gguf_text(content: bytes) -> bytes:
    return struct.pack("<Q", len(content)) + content


def gguf_header(tensors: int, values: int) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, values)


def gguf_array(kind: int, length: int) -> bytes:
    return gguf_header(0, 1) + gguf_text(b"name") + struct.pack("<IIQ", 9, kind, length) + bytes(64)


def gguf_tensor(*shape: int) -> bytes:
    sizes = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return gguf_header(1, 0) + gguf_text(b"output.weight") + sizes + bytes(256)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gguf_header(0, 2**62), "the header is truncated"),
        (gguf_header(2**62, 0), "the header is truncated"),
        (gguf_header(0, 1) + struct.pack("<Q", 2**60), "more than it has"),
        *((gguf_array(kind, 2**40), "more than it has") for kind in (0, 7, 12)),
        (gguf_array(8, 2**40), "the header is truncated"),
        (gguf_array(9, 2**40), "a value has the type 9"),
        (gguf_tensor(2**40, 2**40), "a tensor has the shape"),
        (gguf_tensor(*[1] * 9), "a tensor has 9 dimensions"),
        (gguf_tensor(1)[:-256] + struct.pack("<IQ", 0, 2**40), "a tensor lies behind its end"),
    ],
)
def test_hostile_header_is_refused_at_once(content: bytes, message: str, tmp_path: Path) -> None:
    """The reader of the gguf package would count to such a length, or allocate it."""
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(RegardError, match=message):
        detect(path).load()
