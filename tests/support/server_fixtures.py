"""Session fixtures of running servers that several test folders share."""

from collections.abc import Iterator

import pytest

from tests.support.api_server import ApiServer, make_models
from tests.support.api_server import api_server as run_api_server
from tests.support.own_api_server import OwnApiServer, own_api_server
from tests.support.shared_results import build_once


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """The server for the tests of the LibreTranslate and DeepL APIs."""
    directory, _ = build_once(tmp_path_factory, "translators", make_models)
    with run_api_server(directory) as server:
        yield server


@pytest.fixture(scope="session")
def own_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnApiServer]:
    """The server for the tests of the own API."""
    directory, _ = build_once(tmp_path_factory, "translators", make_models)
    with own_api_server(directory, tmp_path_factory.mktemp("own_api")) as server:
        yield server
