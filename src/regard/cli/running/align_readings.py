"""How well each way to read a model's attention aligns: told by `regard align --every` and `regard compare --gold`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.cli.running.models import load_model
from regard.metrics import Alignment, AlignmentScore
from regard.translation.alignment import Reading, score_readings

MEAN = "mean"
When = Literal["said", "read"]


@dataclass(frozen=True)
class ReadingScore:
    """A way to read the attention and its error; layer and head are counted from 1, as options have them, or a mean."""

    layer: int | None
    head: int | None
    when: When
    error: float
    precision: float
    recall: float

    @classmethod
    def of(cls, reading: Reading, score: AlignmentScore) -> "ReadingScore":
        """From what counts from 0."""
        layer, head = (None if place is None else place + 1 for place in (reading.layer, reading.head))
        when: When = "read" if reading.when_read else "said"
        return cls(layer, head, when, score.error, score.precision, score.recall)

    def __str__(self) -> str:
        layer = "mean of layers" if self.layer is None else f"layer {self.layer}"
        head = "mean of heads" if self.head is None else f"head {self.head}"
        return f"{layer}, {head}, {self.when}"

    @property
    def cells(self) -> list[str]:
        """Layer, head and moment, for a table."""
        return [*(MEAN if place is None else str(place) for place in (self.layer, self.head)), self.when]


def every_reading(
    model: Path, sources: Sequence[str], targets: Sequence[str], gold: Sequence[Alignment]
) -> list[ReadingScore]:
    """Every layer, head and moment, the one that errs least first; none of a model without cross-attention."""
    scored = score_readings(load_model(model).bundle, sources, targets, gold)
    found = [ReadingScore.of(reading, score) for reading, score in scored]
    layers, heads = {one.layer for one in found} - {None}, {one.head for one in found} - {None}
    return [one for one in found if not _is_of_one(one, len(layers), len(heads))]


def _is_of_one(one: ReadingScore, layers: int, heads: int) -> bool:
    """Whether it is a mean over one alone, which is that one's own reading again."""
    return (one.layer is None and layers == 1) or (one.head is None and one.layer is not None and heads == 1)
