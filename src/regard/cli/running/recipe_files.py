"""Where recipes are: a user's own files, and those that come with regard, which are called by their names."""

from pathlib import Path

from regard.errors import RegardError

_PACKAGE = Path(__file__).parents[2]
# A wheel has them inside the package (pyproject.toml puts them there); a checkout has them at its root.
_PLACES = (_PACKAGE / "recipes", _PACKAGE.parents[1] / "recipes")


def own_recipes() -> Path:
    """The directory of the recipes that come with regard."""
    return next((place for place in _PLACES if place.is_dir()), _PLACES[0])


def found_recipe(given: Path) -> Path:
    """The file that is given, or the recipe of regard's own that has this name; a file of the user's comes first."""
    if given.exists():
        return given
    own = own_recipes() / given.with_suffix(".toml")
    if given.name == str(given) and own.is_file():
        return own
    raise RegardError(
        f"{given} cannot be read: there is no such file. Give the path of a TOML recipe, or the name of one that comes "
        f"with regard: {', '.join(names())}."
    )


def names() -> list[str]:
    """What the recipes that come with regard are called."""
    return sorted(path.stem for path in own_recipes().glob("*.toml"))
