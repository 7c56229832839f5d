"""The first Python block of each page runs unchanged, on small models with random weights."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from regard.bundle import new_bundle, save_bundle
from regard.config import Config
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair
from tests.support.commands import environment
from tests.support.small_models import randomise

ROOT = Path(__file__).parents[2]
SENTENCES = ["AI changes the world", "Robots must obey orders", "AI가 세상을 바꾼다"]
STACK = {"layers": 2, "width": 32, "heads": 2, "ffn_width": 48}
MODELS = {
    "world-transformer": {"kind": "transformer", "encoder": STACK, "decoder": STACK},
    "world-decoder-only": {"kind": "decoder-only", "transformer": STACK},
    "world-encoder-only": {"kind": "encoder-only", "transformer": STACK},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with models at the paths that the pages use."""
    directory = tmp_path_factory.mktemp("place")
    tokenizer = Tokenizer.train(SENTENCES, model_type="word", vocab_size=40)
    for name, model in MODELS.items():
        table = {"model": model, "decoding": {"max_length_ratio": 1.0, "max_length_extra": 4}}
        bundle = new_bundle(Config.from_dict(table, origin=name), TokenizerPair(tokenizer, tokenizer))
        randomise(bundle.model, seed=5)
        save_bundle(directory / "runs" / name / "model", bundle)
    return directory


@pytest.mark.parametrize(
    "page", ["README.md", "README.ko.md", "docs/api.md", "docs/language.md", "docs/language.ko.md"]
)
def test_first_python_block_runs(page: str, place: Path) -> None:
    [code, *_] = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=place,
        env=environment(PYTHONIOENCODING="utf-8"),
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.splitlines()) > code.count("print(")  # a loop prints more than once


def test_digits_become_one_folder_per_class(tmp_path: Path) -> None:
    pages = [
        (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("classification.md", "classification.ko.md")
    ]
    [code], [korean] = (re.findall(r"```python\n([^`]*load_digits.*?)```", page, re.DOTALL) for page in pages)
    assert code == korean
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    for split, images in (("train", 1437), ("test", 360)):
        folder = tmp_path / "runs" / "digits" / split
        assert {path.parent.name for path in folder.rglob("*.png")} == set("0123456789")
        assert len(list(folder.rglob("*.png"))) == images
