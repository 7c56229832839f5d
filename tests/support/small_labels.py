"""Labelled texts and images that a second teaches: the order of two words decides, or the direction of a bar."""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from PIL import Image

from regard.config import Config
from regard.training.plan_checks import with_labels
from tests.support.small_run import run_to_the_end

STACK = {"layers": 2, "width": 24, "heads": 2, "ffn_width": 32}
ENCODER = {"kind": "encoder-only", "transformer": STACK, "norm": "pre", "dropout": 0.0, "classes": 2}
RNN = {"kind": "classifier-rnn-attention", "embedding_width": 12, "encoder": {"width": 16}, "dropout": 0.0}
CNN = {"kind": "cnn", "image_size": 8, "width": 8, "blocks": 1, "heads": 2}
IMAGES = {"kind": "classifier-image", "image_encoder": CNN, "pooling": "attention", "dropout": 0.0}
LEARNING = {"steps": 60, "validate_every": 60, "checkpoint_every": 60, "learning_rate": 0.01}
FILLERS = ("와", "네", "음")


def write_labelled_texts(directory: Path, count: int = 96) -> None:
    """Lines where `가` comes before `나` or after it, with other words between; a bag of words cannot tell."""
    draw = Random(0)
    for name, size in (("train", count), ("valid", 16), ("test", 16)):
        lines = []
        for number in range(size):
            words = [draw.choice(FILLERS) for _ in range(draw.randint(0, 2))]
            first, last = ("가", "나") if number % 2 else ("나", "가")
            lines.append(f"{' '.join([first, *words, last])}\t{'forward' if number % 2 else 'backward'}\n")
        (directory / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")


def write_labelled_images(directory: Path, count: int = 48) -> None:
    """A folder of images with a bright bar for each of two classes, for training and for testing."""
    draw = np.random.default_rng(0)
    for name, size in (("train", count), ("test", 8)):
        for number in range(size):
            pixels = draw.integers(0, 60, (8, 8), dtype=np.uint8)
            label = ("across", "down")[number % 2]
            pixels[draw.integers(8), :] = 255
            folder = directory / "bars" / name / label
            folder.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels if label == "across" else pixels.T.copy()).save(folder / f"{number}.png")


def label_config(directory: Path, model: dict[str, Any], **training: Any) -> Config:
    """A config for the written texts or images; training options may be changed by keyword."""
    options = {"steps": 12, "batch_tokens": 120, "warmup_steps": 4, "validate_every": 6, "checkpoint_every": 4}
    options |= {"threads": 1, "precision": "float32", "validation_metric": "accuracy"}
    is_image = "image_encoder" in model
    data = {"train": [str(directory / "train.tsv")], "valid": [str(directory / "valid.tsv")]}
    if is_image:
        data, options["batch_tokens"] = {"train": [str(directory / "bars" / "train")]}, 16
    table = {
        "model": model,
        "tokenizer": {"model_type": "word", "vocab_size": 64},
        "data": data,
        "training": options | training,
    }
    return with_labels(Config.from_dict(table))


def make_classifiers(directory: Path) -> None:
    """Texts, images, and the runs of three classifiers that have learnt them."""
    write_labelled_texts(directory)
    write_labelled_images(directory)
    for name, model in (("encoder", ENCODER), ("rnn", RNN), ("images", IMAGES)):
        config = label_config(directory, model, **LEARNING)
        run_to_the_end(config, directory / name)
        (directory / name / "config.toml").write_text(config.to_toml(), encoding="utf-8")
