"""What a model's output is worth: translations and captions against references, attention against what was meant."""

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
from regard.metrics.captions import CaptionTokens, caption_words, evaluate_captions, exactly_right
from regard.metrics.pointing import Pointing, pointing
from regard.metrics.translation import (
    Bucket,
    Difference,
    Score,
    Tokenization,
    by_length,
    differences,
    evaluate,
    language_by_script,
    tokenization_for,
)
from regard.metrics.word_attention import links_from_weights, merge_words

__all__ = [
    "Alignment",
    "AlignmentScore",
    "Bucket",
    "CaptionTokens",
    "Difference",
    "Links",
    "Pointing",
    "Score",
    "Symmetry",
    "Tokenization",
    "alignment_error",
    "by_length",
    "caption_words",
    "differences",
    "evaluate",
    "evaluate_captions",
    "exactly_right",
    "format_alignment",
    "language_by_script",
    "links_from_weights",
    "merge_words",
    "parse_alignment",
    "parse_alignments",
    "pointing",
    "symmetrise",
    "tokenization_for",
]
