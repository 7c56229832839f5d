"""What order, pre-training and self-attention are worth to a classifier. Results are kept, so a run can be continued.

    python -m benchmarks.classification --plot classification.svg          # all parts: about 20 minutes on two cores
    python -m benchmarks.classification --parts text --seeds 1
    python -m benchmarks.classification --parts fashion --images 20000 --data FOLDER

    text      Who acts? In English only the word order tells (`regard data generate sentences --labels who-acts`).
              Bag of words (with and without pairs of words), RNN with attention, Transformer from scratch, and the same
              Transformer pre-trained on plain text, at 100, 1,000 and 10,000 labels. The learning rate of a method is
              the better of two on validation data (with the first seed); so is the penalty of logistic regression.
    fashion   Fashion-MNIST (Debian's dataset-fashion-mnist): a CNN with and without self-attention over its grid, with
              equal numbers of parameters (the one without is wider), five seeds.
    relation  Is the red circle to the left of the blue square? The same two networks on drawn scenes.

Everything that is chosen is chosen on validation data; test data are read once, at the end. Equal commands give equal
figures.
"""

import argparse
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice, product
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import torch
from benchmarks.fashion import DEBIAN, Task, accuracy, fashion, learn
from torch import nn

import regard
from regard.config import CNNConfig, ImageClassifierConfig
from regard.models.factory import build_model
from regard.plotting.line_plot import Line, plot_curves, save_figure
from regard.training.events import Validated
from regard.worlds.scenes import draw_scene, labelled_scenes
from regard.worlds.sentences import write_world

LABEL_COUNTS = {100: 120, 1_000: 200, 10_000: 300}  # labels: training steps
STACK = {"layers": 2, "width": 64, "heads": 4, "ffn_width": 128}
STYLE = {"kind": "encoder-only", "norm": "pre", "positions": "rotary", "dropout": 0.1, "transformer": STACK}
PRETRAINING_STEPS = 1_500
LEARNING_RATES = (2e-3, 5e-3)  # of which each method gets the better one for each number of labels
PENALTIES = (0.1, 1.0, 10.0)  # C of logistic regression
PARTS = ["text", "fashion", "relation"]
T_QUANTILES = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}  # of a 95% interval, by the number of seeds


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--out", type=Path, default=Path("runs/classification"), help="results and data are kept here")
    parser.add_argument("--labels", nargs="+", type=int, choices=LABEL_COUNTS, default=list(LABEL_COUNTS))
    parser.add_argument("--seeds", type=int, help="[default: 3; 5 for the images]")
    parser.add_argument("--data", type=Path, default=DEBIAN, help="folder of Fashion-MNIST")
    parser.add_argument(
        "--images", type=int, default=60_000, help="of Fashion-MNIST to train on [default: %(default)s]"
    )
    parser.add_argument("--epochs", type=int, default=3, help="over the images [default: %(default)s]")
    parser.add_argument("--scenes", type=int, default=6_000, help="to train on [default: %(default)s]")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="accuracy by number of labels")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    results = Results(arguments.out / "results.jsonl")
    if "text" in arguments.parts:
        text_part(arguments.out, results, arguments.labels, arguments.seeds or 3, arguments.plot)
    if "fashion" in arguments.parts:
        task = fashion(arguments.data, arguments.epochs)
        pixels, classes = task.train
        task = replace(task, train=(pixels[: arguments.images], classes[: arguments.images]))
        name = f"fashion, {len(task.train[1])} images, {arguments.epochs} epochs"
        image_part(task, results, arguments.seeds or 5, name)
    if "relation" in arguments.parts:
        name = f"left-of, {arguments.scenes} scenes, {3 * arguments.epochs} epochs"
        image_part(relation(arguments.scenes, 3 * arguments.epochs), results, arguments.seeds or 5, name)


class Results:
    """Accuracies by part, method and seed, and chosen rates, one JSON line each; none is computed twice."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text().splitlines() if path.exists() else []
        self.known = {tuple(json.loads(line)["key"]): json.loads(line)["value"] for line in lines}

    def get(self, *key: Any, compute: Callable[[], float]) -> float:
        if key not in self.known:
            self.known[key] = compute()
            with self.path.open("a") as file:
                file.write(json.dumps({"key": key, "value": self.known[key]}) + "\n")
            print(f"  {', '.join(map(str, key))}: {self.known[key]:.4g}", flush=True)
        return float(self.known[key])


# --- who acts? -------------------------------------------------------------------------------------------------------


def text_part(out: Path, results: Results, counts: list[int], seeds: int, plot: Path | None) -> None:
    data, plain = out / "who-acts", out / "plain"
    if not (data / "README.txt").exists():
        write_world(data, train=max(LABEL_COUNTS), valid=300, test=1_000, task="who-acts")
        write_world(plain, train=60_000, valid=300, test=1)
    pretrained = out / "pretrained"
    if not (pretrained / "finished").exists():
        shutil.rmtree(pretrained, ignore_errors=True)
        table = {
            "model": STYLE | {"dropout": 0.0},
            "tokenizer": {"model_type": "word", "vocab_size": 1_500},
            "data": {"train": [str(plain / "train.en")], "valid": [str(plain / "valid.en")], "languages": ["en"]},
            "training": training(PRETRAINING_STEPS, 3e-3, 0, 1_000) | {"mask_rate": 0.25, "validation_metric": "loss"},
        }
        for _ in regard.train(table, run=pretrained):
            pass
        (pretrained / "finished").touch()
    methods: dict[str, Callable[[int, int], float]] = {
        "bag of words": lambda labels, seed: bag_of_words(data, labels, seed, 1),
        "bag of words and pairs": lambda labels, seed: bag_of_words(data, labels, seed, 2),
        "RNN with attention": lambda labels, seed: trained(out, results, labels, seed, "rnn"),
        "Transformer": lambda labels, seed: trained(out, results, labels, seed, "scratch"),
        "Transformer, pre-trained": lambda labels, seed: trained(out, results, labels, seed, "pretrained"),
    }
    for labels, seed in product(counts, range(seeds)):
        for name, method in methods.items():
            results.get("who-acts", name, labels, seed, compute=partial(method, labels, seed))
    lines = []
    for name in methods:
        points = []
        for labels in counts:
            own = [results.known["who-acts", name, labels, seed] for seed in range(seeds)]
            points.append((labels, 100 * fmean(own)))
            print(f"who acts, {labels:,} labels, {name}: {describe(own)}")
        lines.append(Line(name, points))
    if plot:
        figure = plot_curves(lines, title="Who acts?", x_label="labels", y_label="test accuracy (%)")
        figure.axes[0].set_xscale("log")
        save_figure(figure, plot)


def describe(figures: list[float]) -> str:
    """The mean and the range over the seeds."""
    return f"{100 * fmean(figures):.1f} ({100 * min(figures):.1f} to {100 * max(figures):.1f})"


def examples(path: Path) -> tuple[list[str], list[str]]:
    """The texts and the labels of a file."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return [row[0] for row in rows], [row[1] for row in rows]


def subset(path: Path, labels: int, seed: int) -> list[str]:
    """So many lines of the training file; another seed gives others, where there are others."""
    lines = path.read_text(encoding="utf-8").splitlines()
    start = seed * labels % len(lines)
    return [*lines, *lines][start : start + labels]


def bag_of_words(data: Path, labels: int, seed: int, longest: int) -> float:
    """Logistic regression on the counts of words, and of `longest` words in a row; C is chosen on validation data."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    rows = [line.split("\t") for line in subset(data / "train.en.tsv", labels, seed)]
    counter = CountVectorizer(ngram_range=(1, longest))
    counts, tags = counter.fit_transform([row[0] for row in rows]), [row[1] for row in rows]
    models = [LogisticRegression(C=strength, max_iter=200).fit(counts, tags) for strength in PENALTIES]
    valid, test = ((counter.transform(texts), gold) for texts, gold in map(examples, _held_out(data)))
    return float(max(models, key=lambda model: model.score(*valid)).score(*test))


def _held_out(data: Path) -> Iterator[Path]:
    return (data / f"{name}.en.tsv" for name in ("valid", "test"))


def trained(out: Path, results: Results, labels: int, seed: int, kind: str) -> float:
    """The test accuracy of a classifier, with the learning rate that is best on validation data for the first seed."""

    def better_rate() -> float:
        return max(LEARNING_RATES, key=lambda rate: fit(out, labels, 0, kind, rate))

    fit(out, labels, seed, kind, results.get("learning rate", kind, labels, compute=better_rate))
    texts, gold = examples(out / "who-acts" / "test.en.tsv")
    found = regard.load(out / "run").classify(texts)  # type: ignore[union-attr]
    return fmean(one.label == own for one, own in zip(found, gold, strict=True))


def fit(out: Path, labels: int, seed: int, kind: str, rate: float) -> float:
    """Train a classifier in out/run, and return the validation accuracy of its best checkpoint, which is its model."""
    data, run, file = out / "who-acts", out / "run", out / "run.tsv"
    shutil.rmtree(run, ignore_errors=True)
    file.write_text("\n".join(subset(data / "train.en.tsv", labels, seed)) + "\n", encoding="utf-8")
    valid = data / "valid.en.tsv"
    people = sorted(set(examples(valid)[1]))
    model: dict[str, Any] = STYLE | {"pooling": "first"}
    if kind == "rnn":
        model = {"kind": "classifier-rnn-attention", "embedding_width": 64, "encoder": {"layers": 1, "width": 96}}
    table: dict[str, Any] = {
        "model": model | {"classes": len(people), "dropout": 0.1},
        "data": {"train": [str(file)], "valid": [str(valid)], "labels": people, "languages": ["en"]},
        "training": training(LABEL_COUNTS[labels], rate, seed),
    }
    if kind == "pretrained":
        events = regard.train(table, run=run, start_from=out / "pretrained" / "model")
    else:
        events = regard.train(table | {"tokenizer": {"model_type": "word", "vocab_size": 1_500}}, run=run)
    return max(event.accuracy or 0.0 for event in events if isinstance(event, Validated))


def training(steps: int, learning_rate: float, seed: int, batch_tokens: int = 600) -> dict[str, Any]:
    return {
        "steps": steps,
        "batch_tokens": batch_tokens,
        "learning_rate": learning_rate,
        "warmup_steps": steps // 10,
        "schedule": "cosine",
        "label_smoothing": 0.0,
        "validate_every": steps // 4,
        "checkpoint_every": steps // 4,
        "validation_metric": "accuracy",
        "precision": "float32",
        "threads": 1,
        "seed": seed,
    }


# --- images ----------------------------------------------------------------------------------------------------------


def relation(count: int, epochs: int) -> Task:
    """Scenes of 32 x 32 pixels; 2,000 for testing."""
    scenes = list(islice(labelled_scenes("left-of", 0), count + 2_000))
    pixels = torch.stack([torch.from_numpy(draw_scene(scene, 32)).float() for scene in scenes])
    classes = torch.tensor([int(scene.label == "yes") for scene in scenes])
    train, test = (pixels[:count], classes[:count]), (pixels[count:], classes[count:])
    return Task("left-of", train, test, blocks=2, epochs=epochs, names=("no", "yes"))


def image_part(task: Task, results: Results, seeds: int, name: str) -> None:
    """Both networks with each seed, and the interval of the mean difference."""
    attending = network(task, width=16, heads=4)
    size = parameters(attending)
    width = next(width for width in range(16, 64) if parameters(network(task, width=width, heads=0)) >= size)
    plain = network(task, width=width, heads=0)
    differences, both = [], []
    for seed in range(seeds):
        pair = [
            results.get(name, label, seed, compute=partial(learned_accuracy, task, config, seed))
            for label, config in (("CNN", plain), ("CNN with self-attention", attending))
        ]
        both.append(pair)
        differences.append(100 * (pair[1] - pair[0]))
    without, with_attention = (100 * fmean(column) for column in zip(*both, strict=True))
    print(f"{name}: CNN of {parameters(plain):,} parameters: {without:.2f}")
    print(f"{name}: CNN with self-attention, {size:,} parameters: {with_attention:.2f}")
    if seeds > 1:
        half = T_QUANTILES.get(seeds, 1.96) * stdev(differences) / sqrt(seeds)
        print(f"{name}: difference {fmean(differences):+.2f} points, 95% interval ± {half:.2f}, {seeds} seeds")


def learned_accuracy(task: Task, config: ImageClassifierConfig, seed: int) -> float:
    return accuracy(learn(task, config, seed), task)


def network(task: Task, *, width: int, heads: int) -> ImageClassifierConfig:
    encoder = CNNConfig(image_size=task.train[0].shape[-1], width=width, blocks=task.blocks, heads=heads)
    return ImageClassifierConfig(image_encoder=encoder, classes=len(task.names))


def parameters(config: ImageClassifierConfig) -> int:
    model: nn.Module = build_model(config)
    return sum(weight.numel() for weight in model.parameters())


if __name__ == "__main__":
    main()
