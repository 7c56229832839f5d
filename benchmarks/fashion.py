"""A self-attention layer inside a convolutional network: does it help? Digits and Fashion-MNIST, three seeds each.

    .venv/bin/python benchmarks/fashion.py                      # one JSON line for each model: some minutes
    .venv/bin/python benchmarks/fashion.py --epochs 10 --width 32
    .venv/bin/python benchmarks/fashion.py --maps maps.png      # and attention maps of ten images (or .svg)
    .venv/bin/python benchmarks/fashion.py --tasks fashion --seeds 1

Digits are scikit-learn's 8 x 8 ones. Fashion-MNIST is the Debian package dataset-fashion-mnist, or --data FOLDER with
its four files. Both networks of a pair have the same convolutions, seed, batches and number of steps.
"""

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.attention.hooks import record_attention
from regard.batch import Images
from regard.config import CNNConfig, ImageClassifierConfig
from regard.data.idx import read_idx
from regard.models.factory import build_model
from regard.plotting.image_map import ImageMaps, render_sheet

DEBIAN = Path("/usr/share/datasets/fashion-mnist")
CLOTHES = ("t-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")
SEEDS = (0, 1, 2)
BATCH = 128


@dataclass(frozen=True)
class Task:
    """Images (N, 3, Y, X) with their classes, for training and for testing."""

    name: str
    train: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]
    blocks: int
    epochs: int
    names: tuple[str, ...]


def digits(epochs: int) -> Task:
    """1,797 digits; every fifth is for testing. There are few, so training takes more epochs."""
    from sklearn.datasets import load_digits

    pixels, classes = load_digits(return_X_y=True)
    pictures = torch.tensor(pixels, dtype=torch.float32).view(-1, 1, 8, 8).expand(-1, 3, -1, -1) * (255 / 16)
    labels = torch.tensor(classes)
    is_test = torch.arange(len(labels)) % 5 == 0
    own, other = (pictures[~is_test], labels[~is_test]), (pictures[is_test], labels[is_test])
    return Task("digits", own, other, blocks=1, epochs=10 * epochs, names=tuple("0123456789"))


def fashion(folder: Path, epochs: int) -> Task:
    """60,000 images of clothes, and 10,000 for testing."""
    own, other = (
        (
            torch.from_numpy(read_idx(folder / f"{name}-images-idx3-ubyte.gz"))[:, None].float().expand(-1, 3, -1, -1),
            torch.from_numpy(read_idx(folder / f"{name}-labels-idx1-ubyte.gz")).long(),
        )
        for name in ("train", "t10k")
    )
    return Task("fashion", own, other, blocks=2, epochs=epochs, names=CLOTHES)


def learn(task: Task, config: ImageClassifierConfig, seed: int) -> nn.Module:
    """A model trained on the task; the learning rate rises, then falls to zero."""
    torch.manual_seed(seed)
    model = build_model(config).train()
    pictures, classes = task.train
    steps = task.epochs * -(-len(classes) // BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    for epoch in range(task.epochs):
        order = list(range(len(classes)))
        Random(f"{seed}:{epoch}").shuffle(order)
        for start in range(0, len(order), BATCH):
            rows = torch.tensor(order[start : start + BATCH])
            loss = nn.functional.cross_entropy(model(Images(pictures[rows])), classes[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return model.eval()


@torch.inference_mode()
def accuracy(model: nn.Module, task: Task) -> float:
    pictures, classes = task.test
    right = [
        (model(Images(part)).argmax(dim=1) == own).sum()
        for part, own in zip(pictures.split(1000), classes.split(1000), strict=True)
    ]
    return float(sum(right)) / len(classes)  # type: ignore[arg-type]


def main() -> None:
    options = _options()
    torch.set_num_threads(options.threads)
    tasks = [digits(options.epochs)] if "digits" in options.tasks else []
    if "fashion" in options.tasks and options.data.is_dir():
        tasks.append(fashion(options.data, options.epochs))
    elif "fashion" in options.tasks:
        print(f"{options.data} is not there: apt-get install dataset-fashion-mnist, or --data FOLDER", file=sys.stderr)
    for task in tasks:
        for heads in (0, 4):
            encoder = CNNConfig(width=options.width, blocks=task.blocks, heads=heads)
            config = ImageClassifierConfig(image_encoder=encoder, classes=10)
            for seed in SEEDS[: options.seeds]:
                started = time.process_time()
                model = learn(task, config, seed)
                row = {"task": task.name, "self_attention": bool(heads), "seed": seed, "epochs": task.epochs}
                row |= {
                    "accuracy": round(accuracy(model, task), 4),
                    "cpu_seconds": round(time.process_time() - started, 1),
                }
                row |= {"parameters": sum(parameter.numel() for parameter in model.parameters())}
                if heads:
                    row["gate"] = round(float(model.image_encoder.network.attention.gate.detach()), 3)  # type: ignore
                print(json.dumps(row), flush=True)
    if options.maps is not None:
        draw_maps(model, tasks[-1], options.maps)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEBIAN)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tasks", nargs="+", choices=["digits", "fashion"], default=["digits", "fashion"])
    parser.add_argument("--maps", type=Path)
    return parser.parse_args()


@torch.inference_mode()
def draw_maps(model: nn.Module, task: Task, out: Path) -> None:
    """An image of each class with the attention of its centre, head by head; the centre is outlined."""
    pictures = torch.stack([task.test[0][task.test[1] == one][0] for one in range(len(task.names))])
    with record_attention(model) as recording:
        predicted = model(Images(pictures)).argmax(dim=1)
    (layer,) = recording.layers.values()
    weights = layer["weights"]  # (B, H, P, P)
    side = round(weights.shape[-1] ** 0.5)
    middle = side // 2
    maps = weights[:, :, middle * side + middle].unflatten(-1, (side, side)).numpy()
    heads = [f"head {number}" for number in range(1, maps.shape[1] + 1)]
    edges = (middle / side, middle / side, (middle + 1) / side, (middle + 1) / side)
    sheet = [
        ImageMaps.from_arrays(
            _coloured(picture), heads, list(maps[row]), title=_title(task, row, predicted), boxes=[[edges]] * len(heads)
        )
        for row, picture in enumerate(pictures)
    ]
    out.write_bytes(render_sheet(sheet, out.suffix))


def _coloured(picture: Tensor) -> NDArray[np.uint8]:
    """A grey image (3, Y, X), dark on white."""
    return (255 - picture).round().to(torch.uint8).numpy()


def _title(task: Task, row: int, predicted: Tensor) -> str:
    name, other = task.names[row], task.names[int(predicted[row])]
    return name if name == other else f"{name}, taken for: {other}"


if __name__ == "__main__":
    main()
