"""A captioned set small enough for a test: a few scenes, drawn at 16 pixels, and configs that train on them."""

from pathlib import Path
from typing import Any

from regard.config import Config, from_table
from regard.data.worlds.scenes import Wish, write_world

EYE = {"kind": "residual", "size": 16, "width": 4, "blocks": 2}
ATTENDING = {"kind": "captioner-attention", "eye": EYE, "embedding": 8, "decoder": {"width": 12}}
RECURRENT = {"kind": "captioner-rnn", "eye": EYE, "embedding": 8, "decoder": {"width": 12}}
TRANSFORMER = {
    "kind": "captioner-transformer",
    "eye": {"kind": "patches", "size": 16, "patch": 4, "stack": {"layers": 1, "width": 8, "heads": 2, "inner": 8}},
    "decoder": {"layers": 1, "width": 8, "heads": 2, "inner": 12},
}


def write_scenes(directory: Path, count: int = 24) -> Path:
    """A folder of scenes; returns it."""
    write_world(directory / "scenes", Wish(train=count, valid=6, test=4, size=16))
    return directory / "scenes"


def picture_config(scenes: Path, *, model: dict[str, Any] | None = None, **training: Any) -> Config:
    """A config for the written scenes; training options may be changed by keyword."""
    options = {"steps": 8, "batch_tokens": 60, "warmup": 2, "validate_every": 4, "checkpoint_every": 4}
    options |= {"threads": 1, "precision": "float32"}  # the same everywhere
    table = {
        "model": model or ATTENDING,
        "tokens": {"kind": "word", "size": 100},
        "data": {
            "train": [str(scenes), "train"],
            "valid": [str(scenes), "valid"],
            "languages": ["en"],
            "pictures": {"crop": 0.2, "flip": True, "colour": 0.2},
        },
        "training": options | training,
        "decoding": {"beam": 2, "length_extra": 8},
    }
    return from_table(table)
