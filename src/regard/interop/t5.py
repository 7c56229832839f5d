"""T5, versions 1.0 and 1.1: relative positions, RMSNorm, no biases, scores without scaling, and one table of tokens.

Version 1.0 has plain networks with ReLU, and its output layer is the table of tokens, whose input is divided by the
root of the width. Version 1.1 has gated networks with GELU and an output layer of its own. The decoder begins with
<pad>.
"""

from collections.abc import Iterator
from typing import Any

from regard.config import TransformerConfig
from regard.interop.foreign import ACTIVATIONS, MAX_LAYERS, Misfits
from regard.interop.huggingface_family import ACTIVATION_NAMES, Family, FamilyConfig, Rule, Settings
from regard.special_tokens import BEGIN, END, PADDING, UNKNOWN


def _read_t5(settings: Settings, misfits: Misfits) -> Settings:
    kind = settings.get("feed_forward_proj", "relu")
    is_gated = str(kind).startswith("gated-")
    activation = "gelu_new" if kind == "gated-gelu" else str(kind).removeprefix("gated-")
    misfits.expect(settings, is_encoder_decoder=True, is_causal=True)
    for name, value in (("is_gated_act", is_gated), ("dense_act_fn", activation)):  # copies that are stronger
        given = settings.get(name, value)
        misfits.require(given == value, f"feed_forward_proj is {kind!r} and {name} is {given!r}; supported: {value!r}")
    width, heads = misfits.integer(settings, "d_model"), misfits.integer(settings, "num_heads")
    head_width = misfits.integer(settings, "d_kv")
    layers = misfits.integer(settings, "num_layers", most=MAX_LAYERS)
    own = settings if settings.get("num_decoder_layers") is not None else {"num_decoder_layers": layers}
    stack = {
        "width": width,
        "heads": heads,
        "head_width": 0 if head_width * heads == width else head_width,
        "ffn_width": misfits.integer(settings, "d_ff"),
    }
    buckets = {"relative_attention_num_buckets": 32, "relative_attention_max_distance": 128} | settings
    is_scaled = settings.get("scale_decoder_outputs", settings.get("tie_word_embeddings", True) is not False)
    return {
        "kind": "transformer",
        "encoder": stack | {"layers": layers},
        "decoder": stack | {"layers": misfits.integer(own, "num_decoder_layers", most=MAX_LAYERS)},
        "norm": "pre",
        "norm_type": "rms_norm",
        "norm_epsilon": settings.get("layer_norm_epsilon", 1e-6),
        "activation": misfits.choose("feed_forward_proj", activation, ACTIVATIONS),
        "gated_ffn": is_gated,
        "linear_bias": False,
        "scale_scores": False,
        "positions": "relative",
        "relative_buckets": misfits.integer(buckets, "relative_attention_num_buckets", least=4, most=2**16),
        "relative_max_distance": misfits.integer(buckets, "relative_attention_max_distance", least=4),
        "share_embeddings": True,
        "scale_embeddings": False,
        "scale_output": bool(is_scaled),
        "dropout": settings.get("dropout_rate", 0.1),
        "attention_dropout": settings.get("dropout_rate", 0.1),
    }


def _write_t5(model: FamilyConfig) -> Settings:
    assert isinstance(model, TransformerConfig)  # noqa: S101  (for the type checker)
    activation = "gelu" if model.gated_ffn and model.activation == "gelu_tanh" else ACTIVATION_NAMES[model.activation]
    return {
        "num_layers": model.encoder.layers,
        "num_decoder_layers": model.decoder.layers,
        "d_model": model.encoder.width,
        "d_kv": model.encoder.width_per_head,
        "d_ff": model.encoder.ffn_width,
        "num_heads": model.encoder.heads,
        "feed_forward_proj": f"gated-{activation}" if model.gated_ffn else activation,
        "layer_norm_epsilon": model.norm_epsilon,
        "relative_attention_num_buckets": model.relative_buckets,
        "relative_attention_max_distance": model.relative_max_distance,
        "tie_word_embeddings": model.tie_word_embeddings,
        "scale_decoder_outputs": model.scale_output,
        "is_encoder_decoder": True,
        "dropout_rate": model.dropout,
    }


def _attention_rules(theirs: str, ours: str) -> Iterator[Rule]:
    for letter, name in (("q", "query"), ("k", "key"), ("v", "value"), ("o", "output")):
        yield Rule(f"{theirs}.{letter}.weight", (f"{ours}.{name}.weight",))


def _t5_rules(model: FamilyConfig) -> Iterator[Rule]:
    assert isinstance(model, TransformerConfig)  # noqa: S101  (for the type checker)
    yield Rule("shared.weight", ("source_embedding.tokens.weight",), has_tokens=True)
    networks = {"wi_0": "fc1", "wi_1": "fc3", "wo": "fc2"} if model.gated_ffn else {"wi": "fc1", "wo": "fc2"}
    for side, layers in (("encoder", model.encoder.layers), ("decoder", model.decoder.layers)):
        embedding = "source_embedding" if side == "encoder" else "target_embedding"
        bias = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        yield Rule(bias, (f"{embedding}.positions.weight",))
        for index in range(layers):
            theirs, ours = f"{side}.block.{index}.layer", f"{side}.blocks.{index}"
            yield from _attention_rules(f"{theirs}.0.SelfAttention", f"{ours}.self_attention.attention")
            norms = ["self_attention_residual"]
            if side == "decoder":
                yield from _attention_rules(f"{theirs}.1.EncDecAttention", f"{ours}.cross_attention")
                norms.append("cross_attention_residual")
            for number, norm in enumerate([*norms, "feed_forward_residual"]):
                yield Rule(f"{theirs}.{number}.layer_norm.weight", (f"{ours}.{norm}.norm.weight",))
            for their, own in networks.items():
                name = f"{theirs}.{len(norms)}.DenseReluDense.{their}.weight"
                yield Rule(name, (f"{ours}.feed_forward.{own}.weight",))
        yield Rule(f"{side}.final_layer_norm.weight", (f"{side}.norm.weight",))
    if not model.tie_word_embeddings:
        yield Rule("lm_head.weight", ("output.weight",), has_tokens=True)


def _t5_tokens(special: Settings) -> dict[int, Any]:
    return {
        PADDING: special.get("pad_token") or "<pad>",
        UNKNOWN: special.get("unk_token") or "<unk>",
        BEGIN: special.get("decoder_start_token_id", special.get("pad_token_id", 0)),
        END: special.get("eos_token") or special.get("eos_token_id", "</s>"),
    }


T5_COPIES = dict.fromkeys(
    ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"), "shared.weight"
)
T5 = Family(
    "t5", "T5ForConditionalGeneration", _read_t5, _write_t5, _t5_rules,
    _t5_tokens, False, copies=T5_COPIES, sentencepiece="spiece.model",
)  # fmt: skip


def is_t5(model: TransformerConfig) -> bool:
    """Whether T5's classes have all the layers of this model."""
    encoder, decoder = model.encoder, model.decoder
    sizes = [(one.width, one.heads, one.width_per_head, one.ffn_width) for one in (encoder, decoder)]
    is_plain = not (model.linear_bias or model.scale_scores or model.scale_embeddings or model.zero_begin)
    has_output = not model.output_bias if model.tie_word_embeddings else model.output_mask
    return (
        (model.positions, model.norm, model.norm_type) == ("relative", "pre", "rms_norm")
        and sizes[0] == sizes[1]
        and not (encoder.key_value_heads or decoder.key_value_heads or encoder.is_pruned or decoder.is_pruned)
        and is_plain
        and has_output
        and model.share_embeddings
        and model.source_end
        and model.decoder_autoregression == "self-attention"
    )
