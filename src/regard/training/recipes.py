"""The recipes that come with regard, by their names."""

from pathlib import Path

from regard.errors import RegardError, suggest

_PACKAGE = Path(__file__).parents[1]
# A wheel has the recipes inside the package (see pyproject.toml); a checkout has them at its root.
_RECIPE_FOLDERS = (_PACKAGE / "recipes", _PACKAGE.parents[1] / "recipes")


def packaged_recipes() -> Path:
    """The directory of the recipes that come with regard."""
    return next((folder for folder in _RECIPE_FOLDERS if folder.is_dir()), _RECIPE_FOLDERS[0])


def recipe_names() -> list[str]:
    """The names of the recipes that come with regard."""
    folder = packaged_recipes()
    return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.toml"))


def find_recipe(given: Path) -> Path:
    """The given file or, if it does not exist, the recipe of this name that comes with regard."""
    if given.exists():
        return given
    packaged = packaged_recipes() / given.with_suffix(".toml")
    if given.with_suffix("").as_posix() in recipe_names():
        return packaged
    near = suggest(given.with_suffix("").name, recipe_names())
    raise RegardError(
        f"{given} cannot be read: there is no such file{near}. Give the path of a TOML recipe, or the name of one that "
        f"comes with regard: {', '.join(recipe_names())}."
    )
