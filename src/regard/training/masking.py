"""Masked language modelling: which tokens of a row are masked, and what the model must predict."""

from collections.abc import Sequence
from random import Random

from regard.special_tokens import MASK, PADDING, RESERVED

MASK_SHARE, RANDOM_SHARE = 0.8, 0.1  # of the selected tokens; the rest stay, so that the model must check every token


def mask_tokens(
    row: Sequence[int], random: Random, *, mask_rate: float, vocabulary: int
) -> tuple[list[int], list[int]]:
    """The row with a share of its tokens masked, at least one, and the targets; PADDING everywhere else.

    Of the selected tokens most become MASK, some become any other token, and some stay: Devlin et al., 2019.
    """
    count = max(1, round(mask_rate * len(row)))
    inputs, targets = list(row), [PADDING] * len(row)
    for index in random.sample(range(len(row)), min(count, len(row))):
        targets[index] = row[index]
        draw = random.random()
        if draw < MASK_SHARE:
            inputs[index] = MASK
        elif draw < MASK_SHARE + RANDOM_SHARE:
            inputs[index] = random.randrange(len(RESERVED), vocabulary)
    return inputs, targets
