"""GPT-2: pre-norm blocks whose matrices are stored transposed, with queries, keys and values in one."""

from collections.abc import Iterator

from regard.config import DecoderOnlyConfig
from regard.interop.foreign import ACTIVATIONS, MAX_LAYERS, Misfits
from regard.interop.huggingface_family import (
    ACTIVATION_NAMES,
    Family,
    FamilyConfig,
    Rule,
    Settings,
    causal_tokens,
    weight_and_bias,
)


def _read_gpt2(settings: Settings, misfits: Misfits) -> Settings:
    misfits.expect(settings, scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False, is_causal=True)
    width = misfits.integer(settings, "n_embd")
    inner = settings.get("n_inner") or 4 * width
    return {
        "kind": "decoder-only",
        "transformer": {
            "layers": misfits.integer(settings, "n_layer", most=MAX_LAYERS),
            "width": width,
            "heads": misfits.integer(settings, "n_head"),
            "ffn_width": misfits.integer({"n_inner": inner}, "n_inner"),
        },
        "activation": misfits.choose(
            "activation_function", settings.get("activation_function", "gelu_new"), ACTIVATIONS
        ),
        "norm_epsilon": settings.get("layer_norm_epsilon", 1e-5),
        "max_position_embeddings": misfits.integer(settings, "n_positions"),
        "tie_word_embeddings": settings.get("tie_word_embeddings", True),
        "dropout": settings.get("resid_pdrop", 0.1),
        "attention_dropout": settings.get("attn_pdrop", 0.1),
    }


def _write_gpt2(model: FamilyConfig) -> Settings:
    assert isinstance(model, DecoderOnlyConfig)  # noqa: S101  (for the type checker)
    return {
        "n_layer": model.transformer.layers,
        "n_embd": model.transformer.width,
        "n_head": model.transformer.heads,
        "n_inner": model.transformer.ffn_width,
        "activation_function": ACTIVATION_NAMES[model.activation],
        "layer_norm_epsilon": model.norm_epsilon,
        "n_positions": model.max_position_embeddings,
        "tie_word_embeddings": model.tie_word_embeddings,
        "resid_pdrop": model.dropout,
        "embd_pdrop": model.dropout,
        "attn_pdrop": model.attention_dropout,
    }


def _gpt2_rules(model: FamilyConfig) -> Iterator[Rule]:
    assert isinstance(model, DecoderOnlyConfig)  # noqa: S101  (for the type checker)
    yield Rule("transformer.wte.weight", ("embedding.tokens.weight",), has_tokens=True)
    yield Rule("transformer.wpe.weight", ("embedding.positions.weight",))
    for index in range(model.transformer.layers):
        theirs, ours = f"transformer.h.{index}", f"decoder.blocks.{index}"
        attention = f"{ours}.self_attention.attention"
        linear = {
            "attn.c_attn": tuple(f"{attention}.{part}" for part in ("query", "key", "value")),
            "attn.c_proj": (f"{attention}.output",),
            "mlp.c_fc": (f"{ours}.feed_forward.fc1",),
            "mlp.c_proj": (f"{ours}.feed_forward.fc2",),
        }
        for name, parts in linear.items():
            yield Rule(f"{theirs}.{name}.weight", tuple(f"{part}.weight" for part in parts), is_transposed=True)
            yield Rule(f"{theirs}.{name}.bias", tuple(f"{part}.bias" for part in parts))
        yield from weight_and_bias(f"{theirs}.ln_1", f"{ours}.self_attention_residual.norm")
        yield from weight_and_bias(f"{theirs}.ln_2", f"{ours}.feed_forward_residual.norm")
    yield from weight_and_bias("transformer.ln_f", "decoder.norm")
    if not model.tie_word_embeddings:
        yield Rule("lm_head.weight", ("output.weight",), has_tokens=True)


GPT2_IGNORED = ("attn.bias", "attn.masked_bias")
GPT2 = Family(
    "gpt2", "GPT2LMHeadModel", _read_gpt2, _write_gpt2, _gpt2_rules,
    causal_tokens, False, "transformer.", (), GPT2_IGNORED, {"lm_head.weight": "wte.weight"},
)  # fmt: skip
