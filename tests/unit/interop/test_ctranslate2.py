"""What CTranslate2 says of an exported model is what our loop says of the model itself."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.bundle import Bundle, new_bundle
from regard.config import AttentionRNNConfig, Config, TransformerConfig, TransformerStackConfig
from regard.errors import RegardError
from regard.inference.open import load
from regard.inference.translator import Translator
from regard.interop.ctranslate2 import export_ctranslate2, unsupported_features
from regard.tokenization.tokenizer import TokenizerPair
from tests.support.random_translators import SOURCE, TARGET, random_translator, texts

pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed")

TEXTS = texts(20)
NEAR = 1e-3  # rounding, over the tokens of an output
OPTIONS = (
    {"beam_size": 1, "nbest": 1},
    {"beam_size": 5, "nbest": 3},
    {"beam_size": 4, "nbest": 4, "length_penalty": 0.0},
    {"beam_size": 3, "nbest": 2, "length_penalty": 0.6},
)
SHORT = {"max_length_ratio": 1.0, "max_length_extra": 5}  # so that many searches reach their bound


@dataclass(frozen=True)
class Shape:
    """What models differ in."""

    norm: str = "pre"
    activation: str = "relu"
    positions: str = "sinusoidal"
    shared: bool = False
    tied: bool = True
    layers: tuple[int, int] = (2, 1)

    @property
    def config(self) -> TransformerConfig:
        """Distinct sizes for encoder and decoder wherever they need not share a table."""
        encoder = TransformerStackConfig(layers=self.layers[0], width=24, heads=2, ffn_width=20)
        width, heads = (24, 2) if self.shared else (36, 3)
        return TransformerConfig(
            encoder=encoder,
            decoder=TransformerStackConfig(layers=self.layers[1], width=width, heads=heads, ffn_width=28),
            norm=self.norm,  # type: ignore[arg-type]
            activation=self.activation,  # type: ignore[arg-type]
            positions=self.positions,  # type: ignore[arg-type]
            share_embeddings=self.shared,
            tie_word_embeddings=self.tied,
            max_position_embeddings=40,
        )


SHAPES = (
    Shape(),
    Shape(norm="post", activation="gelu", shared=True, layers=(1, 2)),
    Shape(norm="post", activation="silu", positions="learned", tied=False),
    Shape(activation="gelu", positions="none", shared=True, tied=False, layers=(1, 1)),
    Shape(norm="post", positions="rotary", layers=(3, 1)),
)
shapes = st.builds(
    Shape,
    norm=st.sampled_from(["pre", "post"]),
    activation=st.sampled_from(["relu", "gelu", "silu"]),
    positions=st.sampled_from(["sinusoidal", "learned", "rotary", "none"]),
    shared=st.booleans(),
    tied=st.booleans(),
    layers=st.tuples(st.integers(1, 3), st.integers(1, 3)),
)


def assert_same(bundle: Bundle, directory: Path, **options: Any) -> None:
    """The same hypotheses in the same order; where two differ by rounding alone, in either order."""
    ours = Translator(bundle).nbest(TEXTS, **SHORT, **options)
    theirs = load(directory).nbest(TEXTS, **SHORT, **options)
    for own, other in zip(ours, theirs, strict=True):
        assert [one.score for one in own] == pytest.approx([one.score for one in other], abs=NEAR)
        for one, another in zip(own, other, strict=True):
            is_tie = sum(abs(one.score - third.score) < NEAR for third in own) > 1
            assert one.tokens == another.tokens or is_tie
            assert one.log_probability == pytest.approx(another.log_probability, abs=20 * NEAR)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_export_gives_the_same_text(shape: Shape, tmp_path: Path) -> None:
    bundle = random_translator(shape.config)
    export_ctranslate2(bundle, tmp_path / "export", quantization="float32")
    for options in OPTIONS:
        assert_same(bundle, tmp_path / "export", **options)
    outputs = Translator(bundle).translate(TEXTS, **SHORT, beam_size=1, nbest=1)
    assert len({output.text for output in outputs}) > 5


@settings(max_examples=6)
@given(shape=shapes, seed=st.integers(0, 1000))
def test_any_shape_is_exported_faithfully(shape: Shape, seed: int) -> None:
    bundle = random_translator(shape.config, seed=seed)
    with TemporaryDirectory() as directory:
        export_ctranslate2(bundle, Path(directory) / "export", quantization="float32")
        assert_same(bundle, Path(directory) / "export", beam_size=2, nbest=2)


def test_ctranslate2_by_itself_gives_the_same_text(tmp_path: Path) -> None:
    """All that has to be known (the start, the end, what is never generated) is in the export, not in our engine."""
    import ctranslate2

    bundle = random_translator(Shape().config)
    export_ctranslate2(bundle, tmp_path / "export", quantization="float32")
    translator = ctranslate2.Translator(str(tmp_path / "export"))
    pieces = [SOURCE.pieces(SOURCE.encode(text)) for text in TEXTS]
    results = translator.translate_batch(pieces, beam_size=1, max_decoding_length=20, min_decoding_length=0)
    ours = Translator(bundle).translate(TEXTS, beam_size=1, nbest=1, max_length_ratio=0.0, max_length_extra=20)
    assert [result.hypotheses[0] for result in results] == [
        [TARGET.vocabulary[token] for token in one.tokens] for one in ours
    ]


@pytest.mark.parametrize("quantization", ["int8", "int16", "float16", "float32"])
def test_exporting_leaves_the_model_as_it_was(quantization: str, tmp_path: Path) -> None:
    bundle = random_translator(Shape().config)
    before = {name: weight.clone() for name, weight in bundle.model.named_parameters()}
    export_ctranslate2(bundle, tmp_path / "export", quantization=quantization)
    for name, weight in bundle.model.named_parameters():
        assert torch.equal(weight, before[name])
    assert all(output.text for output in load(tmp_path / "export").translate(TEXTS[:3], beam_size=1))


def test_int8_is_smaller_and_scores_nearly_the_same(tmp_path: Path) -> None:
    stack = TransformerStackConfig(layers=3, width=64, heads=2, ffn_width=512)
    bundle = random_translator(TransformerConfig(encoder=stack, decoder=stack, positions="rotary"))
    sizes = {}
    for quantization in ("int8", "float32"):
        export_ctranslate2(bundle, tmp_path / quantization, quantization=quantization)
        sizes[quantization] = (tmp_path / quantization / "model.bin").stat().st_size
    assert sizes["int8"] < 0.7 * sizes["float32"]
    scores = [[one.score for one in load(tmp_path / name).translate(TEXTS, beam_size=1)] for name in sizes]
    assert scores[0] == pytest.approx(scores[1], abs=1.0)
    assert scores[0] != scores[1]


def test_source_beyond_learned_positions_is_cut_like_torch(tmp_path: Path) -> None:
    bundle = random_translator(Shape(positions="learned").config)
    export_ctranslate2(bundle, tmp_path / "export")
    fitting, long = (" ".join(["ba"] * count) for count in (39, 60))
    for translator in (Translator(bundle), load(tmp_path / "export")):
        whole, cut = translator.translate([fitting, long], beam_size=1)
        assert (whole.is_truncated, cut.is_truncated) == (False, True)
        assert whole.tokens == cut.tokens
        assert len(cut.tokens) <= 39


def test_every_reason_against_an_export_is_named() -> None:
    ssru = Config(model=TransformerConfig(decoder_autoregression="ssru", positions="none"))
    assert ["ssru" in reason for reason in unsupported_features(ssru)] == [True]
    assert ["rnn-attention" in reason for reason in unsupported_features(Config(model=AttentionRNNConfig()))] == [True]
    assert unsupported_features(Config()) == []


def test_unsupported_model_is_refused_and_nothing_written(tmp_path: Path) -> None:
    bundle = new_bundle(Config(model=AttentionRNNConfig()), TokenizerPair(SOURCE, TARGET))
    with pytest.raises(RegardError, match="CTranslate2 cannot represent this model"):
        export_ctranslate2(bundle, tmp_path / "export")
    with pytest.raises(RegardError, match="choose one of int8"):
        export_ctranslate2(random_translator(Shape().config), tmp_path / "export", quantization="int4")
    assert list(tmp_path.iterdir()) == []


def test_damaged_export_is_reported(tmp_path: Path) -> None:
    export_ctranslate2(random_translator(Shape().config), tmp_path / "export")
    content = bytearray((tmp_path / "export" / "model.bin").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "export" / "model.bin").write_bytes(content)
    with pytest.raises(RegardError, match=r"model\.bin is damaged"):
        load(tmp_path / "export")
