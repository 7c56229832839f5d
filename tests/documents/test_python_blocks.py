"""The Python that the documents show runs as it stands, on small models that nobody trained."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from regard.bundle import new_bundle, save_bundle
from regard.config import from_table
from regard.tokens import Tokenizer, Tokenizers
from tests.cli.toy import environment
from tests.laws.small_models import randomise

ROOT = Path(__file__).parents[2]
SENTENCES = ["AI changes the world", "Robots must obey orders", "AI가 세상을 바꾼다"]
STACK = {"layers": 2, "width": 32, "heads": 2, "inner": 48}
MODELS = {
    "world-transformer": {"kind": "transformer", "encoder": STACK, "decoder": STACK},
    "world-decoder-only": {"kind": "decoder-only", "stack": STACK},
    "world-encoder-only": {"kind": "encoder-only", "stack": STACK},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which the models lie where the documents have them."""
    directory = tmp_path_factory.mktemp("place")
    tokenizer = Tokenizer.train(SENTENCES, kind="word", size=40)
    for name, model in MODELS.items():
        table = {"model": model, "decoding": {"length_ratio": 1.0, "length_extra": 4}}
        bundle = new_bundle(from_table(table, origin=name), Tokenizers(tokenizer, tokenizer))
        randomise(bundle.model, seed=5)
        save_bundle(directory / "runs" / name / "model", bundle)
    return directory


@pytest.mark.parametrize("page", ["README.md", "README.ko.md", "docs/language.md", "docs/language.ko.md"])
def test_the_first_block_runs_and_prints(page: str, place: Path) -> None:
    [code, *_] = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=place,
        env=environment(PYTHONIOENCODING="utf-8"),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.splitlines()) > code.count("print(")  # what is streamed prints more than once
