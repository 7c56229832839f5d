"""The attention package imports torch only, and its docstring lists its files in reading order."""

import ast
from pathlib import Path

ATTENTION = Path(__file__).parents[2] / "src" / "regard" / "attention"
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


def test_attention_imports_torch_only() -> None:
    found = set().union(*(imported(path) for path in ATTENTION.glob("*.py")))
    ours = {name for name in found if name.startswith("regard")}
    assert all(name.startswith("regard.attention.") for name in ours)
    assert {name.split(".")[0] for name in found - ours} <= OUTSIDE | STANDARD


def test_reading_order_names_every_file() -> None:
    order = (ATTENTION / "__init__.py").read_text(encoding="utf-8").split("order:")[1].split(".")[0]
    named = [name.strip() for name in order.split(",")]
    assert sorted(named) == sorted(path.stem for path in ATTENTION.glob("*.py") if path.stem != "__init__")
