"""The cells of docs/notebook.ipynb run in order and show a widget and two maps."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from regard.bundle import save_bundle
from tests.support.traces import TEXT, TRANSFORMER, bundle_of

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"


def cells() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


def shown_by(source: str, names: dict[str, Any]) -> Any:
    """Run a cell and return the value of its last line, which a notebook displays."""
    tree = ast.parse(source)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr), "the last line of a cell must be an expression"
    exec(compile(tree, str(NOTEBOOK), "exec"), names)  # noqa: S102  (our own text)
    return eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names)  # noqa: S307


def test_notebook_is_saved_without_outputs() -> None:
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells())


@pytest.mark.filterwarnings("ignore:no font that was found here")  # without a Korean font
def test_every_cell_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_bundle(tmp_path / "runs" / "world-transformer" / "model", bundle_of(TRANSFORMER))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    shown = [shown_by("".join(cell["source"]), names) for cell in cells()]
    assert names["trace"].source.words[:-1] == TEXT.split()
    assert sum(hasattr(one, "_repr_mimebundle_") for one in shown) == 1  # the widget
    drawn = [one._repr_svg_() for one in shown if hasattr(one, "_repr_svg_")]
    assert [text.count(">head 2</text>") for text in drawn] == [1, 1]
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "map.svg", "map.png", "page.html", "mine.html"}
