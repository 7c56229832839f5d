"""Weights of published networks, taken over once."""
