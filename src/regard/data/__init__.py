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
from regard.data.readers import (
    PAIR_FORMATS,
    Pair,
    PairBlock,
    check_one_side,
    in_blocks,
    read_blocks,
    read_lines,
    read_pairs,
    read_texts,
    text_blocks,
)
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
    "check_one_side",
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
    "read_texts",
    "slice_for_rank",
    "text_blocks",
    "tokenised",
    "write_store",
]
