"""A language small enough to be learnt in a second: each word is followed by one other, round and round."""

from pathlib import Path
from typing import Any

from regard.config import Config
from tests.support.small_run import run_to_the_end

WORDS = ["가", "나", "다", "라", "마", "바"]
STACK = {"layers": 2, "width": 24, "heads": 2, "ffn_width": 32}
WRITER = {"kind": "decoder-only", "transformer": STACK, "positions": "rotary", "dropout": 0.0}
READER = {"kind": "encoder-only", "transformer": STACK, "positions": "rotary", "norm": "pre", "dropout": 0.0}


def write_texts(directory: Path, *, lines: int = 96) -> None:
    """Lines of a few words in their order, from any of them on."""
    for name, count in (("train", lines), ("valid", 12)):
        texts = [turns(start % len(WORDS), 3 + start // len(WORDS) % 4) for start in range(count)]
        (directory / f"{name}.ko").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


def turns(start: int, count: int) -> str:
    """So many words, each followed by its own successor."""
    return " ".join(WORDS[(start + place) % len(WORDS)] for place in range(count))


def language_config(directory: Path, model: dict[str, Any], **training: Any) -> Config:
    """A config for the written lines; training options may be changed by keyword."""
    options = {
        "steps": 12,
        "batch_tokens": 120,
        "warmup_steps": 4,
        "validate_every": 6,
        "checkpoint_every": 4,
        "threads": 1,
        "validation_metric": "loss",
        "label_smoothing": 0.0,
        "precision": "float32",
    }
    table = {
        "model": model,
        "tokenizer": {"model_type": "word", "vocab_size": 64},
        "data": {"train": [str(directory / "train.ko")], "valid": [str(directory / "valid.ko")], "languages": ["ko"]},
        "training": options | training,
        "decoding": {"beam_size": 1, "max_length_extra": 8},
    }
    return Config.from_dict(table)


LEARNING = {"steps": 200, "validate_every": 200, "checkpoint_every": 200, "learning_rate": 0.01, "mask_rate": 0.3}


def make_language(directory: Path) -> None:
    """Lines of text, recipes, and the runs of a writer and a reader that have learnt them."""
    write_texts(directory)
    for name, model in (("writer", WRITER), ("reader", READER)):
        config = language_config(directory, model, **LEARNING)
        run_to_the_end(config, directory / name)
        (directory / f"{name}.toml").write_text(config.to_toml(), encoding="utf-8")
        (directory / name / "config.toml").write_text(config.to_toml(), encoding="utf-8")  # as the command leaves it
