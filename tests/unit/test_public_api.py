"""The public names: one list with types for editors, one with locations for lazy imports."""

import ast
import inspect
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import regard

STUB = Path(regard.__file__).with_suffix(".pyi")


def stub_imports() -> dict[str, str]:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module != "regard"]
    return {name.asname or "": str(node.module) for node in imports for name in node.names}


def test_stub_and_locations_name_the_same_objects() -> None:
    assert stub_imports() == regard._LOCATIONS


def test_stub_exports_every_public_name() -> None:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    [exported] = [node.value for node in tree.body if isinstance(node, ast.Assign)]
    assert ast.literal_eval(exported) == regard.__all__


def test_import_regard_does_not_import_torch() -> None:
    program = "import sys, regard; regard.Config, regard.RegardError, regard.load; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


EXAMPLES = ["AttentionLayer", "MultiHeadAttention", "attend", "evaluate"]
EXAMPLES += ["intervene", "load", "probe", "record_attention"]


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_of_a_docstring_runs(name: str) -> None:
    _, example = str(inspect.getdoc(getattr(regard, name))).split(":\n\n")
    program = f"import regard, torch\n{textwrap.dedent(example)}"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


@pytest.mark.slow
def test_stubtest_finds_no_difference(tmp_path: Path) -> None:
    allowlist = tmp_path / "allowlist.txt"
    allowlist.write_text("regard\\.__main__\nregard\\.[a-z_]+\\..*\n")  # without stubs: mypy checks their source
    config = tmp_path / "mypy.ini"  # reads no source of torch, which would take a minute; `make check` checks the types
    config.write_text("[mypy]\nignore_errors = True\n[mypy-torch.*,numpy.*,ray.*,fastapi.*]\nfollow_imports = skip\n")
    options = ["--concise", "--mypy-config-file", config, "--ignore-unused-allowlist"]
    ended = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "regard", *options, "--allowlist", allowlist],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
