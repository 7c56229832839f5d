"""How well a language model knows a text, in figures: perplexity, bits, and the share of tokens named right."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.metrics.translation import Score


@dataclass(frozen=True)
class Known:
    """What a model makes of one text: the log-probability of its tokens, how many they are, and how many it names."""

    log_probability: float
    tokens: int
    right: int


def evaluate_language(
    known: Sequence[Known], texts: Sequence[str], *, is_pseudo: bool, resamples: int = 1000
) -> list[Score]:
    """Perplexity of a token and of a word, bits of a character, and the share of tokens named right.

    Tokens differ from vocabulary to vocabulary; words and characters do not, so that models can be compared by them.
    Where tokens were named from both sides the figures are pseudo-perplexities, which say nothing beside real ones;
    where they were named from those before, the end of a text counts as one more token, word and character.
    """
    sizes = [(len(text.split()) + (not is_pseudo), len(" ".join(text.split())) + (not is_pseudo)) for text in texts]
    counts = np.array(
        [(one.log_probability, one.tokens, one.right, *size) for one, size in zip(known, sizes, strict=True)]
    )
    draw = np.random.default_rng(0)
    whole = _figures(counts.sum(axis=0))
    drawn = [_figures(counts[draw.integers(len(counts), size=len(counts))].sum(axis=0)) for _ in range(resamples)]
    lows, highs = np.percentile(drawn, [2.5, 97.5], axis=0)
    perplexity = "pseudo-perplexity" if is_pseudo else "perplexity"
    names = (f"{perplexity} of a token", f"{perplexity} of a word", "bits of a character", "% of tokens named right")
    return [
        Score(name=name, value=float(value), signature="", low=float(low), high=float(high))
        for name, value, low, high in zip(names, whole, lows, highs, strict=True)
    ]


def _figures(sums: NDArray[np.float64]) -> list[float]:
    log_probability, tokens, right, words, characters = sums
    loss = -log_probability
    return [np.exp(loss / tokens), np.exp(loss / words), loss / np.log(2) / characters, 100 * right / tokens]
