"""Choosing what to say: one loop for every model, and the ways to choose."""
