"""A model in the formats of other programs, and the fastest engine that can run it."""
