"""The learning rate of each step: it climbs to its highest value while the model warms up, then falls."""

import math

from regard.config import TrainingConfig


def rate_at(step: int, config: TrainingConfig) -> float:
    """The learning rate of a step; the first step is 1."""
    if step <= config.warmup:
        return config.learning_rate * step / config.warmup
    return config.learning_rate * _fallen(step, config)


def _fallen(step: int, config: TrainingConfig) -> float:
    """The share of the highest rate that is left after the warm-up."""
    match config.schedule:
        case "inverse-square-root":
            return math.sqrt(max(config.warmup, 1) / step)
        case "cosine":
            progress = (step - config.warmup) / max(1, config.steps - config.warmup)
            return 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))
        case "constant":
            return 1.0
