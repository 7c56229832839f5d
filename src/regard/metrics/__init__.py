"""Metrics: translations and captions against references, attention against gold alignments and boxes."""

from regard.metrics.alignment import (
    AlignmentScore,
    GoldAlignment,
    Links,
    Symmetrization,
    alignment_error_rate,
    format_alignment,
    links_from_attention,
    parse_alignment,
    parse_alignments,
    pieces_to_words,
    symmetrize,
)
from regard.metrics.captions import CaptionTokenization, evaluate_captions, exact_match, tokenize_caption
from regard.metrics.pointing_game import PointingScore, pointing_game
from regard.metrics.text import (
    Difference,
    LengthBucket,
    Score,
    Tokenization,
    bleu_by_length,
    differences,
    evaluate,
    language_by_script,
    tokenization_for,
)

__all__ = [
    "AlignmentScore",
    "CaptionTokenization",
    "Difference",
    "GoldAlignment",
    "LengthBucket",
    "Links",
    "PointingScore",
    "Score",
    "Symmetrization",
    "Tokenization",
    "alignment_error_rate",
    "bleu_by_length",
    "differences",
    "evaluate",
    "evaluate_captions",
    "exact_match",
    "format_alignment",
    "language_by_script",
    "links_from_attention",
    "parse_alignment",
    "parse_alignments",
    "pieces_to_words",
    "pointing_game",
    "symmetrize",
    "tokenization_for",
    "tokenize_caption",
]
