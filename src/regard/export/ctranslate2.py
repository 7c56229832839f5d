"""A Transformer as CTranslate2 runs it, through its spec API: `regard export MODEL --to ctranslate2 DIR`.

The directory holds CTranslate2's own files and ours (recipe, vocabularies, origin, hashes), so that both
`ctranslate2.Translator(DIR)` and `regard translate DIR` work with it alone.
"""

from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from regard.bundle import Bundle, tensors_of
from regard.config import Config, Stack, TransformerConfig, to_toml
from regard.decoding.loop import NEVER_SAID
from regard.errors import RegardError
from regard.export.refusing import refuse, refuse_what_is_not_finite
from regard.layers.positions import sinusoidal
from regard.manifest import write_manifest
from regard.staged import staged_directory
from regard.symbols import BEGIN, END, RESERVED, UNKNOWN
from regard.translation.ctranslate2_engine import require_installed
from regard.translation.exported import CONFIG, KIND, ORIGIN, SHORTLIST, SOURCE, TARGET, VERSION, Origin

QUANTIZATIONS = ("int8", "int8_float32", "int16", "float16", "float32")
POSITIONS = 2304  # that are written down: a source of 1,025 tokens, and an output of 2 * 1,025 + 20
UNSAYABLE = -1e4  # added to the logits of padding, BEGIN and MASK: their probability is exactly 0 in float32
NORM_EPSILON = 1e-5  # that of torch.nn.LayerNorm

Arrays = dict[str, NDArray[np.float32]]


def reasons_against(config: Config) -> list[str]:
    """Everything about a model that CTranslate2 cannot hold; none if it can be exported."""
    model = config.model
    if not isinstance(model, TransformerConfig):
        kind = str(type(model).__struct_config__.tag)
        return [f"model.kind is {kind!r}: CTranslate2 has Transformers of encoder and decoder, and no such model"]
    reasons = []
    if model.mixer == "ssru":
        reasons.append('model.mixer is "ssru": CTranslate2 has self-attention in its decoder, and no recurrence')
    return reasons


def export_ctranslate2(
    bundle: Bundle, directory: Path, *, quantization: str = "int8", shortlist: bytes | None = None
) -> None:
    """Write the bundle's model for CTranslate2, whole or not at all."""
    longest = _longest(_transformer(bundle))
    require_installed()
    if quantization not in QUANTIZATIONS:
        raise RegardError(f"the quantization is {quantization!r}; choose one of {', '.join(QUANTIZATIONS)}.")
    refuse_what_is_not_finite(tensors_of(bundle.model))
    spec = make_spec(bundle)
    spec.validate()
    spec.optimize(quantization=quantization)
    parameters = sum(parameter.numel() for parameter in bundle.model.parameters())
    origin = Origin(bundle.digest, quantization, parameters, longest)
    with staged_directory(directory) as staging:
        spec.save(str(staging))
        (staging / CONFIG).write_text(to_toml(bundle.config), encoding="utf-8")
        (staging / SOURCE).write_bytes(bundle.tokenizers.source.to_bytes())
        (staging / TARGET).write_bytes(bundle.tokenizers.target.to_bytes())
        (staging / ORIGIN).write_bytes(msgspec.json.encode(origin))
        if shortlist is not None:
            (staging / SHORTLIST).write_bytes(shortlist)
        write_manifest(staging, KIND, VERSION)


def make_spec(bundle: Bundle) -> Any:
    """CTranslate2's description of the model, with its weights."""
    from ctranslate2.specs import TransformerSpec

    config = _transformer(bundle)
    # Copies: CTranslate2 quantises in place, and these would be the model's own weights.
    arrays = {name: tensor.float().numpy().copy() for name, tensor in tensors_of(bundle.model).items()}
    arrays.setdefault("target_embedding.tokens.weight", arrays["source_embedding.tokens.weight"])
    spec = TransformerSpec(*_stacks(config))
    spec.config.layer_norm_epsilon = NORM_EPSILON
    spec.config.add_source_eos = True
    pieces = {identity: piece for piece, identity in RESERVED.items()}
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = pieces[UNKNOWN], pieces[BEGIN], pieces[END]
    spec.config.decoder_start_token = pieces[BEGIN]
    spec.register_source_vocabulary(bundle.tokenizers.source.vocabulary)
    spec.register_target_vocabulary(bundle.tokenizers.target.vocabulary)
    _fill_side(spec.encoder, arrays, "encoder", config)
    _fill_side(spec.decoder, arrays, "decoder", config)
    _fill_output(spec.decoder.projection, arrays)
    return spec


def _transformer(bundle: Bundle) -> TransformerConfig:
    refuse(reasons_against(bundle.config), "CTranslate2")
    return cast(TransformerConfig, bundle.config.model)


def _stacks(config: TransformerConfig) -> tuple[Any, Any]:
    from ctranslate2.specs import common_spec, transformer_spec

    activations = common_spec.Activation
    style = {
        "pre_norm": config.norm == "pre",
        "activation": {"relu": activations.RELU, "gelu": activations.GELU, "silu": activations.SWISH}[
            config.activation
        ],
    }
    if config.positions == "rotary":
        style |= {"rotary_dim": 0, "rotary_interleave": False}  # of all of a head's width; pairs (i, i + D/2)
    encoder = transformer_spec.TransformerEncoderSpec(config.encoder.layers, config.encoder.heads, **style)
    return encoder, transformer_spec.TransformerDecoderSpec(config.decoder.layers, config.decoder.heads, **style)


def _fill_side(spec: Any, arrays: Arrays, side: str, config: TransformerConfig) -> None:
    """An encoder or a decoder: embeddings, positions, blocks, and the last norm of pre-norm stacks."""
    embedding = "source_embedding" if side == "encoder" else "target_embedding"
    embeddings = spec.embeddings[0] if side == "encoder" else spec.embeddings
    embeddings.weight = arrays[f"{embedding}.tokens.weight"]
    if hasattr(spec, "position_encodings"):
        spec.position_encodings.encodings = _positions(arrays, embedding, config, getattr(config, side))
    for index, layer in enumerate(spec.layer):
        _fill_block(layer, arrays, f"{side}.blocks.{index}")
    if hasattr(spec, "layer_norm"):
        _fill_norm(spec.layer_norm, arrays, f"{side}.norm")


def _positions(arrays: Arrays, embedding: str, config: TransformerConfig, stack: Stack) -> NDArray[np.float32]:
    """The table that is added to the embeddings: zeros where positions are told otherwise, or not at all."""
    if config.positions == "learned":
        return arrays[f"{embedding}.positions.weight"]
    if config.positions == "sinusoidal":
        table = sinusoidal(torch.arange(POSITIONS), stack.width, layout=config.layout)
        return table.float().numpy()
    return np.zeros((POSITIONS, stack.width), dtype=np.float32)


def _fill_block(spec: Any, arrays: Arrays, name: str) -> None:
    _fill_attention(spec.self_attention, arrays, f"{name}.self_attention.attention", [("query", "key", "value")])
    _fill_norm(spec.self_attention.layer_norm, arrays, f"{name}.around_self_attention.norm")
    if hasattr(spec, "attention"):
        _fill_attention(spec.attention, arrays, f"{name}.cross_attention", [("query",), ("key", "value")])
        _fill_norm(spec.attention.layer_norm, arrays, f"{name}.around_cross_attention.norm")
    _fill_linear(spec.ffn.linear_0, arrays, [f"{name}.feed_forward.widen"])
    _fill_linear(spec.ffn.linear_1, arrays, [f"{name}.feed_forward.narrow"])
    _fill_norm(spec.ffn.layer_norm, arrays, f"{name}.around_feed_forward.norm")


def _fill_attention(spec: Any, arrays: Arrays, name: str, joined: list[tuple[str, ...]]) -> None:
    """Projections of the same input are one matrix here, each below the other."""
    for linear, parts in zip(spec.linear, [*joined, ("output",)], strict=True):
        _fill_linear(linear, arrays, [f"{name}.{part}" for part in parts])


def _fill_linear(spec: Any, arrays: Arrays, names: list[str]) -> None:
    spec.weight = np.concatenate([arrays[f"{name}.weight"] for name in names])
    spec.bias = np.concatenate([arrays[f"{name}.bias"] for name in names])


def _fill_norm(spec: Any, arrays: Arrays, name: str) -> None:
    spec.gamma, spec.beta = arrays[f"{name}.weight"], arrays[f"{name}.bias"]


def _fill_output(spec: Any, arrays: Arrays) -> None:
    """The output layer, tied or its own, with a bias that keeps it from saying what is never said."""
    spec.weight = arrays.get("output.weight", arrays["target_embedding.tokens.weight"])
    bias = arrays.get("output.bias", np.zeros(len(spec.weight), dtype=np.float32)).copy()
    bias[NEVER_SAID] = UNSAYABLE
    spec.bias = bias


def _longest(config: TransformerConfig) -> int:
    return config.maximum_length if config.positions == "learned" else POSITIONS
