"""The heart stays small enough to read at one sitting, and needs torch alone."""

import ast
from pathlib import Path

HEART = Path(__file__).parents[2] / "src" / "regard" / "attention"
OUTSIDE = {"torch", "jaxtyping"}
STANDARD = {"collections", "contextlib", "contextvars", "dataclasses", "functools", "math", "typing"}


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


def test_the_heart_has_fewer_than_400_lines() -> None:
    files = sorted(HEART.glob("*.py"))
    assert len(files) >= 7
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) < 400


def test_the_heart_imports_torch_and_nothing_else_of_ours() -> None:
    found = set().union(*(imported(path) for path in HEART.glob("*.py")))
    ours = {name for name in found if name.startswith("regard")}
    assert all(name.startswith("regard.attention.") for name in ours)
    assert {name.split(".")[0] for name in found - ours} <= OUTSIDE | STANDARD


def test_the_reading_order_of_the_heart_names_every_file() -> None:
    order = (HEART / "__init__.py").read_text(encoding="utf-8").split("order:")[1].split(".")[0]
    named = [name.strip() for name in order.split(",")]
    assert sorted(named) == sorted(path.stem for path in HEART.glob("*.py") if path.stem != "__init__")
