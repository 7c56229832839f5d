"""A finished output, and its maximum length: the same for every engine, without torch."""

from dataclasses import dataclass

from regard.config import DecodingConfig


@dataclass(frozen=True)
class Hypothesis:
    """A finished output: its tokens without BEGIN and END, and its score."""

    tokens: list[int]
    score: float  # the log-probability, normalised for length; hypotheses are ranked by it
    log_probability: float
    is_finished: bool  # False: truncated at the maximum length


def max_output_tokens(source: int, config: DecodingConfig, *, prefix: int = 0, max_positions: int | None = None) -> int:
    """The most tokens, END included, of an output for a source of so many, by a model with `max_positions` positions.

    It does not depend on the other sentences of the batch. One position stays free, so that every output can be
    rescored, after BEGIN.
    """
    bound = prefix + int(config.max_length_ratio * source) + config.max_length_extra
    return bound if max_positions is None else min(bound, max(1, max_positions - 1))
