"""Fixtures of running servers."""

from tests.support.server_fixtures import api_server, own_api

__all__ = ["api_server", "own_api"]
