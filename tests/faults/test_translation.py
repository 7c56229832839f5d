"""A translation that is killed anywhere ends byte for byte as an undisturbed one; so does one on Ray."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from regard.pretrained import EXAMPLES_FOLDER
from tests.support.commands import run_command
from tests.support.toy_language import write_corpus

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of a small Transformer."""
    directory = tmp_path_factory.mktemp("corpus")
    write_corpus(directory)
    ended = run_command("train", directory / "transformer.toml", "--run", directory / "run")
    assert ended.code == 0, ended.err
    return directory / "run" / "model"


@pytest.mark.slow
def test_kills_anywhere_leave_the_outputs_identical(model: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", "OMP_NUM_THREADS": "1"}
    program = [sys.executable, "-m", "tests.support.killed_translations", model, tmp_path]
    ended = subprocess.run(program, env=environment, capture_output=True, text=True, check=False, timeout=900)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    assert found["same"] == found["kills"] > 20
    del found["lines"]["b.txt.gz"]  # compressed
    assert found["lines"] == {"a.txt": 37, "b.txt.gz unpacked": 21, "c.txt": 0}


@pytest.mark.slow
def test_ray_writes_the_same_lines_in_order(tmp_path: Path) -> None:
    """Killed nodes: `benchmarks/kill_translate.py --ray`, where a kill needs a run of minutes to fall into.

    The model is given by its name, which the workers of Ray cannot find in their own directory.
    """
    pytest.importorskip("ray.data", reason="Ray is not installed: pip install 'regard[ray]'")
    lines = (EXAMPLES_FOLDER / "world.en").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "many.en").write_text("".join(lines[index % len(lines)] for index in range(5000)), encoding="utf-8")
    for output, options in (("plain", ()), ("on-ray", ("--ray",))):
        files = ["--input", tmp_path / "many.en", "--output", tmp_path / output, "--beam", "1"]
        program = [sys.executable, "-m", "regard", "translate", "world-en-ko", *files, *options]  # Ray itself warns
        ended = subprocess.run(program, capture_output=True, text=True, check=False, timeout=300)
        assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "on-ray").read_bytes() == (tmp_path / "plain").read_bytes()
    assert (tmp_path / "plain").read_bytes().count(b"\n") == 5000
