import subprocess
import sys
from pathlib import Path

import regard.data


def test_every_public_name_exists_and_is_sorted() -> None:
    assert all(hasattr(regard.data, name) for name in regard.data.__all__)
    constants = [name for name in regard.data.__all__ if name.isupper()]
    classes = [name for name in regard.data.__all__ if name[0].isupper() and not name.isupper()]
    functions = [name for name in regard.data.__all__ if name[0].islower()]
    assert regard.data.__all__ == sorted(constants) + sorted(classes) + sorted(functions)


def test_text_is_read_and_planned_without_torch() -> None:
    script = "import sys, regard.data; sys.exit('torch' in sys.modules)"
    environment = {"PYTHONPATH": str(Path(__file__).parents[3] / "src")}
    assert subprocess.run([sys.executable, "-c", script], env=environment, check=False, timeout=300).returncode == 0
