"""Hugging Face directories other than Marian's: the families, and the export of imported models."""

import json
from pathlib import Path
from typing import cast

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
from regard.interop.sentencepiece_model import read_original, read_original_ids
from regard.interop.t5 import T5, is_t5
from regard.special_tokens import BEGIN, END, PADDING
from regard.tokenization.tokenizer import HuggingFaceTokenizer
from regard.tokenization.tokenizer_json import original_json

FAMILIES = {family.model_type: family for family in (BERT, DISTILBERT, ROBERTA, GPT2, LLAMA, T5)}


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
        is_bert = model.norm == "post" and model.positions == "learned"
        if not is_bert or model.norm_type != "layer_norm" or model.gated_ffn or not model.linear_bias:
            return None
        tokenizer = bundle.tokenizers.target
        is_bytes = isinstance(tokenizer, HuggingFaceTokenizer) and original_json(tokenizer)["model"]["type"] == "BPE"
        family = ROBERTA if is_bytes else BERT if model.token_types else DISTILBERT
        has_head = model.pooling == "first" and model.pooler_activation == ("relu" if family is DISTILBERT else "tanh")
        return family if has_head or not model.classes else None
    if model.norm != "pre":
        return None
    is_plain = model.norm_type == "layer_norm" and model.linear_bias and not model.gated_ffn
    if is_plain and model.positions == "learned" and not model.transformer.key_value_heads:
        return GPT2
    is_llama = model.norm_type == "rms_norm" and not model.linear_bias and model.gated_ffn
    return LLAMA if is_llama and model.positions == "rotary" else None


def unsupported_features(bundle: Bundle) -> list[str]:
    """Why none of the families can hold this model."""
    if family_of(bundle) is None:
        return ["its layers are those of neither BERT, GPT-2, Llama nor T5 (see docs/interop.md)"]
    tokenizer = bundle.tokenizers.target
    if not isinstance(tokenizer, HuggingFaceTokenizer) and read_original(tokenizer.to_bytes()) is None:
        return ["its vocabulary is a sentencepiece model of regard; the families need that of an imported model"]
    return []


def export_family(bundle: Bundle, directory: Path) -> str:
    """Write an imported model for the transformers library again; returns the name of its class."""
    raise_unsupported(unsupported_features(bundle), "The transformers library")
    family, model = cast(Family, family_of(bundle)), cast(FamilyConfig, bundle.config.model)
    tokenizer = bundle.tokenizers.target
    weights = named_tensors(bundle.model)
    require_finite_weights(weights)
    if isinstance(tokenizer, HuggingFaceTokenizer):
        ids, file = tokenizer.original_ids, json.dumps(original_json(tokenizer), ensure_ascii=False).encode()
    else:
        ids, file = read_original_ids(tokenizer.to_bytes()) or [], read_original(tokenizer.to_bytes()) or b""
    tensors = {rule.theirs: _export_tensor(rule, weights, ids) for rule in family.rules(model)}
    architecture = family.class_name(model)
    is_headless = architecture != family.architecture and architecture.endswith("Model")
    if is_headless:  # such a class has no prefix
        tensors = {name.removeprefix(family.prefix): tensor for name, tensor in tensors.items()}
    settings = family.write(model) | {
        "model_type": family.model_type,
        "architectures": [architecture],
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
    with atomic_directory(directory) as staging:
        save_file(tensors, str(staging / "model.safetensors"), metadata={"format": "pt"})
        (staging / "config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
        is_json = isinstance(tokenizer, HuggingFaceTokenizer)
        (staging / ("tokenizer.json" if is_json else family.sentencepiece)).write_bytes(file)
    return architecture


def _export_tensor(rule: Rule, weights: Tensors, ids: list[int]) -> Tensor:
    tensor = torch.cat([weights[name].float() for name in rule.ours])
    if rule.has_tokens:
        tensor = original_rows(tensor, ids)
    if rule.skipped_rows:
        tensor = torch.cat([tensor.new_zeros(rule.skipped_rows, tensor.shape[1]), tensor])
    return (tensor.T if rule.is_transposed else tensor).contiguous().clone()
