"""Caption metrics with several references: BLEU-1 to 4, ROUGE-L, CIDEr-D and exact match.

BLEU is sacrebleu's; the others are computed here. All are in per cent: CIDEr-D is 100 times the figure of the COCO
evaluation code, and can exceed 100. That code tokenises with a Java program; the rule here is close to it, and the
signature names it.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.metrics.text import Score

CaptionTokenization = Literal["words", "none"]
MAX_NGRAM = 4
RECALL_WEIGHT = 1.2  # of ROUGE-L: the weight of recall against precision
LENGTH_SPREAD = 6.0  # of CIDEr-D: the spread of the penalty on a length difference, in words
_SEED = 12345  # sacrebleu's
_MARK = "\u0300"  # replaces all combining marks: `re` has no class for them, and \w excludes them
_JOINERS = "\u200c\u200d"  # inside words of Persian, Sinhala and others
_LETTERS = rf"\w[\w{_MARK}]*"
_WORD = re.compile(rf"{_LETTERS}(?=n't\b)|n't\b|'(?:s|re|ve|ll|d|m)\b|{_LETTERS}(?:-{_LETTERS})*")
Ngrams = Counter[tuple[str, ...]]
References = Sequence[Sequence[str]]


class _Marks(dict[int, str]):
    """From a character to itself, and from a combining mark of any script, such as a vowel sign, to `_MARK`."""

    def __missing__(self, code: int) -> str:
        own = chr(code)
        self[code] = _MARK if unicodedata.category(own).startswith("M") or own in _JOINERS else own
        return self[code]


_MARKS = _Marks()


def tokenize_caption(text: str) -> list[str]:
    """The words of a caption in lower case, without punctuation; as in the Penn treebank, `man's` is two words."""
    plain = unicodedata.normalize("NFC", text).lower().replace("’", "'")
    return [plain[found.start() : found.end()] for found in _WORD.finditer(plain.translate(_MARKS))]


def evaluate_captions(
    hypotheses: Sequence[str],
    references: References,
    *,
    tokenize: CaptionTokenization = "words",
    resamples: int = 1000,
) -> list[Score]:
    """BLEU-1 to BLEU-4, ROUGE-L and CIDEr-D of one caption for each image, each with a 95 % bootstrap interval.

    With tokenize="none", words are separated by spaces. Both sides are scored in NFC.
    """
    _check_captions(hypotheses, references)
    hypothesis_texts = [_tokenized_text(caption, tokenize) for caption in hypotheses]
    reference_texts = [[_tokenized_text(caption, tokenize) for caption in captions] for captions in references]
    hypothesis_words = [caption.split() for caption in hypothesis_texts]
    reference_words = [[caption.split() for caption in captions] for captions in reference_texts]
    orders = range(1, MAX_NGRAM + 1)
    return [
        *(_caption_bleu(hypothesis_texts, reference_texts, order, tokenize, resamples) for order in orders),
        _mean_score("ROUGE-L", rouge_l(hypothesis_words, reference_words), tokenize, resamples),
        _mean_score("CIDEr-D", cider_d(hypothesis_words, reference_words), tokenize, resamples),
    ]


def exact_match(hypotheses: Sequence[str], references: References) -> float:
    """The fraction of captions that equal one of their references, word for word."""
    _check_captions(hypotheses, references)
    matches = [
        _tokenized_text(caption, "none") in [_tokenized_text(reference, "none") for reference in captions]
        for caption, captions in zip(hypotheses, references, strict=True)
    ]
    return sum(matches) / len(matches)


# --- ROUGE-L (Lin 2004) ----------------------------------------------------------------------------------------------


def rouge_l(hypotheses: Sequence[list[str]], references: Sequence[Sequence[list[str]]]) -> NDArray[np.float64]:
    """For each caption the F-measure of the longest common subsequence, from its best precision and best recall."""
    return np.array([_rouge_of_caption(*pair) for pair in zip(hypotheses, references, strict=True)])


def _rouge_of_caption(hypothesis: list[str], references: Sequence[list[str]]) -> float:
    common = [(_longest_common_subsequence(hypothesis, reference), len(reference)) for reference in references]
    precision = max(length / max(1, len(hypothesis)) for length, _ in common)
    recall = max(length / max(1, words) for length, words in common)
    if not precision or not recall:
        return 0.0
    weight = RECALL_WEIGHT**2
    return (1 + weight) * precision * recall / (recall + weight * precision)


def _longest_common_subsequence(one: list[str], other: list[str]) -> int:
    """The length of the longest sequence of words that both contain in order, not necessarily adjacent."""
    row = [0] * (len(other) + 1)
    for word in one:
        before = row
        row = [0]
        for index, another in enumerate(other):
            row.append(before[index] + 1 if word == another else max(before[index + 1], row[index]))
    return row[-1]


# --- CIDEr-D (Vedantam, Zitnick and Parikh 2015) ---------------------------------------------------------------------


def cider_d(hypotheses: Sequence[list[str]], references: Sequence[Sequence[list[str]]]) -> NDArray[np.float64]:
    """For each caption its similarity to the references of its image, weighted by rarity (IDF); at most 10."""
    grams = [_ngrams(caption) for caption in hypotheses]
    reference_grams = [[_ngrams(caption) for caption in captions] for captions in references]
    image_counts: Ngrams = Counter(gram for captions in reference_grams for gram in set().union(*captions))
    images = len(reference_grams)
    idf = {gram: math.log(images / count) for gram, count in image_counts.items()}
    return np.array(
        [
            10 * np.mean([_ngram_cosine(caption, reference, idf, math.log(images)) for reference in captions])
            for caption, captions in zip(grams, reference_grams, strict=True)
        ]
    )


def _ngram_cosine(
    hypothesis: Ngrams, reference: Ngrams, idf: dict[tuple[str, ...], float], default_idf: float
) -> float:
    """The cosine of the TF-IDF vectors of two captions, mean over n-grams of one to four words."""
    # The published code uses the number of bigrams, not of words, as the length of a caption.
    length_difference = _count_ngrams(hypothesis, 2) - _count_ngrams(reference, 2)
    total = 0.0
    for order in range(1, MAX_NGRAM + 1):
        one, other = (
            {gram: count * idf.get(gram, default_idf) for gram, count in grams.items() if len(gram) == order}
            for grams in (hypothesis, reference)
        )
        # Clipped, so that repeated words do not raise the score.
        product = sum(min(weight, other.get(gram, 0.0)) * other.get(gram, 0.0) for gram, weight in one.items())
        norm = math.sqrt(sum(weight**2 for weight in one.values()) * sum(weight**2 for weight in other.values()))
        total += product / norm if norm else 0.0
    return total / MAX_NGRAM * math.exp(-(length_difference**2) / (2 * LENGTH_SPREAD**2))


def _ngrams(words: list[str]) -> Ngrams:
    return Counter(
        tuple(words[start : start + order])
        for order in range(1, MAX_NGRAM + 1)
        for start in range(len(words) - order + 1)
    )


def _count_ngrams(grams: Ngrams, order: int) -> int:
    return sum(count for gram, count in grams.items() if len(gram) == order)


# --- scores ----------------------------------------------------------------------------------------------------------


def _caption_bleu(
    hypotheses: list[str], references: list[list[str]], order: int, tokenize: CaptionTokenization, resamples: int
) -> Score:
    from sacrebleu.metrics.bleu import BLEU  # imported here: it takes 0.1 s, and `--help` does not need it

    metric: Any = BLEU(tokenize="none", max_ngram_order=order, smooth_method="none", force=True)
    streams = list(zip_longest(*references))  # sacrebleu takes the first references of all, then the second ones
    result = metric.corpus_score(hypotheses, streams, n_bootstrap=max(resamples, 1))
    value, middle, margin = float(result.score), float(result._mean), float(result._ci)
    low, high = (middle - margin, middle + margin) if resamples > 1 else (value, value)
    return Score(f"BLEU-{order}", value, f"{metric.get_signature()}|tok:{tokenize}", low, high)


def _mean_score(name: str, scores: NDArray[np.float64], tokenize: CaptionTokenization, resamples: int) -> Score:
    """The mean over images, in per cent, as a score."""
    percent = 100 * scores
    low = high = float(percent.mean())
    if resamples > 1:
        rng = np.random.default_rng(_SEED)
        means = [percent[rng.integers(0, len(percent), len(percent))].mean() for _ in range(resamples)]
        low, high = (float(bound) for bound in np.percentile(means, [2.5, 97.5]))
    return Score(name, float(percent.mean()), f"tok:{tokenize}|bs:{resamples}|seed:{_SEED}", low, high)


def _tokenized_text(caption: str, tokenize: CaptionTokenization) -> str:
    if tokenize not in ("words", "none"):
        raise RegardError(f"the tokenisation is {tokenize!r}; choose words or none.")
    words = tokenize_caption(caption) if tokenize == "words" else unicodedata.normalize("NFC", caption).split()
    return " ".join(words)


def _check_captions(hypotheses: Sequence[str], references: References) -> None:
    if len(hypotheses) != len(references) or not hypotheses:
        raise RegardError(
            f"there are {len(hypotheses)} captions for {len(references)} images; give one for each, and at least one."
        )
    bare = [number for number, captions in enumerate(references, start=1) if not captions]
    if bare:
        raise RegardError(f"image {bare[0]} has no reference caption. Add one, or remove the image.")
