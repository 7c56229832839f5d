"""The package: its public names, a fast import, the direction of imports, and pinned dependencies."""

import subprocess
import sys
from pathlib import Path

import pytest

import regard

ROOT = Path(__file__).parents[2]
NEVER_ON_IMPORT = ("starlette", "uvicorn", "PIL", "matplotlib", "transformers", "anywidget", "torch", "numpy")


def test_public_names_are_sorted_and_exist() -> None:
    assert list(regard.__all__) == sorted(set(regard.__all__))
    for name in regard.__all__:
        assert getattr(regard, name).__module__.startswith("regard."), name
    assert set(regard.__all__) <= set(dir(regard))


def test_plotting_needs_no_import_of_its_own() -> None:
    code = "import regard; print(regard.plotting.show.__module__)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert run.stdout.strip() == "regard.plotting.save"


def test_an_unknown_name_lists_the_public_names() -> None:
    with pytest.raises(AttributeError, match="load"):
        regard.no_such_name  # noqa: B018


def test_import_is_lazy() -> None:
    code = f"import sys, regard; print([m for m in {NEVER_ON_IMPORT!r} if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert run.stdout.strip() == "[]"


def test_imports_point_in_one_direction() -> None:
    run = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout


def test_every_package_is_pinned() -> None:
    pins = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert all("==" in line for line in pins)
    assert "torch==2.13.0" in pins


def test_no_local_path_or_registry_is_named() -> None:
    tracked = subprocess.run(
        ["git", "ls-files"], capture_output=True, text=True, cwd=ROOT, check=True, timeout=300
    ).stdout.split()
    forbidden = ["/wo" + "rk/", "pypi" + ".org", "registry." + "npmjs"]
    for name in tracked:
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".txt", ".js", ".json", ""} and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            assert not [word for word in forbidden if word in text], name
