"""Servers that tests of several files share."""

from collections.abc import Iterator

import pytest

from tests.support.cache import made_once
from tests.support.owned import Own, own_server
from tests.support.spoken import Spoken, make_models, serving


@pytest.fixture(scope="session")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spoken]:
    """The server that the APIs of others are tried on."""
    directory, _ = made_once(tmp_path_factory, "spoken", make_models)
    with serving(directory) as server:
        yield server


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    """The server that our own API is tried on."""
    directory, _ = made_once(tmp_path_factory, "spoken", make_models)
    with own_server(directory, tmp_path_factory.mktemp("own")) as server:
        yield server
