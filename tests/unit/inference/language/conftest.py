"""A writer and a reader that have learnt the small language."""

from pathlib import Path

import pytest

from regard.inference.mask_filler import MaskFiller
from regard.inference.open import load
from regard.inference.text_generator import TextGenerator
from tests.support.shared_results import build_once
from tests.support.small_language import make_language


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_once(tmp_path_factory, "language", make_language)[0]


@pytest.fixture(scope="session")
def writer(texts: Path) -> TextGenerator:
    return load(texts / "writer", task="text-generation")


@pytest.fixture(scope="session")
def reader(texts: Path) -> MaskFiller:
    return load(texts / "reader", task="fill-mask")
