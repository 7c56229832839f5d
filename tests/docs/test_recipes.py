"""Every recipe loads, starts with a comment about its purpose, and describes a model that can be built."""

from pathlib import Path

import pytest
import torch

from regard.config import Config
from regard.models.factory import build_model

FOLDER = Path(__file__).parents[2] / "recipes"
RECIPES = sorted(FOLDER.rglob("*.toml"))
MODELS = ("rnn", "rnn-attention", "transformer")
LINEAGE = {f"{data}-{model}.toml" for data in ("world", "multi30k") for model in MODELS}
CAPTIONERS = {f"scenes-{model}.toml" for model in ("rnn", "attention", "transformer")}
CAPTIONERS |= {f"flickr8k-{model}.toml" for model in ("rnn", "attention")}


def test_all_named_recipes_exist() -> None:
    variants = {"world-rnn-bahdanau.toml", "world-transformer-ko-en.toml"}
    assert LINEAGE | CAPTIONERS | variants | {"koen-pydocs.toml", "transformer-base.toml"} <= {
        path.name for path in RECIPES
    }


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: str(path.relative_to(FOLDER).with_suffix("")))
def test_a_recipe_loads_and_builds(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("# "), "a recipe starts with a comment about its purpose"
    config = Config.load(path)
    config.check_consistency()
    with torch.device("meta"):
        model = build_model(
            config.model, source_vocabulary=config.tokenizer.vocab_size, target_vocabulary=config.tokenizer.vocab_size
        )
    assert sum(parameter.numel() for parameter in model.parameters()) > 50_000
    assert config.training.average_checkpoints <= config.training.steps // config.training.checkpoint_every


def test_base_recipe_has_the_published_size() -> None:
    model = Config.load(FOLDER / "transformer-base.toml").model
    for stack in (model.encoder, model.decoder):  # type: ignore[union-attr]
        assert (stack.layers, stack.width, stack.heads, stack.ffn_width) == (6, 512, 8, 2048)
