"""The attention of finished pairs: each pair is scored again in one pass, recorded, and cut back to its own length."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from regard.attention.recording import record_attention
from regard.batch import source_of
from regard.bundle import Bundle
from regard.decoding.rescoring import read_again
from regard.models.uses import sides_of, use_of

TokenPair = tuple[list[int], list[int]]  # source and target ids, without BEGIN and END
Maps = dict[str, NDArray[np.float32]]  # by layer name: (heads, queries, keys)
BATCH_PAIRS, BATCH_CELLS = 64, 2**18  # read at once; cells of one head's map, padding counted: one pair of 500 tokens


def attention_maps(bundle: Bundle, pairs: Sequence[TokenPair], *, named: str = "") -> Iterator[Maps]:
    """For each pair the weights of the layers with `named` in their names.

    The source ends with END; the target's queries begin with BEGIN.
    """
    device = next(bundle.model.parameters()).device
    for batch in _batches(pairs):
        source = source_of([own for own, _ in batch], device=device)
        targets = [target for _, target in batch]
        with record_attention(bundle.model, named=named) as recording:
            read_again(bundle.model, source, targets, sentences=list(range(len(batch))))  # type: ignore[arg-type]
        layers = {name: kept["weights"].float().cpu().numpy() for name, kept in recording.layers.items()}
        for row, (own, target) in enumerate(batch):
            yield {
                name: _trimmed(name, weights[row], len(own) + 1, len(target) + 1) for name, weights in layers.items()
            }


def _batches(pairs: Sequence[TokenPair]) -> Iterator[list[TokenPair]]:
    """The pairs in their order, as many at once as have few cells together: of long ones, one."""
    batch: list[TokenPair] = []
    longest = 0
    for pair in pairs:
        own = max(map(len, pair)) + 1
        longest = max(longest, own)
        if batch and (len(batch) == BATCH_PAIRS or (len(batch) + 1) * longest**2 > BATCH_CELLS):
            yield batch
            batch, longest = [], own
        batch.append(pair)
    if batch:
        yield batch


def cross_attention(maps: Maps) -> list[NDArray[np.float32]]:
    """The layers in which the target looks at the source, the first layer first."""
    return [weights for name, weights in maps.items() if use_of(name) == "cross"]


def _trimmed(name: str, weights: NDArray[np.float32], source: int, target: int) -> NDArray[np.float32]:
    """A layer's map without the padding of the batch."""
    queries, keys = sides_of(use_of(name))
    lengths = {"source": source, "target": target, "picture": weights.shape[-1]}
    return weights[:, : lengths[queries], : lengths[keys]]
