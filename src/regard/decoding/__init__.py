"""Decoding: one loop for every model; beam search, greedy search and sampling; ensembles."""
