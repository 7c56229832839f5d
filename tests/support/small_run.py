"""A run small enough for a test: pairs of made-up words, where the target says the source backwards."""

import random
from pathlib import Path
from typing import Any

import msgspec

from regard.config import Config
from regard.training.corpora import Corpus, prepare_corpus
from regard.training.events import TrainingEvent
from regard.training.loop import train

TRANSFORMER = {
    "kind": "transformer",
    "encoder": {"layers": 1, "width": 16, "heads": 2, "ffn_width": 24},
    "decoder": {"layers": 1, "width": 16, "heads": 2, "ffn_width": 24},
}
WORDS = [first + second for first in "bdgkm" for second in ("a", "e", "i", "o")]


def write_pairs(directory: Path, count: int = 120, valid: int = 12) -> None:
    """Files of sentences and of the same sentences backwards."""
    chance = random.Random(7)
    for name, size in (("train", count), ("valid", valid)):
        rows = [[chance.choice(WORDS) for _ in range(chance.randint(2, 7))] for _ in range(size)]
        (directory / f"{name}.src").write_text("".join(" ".join(row) + "\n" for row in rows))
        (directory / f"{name}.trg").write_text("".join(" ".join(row[::-1]) + "\n" for row in rows))


def small_config(directory: Path, *, model: dict[str, Any] | None = None, **training: Any) -> Config:
    """A config for the written pairs; training options may be changed by keyword."""
    options = {
        "steps": 12,
        "batch_tokens": 120,
        "warmup_steps": 4,
        "validate_every": 6,
        "checkpoint_every": 4,
        "threads": 1,
        "precision": "float32",  # whatever the processor has, so that a test is the same everywhere
    }
    table = {
        "model": model or TRANSFORMER,
        "tokenizer": {"model_type": "word", "vocab_size": 64, "shared": True},
        "data": {
            "train": [str(directory / "train.src"), str(directory / "train.trg")],
            "valid": [str(directory / "valid.src"), str(directory / "valid.trg")],
        },
        "training": options | training,
    }
    return Config.from_dict(table)


def run_to_the_end(config: Config, run: Path, *, resume: bool = False) -> list[TrainingEvent]:
    """Every event of a run."""
    return list(train(config, run, corpus_of(config, run), resume=resume))


def corpus_of(config: Config, run: Path) -> Corpus:
    """The prepared data of a run."""
    run.mkdir(parents=True, exist_ok=True)
    return prepare_corpus(config, run, progress=lambda _stage, _count: None)


def with_tokens(config: Config, **tokens: Any) -> Config:
    """The same config with other options for its vocabulary."""
    return msgspec.structs.replace(config, tokenizer=msgspec.structs.replace(config.tokenizer, **tokens))


def with_training(config: Config, **training: Any) -> Config:
    """The same config with other training options."""
    return msgspec.structs.replace(config, training=msgspec.structs.replace(config.training, **training))
