"""A writer and a reader that have learnt the small language."""

from pathlib import Path

import pytest

from regard.language.reader import Reader, load_reader
from regard.language.writer import Writer, load_writer
from tests.language.small_language import make_language
from tests.training.made_once import made_once


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "language", make_language)[0]


@pytest.fixture(scope="session")
def writer(texts: Path) -> Writer:
    return load_writer(texts / "writer")


@pytest.fixture(scope="session")
def reader(texts: Path) -> Reader:
    return load_reader(texts / "reader")
