"""Sequential steps and seconds of a training pass: attention is parallel, a recurrence is not.

    .venv/bin/python benchmarks/parallel.py                      # 16 to 512 tokens; some minutes on two idle cores
    .venv/bin/python benchmarks/parallel.py --longest 128 --turns 1 --out /tmp

Each batch has the same number of random tokens, in longer and longer sentences. A model that computes all positions in
parallel then has the same work and the same number of steps, except for the products of attention, which grow with the
length. A *step* is a computation that depends on another position: a recurrent cell depends on the cell before it,
attention on its keys. Hooks count the steps of the forward pass; the backward pass repeats them in reverse. Steps are
exact and the same on every machine; seconds are the fastest of several interleaved forward and backward passes. It
prints a JSON line for each, then draws two charts.
"""

import argparse
import json
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.attention.attention_layer import AttentionLayer
from regard.attention.multi_head import MultiHeadAttention
from regard.batch import Batch
from regard.config import (
    AttentionRNNConfig,
    ModelConfig,
    RecurrentLayersConfig,
    RNNConfig,
    TransformerConfig,
    TransformerStackConfig,
)
from regard.layers.recurrent import RecurrentLayers
from regard.models.factory import build_model
from regard.plotting.line_plot import Line, figure_bytes, plot_curves
from regard.special_tokens import RESERVED
from regard.training.objective import compute_loss

PICTURES = Path(__file__).parents[1] / "docs" / "images"
VOCABULARY = 1000
TOKENS = 4096  # of each side of a batch
SHORTEST, LONGEST, TURNS = 16, 512, 7
RECURRENT, STACK = RecurrentLayersConfig(width=192), TransformerStackConfig(layers=2, width=128, heads=4, ffn_width=512)
SIZES: dict[str, Any] = {"embedding_width": 192, "encoder": RECURRENT, "decoder": RECURRENT, "dropout": 0.0}
MODELS: dict[str, ModelConfig] = {  # of one layer, and with the score that each was published with
    "RNN, fixed context": RNNConfig(**SIZES),
    "previous state asks": AttentionRNNConfig(**SIZES, query_state="previous", score="additive"),
    "current state asks": AttentionRNNConfig(**SIZES, query_state="current", score="general"),
    "current, input feeding": AttentionRNNConfig(**SIZES, query_state="current", score="general", input_feeding=True),
    "Transformer": TransformerConfig(encoder=STACK, decoder=STACK, dropout=0.0, norm="pre", tie_word_embeddings=False),
}
Row = dict[str, Any]


def main() -> None:
    given = _arguments()
    torch.manual_seed(0)
    models = {name: new_model(config) for name, config in MODELS.items()}
    rows = []
    length = SHORTEST
    while length <= given.longest:
        for row in measured(models, length, given.turns):
            print(json.dumps(row), flush=True)
            rows.append(row)
        length *= 2
    (given.out / "parallel.svg").write_text(drawing(rows, "seconds", "seconds of one training pass"))
    (given.out / "parallel-steps.svg").write_text(drawing(rows, "steps", "steps that wait for another place"))


def new_model(config: ModelConfig) -> nn.Module:
    """A model with random weights, ready to be trained."""
    return build_model(config, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY).train()


def measured(models: dict[str, nn.Module], length: int, turns: int) -> Iterator[Row]:
    """A row for each model: its steps, and the seconds of its fastest turn."""
    batch = random_batch(length, rows=max(1, TOKENS // length))
    steps = {name: counted_steps(model, batch) for name, model in models.items()}  # which also warms up
    seconds = [{name: _seconds(model, batch) for name, model in models.items()} for _ in range(turns)]
    for name, model in models.items():
        own = [turn[name] for turn in seconds]
        yield {
            "model": name,
            "tokens": length,
            "rows": len(batch.outputs.lengths),
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "steps": steps[name],
            "seconds": round(min(own), 4),
            "slowest": round(max(own), 4),
            "load": round(os.getloadavg()[0], 1),  # how many processes want the cores: above their count, they wait
        }


def random_batch(length: int, *, rows: int) -> Batch:
    """Rows of random tokens; `length` includes END or BEGIN, which the batch adds."""
    drawn = torch.randint(len(RESERVED), VOCABULARY, (2, rows, length - 1)).tolist()
    return Batch.from_pairs(*drawn)


def counted_steps(model: nn.Module, batch: Batch) -> int:
    """The number of sequential computations of one forward pass."""
    with _counting(model) as steps:
        compute_loss(model, batch, smoothing=0.1).backward()
    return sum(steps)


@contextmanager
def _counting(model: nn.Module) -> Iterator[list[int]]:
    """Count the steps of every recurrent layer and attention while the block runs."""
    steps: list[int] = []
    layers = [
        layer for layer in model.modules() if isinstance(layer, RecurrentLayers | AttentionLayer | MultiHeadAttention)
    ]
    handles = [layer.register_forward_hook(lambda *call: steps.append(_waits(*call))) for layer in layers]
    try:
        yield steps
    finally:
        for handle in handles:
            handle.remove()


def _waits(layer: nn.Module, _given: object, answer: Any) -> int:
    """A recurrence takes a step per position, two directions in parallel; attention takes one for all positions."""
    if not isinstance(layer, RecurrentLayers):
        return 1
    states, _ = answer
    return int(states.shape[1]) + layer.rnn.num_layers - 1  # an upper layer begins as soon as the first place is done


def _seconds(model: nn.Module, batch: Batch) -> float:
    model.zero_grad()
    begun = time.perf_counter()
    compute_loss(model, batch, smoothing=0.1).backward()
    return time.perf_counter() - begun


def drawing(rows: list[Row], kind: str, label: str) -> str:
    """One line for each model, over lengths that double."""
    lengths = sorted({row["tokens"] for row in rows})
    lines = [
        Line(name, [(math.log2(row["tokens"]), row[kind]) for row in rows if row["model"] == name]) for name in MODELS
    ]
    ticks = [(math.log2(length), str(length)) for length in lengths]
    title = f"{TOKENS:,} tokens, cut into sentences: {label}"
    figure = plot_curves(
        lines, title=title, x_label="tokens of a sentence, on either side", y_label=kind, x_ticks=ticks
    )
    return figure_bytes(figure).decode()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longest", type=int, default=LONGEST)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--out", type=Path, default=PICTURES, help="directory of the drawings")
    return parser.parse_args()


if __name__ == "__main__":
    main()
