"""Models by their ids on the Hugging Face hub; without a network, from the library's cache."""

import shutil
from pathlib import Path

import huggingface_hub.constants
import huggingface_hub.file_download
import pytest

from regard.cli import EXIT_WRONG_INPUT, run
from regard.errors import RegardError
from regard.interop.hub import is_hub_id
from regard.interop.import_model import detect, locate
from tests.support.foreign_models import write_marian

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no network."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    return tmp_path / "hub"


def test_cached_model_is_imported_by_its_id(cache: Path) -> None:
    model = cache / "models--some-owner--opus-mt-xx-yy"
    write_marian(model / "snapshots" / COMMIT)
    (model / "refs").mkdir()
    (model / "refs/main").write_text(COMMIT)
    found = detect(locate("some-owner/opus-mt-xx-yy"))
    assert found.name == "Hugging Face directory, marian"
    assert found.load().config.data.languages == ["xx", "yy"]


def test_missing_model_without_network_is_a_clear_error(cache: Path) -> None:
    with pytest.raises(RegardError, match="the hub cannot be reached, and the cache does not have it"):
        locate("some-owner/other")
    assert not cache.exists() or not list(cache.glob("**/*.safetensors"))


def test_command_writes_nothing_without_network(cache: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "some-owner/other", "--out", str(tmp_path / "out")]) == EXIT_WRONG_INPUT
    assert "cannot be downloaded" in capfd.readouterr().err
    assert not (tmp_path / "out").exists()
    shutil.rmtree(cache, ignore_errors=True)


def test_paths_are_not_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder/model").mkdir(parents=True)
    for path in ("folder/model", "./a/b", "a", "a/b/c", "/a/b", "../a", "a/"):
        assert not is_hub_id(path), path
    assert is_hub_id("Helsinki-NLP/opus-mt-ko-en")
