"""Every recipe is read without a complaint, says what it is for, and describes a model that can be built."""

from pathlib import Path

import pytest
import torch

from regard.config import check_sections, load
from regard.models.catalogue import build

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.toml"))
MODELS = ("rnn", "rnn-attention", "transformer")
LINEAGE = {f"{data}-{model}.toml" for data in ("world", "multi30k") for model in MODELS}
PICTURES = {f"scenes-{model}.toml" for model in ("rnn", "attention", "transformer")}
PICTURES |= {f"flickr8k-{model}.toml" for model in ("rnn", "attention")}


def test_the_recipes_that_are_promised_are_there() -> None:
    variants = {"world-rnn-bahdanau.toml", "world-transformer-ko-en.toml"}
    assert LINEAGE | PICTURES | variants | {"koen-pydocs.toml", "transformer-base.toml"} <= {
        path.name for path in RECIPES
    }


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_loads_and_builds(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("# "), "a recipe begins by saying what it is for"
    config = load(path)
    check_sections(config)
    with torch.device("meta"):
        model = build(config.model, source_vocabulary=config.tokens.size, target_vocabulary=config.tokens.size)
    assert sum(parameter.numel() for parameter in model.parameters()) > 100_000
    assert config.training.average <= config.training.steps // config.training.checkpoint_every


def test_the_base_recipe_is_the_published_model() -> None:
    model = load(Path(RECIPES[0].parent / "transformer-base.toml")).model
    for stack in (model.encoder, model.decoder):  # type: ignore[union-attr]
        assert (stack.layers, stack.width, stack.heads, stack.inner) == (6, 512, 8, 2048)
