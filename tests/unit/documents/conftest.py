"""Fixtures of a running server."""

from tests.support.server import own, spoken

__all__ = ["own", "spoken"]
