"""Recipes by name: they are found from any directory, in a checkout and where a wheel puts them."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from regard.errors import RegardError
from regard.training.recipes import find_recipe, packaged_recipes, recipe_names
from tests.support.commands import Regard, environment

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test is called from a directory that is not regard's."""
    monkeypatch.chdir(tmp_path)


def test_unknown_file_name_is_a_bundled_recipe(regard: Regard) -> None:
    assert find_recipe(Path("world-transformer")) == find_recipe(Path("world-transformer.toml"))
    assert find_recipe(Path("world-transformer")) == ROOT / "recipes" / "world-transformer.toml"
    assert find_recipe(Path("pretrained/en-fr")) == ROOT / "recipes" / "pretrained" / "en-fr.toml"
    ended = regard("train", "world-transformer")
    assert ended.code == 2  # the recipe was read: what is missing is what it trains on
    assert "To generate it: regard data generate sentences --out runs/world/data" in ended.err


def test_user_file_comes_before_bundled_recipe(tmp_path: Path) -> None:
    (tmp_path / "world-transformer.toml").write_text("")
    assert find_recipe(Path("world-transformer.toml")) == Path("world-transformer.toml")


@pytest.mark.parametrize("given", ["world-transfomer", "recipes/world-transformer.toml", "own/world-transformer"])
def test_unknown_recipe_lists_the_bundled_ones(given: str, regard: Regard) -> None:
    ended = regard("train", given)
    assert ended.code == 2
    assert f"{given} cannot be read" in ended.err
    assert len(recipe_names()) >= 16
    assert all(name in ended.err for name in recipe_names())
    with pytest.raises(RegardError, match="world-decoder-only, world-encoder-only"):
        find_recipe(Path(given))


def test_the_demo_takes_regards_own_recipes_from_anywhere(regard: Regard, tmp_path: Path) -> None:
    assert sorted(packaged_recipes().glob("*.toml")) == sorted((ROOT / "recipes").glob("*.toml"))
    (tmp_path / "recipes").mkdir()
    ended = regard("demo", "--recipes", tmp_path / "recipes", "--no-browser")
    assert "world-transformer.toml does not exist" in ended.err
    assert "remove --recipes to use regard's own" in ended.err


def test_recipes_are_found_inside_a_wheel(tmp_path: Path) -> None:
    """Laid out as pyproject.toml tells the builder to, without building: that would need the network."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    installed = tmp_path / "installed"
    for package in wheel["packages"]:
        shutil.copytree(ROOT / package, installed / Path(package).name, ignore=shutil.ignore_patterns("__pycache__"))
    for given, place in wheel["force-include"].items():
        shutil.copytree(ROOT / given, installed / place)
    code = (
        "from pathlib import Path; from regard.training.recipes import *; "
        "print(find_recipe(Path('scenes-attention')), packaged_recipes())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(PYTHONPATH=str(installed)),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    recipes = installed / "regard" / "recipes"
    assert run.stdout.split() == [str(recipes / "scenes-attention.toml"), str(recipes)]
