"""Sentences whose word links people know: examples for the page, and the measure of every head."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from regard.data.readers.lines import read_lines
from regard.errors import RegardError
from regard.metrics import Alignment, parse_alignments

MEASURED = 200  # sentences that heads are measured on
EXAMPLES, LONGEST_EXAMPLE = 8, 12  # sentences; words


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence to try, its translation, and its links if they are known."""

    source: str
    target: str
    links: list[tuple[int, int]] | None


# The worked example of the notes.
WORKED = Example(source="AI changes the world", target="AI가 세상을 바꾼다", links=[(0, 0), (1, 2), (3, 1)])
WORKED_BACK = Example(
    source=WORKED.target, target=WORKED.source, links=[(there, here) for here, there in WORKED.links or []]
)
OFFERED = {("en", "ko"): [WORKED], ("ko", "en"): [WORKED_BACK]}


@dataclass(frozen=True)
class Gold:
    """Sentence pairs in some languages with their links."""

    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    links: list[Alignment] = field(default_factory=list)

    def examples(self) -> list[Example]:
        """A handful of short ones."""
        pairs = [
            Example(source=source, target=target, links=sorted(links.sure))
            for source, target, links in zip(self.sources, self.targets, self.links, strict=True)
        ]
        short = [one for one in pairs if 2 < len(one.source.split()) <= LONGEST_EXAMPLE]
        return short[:: max(1, len(short) // EXAMPLES)][:EXAMPLES]

    def measured(self) -> "Gold":
        """As many as heads are measured on."""
        return Gold(self.sources[:MEASURED], self.targets[:MEASURED], self.links[:MEASURED])


class GoldFiles:
    """The gold sentences at a prefix: PREFIX.en, PREFIX.ko and so on, and their links in PREFIX.align.

    The links may be those of either direction: the one in which every link has its words.
    """

    def __init__(self, prefix: Path | None) -> None:
        self.prefix = prefix

    def of(self, languages: tuple[str, str]) -> Gold:
        """Those for a direction; empty where there are none."""
        if self.prefix is None or not all(languages):
            return Gold()
        source, target, links = (self._file(suffix) for suffix in (*languages, "align"))
        if not (source.exists() and target.exists() and links.exists()):
            return Gold()
        found = parse_alignments(read_lines(links), origin=str(links))
        return _checked(self.prefix, list(read_lines(source)), list(read_lines(target)), found)

    def examples(self, languages: tuple[str, str]) -> list[Example]:
        """Sentences to try in a direction, the worked example first where its words are known."""
        gold = self.of(languages)
        known = {word for source in gold.sources for word in source.split()}
        worked = [one for one in OFFERED.get(languages, []) if known.issuperset(one.source.split())]
        return [*worked, *gold.examples()]

    def check(self) -> None:
        """Raise where there can be nothing at the prefix; files that are not there yet are read when they are."""
        if self.prefix is not None and not self.prefix.parent.is_dir():
            raise RegardError(f"{self.prefix.parent} is not there. --gold takes the part before .en, .ko and .align.")

    def _file(self, suffix: str) -> Path:
        assert self.prefix is not None  # noqa: S101  (for the type checker)
        return self.prefix.with_name(f"{self.prefix.name}.{suffix}")


def _checked(prefix: Path, sources: Sequence[str], targets: Sequence[str], links: Sequence[Alignment]) -> Gold:
    if not len(sources) == len(targets) == len(links):
        raise RegardError(
            f"{prefix} has {len(sources)} sources, {len(targets)} targets and {len(links)} alignments; "
            "give as many of each."
        )
    for candidate in (list(links), [_turned(one) for one in links]):
        if all(map(_fits, sources, targets, candidate)):
            return Gold(list(sources), list(targets), candidate)
    raise RegardError(f"{prefix}.align links words that its sentences do not have. Give the links of these sentences.")


def _fits(source: str, target: str, links: Alignment) -> bool:
    own, other = len(source.split()), len(target.split())
    return all(here < own and there < other for here, there in links.possible)


def _turned(links: Alignment) -> Alignment:
    sure, possible = (frozenset((there, here) for here, there in some) for some in (links.sure, links.possible))
    return Alignment(sure=sure, possible=possible)
