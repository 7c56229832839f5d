"""A self-attention layer inside a convolutional network: does it help? Digits and Fashion-MNIST, three seeds each.

    .venv/bin/python benchmarks/fashion.py                      # one JSON line for each model: some minutes
    .venv/bin/python benchmarks/fashion.py --epochs 10 --width 32
    .venv/bin/python benchmarks/fashion.py --maps maps.svg      # and what places of ten pictures look at

Digits are scikit-learn's 8 x 8 ones. Fashion-MNIST is the Debian package dataset-fashion-mnist, or --data FOLDER with
its four files. Both networks of a pair have the same convolutions, seed, batches and number of steps.
"""

import argparse
import gzip
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

import torch
from torch import Tensor, nn

from regard.attention.recording import record_attention
from regard.batch import Pictures
from regard.config import ConvolutionalConfig
from regard.models.catalogue import build

DEBIAN = Path("/usr/share/datasets/fashion-mnist")
SEEDS = (0, 1, 2)
BATCH = 128


@dataclass(frozen=True)
class Task:
    """Pictures (N, 1, Y, X) with their classes, to learn from and to be tried on."""

    name: str
    train: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]
    blocks: int
    epochs: int


def digits(epochs: int) -> Task:
    """1,797 digits; every fifth is kept to be tried on. There are few, so each is seen more often."""
    from sklearn.datasets import load_digits

    pixels, classes = load_digits(return_X_y=True)
    pictures = torch.tensor(pixels, dtype=torch.float32).view(-1, 1, 8, 8) / 16
    labels = torch.tensor(classes)
    is_test = torch.arange(len(labels)) % 5 == 0
    own, other = (pictures[~is_test], labels[~is_test]), (pictures[is_test], labels[is_test])
    return Task("digits", own, other, blocks=1, epochs=10 * epochs)


def fashion(folder: Path, epochs: int) -> Task:
    """60,000 pictures of clothes, and 10,000 to be tried on."""
    train, test = (
        (_idx(folder / f"{name}-images-idx3-ubyte.gz")[:, None] / 255, _idx(folder / f"{name}-labels-idx1-ubyte.gz"))
        for name in ("train", "t10k")
    )
    return Task("fashion", (train[0], train[1].long()), (test[0], test[1].long()), blocks=2, epochs=epochs)


def _idx(path: Path) -> Tensor:
    """An idx file: two zero bytes, the type (8: unsigned bytes), the number of axes, their lengths, the values."""
    content = gzip.decompress(path.read_bytes())
    axes = content[3]
    shape = [int.from_bytes(content[4 + 4 * axis : 8 + 4 * axis], "big") for axis in range(axes)]
    assert content[:3] == b"\0\0\x08", path
    return torch.frombuffer(bytearray(content[4 + 4 * axes :]), dtype=torch.uint8).view(shape).float()


def learn(task: Task, config: ConvolutionalConfig, seed: int) -> nn.Module:
    """A model trained on the task; the rate rises, then falls to zero."""
    torch.manual_seed(seed)
    model = build(config).train()
    pictures, classes = task.train
    steps = task.epochs * -(-len(classes) // BATCH)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 3e-3, total_steps=steps)
    for epoch in range(task.epochs):
        order = list(range(len(classes)))
        Random(f"{seed}:{epoch}").shuffle(order)
        for start in range(0, len(order), BATCH):
            rows = torch.tensor(order[start : start + BATCH])
            loss = nn.functional.cross_entropy(model(Pictures(pictures[rows])), classes[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    return model.eval()


@torch.inference_mode()
def accuracy(model: nn.Module, task: Task) -> float:
    pictures, classes = task.test
    right = [
        (model(Pictures(part)).argmax(dim=1) == own).sum()
        for part, own in zip(pictures.split(1000), classes.split(1000), strict=True)
    ]
    return float(sum(right)) / len(classes)  # type: ignore[arg-type]


def main() -> None:
    options = _options()
    torch.set_num_threads(options.threads)
    tasks = [digits(options.epochs)]
    if options.data.is_dir():
        tasks.append(fashion(options.data, options.epochs))
    else:
        print(f"{options.data} is not there: apt-get install dataset-fashion-mnist, or --data FOLDER", file=sys.stderr)
    for task in tasks:
        for heads in (0, 4):
            config = ConvolutionalConfig(width=options.width, blocks=task.blocks, heads=heads)
            for seed in SEEDS[: options.seeds]:
                started = time.monotonic()
                model = learn(task, config, seed)
                row = {"task": task.name, "self_attention": bool(heads), "seed": seed, "epochs": task.epochs}
                row |= {"accuracy": round(accuracy(model, task), 4), "seconds": round(time.monotonic() - started, 1)}
                row |= {"parameters": sum(parameter.numel() for parameter in model.parameters())}
                if heads:
                    row["gate"] = round(float(model.attention.gate.detach()), 3)  # type: ignore[union-attr,arg-type]
                print(json.dumps(row), flush=True)
    if options.maps is not None:
        options.maps.write_text(_sheet(model, tasks[-1].test[0][:10]), encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEBIAN)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--maps", type=Path)
    return parser.parse_args()


def _sheet(model: nn.Module, pictures: Tensor) -> str:
    """One row for each picture: itself, then where its middle place looks, head by head."""
    with record_attention(model) as recording, torch.inference_mode():
        model(Pictures(pictures))
    (layer,) = recording.layers.values()
    weights = layer["weights"]  # (B, H, P, P)
    side = round(weights.shape[-1] ** 0.5)
    looks = weights[:, :, (side // 2) * side + side // 2].unflatten(-1, (side, side))
    cells = []
    for row, picture in enumerate(pictures):
        for column, grid in enumerate([picture[0], *looks[row]]):
            cells += _cells(grid / grid.max(), x=100 * column, y=100 * row)
    size = f"0 0 {100 * (1 + looks.shape[1])} {100 * len(pictures)}"
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}">{"".join(cells)}</svg>\n'


def _cells(grid: Tensor, *, x: int, y: int) -> list[str]:
    step = 92 / len(grid)
    return [
        f'<rect x="{x + step * column:.1f}" y="{y + step * row:.1f}" width="{step:.1f}" height="{step:.1f}" '
        f'fill="rgb({shade},{shade},{shade})"/>'
        for row, values in enumerate(grid.tolist())
        for column, value in enumerate(values)
        for shade in [round(255 * (1 - value))]
    ]


if __name__ == "__main__":
    main()
