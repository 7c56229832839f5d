"""A Transformer as Hugging Face's MarianMTModel and MarianTokenizer load it: `--to safetensors-hf DIR`.

Marian's Transformer is post-norm, with all sines before all cosines in its positions. A model whose sines and cosines
alternate is the same model with the entries of every hidden state in another order, so it is written in that order.
"""

import json
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import save_file
from torch import Tensor

from regard.bundle import Bundle, named_tensors
from regard.config import Config, TransformerConfig
from regard.decoding.loop import SUPPRESSED_TOKENS
from regard.files import atomic_directory
from regard.interop.ctranslate2 import (
    MAX_POSITIONS,
    SUPPRESSED_LOGIT,
    raise_unsupported,
    require_finite_weights,
    uncommon_layers,
)
from regard.special_tokens import BEGIN, END, PADDING
from regard.tokenization.tokenizer import TokenizerPair

MAX_OUTPUT_TOKENS = 512  # the default limit of generate()
ACTIVATION_NAMES = {"gelu_tanh": "gelu_new"}  # where the transformers library has another name
ATTENTION_PARTS = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
Tensors = dict[str, Tensor]


def unsupported_features(config: Config, tokenizers: TokenizerPair) -> list[str]:
    """Everything about a model that Marian's classes cannot represent; empty if it can be exported."""
    return list(_unsupported_with_settings(config, tokenizers))


def _unsupported_with_settings(config: Config, tokenizers: TokenizerPair) -> dict[str, str]:
    """The reasons, each with the setting that removes it; empty where only another kind of model would."""
    model = config.model
    if not isinstance(model, TransformerConfig):
        kind = str(type(model).__struct_config__.tag)
        return {f"model.kind is {kind!r}: Marian is a Transformer of encoder and decoder": ""}
    own, other = model.encoder.width, model.decoder.width
    has_words = "word" in (tokenizers.source.model_type, tokenizers.target.model_type)
    found = {
        'model.decoder_autoregression is "ssru": Marian\'s classes have self-attention only': (
            "model.decoder_autoregression=self-attention",
            model.decoder_autoregression == "ssru",
        ),
        'model.norm is "pre": Marian\'s classes normalise after each sub-layer ("post")': (
            "model.norm=post",
            model.norm == "pre",
        ),
        f'model.positions is "{model.positions}": Marian\'s are "sinusoidal"': (
            "model.positions=sinusoidal",
            model.positions != "sinusoidal",
        ),
        f"encoder and decoder have widths of {own} and {other}: Marian has one": (
            f"model.decoder.width={own}",
            own != other,
        ),
        'tokenizer.model_type is "word": MarianTokenizer makes one <unk> of neighbouring unknown words': (
            "tokenizer.model_type=unigram",
            has_words,
        ),
        f"model.norm_epsilon is {model.norm_epsilon}: Marian's is 1e-05": (
            "model.norm_epsilon=1e-5",
            model.norm_epsilon != 1e-5,
        ),
        "model.source_end is false: Marian reads END after the source": (
            "model.source_end=true",
            not model.source_end,
        ),
    }
    found |= {reason: ("", holds) for reason, holds in uncommon_layers(model).items()}
    return {reason: setting for reason, (setting, holds) in found.items() if holds}


def export_huggingface(bundle: Bundle, directory: Path) -> None:
    """Write the bundle's model for the transformers library; it appears complete or not at all."""
    obstacles = _unsupported_with_settings(bundle.config, bundle.tokenizers)
    raise_unsupported(list(obstacles), "Marian of the transformers library", settings=filter(None, obstacles.values()))
    config = cast(TransformerConfig, bundle.config.model)  # checked above
    weights = named_tensors(bundle.model)
    require_finite_weights(weights)
    tensors = marian_tensors(weights, config)
    with atomic_directory(directory) as staging:
        save_file(tensors, str(staging / "model.safetensors"), metadata={"format": "pt"})
        _write_json(staging / "config.json", _model_config(config, bundle.tokenizers))
        _write_json(staging / "generation_config.json", _generation_config(bundle.config))
        _write_tokenizer(staging, bundle)


def marian_tensors(ours: Tensors, config: TransformerConfig) -> Tensors:
    """The weights under Marian's names, in Marian's order of the width."""
    ours = {name: tensor.float() for name, tensor in ours.items()}
    order = _width_order(config)
    source = ours["source_embedding.tokens.weight"]
    target = ours.get("target_embedding.tokens.weight", source)
    theirs: Tensors = {"final_logits_bias": _logits_bias(ours, len(target))}
    if _has_shared_embedding(config):
        theirs["model.shared.weight"] = source[:, order]
    else:
        theirs["model.encoder.embed_tokens.weight"] = source[:, order]
        theirs["model.decoder.embed_tokens.weight"] = target[:, order]
    if "output.weight" in ours:
        theirs["lm_head.weight"] = ours["output.weight"][:, order]
    for side, layers in (("encoder", config.encoder.layers), ("decoder", config.decoder.layers)):
        for index in range(layers):
            theirs |= _marian_block(ours, f"{side}.blocks.{index}", f"model.{side}.layers.{index}", order)
    return {name: tensor.contiguous() for name, tensor in theirs.items()}


def _has_shared_embedding(config: TransformerConfig) -> bool:
    """Marian shares one table among all three uses or none: a table that two of ours share is written twice."""
    return config.share_embeddings and config.tie_word_embeddings


def _marian_block(ours: Tensors, own: str, their: str, order: Tensor) -> Tensors:
    block = _marian_attention(ours, f"{own}.self_attention.attention", f"{their}.self_attn", order)
    norms = {"self_attention_residual": "self_attn_layer_norm", "feed_forward_residual": "final_layer_norm"}
    if f"{own}.cross_attention.query.weight" in ours:
        block |= _marian_attention(ours, f"{own}.cross_attention", f"{their}.encoder_attn", order)
        norms["cross_attention_residual"] = "encoder_attn_layer_norm"
    for name, norm in norms.items():
        for part in ("weight", "bias"):
            block[f"{their}.{norm}.{part}"] = ours[f"{own}.{name}.norm.{part}"][order]
    block[f"{their}.fc1.weight"] = ours[f"{own}.feed_forward.fc1.weight"][:, order]
    block[f"{their}.fc1.bias"] = ours[f"{own}.feed_forward.fc1.bias"]
    block[f"{their}.fc2.weight"] = ours[f"{own}.feed_forward.fc2.weight"][order]
    block[f"{their}.fc2.bias"] = ours[f"{own}.feed_forward.fc2.bias"][order]
    return block


def _marian_attention(ours: Tensors, own: str, their: str, order: Tensor) -> Tensors:
    """Queries, keys and values read the hidden state in the new order, and the output is in that order."""
    found: Tensors = {}
    for name, part in ATTENTION_PARTS.items():
        weight, bias = ours[f"{own}.{name}.weight"], ours[f"{own}.{name}.bias"]
        is_output = name == "output"
        found[f"{their}.{part}.weight"] = weight[order] if is_output else weight[:, order]
        found[f"{their}.{part}.bias"] = bias[order] if is_output else bias
    return found


def _width_order(config: TransformerConfig) -> Tensor:
    """The index in our hidden state of each entry of Marian's: alternating sines and cosines become two halves."""
    places = torch.arange(config.encoder.width)
    return torch.cat([places[0::2], places[1::2]])


def _logits_bias(ours: Tensors, vocabulary: int) -> Tensor:
    """The output layer's bias, which suppresses the tokens that are never generated."""
    bias = ours.get("output.bias", ours.get("output_bias", torch.zeros(vocabulary))).clone()
    bias[SUPPRESSED_TOKENS] = SUPPRESSED_LOGIT
    return bias.unsqueeze(0)


def _model_config(config: TransformerConfig, tokenizers: TokenizerPair) -> dict[str, Any]:
    stacks = {
        f"{side}_{their}": getattr(getattr(config, side), own)
        for side in ("encoder", "decoder")
        for own, their in (("layers", "layers"), ("heads", "attention_heads"), ("ffn_width", "ffn_dim"))
    }
    return (
        stacks
        | {
            "architectures": ["MarianMTModel"],
            "model_type": "marian",
            "vocab_size": tokenizers.source.vocab_size,
            "decoder_vocab_size": tokenizers.target.vocab_size,
            "share_encoder_decoder_embeddings": _has_shared_embedding(config),
            "tie_word_embeddings": config.tie_word_embeddings,
            "d_model": config.encoder.width,
            "activation_function": ACTIVATION_NAMES.get(config.activation, config.activation),
            "dropout": config.dropout,
            "attention_dropout": config.attention_dropout,
            "activation_dropout": 0.0,
            "scale_embedding": config.scale_embeddings,
            "max_position_embeddings": MAX_POSITIONS,
            "forced_eos_token_id": None,
            "dtype": "float32",
        }
        | _special_token_ids()
    )


def _generation_config(config: Config) -> dict[str, Any]:
    """Our decoding section in the library's terms; the search ends, as ours does, when a whole beam is finished."""
    beam = config.decoding.beam_size
    search = {"num_beams": beam, "length_penalty": config.decoding.length_penalty, "early_stopping": True}
    return _special_token_ids() | {"do_sample": False, "max_length": MAX_OUTPUT_TOKENS} | (search if beam > 1 else {})


def _special_token_ids() -> dict[str, int]:
    return {"pad_token_id": PADDING, "bos_token_id": BEGIN, "eos_token_id": END, "decoder_start_token_id": BEGIN}


def _write_tokenizer(directory: Path, bundle: Bundle) -> None:
    both = bundle.tokenizers
    (directory / "source.spm").write_bytes(both.source.to_bytes())
    (directory / "target.spm").write_bytes(both.target.to_bytes())
    _write_json(directory / "vocab.json", _vocabulary_ids(both.source.vocabulary))
    settings: dict[str, Any] = {
        "tokenizer_class": "MarianTokenizer",
        "separate_vocabs": not both.shared,
        "model_max_length": MAX_OUTPUT_TOKENS,
        "clean_up_tokenization_spaces": False,
    }
    if not both.shared:
        _write_json(directory / "target_vocab.json", _vocabulary_ids(both.target.vocabulary))
    source, target = bundle.languages
    languages = {"source_lang": source, "target_lang": target} if source and target else {}
    _write_json(directory / "tokenizer_config.json", settings | languages)


def _vocabulary_ids(vocabulary: list[str]) -> dict[str, int]:
    return {piece: identity for identity, piece in enumerate(vocabulary)}


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
