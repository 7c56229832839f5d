"""`training.compile`: the same training by torch.compile, in a process of its own as the compiler hooks into it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from regard.config import to_toml
from regard.training.journal import Journal, Validated
from tests.training.small_run import TRANSFORMER, small_config, write_pairs


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler here")
def test_a_compiled_run_learns_what_a_plain_one_learns(tmp_path: Path) -> None:
    write_pairs(tmp_path)
    plain, compiled = (validation_losses(tmp_path, compiled=choice) for choice in (False, True))
    assert plain[-1] < plain[0]
    assert compiled == pytest.approx(plain, rel=1e-4)


def validation_losses(data: Path, *, compiled: bool) -> list[float]:
    """The losses of a run by the command line."""
    model = TRANSFORMER | {"dropout": 0.0}  # compiled dropout draws other numbers
    config = small_config(data, model=model, compile=compiled)
    recipe, run = data / f"compile-{compiled}.toml", data / f"run-{compiled}"
    recipe.write_text(to_toml(config))
    subprocess.run([sys.executable, "-m", "regard", "train", recipe, "--run", run], check=True, timeout=900)
    return [event.loss for event in Journal(run / "journal.jsonl").read() if isinstance(event, Validated)]
