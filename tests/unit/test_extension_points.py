"""Every choice of the config has a class, a formula, a law that tests it, and entries in the page and the docs."""

import json
import re
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from regard.attention.scores import SCORES
from regard.config import (
    Activation,
    CellType,
    ImageEncoderConfig,
    ModelConfig,
    PositionsName,
    ScoreName,
    TransformerConfig,
)
from regard.layers.image_encoders import IMAGE_ENCODERS
from regard.layers.positions import POSITION_ENCODINGS
from regard.layers.recurrent import CELLS
from regard.layers.transformer_block import ACTIVATIONS, SELF_ATTENTION_TYPES
from regard.models.factory import MODELS
from tests.support.small_models import CATALOGUE

ROOT = Path(__file__).parents[2]
WEB = ROOT / "src/regard/web"
AUTOREGRESSION = msgspec.structs.fields(TransformerConfig)
CHOICES: dict[str, tuple[Any, dict[str, Any]]] = {
    "score": (ScoreName, SCORES),
    "positions": (PositionsName, POSITION_ENCODINGS),
    "cell": (CellType, CELLS),
    "activation": (Activation, ACTIVATIONS),
    "decoder_autoregression": (
        next(field.type for field in AUTOREGRESSION if field.name == "decoder_autoregression"),
        SELF_ATTENTION_TYPES,
    ),
}
WITH_FORMULA = [(field, name) for field in ("score", "positions", "cell") for name in CHOICES[field][1]]


@pytest.mark.parametrize("field", CHOICES)
def test_config_choices_are_the_registry(field: str) -> None:
    choices, registry = CHOICES[field]
    assert set(get_args(choices)) == set(registry)


def test_every_model_config_has_a_model() -> None:
    assert set(get_args(ModelConfig)) == set(MODELS)


def test_every_image_encoder_config_has_a_network() -> None:
    assert set(get_args(ImageEncoderConfig)) == set(IMAGE_ENCODERS)


@pytest.mark.parametrize(("field", "name"), WITH_FORMULA)
def test_every_class_has_name_and_formula(field: str, name: str) -> None:
    choice = CHOICES[field][1][name]
    assert choice.name == name
    assert choice.formula.strip()
    assert choice.__doc__


@pytest.mark.parametrize("field", CHOICES)
def test_laws_cover_every_choice(field: str) -> None:
    covered = {getattr(config, field) for config in CATALOGUE.values() if hasattr(config, field)}
    assert covered == set(CHOICES[field][1])


def test_laws_cover_every_model() -> None:
    assert {type(config) for config in CATALOGUE.values()} == set(MODELS)


@pytest.mark.parametrize("name", SCORES)
def test_page_explains_every_score(name: str) -> None:
    formulas = (WEB / "components/formula.js").read_text(encoding="utf-8")
    texts = (WEB / "components/attention_steps/scores.js").read_text(encoding="utf-8")
    assert re.search(rf"\b{name}\b", formulas.partition("SCORE_FORMULAS = {")[2].partition("\n};")[0])
    assert re.search(rf"^  {name}:", texts.partition("SCORE_TEXTS = ")[2], re.M)
    assert_translated(f"compare.scoring_{name}")


@pytest.mark.parametrize("name", POSITION_ENCODINGS)
def test_page_names_every_position_encoding(name: str) -> None:
    assert_translated(f"positions.kind_{name}")


@pytest.mark.parametrize("page", ["tour.md", "tour.ko.md"])
@pytest.mark.parametrize("name", SCORES)
def test_tour_lists_every_score(name: str, page: str) -> None:
    assert name.replace("_", " ") in (ROOT / "docs" / page).read_text(encoding="utf-8")


def assert_translated(key: str) -> None:
    """The page has a text under this key in every language."""
    for path in (WEB / "locales").glob("*.json"):
        assert json.loads(path.read_text(encoding="utf-8")).get(key), f"{path.name} lacks {key}"
