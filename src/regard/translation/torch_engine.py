"""The engine that every model has: the decode loop, on the model as it was trained.

Several batches are decoded side by side, each by a thread of its own: small products gain little from several threads
that share them, and most of the time is spent in torch, where threads do not wait for each other.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

from regard.batch import Padded, source_of
from regard.config import DecodingConfig
from regard.decoding.loop import generate, outputs_of, steps
from regard.translation.engines import Finished, Rows, batches_by_length

BATCH_TOKENS = 8192  # source tokens decoded at once, divided by the hypotheses of each
TURNS = 2  # batches for each worker, where that does not make them small: all wait for the end of the last one


class TorchEngine:
    """Batches of like length, as many side by side as torch has threads."""

    name = "torch"
    is_ahead = False

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.longest: int | None = model.longest  # type: ignore[assignment]

    def decode(self, rows: Rows, config: DecodingConfig, *, scores: bool = True) -> Iterator[Finished]:
        """The `nbest` best hypotheses of each row, a batch at a time.

        A batch that is alone tells after each step that nothing is finished yet, so that whoever asked can leave off.
        """
        batches = list(batches_by_length(rows, self._budget(rows, config)))
        workers = min(self._workers(config), len(batches))
        if workers < 2:
            for places in batches:
                yield from self._stepwise(rows, places, config, scores)
            return
        threads = torch.get_num_threads()
        pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
        try:
            yield from pool.map(lambda places: self._decode(rows, places, config, scores), batches)
        finally:
            pool.shutdown(cancel_futures=True)
            torch.set_num_threads(threads)  # a worker's setting is also that of threads to come

    def _decode(self, rows: Rows, places: list[int], config: DecodingConfig, scores: bool) -> Finished:
        return Finished(places, generate(self.model, self._source(rows, places), config, scores=scores))  # type: ignore[arg-type]

    def _stepwise(self, rows: Rows, places: list[int], config: DecodingConfig, scores: bool) -> Iterator[Finished]:
        model, source = self.model, self._source(rows, places)
        for search in steps(model, source, config, scores=scores):  # type: ignore[arg-type]
            if search.is_going:
                yield Finished([], [])
        yield Finished(places, outputs_of(search, model, source, config))  # type: ignore[arg-type]

    def _source(self, rows: Rows, places: list[int]) -> Padded:
        device = next(self.model.parameters()).device
        return source_of([rows[place] for place in places], device=device)

    def _budget(self, rows: Rows, config: DecodingConfig) -> int:
        """Source tokens of a batch; fewer where several workers would have too few batches to share them evenly."""
        workers, tokens = self._workers(config), sum(len(row) + 1 for row in rows)
        wanted = BATCH_TOKENS if workers == 1 else max(tokens * config.width // (workers * TURNS), BATCH_TOKENS // 2)
        return max(1, min(wanted, BATCH_TOKENS) // config.width)

    def _workers(self, config: DecodingConfig) -> int:
        """One where the order of the batches matters (draws at random), or where a device does the work."""
        is_alone = config.sample or next(self.model.parameters()).device.type != "cpu"
        return 1 if is_alone else torch.get_num_threads()
