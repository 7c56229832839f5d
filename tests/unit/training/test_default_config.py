from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.config import Config, DataConfig, TransformerConfig
from regard.errors import RegardError
from regard.training.default_config import SIZE_PRESETS, CorpusSize, default_config, describe_defaults, measure_corpus

DATA = DataConfig(train=["a", "b"], valid=["c", "d"], languages=["en", "de"])
sizes = st.integers(1, 50_000_000).map(lambda pairs: CorpusSize(pairs, pairs * 25))


def model_of(config: Config) -> TransformerConfig:
    assert isinstance(config.model, TransformerConfig)
    return config.model


@given(found=sizes)
def test_defaults_are_a_config_that_round_trips(found: CorpusSize) -> None:
    config = default_config(DATA, found)
    assert Config.from_toml(config.to_toml()) == config
    assert config.data == DATA
    assert config.training.warmup_steps < config.training.steps
    assert config.training.validate_every <= config.training.steps


@given(smaller=sizes, larger=sizes)
def test_a_larger_corpus_feeds_a_larger_model(smaller: CorpusSize, larger: CorpusSize) -> None:
    if smaller.pairs > larger.pairs:
        smaller, larger = larger, smaller
    one, other = default_config(DATA, smaller), default_config(DATA, larger)
    assert one.tokenizer.vocab_size <= other.tokenizer.vocab_size
    assert model_of(one).encoder.width <= model_of(other).encoder.width
    assert model_of(one).dropout >= model_of(other).dropout


@given(found=sizes)
def test_chosen_defaults_are_reported_under_set_names(found: CorpusSize) -> None:
    config = default_config(DATA, found)
    result = "\n".join(describe_defaults(config, found))
    for setting in (
        f"tokenizer.vocab_size={config.tokenizer.vocab_size}",
        f"model.dropout={model_of(config).dropout}",
        f"training.batch_tokens={config.training.batch_tokens}",
        f"training.steps={config.training.steps}",
    ):
        assert setting in result
    assert f"{found.pairs:,} pairs" in result


@given(found=sizes, steps=st.integers(1, 500))
def test_warm_up_and_validations_fit_the_steps(found: CorpusSize, steps: int) -> None:
    training = default_config(DATA, found, steps=steps).training
    assert training.steps == steps
    assert training.warmup_steps < steps
    assert training.validate_every <= steps


def test_explicit_settings_are_reported_unchanged() -> None:
    found = CorpusSize(100, 2_500)
    settings = ("training.early_stopping_patience=0", "tokenizer.shared=false", "model={kind='rnn'}")
    result = "\n".join(
        describe_defaults(Config.from_toml(default_config(DATA, found).to_toml(), overrides=settings), found)
    )
    assert "a vocabulary for each side" in result
    assert "Transformer" not in result
    assert "or fewer" not in result


def test_every_size_has_a_reason_to_be() -> None:
    assert [size.pairs for size in SIZE_PRESETS] == sorted({size.pairs for size in SIZE_PRESETS})
    assert SIZE_PRESETS[-1].pairs == float("inf")


def test_the_corpus_is_measured_by_its_longer_side(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("abcd\nabcdabcd\n")
    target.write_text("가나다라\nab\n", encoding="utf-8")
    found = measure_corpus(DataConfig(train=[str(source), str(target)]))
    assert found == CorpusSize(pairs=2, tokens=(12 + 4 + 8 + 4) // 4)


def test_unreadable_corpus_is_reported(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="cannot be read"):
        measure_corpus(DataConfig(train=[str(tmp_path / "no"), str(tmp_path / "none")]))
