import subprocess
import sys

PROGRAM = """
import gc, sys
from regard.process import gc_frozen_import
try:
    with gc_frozen_import():
        assert not gc.isenabled()
        {within}
except ZeroDivisionError:
    print("failed within")
print(gc.isenabled(), gc.get_freeze_count() > 50_000)
frozen = gc.get_freeze_count()
with gc_frozen_import():
    print(gc.isenabled() == ("torch" in sys.modules))
print(gc.get_freeze_count() - frozen < 50_000)
"""


def said_by(within: str) -> list[str]:
    command = [sys.executable, "-c", PROGRAM.format(within=within)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout.splitlines()


def test_import_garbage_is_frozen_and_later_garbage_collected() -> None:
    assert said_by("import torch") == ["True True", "True", "True"]


def test_garbage_collection_resumes_after_an_error() -> None:
    assert said_by("1 / 0") == ["failed within", "True False", "True", "True"]
