"""Hugging Face directories other than Marian's: the families, and the export of models that fit one of them."""

import json
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import save_file
from torch import Tensor

from regard.bundle import Bundle, named_tensors
from regard.config import DecoderOnlyConfig, EncoderOnlyConfig, TransformerConfig
from regard.files import atomic_directory
from regard.interop.bert import BERT, DISTILBERT, ROBERTA
from regard.interop.ctranslate2 import raise_unsupported, require_finite_weights
from regard.interop.foreign import Tensors, original_rows
from regard.interop.gpt2 import GPT2
from regard.interop.huggingface_family import Family, FamilyConfig, Rule
from regard.interop.llama import LLAMA
from regard.interop.sentencepiece_json import tokenizer_json
from regard.interop.sentencepiece_rewriting import read_original, read_original_ids
from regard.interop.t5 import T5, is_t5
from regard.special_tokens import BEGIN, END, MASK, PADDING, RESERVED, UNKNOWN
from regard.tokenization.tokenizer import HuggingFaceTokenizer, Tokenizer
from regard.tokenization.tokenizer_json import original_json

FAMILIES = {family.model_type: family for family in (BERT, DISTILBERT, ROBERTA, GPT2, LLAMA, T5)}
BERT_TOKEN_TYPES = 2  # of a pair of texts


def family_of(bundle: Bundle) -> Family | None:
    """The family that has all the layers of this model."""
    model = bundle.config.model
    if isinstance(model, TransformerConfig):
        return T5 if is_t5(model) else None
    if not isinstance(model, EncoderOnlyConfig | DecoderOnlyConfig) or not model.scale_scores:
        return None
    if model.transformer.is_pruned or model.transformer.head_width:
        return None
    if isinstance(model, EncoderOnlyConfig):
        return None if bert_misfits(model) else _bert_family(model, bundle.tokenizers.target)
    if model.norm != "pre":
        return None
    is_plain = model.norm_type == "layer_norm" and model.linear_bias and not model.gated_ffn
    if is_plain and model.positions == "learned" and not model.transformer.key_value_heads:
        return GPT2
    is_llama = model.norm_type == "rms_norm" and not model.linear_bias and model.gated_ffn
    return LLAMA if is_llama and model.positions == "rotary" else None


BERT_OPTIONS: dict[str, object] = {
    "norm": "post",
    "positions": "learned",
    "norm_type": "layer_norm",
    "gated_ffn": False,
    "linear_bias": True,
}


def bert_misfits(model: EncoderOnlyConfig) -> dict[str, object]:
    """The options with which an encoder is not a BERT, and the value that BERT has."""
    needed = BERT_OPTIONS | ({"pooling": "first"} if model.classes else {})
    return {name: value for name, value in needed.items() if getattr(model, name) != value}


def _bert_family(model: EncoderOnlyConfig, tokenizer: Tokenizer) -> Family | None:
    """One of the three encoders with BERT's layers; a model of our own is a BERT whose token types are zeros."""
    is_own = not isinstance(tokenizer, HuggingFaceTokenizer)
    is_bytes = isinstance(tokenizer, HuggingFaceTokenizer) and original_json(tokenizer)["model"]["type"] == "BPE"
    family = ROBERTA if is_bytes else BERT if model.token_types or is_own else DISTILBERT
    has_head = model.pooler_activation == ("relu" if family is DISTILBERT else "tanh")
    return family if has_head or not model.classes else None


def unsupported_features(bundle: Bundle) -> list[str]:
    """Why none of the families can hold this model."""
    model, tokenizer = bundle.config.model, bundle.tokenizers.target
    if isinstance(model, EncoderOnlyConfig) and (needed := bert_misfits(model)):
        return [f"model.{name} is {getattr(model, name)!r}, and BERT's is {value!r}" for name, value in needed.items()]
    if family_of(bundle) is None:
        return ["its layers are those of neither BERT, GPT-2, Llama nor T5 (see docs/interop.md)"]
    if isinstance(tokenizer, HuggingFaceTokenizer) or read_original(tokenizer.to_bytes()) is not None:
        return []
    if isinstance(model, TransformerConfig):
        return ["its vocabulary is a sentencepiece model of regard; T5's is that of an imported model"]
    if tokenizer.model_type not in ("unigram", "bpe"):
        return [f"tokenizer.model_type is {tokenizer.model_type!r}; the tokenizers package has 'unigram' and 'bpe'"]
    return []


def export_family(bundle: Bundle, directory: Path) -> str:
    """Write a model for the transformers library; returns the name of its class."""
    own = bundle.config.model
    needed = bert_misfits(own) if isinstance(own, EncoderOnlyConfig) else {}
    options = [f"model.{name}={json.dumps(value).strip(chr(34))}" for name, value in needed.items()]
    raise_unsupported(unsupported_features(bundle), "The transformers library", settings=options)
    family, model = cast(Family, family_of(bundle)), cast(FamilyConfig, own)
    weights = named_tensors(bundle.model)
    require_finite_weights(weights)
    ids, files = _tokenizer_files(bundle.tokenizers.target, family, model)
    tensors = {rule.theirs: _export_tensor(rule, weights, ids) for rule in family.rules(model)}
    settings = _settings(bundle, family, model, ids)
    if family is BERT and "type_vocab_size" in settings and not settings["type_vocab_size"]:
        settings["type_vocab_size"] = BERT_TOKEN_TYPES
        width = tensors["bert.embeddings.word_embeddings.weight"].shape[1]
        tensors["bert.embeddings.token_type_embeddings.weight"] = torch.zeros(BERT_TOKEN_TYPES, width)
    [architecture] = settings["architectures"]
    is_headless = architecture != family.architecture and architecture.endswith("Model")
    if is_headless:  # such a class has no prefix
        tensors = {name.removeprefix(family.prefix): tensor for name, tensor in tensors.items()}
    with atomic_directory(directory) as staging:
        save_file(tensors, str(staging / "model.safetensors"), metadata={"format": "pt"})
        (staging / "config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
        for name, content in files.items():
            (staging / name).write_bytes(content)
    return str(architecture)


def _tokenizer_files(tokenizer: Tokenizer, family: Family, model: FamilyConfig) -> tuple[list[int], dict[str, bytes]]:
    """The ids that our ids become, and the files of the tokenizer: the imported one again, or ours."""
    if (original := _original_sentencepiece(tokenizer)) is not None:
        return read_original_ids(tokenizer.to_bytes()) or [], {family.sentencepiece: original}
    if isinstance(tokenizer, HuggingFaceTokenizer):
        ids, written = tokenizer.original_ids, original_json(tokenizer)
        vocab = written["model"]["vocab"]
        pieces = vocab if isinstance(vocab, dict) else {piece: index for index, (piece, _) in enumerate(vocab)}
        names = {identity: piece for piece, identity in pieces.items()}
        names |= {one["id"]: one["content"] for one in written["added_tokens"]}
    else:
        ids, names = list(range(tokenizer.vocab_size)), {identity: piece for piece, identity in RESERVED.items()}
        written = tokenizer_json(tokenizer, is_causal=isinstance(model, DecoderOnlyConfig))
    special = {"pad": PADDING, "unk": UNKNOWN, "bos": BEGIN, "eos": END, "cls": BEGIN, "sep": END, "mask": MASK}
    settings = {f"{name}_token": names[ids[own]] for name, own in special.items() if ids[own] in names}
    settings["tokenizer_class"] = "PreTrainedTokenizerFast"  # others have their own normalisation, and drop the file's
    return ids, {"tokenizer.json": _to_json(written), "tokenizer_config.json": _to_json(settings)}


def _original_sentencepiece(tokenizer: Tokenizer) -> bytes | None:
    return None if isinstance(tokenizer, HuggingFaceTokenizer) else read_original(tokenizer.to_bytes())


def _to_json(content: object) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode()


def _settings(bundle: Bundle, family: Family, model: FamilyConfig, ids: list[int]) -> dict[str, Any]:
    """The content of config.json."""
    settings = family.write(model) | {
        "model_type": family.model_type,
        "architectures": [family.class_name(model)],
        "vocab_size": max(ids) + 1,
        "bos_token_id": ids[BEGIN],
        "eos_token_id": ids[END],
        "pad_token_id": ids[PADDING] if ids[PADDING] >= 0 else None,
        "dtype": "float32",
    }
    if isinstance(model, TransformerConfig):  # the decoder begins with padding
        start = {"decoder_start_token_id": ids[BEGIN], "pad_token_id": ids[BEGIN]}
        settings = {name: value for name, value in settings.items() if name != "bos_token_id"} | start
    if labels := bundle.config.data.labels:
        settings |= {"id2label": dict(enumerate(labels)), "label2id": {label: n for n, label in enumerate(labels)}}
    return settings


def _export_tensor(rule: Rule, weights: Tensors, ids: list[int]) -> Tensor:
    tensor = torch.cat([weights[name].float() for name in rule.ours])
    if rule.has_tokens:
        tensor = original_rows(tensor, ids)
    if rule.skipped_rows:
        tensor = torch.cat([tensor.new_zeros(rule.skipped_rows, tensor.shape[1]), tensor])
    return (tensor.T if rule.is_transposed else tensor).contiguous().clone()
