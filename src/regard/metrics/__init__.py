"""What a model's output is worth: translations against references, alignments against manual ones."""

from regard.metrics.alignment import (
    Alignment,
    AlignmentScore,
    Links,
    Symmetry,
    alignment_error,
    format_alignment,
    parse_alignment,
    parse_alignments,
    symmetrise,
)
from regard.metrics.translation import Bucket, Score, Tokenization, by_length, evaluate, tokenization_for
from regard.metrics.word_attention import links_from_weights, merge_words

__all__ = [
    "Alignment",
    "AlignmentScore",
    "Bucket",
    "Links",
    "Score",
    "Symmetry",
    "Tokenization",
    "alignment_error",
    "by_length",
    "evaluate",
    "format_alignment",
    "links_from_weights",
    "merge_words",
    "parse_alignment",
    "parse_alignments",
    "symmetrise",
    "tokenization_for",
]
