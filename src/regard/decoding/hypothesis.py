"""A finished output, and how long it may be: what every engine agrees on, without torch."""

from dataclasses import dataclass

from regard.config import DecodingConfig


@dataclass(frozen=True)
class Hypothesis:
    """A finished output: its tokens without BEGIN and END, and how good the model finds it."""

    tokens: list[int]
    score: float  # what hypotheses are ranked by: the log-probability, normalised for length
    log_probability: float
    is_ended: bool  # False: cut off at the length bound


def longest_output(source: int, config: DecodingConfig, *, prefix: int = 0, longest: int | None = None) -> int:
    """How many tokens, END included, may be said of a source of so many, by a model of `longest` positions.

    A bound of its own for each sentence, whatever it is batched with. One position is left over, so that whatever is
    said can also be read again, after BEGIN.
    """
    bound = prefix + int(config.length_ratio * source) + config.length_extra
    return bound if longest is None else min(bound, max(1, longest - 1))
