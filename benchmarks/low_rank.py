"""Low-rank adapters (LoRA, Hu et al., 2021) against full fine-tuning and frozen parts: loss, parameters, time, memory.

    python -m benchmarks.low_rank en-fr --data ../shared/data --steps 60

Each variant fine-tunes the English-French model on Multi30k for the same batches. The adapters are on every matrix of
the Transformer blocks: W + B A / r * 2r, with B = 0 at the start. It prints the loss on the validation pairs, which is
comparable; see docs/decisions/0018-low-rank-adapters.md for the conclusion.
"""

import argparse
import time
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from regard.cpu_speedups import MicrobatchThreads
from regard.training.corpora import PairCorpus, rank_batches
from regard.training.plan import TrainOptions, make_plan, prepare_run
from regard.training.step import ADAM_BETAS, ThroughputMeter, Trainer, create_trainer, train_step
from regard.training.validation import _pair_batches, eval_mode, mean_loss

VARIANTS = [  # name, rank, frozen parts, learning rate
    ("full", 0, [], 8e-4),
    ("freeze embeddings", 0, ["embeddings"], 8e-4),
    ("rank 8", 8, [], 3e-3),
    ("rank 8", 8, [], 1e-2),
    ("rank 32", 32, [], 3e-3),
]


class LowRankUpdate(nn.Module):
    """The weight with a trained product of two narrow matrices added to it."""

    def __init__(self, weight: Tensor, rank: int) -> None:
        super().__init__()
        self.down = nn.Parameter(torch.randn(rank, weight.shape[1]) / rank)
        self.up = nn.Parameter(torch.zeros(weight.shape[0], rank))

    def forward(self, weight: Tensor) -> Tensor:
        return weight + 2 * (self.up @ self.down)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch-tokens", type=int, default=1024)
    given = parser.parse_args()
    print(f"{'variant':20}{'rate':>8}{'trained':>12}{'s per step':>12}{'optimizer MB':>14}{'loss':>8}", flush=True)
    for name, rank, freeze, rate in VARIANTS:
        with TemporaryDirectory() as folder:
            trainer = make_trainer(given, Path(folder), freeze, rate)
            if rank:
                add_adapters(trainer, rank)
            print(f"{name:20}{rate:8.0e}{measure(trainer, given.steps)}", flush=True)


def make_trainer(given: argparse.Namespace, folder: Path, freeze: list[str], rate: float) -> Trainer:
    files = {part: [str(given.data / f"multi30k/{name}.{code}") for code in ("en", "fr")]
             for part, name in (("train", "train"), ("valid", "val"))}  # fmt: skip
    training = {"steps": given.steps, "batch_tokens": given.batch_tokens, "learning_rate": rate, "freeze": freeze}
    recipe: dict[str, Any] = {"data": files, "training": training | {"threads": 1}}
    plan = make_plan(TrainOptions(recipe, start_from=given.model, run=folder, checks_languages=False))
    return create_trainer(plan.config, folder, prepare_run(plan, resume=False))


def add_adapters(trainer: Trainer, rank: int) -> None:
    """Freeze the model, and train an update of each matrix in its blocks."""
    trainer.model.requires_grad_(False)
    for module in list(trainer.model.modules()):
        if isinstance(module, nn.Linear):
            parametrize.register_parametrization(module, "weight", LowRankUpdate(module.weight, rank))
    trained = [parameter for parameter in trainer.model.parameters() if parameter.requires_grad]
    trainer.optimizer = torch.optim.AdamW(trained, lr=0.0, betas=ADAM_BETAS, eps=1e-9, weight_decay=0.0, fused=True)
    trainer.microbatches = MicrobatchThreads(1, trainer.objective)


def measure(trainer: Trainer, steps: int) -> str:
    batches = rank_batches(trainer.corpus, trainer.config, trainer.position, device=trainer.device)
    meter, started = ThroughputMeter(0.0), time.process_time()
    for _ in range(steps):
        train_step(trainer, list(islice(batches, 1)), meter)
    seconds = (time.process_time() - started) / steps
    trained = sum(one.numel() for one in trainer.model.parameters() if one.requires_grad)
    moments = sum(one.nbytes for state in trainer.optimizer.state.values() for one in state.values())
    assert isinstance(trainer.corpus, PairCorpus)
    with eval_mode(trainer.model):
        loss = mean_loss(trainer.bundle, _pair_batches(trainer.bundle, trainer.corpus.prepared.valid))
    return f"{trained:12,}{seconds:12.2f}{moments / 1e6:14.1f}{loss:8.3f}"


if __name__ == "__main__":
    main()
