"""Metrics: translations and captions against references, attention against gold alignments and boxes."""
