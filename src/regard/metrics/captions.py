"""What captions are worth against several references each: BLEU-1 to 4, ROUGE-L and CIDEr-D, as papers print them.

BLEU is sacrebleu's; the other two are small, and here. All are in per cent: CIDEr-D is 100 times the figure of the COCO
evaluation code, and can exceed 100. That code cuts words with a Java program; here they are cut by a rule close to its
own, which the signature names.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.metrics.translation import Score
from regard.spelling import composed

CaptionTokens = Literal["words", "none"]
LONGEST_GRAM = 4
RECALL_WEIGHT = 1.2  # of ROUGE-L: how much more recall counts than precision
LENGTH_SPREAD = 6.0  # of CIDEr-D: words by which lengths may differ before it costs much
_SEED = 12345  # sacrebleu's own
_MARK = "\u0300"  # stands for all marks where words are sought: `re` has no class for them, and \w leaves them out
_JOINERS = "\u200c\u200d"  # inside words of Persian, Sinhala and others
_LETTERS = rf"\w[\w{_MARK}]*"
_WORD = re.compile(rf"{_LETTERS}(?=n't\b)|n't\b|'(?:s|re|ve|ll|d|m)\b|{_LETTERS}(?:-{_LETTERS})*")

Grams = Counter[tuple[str, ...]]
References = Sequence[Sequence[str]]


class _Marks(dict[int, str]):
    """From a character to itself, and from a mark of any script, such as a vowel sign, to the one for all."""

    def __missing__(self, code: int) -> str:
        own = chr(code)
        self[code] = _MARK if unicodedata.category(own).startswith("M") or own in _JOINERS else own
        return self[code]


_MARKS = _Marks()


def caption_words(text: str) -> list[str]:
    """The words of a caption in lower case, without punctuation; `man's` is two, `t-shirt` is one, as Penn cuts."""
    plain = composed(text).lower().replace("’", "'")
    return [plain[found.start() : found.end()] for found in _WORD.finditer(plain.translate(_MARKS))]


def evaluate_captions(
    hypotheses: Sequence[str],
    references: References,
    *,
    tokenize: CaptionTokens = "words",
    resamples: int = 1000,
) -> list[Score]:
    """BLEU-1 to BLEU-4, ROUGE-L and CIDEr-D of one caption for each picture, each with a 95 % bootstrap interval.

    With `none` words are what is apart by spaces. Both sides are scored in NFC.
    """
    _check(hypotheses, references)
    said = [_spaced(caption, tokenize) for caption in hypotheses]
    wanted = [[_spaced(caption, tokenize) for caption in captions] for captions in references]
    cut = [caption.split() for caption in said]
    cut_wanted = [[caption.split() for caption in captions] for captions in wanted]
    return [
        *(_bleu(said, wanted, order, tokenize, resamples) for order in range(1, LONGEST_GRAM + 1)),
        _mean("ROUGE-L", rouge_l(cut, cut_wanted), tokenize, resamples),
        _mean("CIDEr-D", cider_d(cut, cut_wanted), tokenize, resamples),
    ]


def exactly_right(hypotheses: Sequence[str], references: References) -> float:
    """The share of captions that are one of their references, word for word."""
    _check(hypotheses, references)
    right = [
        _spaced(caption, "none") in [_spaced(wanted, "none") for wanted in captions]
        for caption, captions in zip(hypotheses, references, strict=True)
    ]
    return sum(right) / len(right)


# --- ROUGE-L (Lin 2004) ----------------------------------------------------------------------------------------------


def rouge_l(hypotheses: Sequence[list[str]], references: Sequence[Sequence[list[str]]]) -> NDArray[np.float64]:
    """For each caption the F-measure of the longest common subsequence, its best precision and its best recall."""
    return np.array([_rouge(said, wanted) for said, wanted in zip(hypotheses, references, strict=True)])


def _rouge(said: list[str], references: Sequence[list[str]]) -> float:
    common = [(_longest_common(said, wanted), len(wanted)) for wanted in references]
    precision = max(length / max(1, len(said)) for length, _ in common)
    recall = max(length / max(1, words) for length, words in common)
    if not precision or not recall:
        return 0.0
    weight = RECALL_WEIGHT**2
    return (1 + weight) * precision * recall / (recall + weight * precision)


def _longest_common(one: list[str], other: list[str]) -> int:
    """The length of the longest sequence of words that both have, in order, perhaps with others between."""
    row = [0] * (len(other) + 1)
    for word in one:
        before = row
        row = [0]
        for at, another in enumerate(other):
            row.append(before[at] + 1 if word == another else max(before[at + 1], row[at]))
    return row[-1]


# --- CIDEr-D (Vedantam, Zitnick and Parikh 2015) ---------------------------------------------------------------------


def cider_d(hypotheses: Sequence[list[str]], references: Sequence[Sequence[list[str]]]) -> NDArray[np.float64]:
    """For each caption its likeness to the references of its picture, rare words counting more; 10 is the most."""
    said = [_grams(caption) for caption in hypotheses]
    wanted = [[_grams(caption) for caption in captions] for captions in references]
    pictures_with: Grams = Counter(gram for captions in wanted for gram in set().union(*captions))
    rarity = {gram: math.log(len(wanted) / count) for gram, count in pictures_with.items()}
    unseen = math.log(len(wanted))
    return np.array(
        [
            10 * np.mean([_likeness(caption, reference, rarity, unseen) for reference in captions])
            for caption, captions in zip(said, wanted, strict=True)
        ]
    )


def _likeness(said: Grams, wanted: Grams, rarity: dict[tuple[str, ...], float], unseen: float) -> float:
    """The cosine of the two captions' weighted word groups, mean over their lengths of one to four."""
    # The published code takes the number of word pairs, not of words, for a caption's length.
    apart = _count(said, 2) - _count(wanted, 2)
    total = 0.0
    for order in range(1, LONGEST_GRAM + 1):
        one, other = (
            {gram: count * rarity.get(gram, unseen) for gram, count in grams.items() if len(gram) == order}
            for grams in (said, wanted)
        )
        # Clipped, so that to repeat a word does not pay.
        product = sum(min(weight, other.get(gram, 0.0)) * other.get(gram, 0.0) for gram, weight in one.items())
        norm = math.sqrt(sum(weight**2 for weight in one.values()) * sum(weight**2 for weight in other.values()))
        total += product / norm if norm else 0.0
    return total / LONGEST_GRAM * math.exp(-(apart**2) / (2 * LENGTH_SPREAD**2))


def _grams(words: list[str]) -> Grams:
    return Counter(
        tuple(words[start : start + order])
        for order in range(1, LONGEST_GRAM + 1)
        for start in range(len(words) - order + 1)
    )


def _count(grams: Grams, order: int) -> int:
    return sum(count for gram, count in grams.items() if len(gram) == order)


# --- scores ----------------------------------------------------------------------------------------------------------


def _bleu(said: list[str], wanted: list[list[str]], order: int, tokenize: CaptionTokens, resamples: int) -> Score:
    from sacrebleu.metrics.bleu import BLEU  # here, not above: 0.1 s that `--help` need not wait for

    metric: Any = BLEU(tokenize="none", max_ngram_order=order, smooth_method="none", force=True)
    most = max(map(len, wanted))
    streams = [[captions[at] if at < len(captions) else None for captions in wanted] for at in range(most)]
    result = metric.corpus_score(said, streams, n_bootstrap=max(resamples, 1))
    value, middle, margin = float(result.score), float(result._mean), float(result._ci)
    low, high = (middle - margin, middle + margin) if resamples > 1 else (value, value)
    return Score(f"BLEU-{order}", value, f"{metric.get_signature()}|cut:{tokenize}", low, high)


def _mean(name: str, scores: NDArray[np.float64], tokenize: CaptionTokens, resamples: int) -> Score:
    """The mean over pictures, in per cent, as a score."""
    percent = 100 * scores
    low = high = float(percent.mean())
    if resamples > 1:
        chance = np.random.default_rng(_SEED)
        means = [percent[chance.integers(0, len(percent), len(percent))].mean() for _ in range(resamples)]
        low, high = (float(bound) for bound in np.percentile(means, [2.5, 97.5]))
    return Score(name, float(percent.mean()), f"cut:{tokenize}|bs:{resamples}|seed:{_SEED}", low, high)


def _spaced(caption: str, tokenize: CaptionTokens) -> str:
    if tokenize not in ("words", "none"):
        raise RegardError(f"the tokenisation is {tokenize!r}; choose words or none.")
    return " ".join(caption_words(caption) if tokenize == "words" else composed(caption).split())


def _check(hypotheses: Sequence[str], references: References) -> None:
    if len(hypotheses) != len(references) or not hypotheses:
        raise RegardError(
            f"there are {len(hypotheses)} captions for {len(references)} pictures; give one for each, and at least one."
        )
    bare = [number for number, captions in enumerate(references, start=1) if not captions]
    if bare:
        raise RegardError(f"picture {bare[0]} has no reference caption. Give it one, or leave it out.")
