"""Llama-style decoders, such as SmolLM2: RMSNorm, SwiGLU, grouped-query attention, rotary positions, no biases."""

from collections.abc import Iterator

from regard.config import DecoderOnlyConfig
from regard.interop.foreign import ACTIVATIONS, MAX_LAYERS, Misfits
from regard.interop.huggingface_family import ACTIVATION_NAMES, Family, FamilyConfig, Rule, Settings, causal_tokens


def _read_llama(settings: Settings, misfits: Misfits) -> Settings:
    width, heads = misfits.integer(settings, "hidden_size"), misfits.integer(settings, "num_attention_heads")
    head_width = settings.get("head_dim") or width // heads
    misfits.require(head_width * heads == width, f"head_dim is {head_width}; supported: {width} / {heads}")
    name = "rope_scaling" if settings.get("rope_scaling") else "rope_parameters"
    rope = settings.get(name) or {}
    kind = rope.get("rope_type", rope.get("type", "default"))
    misfits.require(kind == "default", f"{name} is of type {kind!r}; supported: default")
    misfits.expect(settings, attention_bias=False, mlp_bias=False, is_causal=True)
    groups = settings.get("num_key_value_heads") or heads
    is_even = isinstance(groups, int) and heads % groups == 0
    misfits.require(is_even, f"num_key_value_heads is {groups!r}; supported: a divisor of {heads}")
    return {
        "kind": "decoder-only",
        "transformer": {
            "layers": misfits.integer(settings, "num_hidden_layers", most=MAX_LAYERS),
            "width": width,
            "heads": heads,
            "ffn_width": misfits.integer(settings, "intermediate_size"),
            "key_value_heads": 0 if groups == heads else groups,
        },
        "norm_type": "rms_norm",
        "norm_epsilon": settings.get("rms_norm_eps", 1e-6),
        "activation": misfits.choose("hidden_act", settings.get("hidden_act", "silu"), ACTIVATIONS),
        "gated_ffn": True,
        "linear_bias": False,
        "positions": "rotary",
        "rotary_base": float(rope.get("rope_theta") or settings.get("rope_theta") or 10_000.0),
        "max_position_embeddings": misfits.integer(settings, "max_position_embeddings"),
        "tie_word_embeddings": settings.get("tie_word_embeddings", False),
        "dropout": 0.0,
        "attention_dropout": settings.get("attention_dropout", 0.0),
    }


def _write_llama(model: FamilyConfig) -> Settings:
    assert isinstance(model, DecoderOnlyConfig)  # noqa: S101  (for the type checker)
    return {
        "num_hidden_layers": model.transformer.layers,
        "hidden_size": model.transformer.width,
        "num_attention_heads": model.transformer.heads,
        "num_key_value_heads": model.transformer.key_value_heads or model.transformer.heads,
        "intermediate_size": model.transformer.ffn_width,
        "hidden_act": ACTIVATION_NAMES[model.activation],
        "rms_norm_eps": model.norm_epsilon,
        "rope_theta": model.rotary_base,
        "max_position_embeddings": model.max_position_embeddings,
        "tie_word_embeddings": model.tie_word_embeddings,
        "attention_dropout": model.attention_dropout,
    }


LLAMA_BLOCK = {
    "self_attention.attention.query": "self_attn.q_proj",
    "self_attention.attention.key": "self_attn.k_proj",
    "self_attention.attention.value": "self_attn.v_proj",
    "self_attention.attention.output": "self_attn.o_proj",
    "self_attention_residual.norm": "input_layernorm",
    "feed_forward.fc1": "mlp.gate_proj",
    "feed_forward.fc2": "mlp.down_proj",
    "feed_forward.fc3": "mlp.up_proj",
    "feed_forward_residual.norm": "post_attention_layernorm",
}


def _llama_rules(model: FamilyConfig) -> Iterator[Rule]:
    assert isinstance(model, DecoderOnlyConfig)  # noqa: S101  (for the type checker)
    yield Rule("model.embed_tokens.weight", ("embedding.tokens.weight",), has_tokens=True)
    for index in range(model.transformer.layers):
        for own, their in LLAMA_BLOCK.items():
            yield Rule(f"model.layers.{index}.{their}.weight", (f"decoder.blocks.{index}.{own}.weight",))
    yield Rule("model.norm.weight", ("decoder.norm.weight",))
    if not model.tie_word_embeddings:
        yield Rule("lm_head.weight", ("output.weight",), has_tokens=True)


LLAMA = Family(
    "llama", "LlamaForCausalLM", _read_llama, _write_llama, _llama_rules,
    causal_tokens, False, "model.", (), ("rotary_emb.inv_freq",), {"lm_head.weight": "embed_tokens.weight"},
)  # fmt: skip
