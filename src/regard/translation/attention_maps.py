"""The attention of finished pairs: each pair is scored again in one pass, recorded, and cut back to its own length."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from regard.attention.recording import record_attention
from regard.batch import source_of
from regard.bundle import Bundle
from regard.decoding.rescoring import rescore
from regard.models.uses import sides_of, use_of

TokenPair = tuple[list[int], list[int]]  # source and target ids, without BEGIN and END
Maps = dict[str, NDArray[np.float32]]  # by layer name: (heads, queries, keys)
BATCH_PAIRS = 32


def attention_maps(bundle: Bundle, pairs: Sequence[TokenPair]) -> Iterator[Maps]:
    """For each pair, every layer's weights. The source ends with END; the target's queries begin with BEGIN."""
    for start in range(0, len(pairs), BATCH_PAIRS):
        batch = pairs[start : start + BATCH_PAIRS]
        device = next(bundle.model.parameters()).device
        source = source_of([own for own, _ in batch], device=device)
        with record_attention(bundle.model) as recording:
            targets = [target for _, target in batch]
            rescore(bundle.model, source, targets, sentences=list(range(len(batch))))  # type: ignore[arg-type]
        layers = {name: kept["weights"].float().cpu().numpy() for name, kept in recording.layers.items()}
        for row, (own, target) in enumerate(batch):
            yield {
                name: _trimmed(name, weights[row], len(own) + 1, len(target) + 1) for name, weights in layers.items()
            }


def cross_attention(maps: Maps) -> list[NDArray[np.float32]]:
    """The layers in which the target looks at the source, the first layer first."""
    return [weights for name, weights in maps.items() if use_of(name) == "cross"]


def _trimmed(name: str, weights: NDArray[np.float32], source: int, target: int) -> NDArray[np.float32]:
    """A layer's map without the padding of the batch."""
    queries, keys = sides_of(use_of(name))
    lengths = {"source": source, "target": target, "picture": weights.shape[-1]}
    return weights[:, : lengths[queries], : lengths[keys]]
