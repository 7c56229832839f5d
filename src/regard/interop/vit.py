"""ViTForImageClassification of the transformers library as an ordinary image classifier, and back.

The class token's vector after the last block is the input of the output layer. Pixels are normalised as the
directory's preprocessor_config.json says. transformers squeezes an image into a square; here its central square is cut
out.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from safetensors.torch import save_file

from regard.bundle import Bundle, named_tensors
from regard.config import Config, ImageClassifierConfig, VisionTransformerConfig
from regard.files import atomic_directory
from regard.interop.ctranslate2 import raise_unsupported, require_finite_weights
from regard.interop.foreign import (
    ACTIVATIONS,
    MAX_LAYERS,
    ForeignModel,
    Misfits,
    Tensors,
    read_huggingface_tensors,
    read_json,
    read_optional_json,
)
from regard.interop.huggingface_family import ACTIVATION_NAMES, Settings, class_labels
from regard.layers.image_encoders import RGB_CHANNELS
from regard.tokenization.tokenizer import train_label_tokenizers

ARCHITECTURE = "ViTForImageClassification"
IGNORED = ("pooler.dense.weight", "pooler.dense.bias", "embeddings.mask_token")  # not used by the classifier
WHITE = 255  # the largest value of a pixel
HALF = [0.5, 0.5, 0.5]  # mean and deviation of the pixels of the published models, from 0 to 1
BLOCK = {
    "self_attention.attention.query": "attention.attention.query",
    "self_attention.attention.key": "attention.attention.key",
    "self_attention.attention.value": "attention.attention.value",
    "self_attention.attention.output": "attention.output.dense",
    "self_attention_residual.norm": "layernorm_before",
    "feed_forward.fc1": "intermediate.dense",
    "feed_forward.fc2": "output.dense",
    "feed_forward_residual.norm": "layernorm_after",
}


def import_vit(directory: Path) -> ForeignModel:
    """A directory of an image classifier."""
    settings, misfits = read_json(directory / "config.json"), Misfits(directory)
    processor = read_optional_json(directory / "preprocessor_config.json")
    encoder = _encoder_table(settings, processor, misfits)
    misfits.raise_if_any()
    tensors = read_huggingface_tensors(directory)
    labels = class_labels(settings, tensors.get("classifier.weight"), misfits)
    misfits.require(
        bool(labels),
        f"it has no class head (classifier.weight); supported: {ARCHITECTURE}. Train a head on your own labels with "
        'transformers and import the result, or train a captioner with image_encoder.kind = "vit" from scratch',
    )
    misfits.raise_if_any()
    model = {"kind": "classifier-image", "image_encoder": encoder, "pooling": "first", "classes": len(labels)}
    model |= {"dropout": settings.get("hidden_dropout_prob", 0.0)}
    tokenizers = train_label_tokenizers(labels)
    table = {"model": model, "data": {"labels": labels}, "tokenizer": {"model_type": "char"}}
    config = Config.from_dict(table, origin=str(directory / "config.json"))
    ours = _import_tensors(tensors, cast(ImageClassifierConfig, config.model), misfits)
    notes = ["an image that is not square is cut to its central square; transformers squeezes it"]
    return ForeignModel(f"Hugging Face, {ARCHITECTURE}", config, tokenizers, ours, notes)


def _encoder_table(settings: Settings, processor: Settings, misfits: Misfits) -> Settings:
    channels, has_bias = settings.get("num_channels", 3), settings.get("qkv_bias", True)
    misfits.require(channels == RGB_CHANNELS, f"num_channels is {channels}; supported: {RGB_CHANNELS}")
    misfits.require(bool(has_bias), "qkv_bias is false; supported: true")
    scale = processor.get("rescale_factor", 1 / WHITE) if processor.get("do_rescale", True) else 1.0
    misfits.require(
        isinstance(scale, float) and scale > 0, f"rescale_factor is {scale!r}; supported: a positive number"
    )
    mean, std = processor.get("image_mean", HALF), processor.get("image_std", HALF)
    if not processor.get("do_normalize", True):
        mean, std = [0.0] * RGB_CHANNELS, [1.0] * RGB_CHANNELS
    for name, given in (("image_mean", mean), ("image_std", std)):
        is_valid = isinstance(given, list) and all(isinstance(one, int | float) for one in given)
        misfits.require(is_valid and len(given) == RGB_CHANNELS, f"{name} is {given!r}; supported: three numbers")
    misfits.raise_if_any()
    return {
        "kind": "vit",
        "image_size": misfits.integer(settings, "image_size", most=4096),
        "patch_size": misfits.integer(settings, "patch_size", most=4096),
        "transformer": {
            "layers": misfits.integer(settings, "num_hidden_layers", most=MAX_LAYERS),
            "width": misfits.integer(settings, "hidden_size"),
            "heads": misfits.integer(settings, "num_attention_heads"),
            "ffn_width": misfits.integer(settings, "intermediate_size"),
        },
        "class_token": True,
        "activation": misfits.choose("hidden_act", settings.get("hidden_act", "gelu"), ACTIVATIONS),
        "norm_epsilon": settings.get("layer_norm_eps", 1e-12),
        "pixel_mean": [one / scale for one in mean],
        "pixel_std": [one / scale for one in std],
    }


def tensor_names(layers: int) -> Iterator[tuple[str, str]]:
    """Our name of each tensor, and theirs."""
    own, their = "image_encoder.network", "vit.embeddings"
    yield f"{own}.class_token", f"{their}.cls_token"
    yield f"{own}.positions", f"{their}.position_embeddings"
    pairs = {f"{own}.patch_embedding": f"{their}.patch_embeddings.projection"}
    for index in range(layers):
        pairs |= {f"{own}.encoder.blocks.{index}.{a}": f"vit.encoder.layer.{index}.{b}" for a, b in BLOCK.items()}
    pairs |= {f"{own}.encoder.norm": "vit.layernorm", "output": "classifier"}
    for ours, theirs in pairs.items():
        for part in ("weight", "bias"):
            yield f"{ours}.{part}", f"{theirs}.{part}"


def _import_tensors(theirs: Tensors, model: ImageClassifierConfig, misfits: Misfits) -> Tensors:
    encoder = cast(VisionTransformerConfig, model.image_encoder)
    ours: Tensors = {}
    left = dict(theirs)
    for own, name in tensor_names(encoder.transformer.layers):
        if name not in left:
            misfits.require(False, f"{name} is missing")
            continue
        tensor = left.pop(name)
        if own.endswith(("class_token", "positions")):
            tensor = tensor.flatten(0, -2) if own.endswith("positions") else tensor.flatten()
        ours[own] = tensor.contiguous()
    misfits.found += [
        f"{name} is not part of {ARCHITECTURE} here" for name in sorted(left) if not name.endswith(IGNORED)
    ]
    misfits.raise_if_any()
    return ours


# --- export ----------------------------------------------------------------------------------------------------------


def unsupported_features(bundle: Bundle) -> list[str]:
    """Why the class of the transformers library cannot hold this model."""
    model = bundle.config.model
    if not isinstance(model, ImageClassifierConfig) or not isinstance(model.image_encoder, VisionTransformerConfig):
        return [f"its image encoder is no Vision Transformer; {ARCHITECTURE} is one"]
    stack = model.image_encoder.transformer
    if not model.image_encoder.class_token:
        return ['model.image_encoder.class_token is false; train with it, and with model.pooling = "first"']
    if stack.key_value_heads or stack.head_width or stack.is_pruned:
        return ["its heads share keys and values, or have another width, or were pruned"]
    return []


def export_vit(bundle: Bundle, directory: Path) -> str:
    """Write an image classifier for the transformers library; returns the name of its class."""
    raise_unsupported(unsupported_features(bundle), "The transformers library")
    model = cast(ImageClassifierConfig, bundle.config.model)
    encoder = cast(VisionTransformerConfig, model.image_encoder)
    weights = named_tensors(bundle.model)
    require_finite_weights(weights)
    tensors = {}
    for own, their in tensor_names(encoder.transformer.layers):
        tensor = weights[own].float()
        extra = {"class_token": (1, 1, -1), "positions": (1, *tensor.shape)}.get(own.rpartition(".")[2])
        tensors[their] = (tensor if extra is None else tensor.view(extra)).contiguous().clone()
    with atomic_directory(directory) as staging:
        save_file(tensors, str(staging / "model.safetensors"), metadata={"format": "pt"})
        for name, content in (
            ("config.json", _model_config(model, encoder, bundle.config.data.labels)),
            ("preprocessor_config.json", _processor_config(encoder)),
        ):
            (staging / name).write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return ARCHITECTURE


def _model_config(model: ImageClassifierConfig, encoder: VisionTransformerConfig, labels: list[str]) -> dict[str, Any]:
    names = labels or [f"LABEL_{number}" for number in range(model.classes)]
    return {
        "architectures": [ARCHITECTURE],
        "model_type": "vit",
        "num_hidden_layers": encoder.transformer.layers,
        "hidden_size": encoder.transformer.width,
        "num_attention_heads": encoder.transformer.heads,
        "intermediate_size": encoder.transformer.ffn_width,
        "hidden_act": ACTIVATION_NAMES[encoder.activation],
        "layer_norm_eps": encoder.norm_epsilon,
        "image_size": encoder.image_size,
        "patch_size": encoder.patch_size,
        "num_channels": RGB_CHANNELS,
        "qkv_bias": True,
        "hidden_dropout_prob": model.dropout,
        "attention_probs_dropout_prob": 0.0,
        "id2label": dict(enumerate(names)),
        "label2id": {label: number for number, label in enumerate(names)},
        "dtype": "float32",
    }


def _processor_config(encoder: VisionTransformerConfig) -> dict[str, Any]:
    return {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": {"height": encoder.image_size, "width": encoder.image_size},
        "do_rescale": True,
        "rescale_factor": 1 / WHITE,
        "do_normalize": True,
        "image_mean": [one / WHITE for one in encoder.pixel_mean],
        "image_std": [one / WHITE for one in encoder.pixel_std],
    }
