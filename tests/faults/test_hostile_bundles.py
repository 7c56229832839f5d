"""A bundle that someone made to exhaust or to confuse this machine is refused soon, with an error for its reader."""

import shutil
from pathlib import Path

import pytest

from regard.bundle import load_bundle
from regard.errors import RegardError
from regard.inference.open import load
from tests.support.hostile_files import BUNDLES, bounded, write_small_bundle


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_bundle(tmp_path_factory.mktemp("whole") / "model")


def test_a_whole_bundle_is_loaded(whole: Path) -> None:
    with bounded():
        assert load_bundle(whole).num_parameters > 0


@pytest.mark.parametrize("name", BUNDLES)
def test_a_hostile_bundle_is_refused(name: str, whole: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "model"
    shutil.copytree(whole, hostile)
    BUNDLES[name](hostile)
    for open_model in (load_bundle, load):
        with bounded(), pytest.raises(RegardError) as problem:
            open_model(hostile)
        assert len(str(problem.value)) < 20_000


def test_a_folder_of_many_files_is_opened(whole: Path, tmp_path: Path) -> None:
    crowded = tmp_path / "model"
    shutil.copytree(whole, crowded)
    for number in range(20_000):
        (crowded / f"{number}.bin").touch()
    with bounded():
        load(crowded)
