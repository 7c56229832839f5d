"""The engine that every model has: the decode loop, on the model as it was trained.

It decodes several batches in parallel, each on one thread: small matrix products gain little from several threads, and
most of the time is spent in torch, which releases the GIL.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from math import ceil

import torch
from torch import nn

from regard.batch import PaddedTokens, encode_source_rows
from regard.config import DecodingConfig
from regard.decoding.loop import best_hypotheses, decode_steps, generate
from regard.inference.interface import DecodedRows, TokenRows, batches_by_length

BATCH_TOKENS = 8192  # source tokens decoded at once, divided by the hypotheses of each
BATCHES_PER_WORKER = 2  # unless that makes them small: all workers wait for the end of the last batch
MIN_BATCH_TOKENS = 1024  # a smaller batch takes as long as this one


class TorchEngine:
    """Decodes batches of similar length, as many in parallel as torch has threads."""

    name = "torch"
    is_asynchronous = False

    def __init__(self, model: nn.Module, *, description: str = "torch") -> None:
        self.model = model
        self.description = description
        self.max_positions: int | None = model.max_positions  # type: ignore[assignment]

    def decode(self, rows: TokenRows, config: DecodingConfig, *, scores: bool = True) -> Iterator[DecodedRows]:
        """The `nbest` best hypotheses of each row, a batch at a time.

        A batch that is decoded alone yields an empty result after each step, so that the caller can stop.
        """
        batches = list(batches_by_length(rows, self._token_budget(rows, config)))
        workers = min(self._num_workers(config), len(batches))
        if workers < 2:
            for indices in batches:
                source = self._source(rows, indices)
                for search in decode_steps(self.model, source, config, scores=scores):  # type: ignore[arg-type]
                    if search.is_running:
                        yield DecodedRows([], [])
                yield DecodedRows(indices, best_hypotheses(search, config))
            return
        threads = torch.get_num_threads()
        pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
        try:
            contexts = [copy_context() for _ in batches]  # with the interventions of the calling thread
            decoded = pool.map(
                lambda context, indices: context.run(
                    generate, self.model, self._source(rows, indices), config, scores=scores
                ),
                contexts,
                batches,
            )
            yield from map(DecodedRows, batches, decoded)
        finally:
            pool.shutdown(cancel_futures=True)
            torch.set_num_threads(threads)  # the setting of a worker also applies to threads that start later

    def _source(self, rows: TokenRows, indices: list[int]) -> PaddedTokens:
        device = next(self.model.parameters()).device
        return encode_source_rows([rows[index] for index in indices], device=device)

    def _token_budget(self, rows: TokenRows, config: DecodingConfig) -> int:
        """Source tokens of a batch; fewer where several workers would otherwise have too few batches to share."""
        workers, tokens = self._num_workers(config), sum(len(row) + 1 for row in rows)
        each = tokens * config.num_hypotheses / workers
        even = ceil(max(each / BATCHES_PER_WORKER, min(each, BATCH_TOKENS / 2), MIN_BATCH_TOKENS))
        wanted = BATCH_TOKENS if workers == 1 else min(even, BATCH_TOKENS)
        return max(1, wanted // config.num_hypotheses)

    def _num_workers(self, config: DecodingConfig) -> int:
        """One if the order of the batches matters (sampling), or if another device than the CPU does the work."""
        is_sequential = config.do_sample or next(self.model.parameters()).device.type != "cpu"
        return 1 if is_sequential else torch.get_num_threads()
