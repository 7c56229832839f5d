"""A finished output: the same for every engine, without torch."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """A finished output: its tokens without BEGIN and END, and its score."""

    tokens: list[int]
    score: float  # the log-probability, normalised for length; hypotheses are ranked by it
    log_probability: float
    is_finished: bool  # False: truncated at the maximum length
