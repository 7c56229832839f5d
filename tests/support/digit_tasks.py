"""Copy, reverse or sort digits: tasks on which a model learns, or fails to learn, within a minute."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from regard.batch import Batch, encode_source_rows
from regard.config import DecodingConfig, ModelConfig
from regard.decoding.loop import generate
from regard.models.factory import build_model
from regard.special_tokens import PADDING

FIRST_DIGIT = 5  # the ids before it are reserved
VOCABULARY = FIRST_DIGIT + 10
Row = list[int]
TASKS: dict[str, Callable[[Row], Row]] = {"copy": list, "reverse": lambda row: row[::-1], "sort": sorted}


@dataclass(frozen=True)
class DigitTask:
    """A task, the lengths of its sequences and the training options; training ends early once all is right."""

    name: str
    shortest: int = 1
    longest: int = 10
    learning_rate: float = 4e-3
    warmup: int = 100
    batch: int = 32
    steps: int = 900
    ends_early: bool = True


def draw(random_source: random.Random, shortest: int, longest: int, count: int) -> list[Row]:
    """Rows of digits of like length, to pad little; the longest are drawn most."""
    low = random_source.randint(shortest, longest)
    high = min(longest, low + 2)
    lengths = [random_source.randint(low, high) for _ in range(count)]
    return [[FIRST_DIGIT + random_source.randrange(10) for _ in range(length)] for length in lengths]


def learn(config: ModelConfig, task: DigitTask, *, seed: int) -> nn.Module:
    """A model of this config, trained on the task."""
    torch.manual_seed(seed)
    random_source = random.Random(seed)
    model = build_model(config, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY)
    optimiser = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), fused=True)
    for step in range(1, task.steps + 1):
        optimiser.param_groups[0]["lr"] = rate_at(step, task)
        sources = draw(random_source, task.shortest, task.longest, task.batch)
        loss = loss_of(model, Batch.from_pairs(sources, [TASKS[task.name](row) for row in sources]))
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if task.ends_early and step % 100 == 0 and exact(model.eval(), task, count=200, seed=seed) == 1.0:
            break
        model.train()
    return model.eval()


def rate_at(step: int, task: DigitTask) -> float:
    """The learning rate rises linearly during the warm-up, then falls to zero."""
    return task.learning_rate * min(1.0, step / task.warmup) * math.sqrt(1 - (step - 1) / task.steps)


def loss_of(model: nn.Module, batch: Batch) -> torch.Tensor:
    """The mean cross-entropy of the real target tokens."""
    memory = model.encode(batch.source)
    logits = model.decode(batch.inputs.tokens, memory, model.init_state(memory)).logits
    return functional.cross_entropy(logits.flatten(0, 1), batch.outputs.tokens.flatten(), ignore_index=PADDING)


def exact(model: nn.Module, task: DigitTask, *, shortest: int = 0, count: int = 400, seed: int = 12345) -> float:
    """The share of fresh rows, of the task's lengths or the longer ones, that greedy search gets exactly right."""
    random_source = random.Random(seed)
    low = max(shortest, task.shortest)
    rows = [row for _ in range(count // 50) for row in draw(random_source, low, task.longest, 50)]
    outputs = generate(
        model, encode_source_rows(rows), DecodingConfig(beam_size=1, max_length_ratio=1.0, max_length_extra=5)
    )
    right = [best[0].tokens == TASKS[task.name](row) for best, row in zip(outputs, rows, strict=True)]
    return sum(right) / len(right)
