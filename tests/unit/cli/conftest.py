"""Small models, trained once, and a way to run commands in this process."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.cli import run
from tests.support.commands import Finished, Regard, run_command
from tests.support.small_images import ATTENDING, picture_config, write_scenes
from tests.support.small_run import run_to_the_end
from tests.support.toy_language import write_corpus


@pytest.fixture
def regard(capsys: pytest.CaptureFixture[str]) -> Regard:
    """Run a command in this process, which has torch already."""

    def call(*arguments: object) -> Finished:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return Finished(code, *capsys.readouterr())

    return call


@pytest.fixture
def default_hangup() -> Iterator[None]:
    """SIGHUP as a terminal gives it to its programs: behind nohup we would ignore it, and all that we start too."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


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
    """The run of a small RNN with attention."""
    return _trained(corpus, "attending")


@pytest.fixture(scope="session")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few drawn scenes with captions and boxes."""
    return write_scenes(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="session")
def describing(scenes: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a small captioner that attends."""
    directory = tmp_path_factory.mktemp("describing")
    run_to_the_end(picture_config(scenes, model=ATTENDING, steps=2), directory)
    return directory


def _trained(corpus: Path, name: str) -> Path:
    run_directory = corpus / "runs" / name
    ended = run_command("train", corpus / f"{name}.toml", "--run", run_directory)
    assert ended.code == 0, ended.err
    return run_directory
