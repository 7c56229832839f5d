"""A translation that is killed anywhere, on one machine or on two, ends byte for byte as an undisturbed one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

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
def test_killed_ray_node_leaves_the_output_identical(model: Path) -> None:
    pytest.importorskip("ray.data", reason="Ray is not installed: pip install 'regard[ray]'")
    source = model.parents[1] / "train.en"
    options = ["--source", source, "--lines", "40000", "--kills", "1", "--ray"]
    program = [sys.executable, "-m", "benchmarks.kill_translate", model, *options]
    ended = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False, timeout=1200)
    events = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    assert ended.returncode == 0, ended.stderr
    assert [event["event"] for event in events] == ["undisturbed", "killed", "node killed", "disturbed", "verdict"]
    assert events[-1] == {"event": "verdict", "identical": True, "flat": True}
