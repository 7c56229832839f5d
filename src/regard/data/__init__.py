"""From files to batches: readers, filters, a store of token ids on disk, and the order of training; without torch."""

from regard.data.batch_order import (
    EpochPlan,
    EpochPosition,
    GlobalBatch,
    batches,
    global_batches,
    plan_epoch,
    slice_for_rank,
)
from regard.data.corpus_tokenization import TokenizeJob, tokenize_corpus
from regard.data.filters import FilterReport, pair_settings
from regard.data.held_out import held_out_hash, hold_out
from regard.data.pair_readers import PAIR_FORMATS, check_monolingual, read_blocks, read_pairs
from regard.data.pair_readers.text import Pair, PairBlock, monolingual_blocks, pair_blocks, read_monolingual
from regard.data.text_lines import read_lines
from regard.data.token_store import TokenPair, TokenStore, fingerprint, open_store, write_store

__all__ = [
    "PAIR_FORMATS",
    "EpochPlan",
    "EpochPosition",
    "FilterReport",
    "GlobalBatch",
    "Pair",
    "PairBlock",
    "TokenPair",
    "TokenStore",
    "TokenizeJob",
    "batches",
    "check_monolingual",
    "fingerprint",
    "global_batches",
    "held_out_hash",
    "hold_out",
    "monolingual_blocks",
    "open_store",
    "pair_blocks",
    "pair_settings",
    "plan_epoch",
    "read_blocks",
    "read_lines",
    "read_monolingual",
    "read_pairs",
    "slice_for_rank",
    "tokenize_corpus",
    "write_store",
]
