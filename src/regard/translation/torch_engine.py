"""The engine that every model has: the decode loop, on the model as it was trained.

Several batches are decoded side by side, each by a thread of its own: small products gain little from several threads
that share them, and most of the time is spent in torch, where threads do not wait for each other.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

from regard.batch import source_of
from regard.config import DecodingConfig
from regard.decoding.loop import generate
from regard.translation.engines import Finished, Rows, batches_by_length

BATCH_TOKENS = 4096  # source tokens decoded at once, divided by the beam's width


class TorchEngine:
    """Batches of like length, as many side by side as torch has threads."""

    name = "torch"
    is_ahead = False

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def decode(self, rows: Rows, config: DecodingConfig) -> Iterator[Finished]:
        """The `nbest` best hypotheses of each row, a batch at a time."""
        batches = list(batches_by_length(rows, BATCH_TOKENS // config.beam or 1))
        workers = min(self._workers(config), len(batches))
        if workers < 2:
            for places in batches:
                yield self._decode(rows, places, config)
            return
        threads = torch.get_num_threads()
        pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
        try:
            yield from pool.map(lambda places: self._decode(rows, places, config), batches)
        finally:
            pool.shutdown(cancel_futures=True)
            torch.set_num_threads(threads)  # a worker's setting is also that of threads to come

    def _decode(self, rows: Rows, places: list[int], config: DecodingConfig) -> Finished:
        device = next(self.model.parameters()).device
        source = source_of([rows[place] for place in places], device=device)
        return Finished(places, generate(self.model, source, config))  # type: ignore[arg-type]

    def _workers(self, config: DecodingConfig) -> int:
        """One where the order of the batches matters (draws at random), or where a device does the work."""
        is_alone = config.sample or next(self.model.parameters()).device.type != "cpu"
        return 1 if is_alone else torch.get_num_threads()
