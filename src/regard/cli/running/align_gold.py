"""Gold links as `regard align` is given them: read, and held against the sentences that they are of."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.cli.running.telling import warn
from regard.data import Pair, read_lines
from regard.data.readers.lines import error_at
from regard.errors import RegardError
from regard.metrics import Alignment, Links, parse_alignments

DOUBT = "no link has a word 0, so that it seems to be counted from 1, and it was read as counted from 0"
ENOUGH_TO_TELL = 5  # sentences with links: in so many, some first word is linked


@dataclass(frozen=True)
class Gold:
    """The links of a file whose words are counted from `base`; here they are counted from 0."""

    path: Path
    base: int
    alignments: list[Alignment]

    @classmethod
    def read(cls, path: Path, base: int) -> "Gold":
        """The links on each line."""
        return cls(path, base, parse_alignments(read_lines(path), one_based=base == 1, origin=str(path)))

    @property
    def links(self) -> list[Links]:
        """All that are allowed of each sentence pair."""
        return [one.possible for one in self.alignments]

    def check(self, pairs: Sequence[Pair]) -> None:
        """Refuse other pairs than those that the links are of, as far as that can be seen."""
        if len(self.alignments) != len(pairs):
            raise RegardError(
                f"there are {len(pairs)} sentence pairs and {len(self.alignments)} lines of gold links. "
                "Give one for each."
            )
        for number, (pair, links) in enumerate(zip(pairs, self.links, strict=True), start=1):
            self._check_words(number, (len(pair.source.split()), len(pair.target.split())), links)

    def warn_of_counting(self) -> None:
        """Say so where the links seem to be counted from 1, and were read as counted from 0."""
        if self.base == 0 and seem_counted_from_one(self.links):
            warn(f"{self.path}: {DOUBT}. If so, the error is false: add --gold-base 1.")

    def _check_words(self, number: int, words: tuple[int, int], links: Links) -> None:
        beyond = sorted(link for link in links if link[0] >= words[0] or link[1] >= words[1])
        if beyond:
            link = "-".join(str(place + self.base) for place in beyond[0])
            has = f"the sentences have {words[0]} and {words[1]} words, counted from {self.base}"
            otherwise = "" if self.base else ", or add --gold-base 1 if they are counted from 1"
            raise error_at(
                self.path,
                number,
                f"{link} links what is not there: {has}. Give the links of these sentences{otherwise}.",
            )


def seem_counted_from_one(links: Sequence[Links]) -> bool:
    """Whether no first word is linked in sentences enough."""
    linked = [own for own in links if own]
    return len(linked) >= ENOUGH_TO_TELL and all(0 not in link for own in linked for link in own)
