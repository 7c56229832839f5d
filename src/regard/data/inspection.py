"""What is wrong with a corpus: swapped columns, untranslated or mistranslated pairs, duplicates, and leaks.

A report is made from the tokenised corpus, so that its counts are those of training. Pairs are checked one by one, at
most `MAX_INSPECTED` of each corpus, evenly spaced; only the overlap with the validation pairs needs all of them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from regard.data.pair_readers.po import PLACEHOLDER
from regard.data.pair_readers.text import Pair
from regard.data.token_store import TokenStore
from regard.languages import MAX_DETECTED_CHARACTERS, base_code, count_letters, detect_language, scripts_of
from regard.tokenization.text import nfc

MAX_CHECKED_PAIRS = 2_000  # to find swapped columns
MAX_CHUNKS, CHUNK_CHARACTERS = 10, 500  # of text, for the detector
MIN_LETTERS = 100  # of a side: fewer do not show its language
MIN_SCRIPT_LETTERS = 10  # of one sentence, to tell its script
MIN_DETECTED_LETTERS = 30  # of one sentence, to tell its language
CONFIDENCE = 0.95
MAX_INSPECTED = 50_000  # pairs of a corpus that are checked one by one
MAX_LANGUAGE_CHECKS = 1_000  # of these, where the detector must tell the language
MAX_EXAMPLES = 3
RATIO_BINS = [float(edge) for edge in np.arange(-3.25, 3.5, 0.5)]  # of log2(target tokens / source tokens)
FINDINGS = {
    "copy": "untranslated copies",
    "wrong_language": "in the wrong language",
    "numbers": "numbers differ",
    "placeholders": "placeholders, tags or addresses differ",
    "duplicate": "duplicates",
    "near_duplicate": "near duplicates (case, punctuation, digits)",
}
_NUMBER, _GROUPING = re.compile(r"\d+"), re.compile(r"(?<=\d)[.,](?=\d)")
_MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,200}>|https?://[^\s<>()\"'`]+")
_NOT_ALPHANUMERIC = re.compile(r"[\W_]+")


# --- swapped columns -------------------------------------------------------------------------------------------------


def are_columns_swapped(pairs: Iterable[Pair], source: str, target: str) -> bool:
    """Whether the sources are in the target language and the targets in the source language.

    Two scripts decide by their letters. Within one script a detector reads long chunks, and both sides of nearly all
    of them must be in the other language: it confuses Norwegian with Danish, but does not exchange them.
    """
    if base_code(source) == base_code(target):
        return False
    translated = [pair for pair in pairs if pair.source.strip() != pair.target.strip()]
    sides = [" ".join(pair.source for pair in translated), " ".join(pair.target for pair in translated)]
    scripts = scripts_of(source), scripts_of(target)
    own_scripts = [own - other - {"LATIN"} for own, other in (scripts, scripts[::-1])]  # Korean quotes Latin words
    if all(scripts) and any(own_scripts):
        return all(
            _script_share(sides[1 - own], script) > 4 * _script_share(sides[own], script) + 0.02
            for own, script in enumerate(own_scripts)
            if script
        )
    count = max(1, min(MAX_CHUNKS, len(min(sides, key=len)) // CHUNK_CHARACTERS))
    swapped = []
    for start in range(count):
        chunk = translated[start::count]
        sides = [
            " ".join(texts)[:MAX_DETECTED_CHARACTERS]
            for texts in ((pair.source for pair in chunk), (pair.target for pair in chunk))
        ]
        if min(sum(map(str.isalpha, side)) for side in sides) >= MIN_LETTERS:
            confidences = _confidence(sides[0], target, source), _confidence(sides[1], source, target)
            swapped.append(min(confidences) >= CONFIDENCE)
    return sum(swapped) > 0.8 * len(swapped)


def _script_share(text: str, scripts: frozenset[str]) -> float:
    letters, own = count_letters(text, scripts)
    return own / letters if letters >= MIN_SCRIPT_LETTERS else 0.0


def _confidence(text: str, language: str, other: str) -> float:
    return dict(detect_language(text, [language, other]))[language]


# --- the report ------------------------------------------------------------------------------------------------------


class Finding(msgspec.Struct, frozen=True):
    """How many of the checked pairs have a problem, and a few of them."""

    count: int = 0
    examples: list[tuple[str, str]] = []

    def add(self, source: str, target: str) -> "Finding":
        """The finding with one more pair."""
        shown = [(source, target)] if len(self.examples) < MAX_EXAMPLES else []
        return Finding(self.count + 1, self.examples + shown)


class CorpusReport(msgspec.Struct, frozen=True, kw_only=True):
    """One training corpus: what is kept and dropped, and what is found in the pairs that are kept."""

    name: str
    weight: float
    read: int
    kept: int
    dropped: dict[str, int]
    inspected: int
    findings: dict[str, Finding]
    ratios: list[int]  # how many pairs have each ratio of lengths, by RATIO_BINS


class DataReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every corpus of a run, and its validation examples."""

    languages: list[str]
    examples: str  # pairs or lines
    corpora: list[CorpusReport]
    vocabulary: str
    valid: int
    is_held_out: bool  # the validation examples come from the training files
    overlap: int  # validation examples that are also training examples
    source_overlap: int  # validation examples whose source is also the source of a training pair


class InspectedCorpus(NamedTuple):
    """The name and the weight of a corpus."""

    name: str
    weight: float


def inspect_data(
    store: TokenStore,
    corpora: Sequence[InspectedCorpus],
    valid: Sequence[Pair],
    *,
    languages: Sequence[str],
    examples: str = "pairs",
    vocabulary: str = "",
    is_held_out: bool = False,
    are_labelled: bool = False,
) -> DataReport:
    """The report of a tokenised corpus and its validation examples; the sources of labelled texts are their labels."""
    reports, start = [], 0

    def read(row: int) -> tuple[str, str]:
        source, target = store.text(row)
        return "" if are_labelled else source, target

    valid = [pair._replace(source="") for pair in valid] if are_labelled else valid
    for report, corpus in zip(store.reports, corpora, strict=True):
        rows = range(start, start + report.kept)
        checked = rows[:: -(-len(rows) // MAX_INSPECTED) or 1]
        reports.append(
            CorpusReport(
                name=corpus.name,
                weight=corpus.weight,
                read=report.read,
                kept=report.kept,
                dropped=report.dropped,
                inspected=len(checked),
                findings=inspect_pairs(map(read, checked), languages),
                ratios=_ratio_histogram(store, rows),
            )
        )
        start += report.kept
    overlap, source_overlap = count_overlap(map(read, range(len(store))), valid)
    store.drop_pages()
    return DataReport(
        languages=list(languages),
        examples=examples,
        corpora=reports,
        vocabulary=vocabulary,
        valid=len(valid),
        is_held_out=is_held_out,
        overlap=overlap,
        source_overlap=source_overlap,
    )


def inspect_pairs(pairs: Iterable[tuple[str, str]], languages: Sequence[str]) -> dict[str, Finding]:
    """Each problem that the pairs have; a pair without a source is a line of text."""
    findings = dict.fromkeys(FINDINGS, Finding())
    seen: set[tuple[str, str]] = set()
    seen_forms: set[int] = set()
    detections = 0
    for source, target in pairs:
        key, form = (nfc(source).strip(), nfc(target).strip()), hash((near_form(source), near_form(target)))
        problems = [
            *(["duplicate"] if key in seen else ["near_duplicate"] if form in seen_forms else []),
            *(_translation_problems(*key) if source else []),
        ]
        if source and len(languages) == 2 and "copy" not in problems and detections < MAX_LANGUAGE_CHECKS:
            needs_detector = scripts_of(languages[0]) == scripts_of(languages[1])
            detections += needs_detector
            problems += ["wrong_language"] * is_wrong_language(source, target, languages)
        seen.add(key)
        seen_forms.add(form)
        for problem in problems:
            findings[problem] = findings[problem].add(source, target)
    return findings


def _translation_problems(source: str, target: str) -> Iterator[str]:
    if source == target:
        if any(map(str.isalpha, source)):
            yield "copy"
        return
    if sorted(_NUMBER.findall(_GROUPING.sub("", source))) != sorted(_NUMBER.findall(_GROUPING.sub("", target))):
        yield "numbers"
    if any(sorted(marks.findall(source)) != sorted(marks.findall(target)) for marks in (PLACEHOLDER, _MARKUP)):
        yield "placeholders"


def is_wrong_language(source: str, target: str, languages: Sequence[str]) -> bool:
    """Whether one side is long enough to tell its language, and is not in it."""
    scripts = scripts_of(languages[0]), scripts_of(languages[1])
    if not scripts[0] or not scripts[1]:
        return False
    for text, own, other, script in zip((source, target), languages, languages[::-1], scripts, strict=True):
        letters, written = count_letters(_MARKUP.sub(" ", text), script)  # addresses have no language
        if letters >= MIN_SCRIPT_LETTERS and written < 0.1 * letters:
            return True
        if (
            scripts[0] == scripts[1]
            and letters >= MIN_DETECTED_LETTERS
            and _confidence(text, own, other) <= 1 - CONFIDENCE
        ):
            return True
    return False


def near_form(text: str) -> str:
    """The text without case, punctuation and white space, and with every number replaced by 0."""
    return _NUMBER.sub("0", _NOT_ALPHANUMERIC.sub("", nfc(text).casefold()))


def count_overlap(training: Iterable[tuple[str, str]], valid: Sequence[Pair]) -> tuple[int, int]:
    """How many validation pairs are training pairs, and how many have the source of a training pair."""
    keys = [(nfc(pair.source).strip(), nfc(pair.target).strip()) for pair in valid]
    wanted, sources = set(keys), {source for source, _ in keys}
    found, found_sources = set(), set()
    for source, target in training:
        if (own := nfc(source).strip()) in sources:
            found_sources.add(own)
            if (key := (own, nfc(target).strip())) in wanted:
                found.add(key)
    return sum(key in found for key in keys), sum(bool(source) and source in found_sources for source, _ in keys)


def _ratio_histogram(store: TokenStore, rows: range) -> list[int]:
    sources, targets = (own[rows.start : rows.stop] for own in (store.source_lengths, store.target_lengths))
    if not len(sources) or not sources.all():
        return []
    ratios = np.log2(targets / sources)
    counts, _ = np.histogram(np.clip(ratios, RATIO_BINS[0], RATIO_BINS[-1]), RATIO_BINS)
    return [int(count) for count in counts]
