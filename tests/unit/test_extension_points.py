"""Every choice of the config has a class, a formula, a law that tests it, and entries in the page and the docs."""

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from regard.attention.scores import SCORES
from regard.config import (
    EQUAL_WIDTH_SCORES,
    Activation,
    CellType,
    ImageEncoderConfig,
    ModelConfig,
    PositionsName,
    ScoreName,
    TransformerConfig,
)
from regard.data.pair_readers import PAIR_FORMATS
from regard.layers.image_encoders import IMAGE_ENCODERS
from regard.layers.positions import POSITION_ENCODINGS
from regard.layers.recurrent import CELLS
from regard.layers.transformer_block import ACTIVATIONS, SELF_ATTENTION_TYPES
from regard.models.factory import MODELS
from tests.support import attention_loops
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
    assert set(get_args(choices)) == set(registry), f"the choices of {field} in src/regard/config.py are others"


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
    for path, table in (("components/score_functions.js", "SCORE_FUNCTIONS"), ("math/attention.js", "SCORES")):
        entries = (WEB / path).read_text(encoding="utf-8").partition(f"export const {table} = ")[2]
        assert re.search(rf"^  {name}: ", entries, re.M), f"{table} in src/regard/web/{path} lacks {name}"
    assert_translated(f"compare.scoring_{name}")


@pytest.mark.parametrize("name", SCORES)
def test_every_score_has_a_reference_loop(name: str) -> None:
    assert name in attention_loops.SCORES, f"SCORES in tests/support/attention_loops.py lacks {name}"


@pytest.mark.parametrize("name", SCORES)
def test_page_arithmetic_has_a_reference_case(name: str) -> None:
    cases = json.loads((ROOT / "tests/web/references/attention.json").read_text(encoding="utf-8"))
    assert name in {case["input"]["layer"]["score"] for case in cases}, "run: python -m tests.web.references.write"


def test_config_names_the_scores_of_equal_widths() -> None:
    needed = {name for name, score in SCORES.items() if score.needs_equal_widths}
    assert set(EQUAL_WIDTH_SCORES) == needed, "EQUAL_WIDTH_SCORES in src/regard/config.py names others"


@pytest.mark.parametrize("name", POSITION_ENCODINGS)
def test_page_names_every_position_encoding(name: str) -> None:
    view = (WEB / "views/positions/positions.js").read_text(encoding="utf-8")
    assert f'name: "positions.kind_{name}"' in view, f"KINDS of positions.js lacks {name}"
    for key in ("kind", "story", "about"):
        assert_translated(f"positions.{key}_{name}")


@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_help_names_every_format_of_pairs(command: str) -> None:
    option = next(one for one in import_module(f"regard.cli.{command}").command.params if one.name == "pairs")
    assert [suffix for suffix in PAIR_FORMATS if suffix not in option.help] == []


def assert_translated(key: str) -> None:
    """The page has a text under this key in every language."""
    for path in (WEB / "locales").glob("*.json"):
        assert json.loads(path.read_text(encoding="utf-8")).get(key), f"{path.name} lacks {key}"
