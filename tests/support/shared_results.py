"""A costly result that the xdist workers share: the first worker builds it, the others wait for it."""

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def build_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], Any]) -> tuple[Path, Any]:
    """A directory and what `make` found out in it, once for all workers of a test session."""
    own = factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    directory, result = shared / name, shared / f"{name}.json"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not result.exists():
            directory.mkdir(mode=0o755)
            result.write_text(json.dumps(make(directory)))
    return directory, json.loads(result.read_text())
