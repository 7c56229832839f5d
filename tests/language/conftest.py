"""A writer and a reader that have learnt the small language."""

from pathlib import Path

import pytest

from regard.language.reader import Reader, load_reader
from regard.language.writer import Writer, load_writer
from tests.language.small_language import READER, WRITER, language_config, write_texts
from tests.training.small_run import run_to_the_end

LEARNING = {"steps": 200, "validate_every": 200, "checkpoint_every": 200, "learning_rate": 0.01}


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("texts")
    write_texts(directory)
    return directory


@pytest.fixture(scope="session")
def writer(texts: Path) -> Writer:
    run_to_the_end(language_config(texts, WRITER, **LEARNING), texts / "writer")
    return load_writer(texts / "writer")


@pytest.fixture(scope="session")
def reader(texts: Path) -> Reader:
    run_to_the_end(language_config(texts, READER, blanks=0.3, **LEARNING), texts / "reader")
    return load_reader(texts / "reader")
