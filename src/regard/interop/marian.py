"""A Transformer as Hugging Face's MarianMTModel and MarianTokenizer load it: `--to huggingface DIR`.

Marian's Transformer is post-norm, with all sines before all cosines in its positions. A model whose sines and cosines
alternate is the same model with the entries of every hidden state in another order, so it is written in that order.
"""

import json
import re
from dataclasses import dataclass
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
from regard.interop.foreign import Tensors, original_rows
from regard.interop.sentencepiece_rewriting import is_language_code, read_original_ids
from regard.special_tokens import BEGIN, END, PADDING
from regard.tokenization.text import WORD_MARK
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair

MAX_OUTPUT_TOKENS = 512  # the default limit of generate()
ACTIVATION_NAMES = {"gelu_tanh": "gelu_new"}  # where the transformers library has another name


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
        f"model.sinusoidal_base is {model.sinusoidal_base}: Marian's classes have 10000": (
            "model.sinusoidal_base=10000",
            model.positions == "sinusoidal" and model.sinusoidal_base != PUBLISHED_BASE,
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
    layouts = MarianVocabulary.of(bundle.tokenizers.source), MarianVocabulary.of(bundle.tokenizers.target)
    tensors = marian_tensors(weights, config, *layouts)
    with atomic_directory(directory) as staging:
        save_file(tensors, str(staging / "model.safetensors"), metadata={"format": "pt"})
        _write_json(staging / "config.json", _model_config(config, *layouts))
        _write_json(staging / "generation_config.json", _generation_config(bundle.config, layouts[1]))
        _write_tokenizer(staging, bundle, *layouts)


# --- tensors ---------------------------------------------------------------------------------------------------------


def tensor_names(config: TransformerConfig) -> dict[str, str]:
    """Marian's name of each of our tensors inside the blocks."""
    attention = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
    block = {f"self_attention.attention.{own}": f"self_attn.{their}" for own, their in attention.items()}
    block |= {"self_attention_residual.norm": "self_attn_layer_norm", "feed_forward_residual.norm": "final_layer_norm"}
    block |= {"feed_forward.fc1": "fc1", "feed_forward.fc2": "fc2"}
    cross = {f"cross_attention.{own}": f"encoder_attn.{their}" for own, their in attention.items()}
    cross |= {"cross_attention_residual.norm": "encoder_attn_layer_norm"}
    return {
        f"{side}.blocks.{index}.{own}.{part}": f"model.{side}.layers.{index}.{their}.{part}"
        for side, layers, names in (
            ("encoder", config.encoder.layers, block),
            ("decoder", config.decoder.layers, block | cross),
        )
        for index in range(layers)
        for own, their in names.items()
        for part in ("weight", "bias")
    }


PUBLISHED_BASE = 10_000.0  # of the sinusoids


def marian_base(width: int) -> float:
    """The base that gives Marian's sinusoids, whose exponents are i / (W/2 - 1) and not i / (W/2)."""
    half = width // 2
    return float(PUBLISHED_BASE ** (half / (half - 1))) if half > 1 else PUBLISHED_BASE


def halves_to_pairs(width: int) -> Tensor:
    """The index in Marian's hidden state of each entry of ours: all sines, then all cosines, become alternating."""
    return pairs_to_halves(width).argsort()


def pairs_to_halves(width: int) -> Tensor:
    """The index in our hidden state of each entry of Marian's."""
    places = torch.arange(width)
    return torch.cat([places[0::2], places[1::2]])


WIDTH_AXES = {  # the axes of the hidden state, by the end of a tensor's name; a tensor without one has none
    r"(tokens|positions)\.weight|^output\.weight": (1,),
    r"norm\.(weight|bias)": (0,),
    r"(query|key|value|fc1)\.weight": (1,),
    r"(attention\.output|fc2)\.(weight|bias)|forget\.bias": (0,),
    r"(forget|candidate)\.weight": (0, 1),  # an SSRU adds its cell to the hidden state
}


def reorder_width(tensors: Tensors, order: Tensor) -> Tensors:
    """The same model with the entries of every hidden state in another order."""
    reordered = dict(tensors)
    for name, tensor in tensors.items():
        axes = next((axes for pattern, axes in WIDTH_AXES.items() if re.search(f"({pattern})$", name)), ())
        for axis in axes:
            if tensor.shape[axis] == len(order):  # else its shape is reported
                reordered[name] = reordered[name].index_select(axis, order)
    return reordered


def marian_tensors(
    ours: Tensors, config: TransformerConfig, source: "MarianVocabulary", target: "MarianVocabulary"
) -> Tensors:
    """The weights under Marian's names, in Marian's order of the width and of the ids."""
    ours = reorder_width({name: tensor.float() for name, tensor in ours.items()}, pairs_to_halves(config.encoder.width))
    source_table = ours["source_embedding.tokens.weight"]
    target_table = ours.get("target_embedding.tokens.weight", source_table)
    if config.zero_begin:
        target_table[BEGIN] = 0.0
    bias = ours.get("output.bias", ours.get("output_bias", torch.zeros(len(target_table))))
    if target.is_ours:  # an imported model has its own bias, and its own rule against padding
        bias = bias.index_fill(0, torch.tensor(SUPPRESSED_TOKENS), SUPPRESSED_LOGIT)
    theirs: Tensors = {"final_logits_bias": target.rows(bias).unsqueeze(0)}
    if _has_shared_embedding(config):
        theirs["model.shared.weight"] = source.rows(source_table)
    else:
        theirs["model.encoder.embed_tokens.weight"] = source.rows(source_table)
        theirs["model.decoder.embed_tokens.weight"] = target.rows(target_table).clone()
    if "output.weight" in ours:
        theirs["lm_head.weight"] = target.rows(ours["output.weight"])
    theirs |= {their: ours[own] for own, their in tensor_names(config).items()}
    return {name: tensor.contiguous() for name, tensor in theirs.items()}


def _has_shared_embedding(config: TransformerConfig) -> bool:
    """Marian shares one table among all three uses or none: a table that two of ours share is written twice."""
    return config.share_embeddings and config.tie_word_embeddings


# --- vocabularies, config and tokenizer ------------------------------------------------------------------------------


@dataclass(frozen=True)
class MarianVocabulary:
    """The pieces in the order of the exported tables: that of the original program if the model was imported."""

    pieces: list[str]
    ids: list[int]  # the exported id of each of our pieces; -1: it is not exported
    is_ours: bool

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "MarianVocabulary":
        """An imported model starts its decoder with <pad>, which some programs do not list; ours with <s>."""
        own, ids = tokenizer.vocabulary, read_original_ids(tokenizer.to_bytes())
        if ids is None:
            return cls(own, list(range(len(own))), True)
        ids[PADDING] = -1  # the row of padding is that of BEGIN
        ids[BEGIN] = ids[BEGIN] if ids[BEGIN] >= 0 else max(ids) + 1
        names = dict(zip(reversed(ids), reversed(own), strict=True)) | {ids[BEGIN]: "<pad>"}
        pieces = [names[identity] for identity in range(max(ids) + 1)]
        return cls(
            [piece.removeprefix(WORD_MARK) if is_language_code(piece) else piece for piece in pieces], ids, False
        )

    @property
    def special_ids(self) -> dict[str, int]:
        padding = self.ids[PADDING if self.is_ours else BEGIN]
        start = {"bos_token_id": BEGIN} if self.is_ours else {}
        return start | {
            "pad_token_id": padding,
            "eos_token_id": self.ids[END],
            "decoder_start_token_id": self.ids[BEGIN],
        }

    def rows(self, table: Tensor) -> Tensor:
        """Our rows in the exported order."""
        return table if self.is_ours else original_rows(table, self.ids)


def _model_config(config: TransformerConfig, source: MarianVocabulary, target: MarianVocabulary) -> dict[str, Any]:
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
            "vocab_size": len(source.pieces),
            "decoder_vocab_size": len(target.pieces),
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
        | target.special_ids
    )


def _generation_config(config: Config, target: MarianVocabulary) -> dict[str, Any]:
    """Our decoding section in the library's terms; the search ends, as ours does, when a whole beam is finished."""
    beam = config.decoding.beam_size
    search = {"num_beams": beam, "length_penalty": config.decoding.length_penalty, "early_stopping": True}
    never = {} if target.is_ours else {"bad_words_ids": [[target.special_ids["pad_token_id"]]]}
    limits = {"do_sample": False, "max_length": MAX_OUTPUT_TOKENS}
    return target.special_ids | limits | never | (search if beam > 1 else {})


def _write_tokenizer(directory: Path, bundle: Bundle, source: MarianVocabulary, target: MarianVocabulary) -> None:
    both = bundle.tokenizers
    (directory / "source.spm").write_bytes(both.source.to_bytes())
    (directory / "target.spm").write_bytes(both.target.to_bytes())
    _write_json(directory / "vocab.json", _vocabulary_ids(source.pieces))
    settings: dict[str, Any] = {
        "tokenizer_class": "MarianTokenizer",
        "separate_vocabs": not both.shared,
        "model_max_length": MAX_OUTPUT_TOKENS,
        "clean_up_tokenization_spaces": False,
    }
    if not both.shared:
        _write_json(directory / "target_vocab.json", _vocabulary_ids(target.pieces))
    languages = (
        dict(zip(("source_lang", "target_lang"), bundle.languages, strict=True)) if all(bundle.languages) else {}
    )
    _write_json(directory / "tokenizer_config.json", settings | languages)


def _vocabulary_ids(vocabulary: list[str]) -> dict[str, int]:
    return {piece: identity for identity, piece in enumerate(vocabulary)}


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
