"""From files to batches: readers, filters, a store of token ids on disk, and the order of training; without torch."""

from regard.data.batching import (
    EpochPlan,
    GlobalBatch,
    Position,
    batches,
    global_batches,
    plan_epoch,
    slice_for_rank,
)
from regard.data.filters import FilterReport, pair_settings
from regard.data.held_out import hash_of_pair, hold_out
from regard.data.readers import PAIR_FORMATS, Pair, PairBlock, in_blocks, read_blocks, read_lines, read_pairs
from regard.data.store import Example, TokenStore, fingerprint, open_store, write_store
from regard.data.tokenising import Cutting, tokenised

__all__ = [
    "PAIR_FORMATS",
    "Cutting",
    "EpochPlan",
    "Example",
    "FilterReport",
    "GlobalBatch",
    "Pair",
    "PairBlock",
    "Position",
    "TokenStore",
    "batches",
    "fingerprint",
    "global_batches",
    "hash_of_pair",
    "hold_out",
    "in_blocks",
    "open_store",
    "pair_settings",
    "plan_epoch",
    "read_blocks",
    "read_lines",
    "read_pairs",
    "slice_for_rank",
    "tokenised",
    "write_store",
]
