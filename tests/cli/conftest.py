"""Two small models, trained once by the command itself, and a way to run commands in this process."""

from pathlib import Path

import pytest

from regard.cli import run
from tests.cli.toy import Finished, Regard, in_a_process, write_corpus


@pytest.fixture
def regard(capsys: pytest.CaptureFixture[str]) -> Regard:
    """Run a command in this process, which has torch already."""

    def call(*arguments: object) -> Finished:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return Finished(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of a toy language, with recipes."""
    directory = tmp_path_factory.mktemp("corpus")
    write_corpus(directory)
    return directory


@pytest.fixture(scope="session")
def transformer(corpus: Path) -> Path:
    """The run of a small Transformer."""
    return _trained(corpus, "transformer")


@pytest.fixture(scope="session")
def attending(corpus: Path) -> Path:
    """The run of a small attending RNN."""
    return _trained(corpus, "attending")


def _trained(corpus: Path, name: str) -> Path:
    run_directory = corpus / "runs" / name
    ended = in_a_process("train", corpus / f"{name}.toml", "--run", run_directory)
    assert ended.code == 0, ended.err
    return run_directory
