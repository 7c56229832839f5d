"""A few scenes, and small captioners trained on them once."""

from pathlib import Path
from typing import Any

import pytest

from regard.bundle import load_bundle
from regard.inference.captioner import Captioner
from tests.support.small_images import ATTENDING, RECURRENT, TRANSFORMER, picture_config, write_scenes
from tests.support.small_run import run_to_the_end

MODELS: dict[str, dict[str, Any]] = {"attending": ATTENDING, "recurrent": RECURRENT, "transformer": TRANSFORMER}


@pytest.fixture(scope="session")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_scenes(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="session")
def pictures(scenes: Path) -> list[Path]:
    return sorted((scenes / "images" / "test").iterdir())


@pytest.fixture(scope="session")
def runs(scenes: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The run of each kind of captioner."""
    found = {name: tmp_path_factory.mktemp(name) for name in MODELS}
    for name, run in found.items():
        run_to_the_end(picture_config(scenes, model=MODELS[name], steps=2), run)
    return found


@pytest.fixture(scope="session")
def captioners(runs: dict[str, Path]) -> dict[str, Captioner]:
    return {name: Captioner(load_bundle(run / "model")) for name, run in runs.items()}
