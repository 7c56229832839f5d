"""Digits to copy, reverse and sort: small worlds in which learning, or the failure to learn, shows within a minute."""

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
class Lesson:
    """What is to be learned, from sequences of which lengths, and how; it ends early once nearly all is right."""

    task: str
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


def learn(config: ModelConfig, lesson: Lesson, *, seed: int) -> nn.Module:
    """A model of the config after the lesson."""
    torch.manual_seed(seed)
    random_source = random.Random(seed)
    model = build_model(config, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY)
    optimiser = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), fused=True)
    for step in range(1, lesson.steps + 1):
        optimiser.param_groups[0]["lr"] = rate_at(step, lesson)
        sources = draw(random_source, lesson.shortest, lesson.longest, lesson.batch)
        loss = loss_of(model, Batch.from_pairs(sources, [TASKS[lesson.task](row) for row in sources]))
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if lesson.ends_early and step % 100 == 0 and exact(model.eval(), lesson, count=200, seed=seed) == 1.0:
            break
        model.train()
    return model.eval()


def rate_at(step: int, lesson: Lesson) -> float:
    """The learning rate climbs for a while, then falls to zero."""
    return lesson.learning_rate * min(1.0, step / lesson.warmup) * math.sqrt(1 - (step - 1) / lesson.steps)


def loss_of(model: nn.Module, batch: Batch) -> torch.Tensor:
    """The mean cross-entropy of the real target tokens."""
    memory = model.encode(batch.source)
    logits = model.decode(batch.inputs.tokens, memory, model.init_state(memory)).logits
    return functional.cross_entropy(logits.flatten(0, 1), batch.outputs.tokens.flatten(), ignore_index=PADDING)


def exact(model: nn.Module, lesson: Lesson, *, shortest: int = 0, count: int = 400, seed: int = 12345) -> float:
    """The share of fresh rows, of the lesson's lengths or the longer ones, that greedy search gets exactly right."""
    random_source = random.Random(seed)
    low = max(shortest, lesson.shortest)
    rows = [row for _ in range(count // 50) for row in draw(random_source, low, lesson.longest, 50)]
    outputs = generate(
        model, encode_source_rows(rows), DecodingConfig(beam_size=1, max_length_ratio=1.0, max_length_extra=5)
    )
    right = [best[0].tokens == TASKS[lesson.task](row) for best, row in zip(outputs, rows, strict=True)]
    return sum(right) / len(right)
