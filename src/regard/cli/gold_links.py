"""Sentence pairs, and the gold links between their words in a file that counts from 0 or 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.console import warn
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.data.pair_readers.text import Pair
    from regard.metrics.alignment import GoldAlignment, Links

ONE_BASED_WARNING = "no link has index 0, so the file seems to count words from 1, but it was read as counting from 0"
MIN_LINKED_SENTENCES = 5  # in so many sentences with links some first word is linked


@dataclass(frozen=True)
class ParallelTexts:
    """Sentence pairs, with their gold links if there are any."""

    sources: list[str]
    targets: list[str]
    gold: list[GoldAlignment] | None

    @classmethod
    def read(cls, source: Path | None, target: Path | None, gold: GoldLinks | None) -> ParallelTexts:
        """The pairs of two files; the gold links must be theirs."""

        from regard.data.pair_readers import read_pairs

        pairs = list(read_pairs([str(source), str(target)]))
        if gold is not None:
            gold.check(pairs)
        alignments = None if gold is None else gold.alignments
        return cls([pair.source for pair in pairs], [pair.target for pair in pairs], alignments)

    def swapped(self) -> ParallelTexts:
        """The same in the opposite direction."""

        from regard.metrics.alignment import GoldAlignment

        gold = self.gold and [GoldAlignment(swap_links(one.sure), swap_links(one.possible)) for one in self.gold]
        return ParallelTexts(self.targets, self.sources, gold)


@dataclass(frozen=True)
class GoldLinks:
    """The links of a file that counts words from `index_base`; in memory they are counted from 0."""

    path: Path
    index_base: int
    alignments: list[GoldAlignment]

    @classmethod
    def read(cls, path: Path, index_base: int) -> GoldLinks:
        """The links on each line."""

        from regard.data.text_lines import read_lines
        from regard.metrics.alignment import parse_alignments

        return cls(path, index_base, parse_alignments(read_lines(path), one_based=index_base == 1, origin=str(path)))

    @property
    def links(self) -> list[Links]:
        """The possible links, which include the sure ones, of each sentence pair."""
        return [one.possible for one in self.alignments]

    def check(self, pairs: Sequence[Pair]) -> None:
        """An error if the links cannot be those of the pairs."""

        from regard.data.text_lines import error_at

        if len(self.alignments) != len(pairs):
            raise RegardError(
                f"there are {len(pairs)} sentence pairs and {len(self.alignments)} lines of gold links. "
                "Give one line for each pair."
            )
        for number, (pair, links) in enumerate(zip(pairs, self.links, strict=True), start=1):
            words = (len(pair.source.split()), len(pair.target.split()))
            beyond = sorted(link for link in links if link[0] >= words[0] or link[1] >= words[1])
            if beyond:
                link = "-".join(str(index + self.index_base) for index in beyond[0])
                size = f"the sentences have {words[0]} and {words[1]} words, counted from {self.index_base}"
                hint = "" if self.index_base else ", or add --gold-index-base 1 if they count from 1"
                problem = f"{link} is out of range: {size}. Give the links of these sentences{hint}."
                raise error_at(self.path, number, problem)

    def warn_about_index_base(self) -> None:
        """Warn if the file seems to count from 1 but was read as counting from 0."""
        if self.index_base == 0 and seem_one_based(self.links):
            warn(f"{self.path}: {ONE_BASED_WARNING}. If so, the AER is wrong: add --gold-index-base 1.")


def seem_one_based(links: Sequence[Links]) -> bool:
    """Whether no first word is linked in enough sentences."""
    linked = [own for own in links if own]
    return len(linked) >= MIN_LINKED_SENTENCES and all(0 not in link for own in linked for link in own)


def swap_links(links: Links) -> Links:
    return frozenset((target, source) for source, target in links)
