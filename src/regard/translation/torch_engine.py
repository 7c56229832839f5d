"""The engine that every model has: the decode loop, on the model as it was trained."""

from collections.abc import Iterator

from torch import nn

from regard.batch import source_of
from regard.config import DecodingConfig
from regard.decoding.loop import generate
from regard.translation.engines import Finished, Rows, batches_by_length

BATCH_TOKENS = 2048  # source tokens decoded at once, divided by the beam's width


class TorchEngine:
    """Batches of like length, one after the other."""

    name = "torch"
    is_ahead = False

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def decode(self, rows: Rows, config: DecodingConfig) -> Iterator[Finished]:
        """The `nbest` best hypotheses of each row, a batch at a time."""
        device = next(self.model.parameters()).device
        for places in batches_by_length(rows, BATCH_TOKENS // config.beam or 1):
            source = source_of([rows[place] for place in places], device=device)
            yield Finished(places, generate(self.model, source, config))  # type: ignore[arg-type]
