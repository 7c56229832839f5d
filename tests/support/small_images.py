"""A captioned set small enough for a test: a few scenes, drawn at 16 pixels, and configs that train on them."""

from pathlib import Path
from typing import Any

from regard.config import Config
from regard.worlds.scenes import SceneWorldOptions, write_world

EYE = {"kind": "resnet", "image_size": 16, "width": 4, "blocks": 2}
ATTENDING = {"kind": "captioner-rnn-attention", "image_encoder": EYE, "embedding_width": 8, "decoder": {"width": 12}}
RECURRENT = {"kind": "captioner-rnn", "image_encoder": EYE, "embedding_width": 8, "decoder": {"width": 12}}
TRANSFORMER = {
    "kind": "captioner-transformer",
    "image_encoder": {
        "kind": "vit",
        "image_size": 16,
        "patch_size": 4,
        "transformer": {"layers": 1, "width": 8, "heads": 2, "ffn_width": 8},
    },
    "decoder": {"layers": 1, "width": 8, "heads": 2, "ffn_width": 12},
}


def write_scenes(directory: Path, count: int = 24) -> Path:
    """A folder of scenes; returns it."""
    write_world(directory / "scenes", SceneWorldOptions(train=count, valid=6, test=4, size=16))
    return directory / "scenes"


def picture_config(scenes: Path, *, model: dict[str, Any] | None = None, **training: Any) -> Config:
    """A config for the written scenes; training options may be changed by keyword."""
    options = {"steps": 8, "batch_tokens": 60, "warmup_steps": 2, "validate_every": 4, "checkpoint_every": 4}
    options |= {"threads": 1, "precision": "float32"}  # the same everywhere
    table = {
        "model": model or ATTENDING,
        "tokenizer": {"model_type": "word", "vocab_size": 100},
        "data": {
            "train": [str(scenes), "train"],
            "valid": [str(scenes), "valid"],
            "languages": ["en"],
            "flip_images": True,
        },
        "training": options | training,
        "decoding": {"beam_size": 2, "max_length_extra": 8},
    }
    return Config.from_dict(table)
