"""What a recipe says wrong is answered by an error that names the key; what it says right comes back as it was."""

import math
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from regard.attention.scores import SCORES
from regard.config import (
    AttentionRNNConfig,
    Config,
    ConfigSection,
    DataConfig,
    DecoderOnlyConfig,
    DecodingConfig,
    EncoderOnlyConfig,
    ImageEncoderConfig,
    ModelConfig,
    RNNConfig,
    ScoreName,
    TrainingConfig,
    TransformerConfig,
    TransformerStackConfig,
)
from regard.errors import RegardError

MODELS = {str(model.__struct_config__.tag): model for model in get_args(ModelConfig)}
EYES = {str(image_encoder.__struct_config__.tag): image_encoder for image_encoder in get_args(ImageEncoderConfig)}

# --- every field x every way to get it wrong -------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """A field of the config: its path, its type, and the kinds of the model and of the image encoder that it is in."""

    path: str
    type: msgspec.inspect.Type
    kind: str | None = None
    image_encoder: str | None = None

    def table(self, value: Any) -> dict[str, Any]:
        """A recipe that says nothing but this one thing."""
        *parents, last = self.path.split(".")
        table: dict[str, Any] = {} if self.kind is None else {"model": {"kind": self.kind}}
        if self.image_encoder is not None:
            table["model"]["image_encoder"] = {"kind": self.image_encoder}
        inner = table
        for parent in parents:
            inner = inner.setdefault(parent, {})
        inner[last] = value
        return table

    def __str__(self) -> str:
        return ":".join(part for part in (self.kind, self.image_encoder, self.path) if part is not None)


def places(struct: type[ConfigSection], path: str = "", *kinds: str) -> Iterator[Place]:
    for field in msgspec.structs.fields(struct):
        here = f"{path}.{field.name}" if path else field.name
        if field.type in (ModelConfig, ImageEncoderConfig):
            for name, chosen in (MODELS if field.type is ModelConfig else EYES).items():
                yield from places(chosen, here, *kinds, name)
        elif isinstance(field.type, type) and issubclass(field.type, ConfigSection):
            yield from places(field.type, here, *kinds)
        else:
            yield Place(here, msgspec.inspect.type_info(field.type), *kinds)


PLACES = list(places(Config))
SECTIONS = sorted({(place.path.rpartition(".")[0], place.kind, place.image_encoder) for place in PLACES}, key=str)
NUMBERS = (msgspec.inspect.IntType, msgspec.inspect.FloatType)
NOT_FINITE = (math.nan, math.inf, -math.inf)

every_place = pytest.mark.parametrize("place", PLACES, ids=str)
every_number = pytest.mark.parametrize("place", [place for place in PLACES if isinstance(place.type, NUMBERS)], ids=str)


def complaint(table: dict[str, Any], *, path: str) -> str:
    """The message about a recipe, which must be one line that begins with the path."""
    with pytest.raises(RegardError) as caught:
        Config.from_toml(tomli_w.dumps(table))
    first, *lines = str(caught.value).splitlines()
    assert first == "1 problem in the recipe:"
    assert len(lines) == 1
    assert lines[0].startswith(f"  {path}: ")
    return lines[0]


def test_fields_of_every_model_and_section_are_tried() -> None:
    assert {place.kind for place in PLACES} == {None, *MODELS}
    assert {place.path.split(".")[0] for place in PLACES} == set(Config.__struct_fields__)
    assert len(PLACES) > 80


@every_place
def test_a_value_of_the_wrong_type_is_named(place: Place) -> None:
    wrong: list[Any] = [{"inner": 1}, [[]]]
    wrong.append(3.5 if isinstance(place.type, msgspec.inspect.StrType) else "nonsense")
    wrong.append("yes" if isinstance(place.type, msgspec.inspect.BoolType) else True)
    for value in wrong:
        has_sections = place.path == "data.sources" and isinstance(value, list)  # each of them is named by its index
        complaint(place.table(value), path=f"{place.path}[0]" if has_sections else place.path)


@every_number
def test_a_negative_number_is_named(place: Place) -> None:
    assert ", got -1" in complaint(place.table(-1), path=place.path)


@every_number
def test_zero_is_named_where_it_is_not_allowed(place: Place) -> None:
    least = getattr(place.type, "ge", None)
    if least == 0:
        Config.from_dict(place.table(0))
    else:
        assert ", got 0" in complaint(place.table(0), path=place.path)


@every_number
def test_a_number_that_is_not_finite_is_named(place: Place) -> None:
    for value in NOT_FINITE:
        assert f"{value} is not a finite number" in complaint(place.table(value), path=place.path)


@every_number
def test_a_huge_number_is_named(place: Place) -> None:
    for value in (10**12, 10**30, 10**400):
        complaint(place.table(value), path=place.path)
    if isinstance(place.type, msgspec.inspect.FloatType):
        complaint(place.table(1e300), path=place.path)


def test_items_of_a_list_are_checked() -> None:
    for value in (*NOT_FINITE, -1.0, 1e300, 10**400, True):
        for train in ([value, "a"], ["a", value]):
            complaint({"data": {"train": train}}, path="data.train")


@pytest.mark.parametrize(("path", "kind", "image_encoder"), SECTIONS, ids=str)
def test_an_unknown_key_is_named_in_every_section(path: str, kind: str | None, image_encoder: str | None) -> None:
    unknown = f"{path}.no_such_key"
    line = complaint(Place(unknown, msgspec.inspect.AnyType(), kind, image_encoder).table(1), path=unknown)
    assert "unknown key; allowed: " in line


@pytest.mark.parametrize(("path", "kind", "image_encoder"), SECTIONS, ids=str)
def test_value_in_place_of_a_section_is_named(path: str, kind: str | None, image_encoder: str | None) -> None:
    for value in (3, [], "nonsense"):
        own_eye = image_encoder if path.count(".") > 1 else None
        table = Place(path, msgspec.inspect.AnyType(), kind if "." in path else None, own_eye).table(value)
        assert "expected a section" in complaint(table, path=path)


@pytest.mark.parametrize("kind", [None, 3, True, ["rnn"], "", "Transformer"])
def test_unknown_model_kind_is_named_with_known_kinds(kind: Any) -> None:
    line = complaint({"model": {} if kind is None else {"kind": kind}}, path="model.kind")
    kinds = "rnn, rnn-attention, transformer, decoder-only, encoder-only, classifier-rnn-attention, classifier-image, "
    assert line.endswith(f"allowed: {kinds}captioner-rnn, captioner-rnn-attention, captioner-transformer")


@pytest.mark.parametrize("kind", [None, 3, "residuals"])
def test_unknown_image_encoder_is_named_with_known_kinds(kind: Any) -> None:
    table = {"model": {"kind": "captioner-rnn", "image_encoder": {} if kind is None else {"kind": kind}}}
    assert complaint(table, path="model.image_encoder.kind").endswith("allowed: cnn, resnet, efficientnet-lite0, vit")


def test_image_not_divisible_into_patches_is_named() -> None:
    table = {"model": {"kind": "captioner-rnn", "image_encoder": {"kind": "vit", "image_size": 60, "patch_size": 7}}}
    assert "image_size is 60 and patch_size 7" in complaint(table, path="model.image_encoder")


def test_an_unknown_section_is_named() -> None:
    assert "allowed: model, tokenizer, data, training, decoding" in complaint({"modle": {}}, path="modle")


# --- what an error says ----------------------------------------------------------------------------------------------


def test_all_problems_are_reported_at_once() -> None:
    table = {
        "model": {"kind": "transformer", "encoder": {"heads": 0, "colour": "red"}, "norm": "middle"},
        "training": {"steps": "many", "learning_rate": math.nan},
        "extra": 1,
    }
    with pytest.raises(RegardError) as caught:
        Config.from_dict(table, origin="recipe.toml")
    first, *lines = str(caught.value).splitlines()
    assert first == "6 problems in recipe.toml:"
    named = [
        "model.encoder.heads",
        "model.encoder.colour",
        "model.norm",
        "training.steps",
        "training.learning_rate",
        "extra",
    ]
    assert [line.strip().split(": ")[0] for line in lines] == named


@pytest.mark.parametrize(
    ("table", "path", "meant"),
    [
        ({"training": {"lerning_rate": 0.1}}, "training.lerning_rate", "learning_rate"),
        ({"model": {"kind": "transfomer"}}, "model.kind", "transformer"),
        ({"model": {"kind": "rn"}}, "model.kind", "rnn"),
        ({"trainig": {}}, "trainig", "training"),
        ({"model": {"kind": "transformer", "encoder": {"head": 4}}}, "model.encoder.head", "heads"),
        ({"steps": 100}, "steps", "training.steps"),
        ({"dropout": 0.1}, "dropout", "model.dropout"),
    ],
)
def test_misspelt_key_suggests_the_intended_one(table: dict, path: str, meant: str) -> None:
    assert f"(did you mean {meant!r}?)" in complaint(table, path=path)


RULES = [
    (AttentionRNNConfig, {"encoder": {"width": 5}}, "encoder.width is 5; it must be even"),
    (AttentionRNNConfig, {"score": "dot", "encoder": {"width": 6}}, "encoder.width is 6 and decoder.width 256"),
    (AttentionRNNConfig, {"score": "scaled_dot", "decoder": {"width": 6}}, 'score = "scaled_dot" needs them equal'),
    (AttentionRNNConfig, {"input_feeding": True}, 'input_feeding needs query_state = "current"'),
    (TransformerConfig, {"share_embeddings": True, "decoder": {"width": 256}}, "share_embeddings needs them equal"),
    (
        TransformerConfig,
        {"decoder_autoregression": "ssru", "positions": "rotary"},
        'decoder_autoregression = "ssru" does not have',
    ),
    (TransformerConfig, {"positions": "rotary", "decoder": {"width": 9, "heads": 3}}, "decoder.width is 9"),
    (
        TransformerConfig,
        {"decoder_autoregression": "ssru", "positions": "relative"},
        'decoder_autoregression = "ssru" does not have',
    ),
    (
        DecoderOnlyConfig,
        {"positions": "relative", "relative_buckets": 40, "relative_max_distance": 20},
        "larger than half the number of buckets",
    ),
    (TransformerConfig, {"output_bias": True, "output_mask": True}, "an output layer has one of them"),
    (
        DecoderOnlyConfig,
        {"positions": "rotary", "transformer": {"width": 9, "heads": 3}},
        "an even width for each head",
    ),
    (
        EncoderOnlyConfig,
        {"positions": "rotary", "transformer": {"width": 9, "heads": 3}},
        "an even width for each head",
    ),
]


@pytest.mark.parametrize("score", get_args(ScoreName))
def test_scores_that_need_equal_widths(score: str) -> None:
    table = {"model": {"kind": "rnn-attention", "score": score, "encoder": {"width": 6}}}
    if SCORES[score].needs_equal_widths:
        assert f'score = "{score}" needs them equal' in complaint(table, path="model")
    else:
        assert Config.from_dict(table).model.score == score


@pytest.mark.parametrize(("model", "table", "reason"), RULES, ids=lambda part: part if isinstance(part, str) else "")
def test_incompatible_values_are_explained(model: type, table: dict, reason: str) -> None:
    line = complaint({"model": {"kind": model.__struct_config__.tag, **table}}, path="model")
    assert reason in line


def test_indivisible_stack_width_is_named_by_its_path() -> None:
    table = {"model": {"kind": "transformer", "decoder": {"width": 10, "heads": 3}}}
    assert "width is 10 and heads 3" in complaint(table, path="model.decoder")


def test_grid_heads_must_divide_its_channels() -> None:
    encoder = {"kind": "cnn", "width": 3, "blocks": 2, "heads": 4}
    table = {"model": {"kind": "classifier-image", "image_encoder": encoder}}
    assert "the grid has 6 channels and heads is 4" in complaint(table, path="model.image_encoder")


def test_channel_doubling_past_the_limit_is_named() -> None:
    encoder = {"kind": "cnn", "blocks": 17}
    table = {"model": {"kind": "classifier-image", "image_encoder": encoder}}
    assert "<= 16" in complaint(table, path="model.image_encoder.blocks")


def test_a_beam_cannot_give_more_than_it_holds() -> None:
    assert "nbest is 3 and beam_size 2" in complaint({"decoding": {"beam_size": 2, "nbest": 3}}, path="decoding")


def test_too_long_value_is_truncated() -> None:
    assert len(complaint({"training": {"steps": "x" * 100_000}}, path="training.steps")) < 200


@pytest.mark.parametrize("text", ["steps 3", "a = " + "1" * 5000, "a = " + "[" * 5000, "\x00", "[a]\n[a]"])
def test_invalid_toml_error_names_its_location(text: str) -> None:
    with pytest.raises(RegardError, match=r"^recipe\.toml is not TOML: "):
        Config.from_toml(text, origin="recipe.toml")


def test_very_long_number_is_still_named() -> None:
    for line in ("seed = 0x" + "f" * 5000, f"probes = [0x{'f' * 5000}]"):
        with pytest.raises(RegardError, match=r"training\.(seed|probes): .*thousands of digits"):
            Config.from_toml(f"[training]\n{line}")


# --- settings of the command line ------------------------------------------------------------------------------------


def test_settings_are_laid_over_the_recipe() -> None:
    text = "[training]\nsteps = 5\nseed = 7"
    settings = (
        "training.steps=2000",
        "training.learning_rate=3e-4",
        "tokenizer.shared=true",
        "training.device=cpu",
        "data.train=['a.tsv', \"b=c.tsv\"]",
        "model.kind=rnn-attention",
        "model.encoder.width = 64",
        "model.score=dot",
        "model.decoder.width=64",
    )
    config = Config.from_toml(text, overrides=settings)
    training = TrainingConfig(steps=2000, seed=7, learning_rate=3e-4, device="cpu")
    assert config.training == training
    assert config.data.train == ["a.tsv", "b=c.tsv"]
    assert isinstance(config.model, AttentionRNNConfig)
    assert (config.model.encoder.width, config.model.decoder.width, config.model.score) == (64, 64, "dot")


def test_later_of_two_settings_wins() -> None:
    assert Config.from_toml("", overrides=("training.steps=1", "training.steps=2")).training.steps == 2


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("training.steps", "has no value. Write section.key=value"),
        ("=3", "has no value. Write section.key=value"),
        ("training.steps=many", "training.steps: Expected `int`, got 'many' (--set training.steps=many)"),
        ("training.steps=", "training.steps: Expected `int`, got '' (--set training.steps=)"),
        ("data.languages=en", "data.languages: Expected `array`, got 'en'; write [\"en\"] (--set data.languages=en)"),
        ("data.train=a,b", 'data.train: Expected `array`, got \'a,b\'; write ["a", "b"] (--set data.train=a,b)'),
        ("training.steps=nan", "training.steps: nan is not a finite number"),
        ("training.seed.deep=3", "seed is a value, not a section"),
        ("training=3", "training: expected a section, got 3"),
        ("steps=3", "steps: unknown key"),
        ("training.steps=" + "[" * 5000, "training.steps: Expected `int`"),
    ],
)
def test_impossible_setting_explains_what_to_write(setting: str, message: str) -> None:
    with pytest.raises(RegardError, match=re.escape(message)):
        Config.from_toml("[training]\nseed = 1", overrides=(setting,))


def test_only_settings_of_a_problem_are_named() -> None:
    settings = ("training.steps=2", "model.score=dot", "model.kind=rnn-attention", "model.encoder.width=8")
    with pytest.raises(RegardError) as caught:
        Config.from_toml("[training]\nseed = -1", overrides=settings)
    _, model, seed = sorted(str(caught.value).splitlines(), key=lambda line: ("seed" in line, "width" in line))
    assert model.endswith("(--set model.score=dot, --set model.kind=rnn-attention, --set model.encoder.width=8)")
    assert "--set" not in seed


# --- what sections say against each other ----------------------------------------------------------------------------

UNSHARED = '[model]\nkind = "transformer"\nshare_embeddings = true\n[tokenizer]\nshared = false\n'


def test_shared_table_for_two_vocabularies_is_refused() -> None:
    config = Config.from_toml(UNSHARED)  # a model that was saved so must load
    with pytest.raises(RegardError, match=r"model\.share_embeddings: .* tokenizer\.shared is false"):
        config.check_consistency()
    Config.from_toml(UNSHARED, overrides=("tokenizer.shared=true",)).check_consistency()
    Config.from_toml(UNSHARED, overrides=("model.share_embeddings=false",)).check_consistency()


def test_two_averaging_methods_are_refused() -> None:
    config = Config.from_toml("[training]\naverage_checkpoints = 2\nema_decay = 0.9")  # a run that began so goes on
    with pytest.raises(RegardError, match=r"training\.ema_decay: 0\.9 .* training\.average_checkpoints = 2: .* to 0"):
        config.check_consistency()
    Config.from_toml("[training]\naverage_checkpoints = 1\nema_decay = 0.9").check_consistency()
    Config.from_toml("[training]\naverage_checkpoints = 2").check_consistency()


@pytest.mark.parametrize(
    ("kind", "languages", "is_right"),
    [
        ("rnn", [], True),
        ("rnn", ["en", "ko"], True),
        ("rnn", ["en"], False),
        ("rnn", ["en", "en"], False),
        ("rnn", ["en", " "], False),
        ("rnn", ["en", "ko", "de"], False),
        ("captioner-rnn", ["en"], True),
        ("captioner-rnn", ["en", "ko"], False),
    ],
)
def test_language_count_must_match_the_model(kind: str, languages: list[str], is_right: bool) -> None:
    config = Config.from_dict({"model": {"kind": kind}, "data": {"languages": languages}})
    if is_right:
        config.check_consistency()
    else:
        with pytest.raises(RegardError, match=r"data\.languages: expected .* as in "):
            config.check_consistency()


# --- there and back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", list(MODELS.values()), ids=list(MODELS))
def test_every_config_round_trips(model: type) -> None:
    config = Config(model=model(dropout=0.25), training=TrainingConfig(steps=7))
    text = config.to_toml()
    assert Config.from_toml(text) == config
    assert f'kind = "{model.__struct_config__.tag}"' in text


@given(
    st.floats(min_value=0, max_value=1e9, exclude_min=True),
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"))),
)
def test_numbers_and_text_round_trip_exactly(rate: float, paths: list[str]) -> None:
    config = Config(training=TrainingConfig(learning_rate=rate, probes=paths), data=DataConfig(train=paths))
    assert Config.from_toml(config.to_toml()) == config


def test_the_whole_config_is_written_defaults_included() -> None:
    text = Config().to_toml()
    assert all(re.search(rf"^{place.path.split('.')[-1]} = ", text, re.M) for place in PLACES if place.kind is None)


def test_an_empty_recipe_is_the_defaults() -> None:
    assert Config.from_toml("") == Config()


def test_a_recipe_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text('[tokenizer]\nmodel_type = "char"  # 글자\n', encoding="utf-8")
    config = Config.load(path, overrides=("tokenizer.vocab_size=99",))
    assert (config.tokenizer.model_type, config.tokenizer.vocab_size) == ("char", 99)


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"steps 3", b"[training]\nsteps = 0"])
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "recipe.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RegardError, match=re.escape(str(path))):
        Config.load(path)
    with pytest.raises(RegardError, match=re.escape(str(tmp_path))):
        Config.load(tmp_path)


# --- what the defaults are -------------------------------------------------------------------------------------------


def test_the_transformers_defaults_are_the_published_base_model() -> None:
    model = TransformerConfig()
    assert model.encoder == model.decoder == TransformerStackConfig(layers=6, width=512, heads=8, ffn_width=2048)
    assert (model.norm, model.activation, model.positions) == ("post", "relu", "sinusoidal")
    assert model.dropout == 0.1
    assert model.tie_word_embeddings
    training = TrainingConfig()
    assert (training.label_smoothing, training.schedule) == (0.1, "inverse_sqrt")


def test_the_others_defaults_are_those_of_their_papers() -> None:
    decoder, encoder = DecoderOnlyConfig(), EncoderOnlyConfig()
    assert (decoder.norm, decoder.activation, decoder.positions) == ("pre", "gelu", "learned")
    assert (encoder.norm, encoder.activation, encoder.positions, encoder.max_position_embeddings) == (
        "post",
        "gelu",
        "learned",
        512,
    )
    assert (AttentionRNNConfig().score, AttentionRNNConfig().query_state) == ("additive", "previous")
    assert RNNConfig().cell == "lstm"


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Config().training.steps = 3


def test_checking_a_recipe_does_not_wait_for_torch() -> None:
    code = "import sys, regard.config; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=300).returncode == 0


def test_invalid_choice_lists_the_allowed_ones() -> None:
    with pytest.raises(RegardError) as caught:
        Config.from_dict({"training": {"precision": "bfloat"}})
    told = "training.precision: got 'bfloat' (did you mean 'bfloat16'?); allowed: auto, float32, bfloat16"
    assert told in str(caught.value)


def test_json_schema_describes_every_section() -> None:
    schema = Config.json_schema()
    definitions = schema["$defs"]
    assert set(definitions["Config"]["properties"]) == set(Config.__struct_fields__)
    kinds = {
        definition["properties"]["kind"]["enum"][0]
        for definition in definitions.values()
        if "kind" in definition.get("properties", {})
    }
    assert kinds == {*MODELS, *EYES}


def test_decoding_options_are_checked_together() -> None:
    assert DecodingConfig().with_options(beam_size=2, nbest=2) == DecodingConfig(beam_size=2, nbest=2)
    with pytest.raises(
        RegardError,
        match=r"2 problems in the decoding options:\n  decoding\.beam_size: .*\n  decoding\.beams: unknown key",
    ):
        DecodingConfig().with_options(beam_size=0, beams=3)


@pytest.mark.parametrize(("positions", "longest"), [("learned", 29), ("sinusoidal", 50)])
def test_examples_fit_the_learned_positions(positions: str, longest: int) -> None:
    model = TransformerConfig(positions=positions, max_position_embeddings=30)
    assert Config(model=model, data=DataConfig(max_tokens=50)).max_training_tokens == longest
