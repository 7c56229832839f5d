"""One small model for every kind in the catalogue, its weights all random, and strategies for what to feed it.

Sizes are distinct primes wherever the config allows, so that a transposed axis cannot go unnoticed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import cycle, product
from random import Random
from typing import Any

import pytest
import torch
from hypothesis import strategies as st
from torch import Tensor, nn

from regard.attention.scores import SCORES
from regard.batch import Images, PaddedTokens, encode_source_rows
from regard.config import (
    AttentionRNNCaptionerConfig,
    AttentionRNNClassifierConfig,
    AttentionRNNConfig,
    CNNConfig,
    DecoderOnlyConfig,
    EncoderOnlyConfig,
    ImageClassifierConfig,
    ImageEncoderConfig,
    ModelConfig,
    RecurrentLayersConfig,
    ResNetConfig,
    RNNCaptionerConfig,
    RNNConfig,
    TransformerCaptionerConfig,
    TransformerConfig,
    TransformerStackConfig,
    VisionTransformerConfig,
)
from regard.layers.positions import POSITION_ENCODINGS
from regard.layers.recurrent import CELLS
from regard.layers.transformer_block import ACTIVATIONS
from regard.models.factory import build_model
from regard.special_tokens import BEGIN

SOURCE_VOCABULARY = 13
TARGET_VOCABULARY = 11
SMALLEST = 6  # the reserved tokens and one more: few enough for an exhaustive search

POSITIONS = tuple(POSITION_ENCODINGS)
NORMS = ("pre", "post", "post")
TOLERANCES = {torch.float32: 3e-5, torch.float64: 1e-10}
DTYPES = tuple(TOLERANCES)


def _recurrent() -> Iterator[tuple[str, ModelConfig]]:
    for cell in CELLS:
        same = RecurrentLayersConfig(layers=2, width=7)
        yield f"rnn-{cell}", RNNConfig(cell=cell, embedding_width=3, encoder=same, decoder=same)
        decoder = RecurrentLayersConfig(layers=2, width=5)
        yield f"rnn-{cell}-unequal", RNNConfig(cell=cell, embedding_width=3, encoder=same, decoder=decoder)


def _attending() -> Iterator[tuple[str, ModelConfig]]:
    cells = cycle(("rnn", "gru", "lstm", "gru", "lstm"))  # five, so that each cell meets each wiring
    for score, wiring in product(SCORES, ("previous", "current", "feeding")):
        decoder = RecurrentLayersConfig(layers=2, width=14 if SCORES[score].needs_equal_widths else 5)
        yield (
            f"attending-{score}-{wiring}",
            AttentionRNNConfig(
                cell=next(cells),
                embedding_width=3,
                encoder=RecurrentLayersConfig(width=14),
                decoder=decoder,
                score=score,
                query_state="previous" if wiring == "previous" else "current",
                input_feeding=wiring == "feeding",
            ),
        )


def _transformers() -> Iterator[tuple[str, ModelConfig]]:
    mixers = [("self-attention", positions) for positions in POSITIONS if positions != "relative"]  # see _t5
    mixers += [("ssru", positions) for positions in POSITIONS if positions not in ("rotary", "relative")]
    ties, activations = cycle(product((True, False), (False, True))), cycle(ACTIVATIONS)
    for norm, (mixer, positions) in product(NORMS[:2], mixers):
        tied, shared = next(ties)
        # Rotary positions turn pairs of entries, so that a head's width has to be even.
        layers = 2 if norm == "pre" else 1
        encoder = TransformerStackConfig(
            layers=3 - layers, width=12 if positions == "rotary" else 15, heads=3, ffn_width=7
        )
        decoder = TransformerStackConfig(
            layers=layers, width=encoder.width if shared else 14, heads=3 if shared else 7, ffn_width=17
        )
        suffix = f"{'' if tied else '-untied'}{'-shared' if shared else ''}"
        name = f"transformer-{norm}-{mixer.removeprefix('self-')}-{positions}{suffix}"
        yield (
            name,
            TransformerConfig(
                encoder=encoder,
                decoder=decoder,
                decoder_autoregression="ssru" if mixer == "ssru" else "self-attention",
                norm=norm,
                activation=next(activations),
                positions=positions,
                max_position_embeddings=64,
                share_embeddings=shared,
                tie_word_embeddings=tied,
            ),
        )


# The blocks of Llama-style models, in every family that can have them.
GATED: dict[str, Any] = {"norm_type": "rms_norm", "gated_ffn": True, "linear_bias": False, "activation": "silu"}


def _marian() -> Iterator[tuple[str, ModelConfig]]:
    stack = TransformerStackConfig(layers=1, width=15, heads=3, ffn_width=7)
    options: dict[str, Any] = {"norm_epsilon": 1e-3, "output_bias": True, "scale_embeddings": False}
    for name, source_end in (("bias", True), ("open", False)):
        yield (
            f"transformer-post-{name}",
            TransformerConfig(
                encoder=stack, decoder=stack, source_end=source_end, zero_begin=not source_end, **options
            ),
        )
    yield "transformer-pre-gated", TransformerConfig(encoder=stack, decoder=stack, norm="pre", **GATED)


def _pruned() -> Iterator[tuple[str, ModelConfig]]:
    """As `regard prune` leaves it: every layer has its own number of heads."""
    sizes: dict[str, Any] = {"layers": 2, "width": 15, "heads": 3, "ffn_width": 7}
    encoder = TransformerStackConfig(self_attention_heads=[2, 3], **sizes)
    decoder = TransformerStackConfig(self_attention_heads=[3, 2], cross_attention_heads=[2, 3], **sizes)
    yield "transformer-pre-pruned", TransformerConfig(encoder=encoder, decoder=decoder, norm="pre")


def _t5() -> Iterator[tuple[str, ModelConfig]]:
    """Relative positions in the layers of T5, version 1.0 and 1.1, and in those of the published Transformer."""
    stack = TransformerStackConfig(layers=2, width=15, heads=3, ffn_width=7)
    buckets: dict[str, Any] = {"positions": "relative", "relative_buckets": 6, "relative_max_distance": 5}
    style: dict[str, Any] = {"norm": "pre", "norm_type": "rms_norm", "linear_bias": False, "scale_scores": False}
    style |= {"share_embeddings": True, "scale_embeddings": False}
    yield (
        "transformer-pre-t5",
        TransformerConfig(encoder=stack, decoder=stack, scale_output=True, **buckets, **style),
    )
    wide = TransformerStackConfig(layers=1, width=15, heads=4, head_width=5, ffn_width=7)
    gated: dict[str, Any] = {"gated_ffn": True, "activation": "gelu_tanh", "output_mask": True}
    yield (
        "transformer-pre-t5-gated",
        TransformerConfig(encoder=wide, decoder=wide, tie_word_embeddings=False, **gated, **buckets, **style),
    )
    other = TransformerStackConfig(layers=1, width=14, heads=7, ffn_width=17)
    yield "transformer-post-relative", TransformerConfig(encoder=stack, decoder=other, **buckets)


def _decoders() -> Iterator[tuple[str, ModelConfig]]:
    for (positions, sizes), norm, activation in zip(_placed_stacks(), cycle(NORMS), cycle(ACTIVATIONS), strict=False):
        style: dict[str, Any] = {"norm": norm, "activation": activation, "positions": positions}
        style["scale_scores"] = positions != "relative"
        yield f"decoder-only-{positions}", DecoderOnlyConfig(transformer=sizes, max_position_embeddings=64, **style)
    llama = DecoderOnlyConfig(
        transformer=TransformerStackConfig(layers=2, width=24, heads=6, ffn_width=7, key_value_heads=2),
        norm_epsilon=1e-3,
        positions="rotary",
        rotary_base=500.0,
        tie_word_embeddings=False,
        output_mask=True,
        **GATED,
    )
    yield "decoder-only-llama", llama


def _readers() -> Iterator[tuple[str, ModelConfig]]:
    kinds = product(_placed_stacks(), (0, 7))
    for ((positions, sizes), classes), norm, activation in zip(kinds, cycle(NORMS), cycle(ACTIVATIONS), strict=False):
        style: dict[str, Any] = {"norm": norm, "activation": activation, "positions": positions, "classes": classes}
        style["scale_scores"] = positions != "relative"
        style["pooling"] = "mean" if positions in ("none", "rotary", "relative") else "first"
        style["pooler_activation"] = "relu" if positions == "learned" else "tanh"
        name = f"encoder-only-{positions}-{'classes' if classes else 'tokens'}"
        yield name, EncoderOnlyConfig(transformer=sizes, max_position_embeddings=64, **style)
    stack = TransformerStackConfig(layers=2, width=15, heads=3, ffn_width=7)
    yield "encoder-only-gated-tokens", EncoderOnlyConfig(transformer=stack, max_position_embeddings=64, **GATED)
    yield "encoder-only-vectors", EncoderOnlyConfig(transformer=stack, masked_head=False, token_types=2)


def _placed_stacks() -> Iterator[tuple[str, TransformerStackConfig]]:
    for positions in POSITIONS:
        yield (
            positions,
            TransformerStackConfig(layers=2, width=12 if positions == "rotary" else 15, heads=3, ffn_width=7),
        )


def _classifiers() -> Iterator[tuple[str, ModelConfig]]:
    for cell, score in zip(cycle(CELLS), SCORES, strict=False):
        encoder = RecurrentLayersConfig(layers=2, width=14)
        sizes: dict[str, Any] = {"embedding_width": 3, "encoder": encoder, "classes": 7}
        yield f"classifier-rnn-attention-{score}", AttentionRNNClassifierConfig(cell=cell, score=score, **sizes)


VIT_STACK = TransformerStackConfig(layers=2, width=15, heads=3, ffn_width=7)


def _image_classifiers() -> Iterator[tuple[str, ModelConfig]]:
    for heads in (0, 2, 7):
        encoder = CNNConfig(width=7, blocks=2, heads=heads)
        yield f"classifier-image-cnn-{heads}", ImageClassifierConfig(image_encoder=encoder, classes=5)
    for score, eye in zip(SCORES, _eyes(), strict=False):
        config = ImageClassifierConfig(image_encoder=eye, pooling="attention", score=score, classes=5)
        yield f"classifier-image-attention-{score}", config
    patches = VisionTransformerConfig(image_size=10, patch_size=5, class_token=True, transformer=VIT_STACK)
    yield "classifier-image-first", ImageClassifierConfig(image_encoder=patches, pooling="first", classes=5)


def _eyes() -> Iterator[ImageEncoderConfig]:
    """A residual network and a Vision Transformer by turns; EfficientNet is too large for laws."""
    for activation in cycle(ACTIVATIONS):
        yield ResNetConfig(width=3, blocks=2)
        yield VisionTransformerConfig(image_size=22, patch_size=2, activation=activation, transformer=VIT_STACK)


def _captioners() -> Iterator[tuple[str, ModelConfig]]:
    eyes = _eyes()  # one for all, so that they have every activation
    for cell, eye in zip(CELLS, eyes, strict=False):
        decoder = RecurrentLayersConfig(layers=2, width=7)
        yield (
            f"captioner-rnn-{cell}",
            RNNCaptionerConfig(image_encoder=eye, cell=cell, embedding_width=5, decoder=decoder),
        )
    cells = cycle(CELLS)
    for score, eye in zip(SCORES, eyes, strict=False):
        sizes: dict[str, Any] = {"embedding_width": 5, "decoder": RecurrentLayersConfig(layers=2, width=7)}
        config = AttentionRNNCaptionerConfig(image_encoder=eye, cell=next(cells), score=score, **sizes)
        yield f"captioner-rnn-attention-{score}", config
    styles = zip(cycle(NORMS), cycle(ACTIVATIONS), strict=False)
    for (positions, sizes), eye, (norm, activation) in zip(_placed_stacks(), eyes, styles, strict=False):
        style: dict[str, Any] = {"norm": norm, "activation": activation, "positions": positions}
        style["scale_scores"] = positions != "relative"
        config = TransformerCaptionerConfig(image_encoder=eye, decoder=sizes, max_position_embeddings=64, **style)
        yield f"captioner-transformer-{positions}", config
    stack = TransformerStackConfig(layers=2, width=15, heads=3, ffn_width=7)
    gated = TransformerCaptionerConfig(image_encoder=next(eyes), decoder=stack, **GATED)
    yield "captioner-transformer-gated", gated


CATALOGUE: dict[str, ModelConfig] = dict(
    [
        *_recurrent(),
        *_attending(),
        *_transformers(),
        *_marian(),
        *_t5(),
        *_pruned(),
        *_decoders(),
        *_readers(),
        *_classifiers(),
        *_image_classifiers(),
        *_captioners(),
    ]
)
CAPTIONERS = [name for name, _ in _captioners()]
ENCODERS = [name for name, config in CATALOGUE.items() if isinstance(config, EncoderOnlyConfig)]
READERS = ENCODERS + [name for name, _ in _classifiers()]  # of texts, in one pass
SEERS = [name for name, _ in _image_classifiers()]
GENERATORS = [name for name in CATALOGUE if name not in READERS + SEERS]
TRANSLATORS = [
    name for name in GENERATORS if name not in CAPTIONERS and not isinstance(CATALOGUE[name], DecoderOnlyConfig)
]
LOOKERS = [name for name in TRANSLATORS if not isinstance(CATALOGUE[name], RNNConfig)]  # attend to the source


@dataclass(frozen=True)
class Small:
    """A model of the catalogue by its name, in one of the two precisions."""

    name: str
    dtype: torch.dtype

    def build(self, seed: int, *, vocabulary: int = TARGET_VOCABULARY) -> Any:
        """The model with every weight random, biases, gains and gates too, so that no part of it can go unused."""
        return randomise(_built(self, vocabulary), seed)

    def source(self, case: "Case") -> PaddedTokens | Images:
        """What the model is asked about in this case: sentences, or pictures."""
        return self.pictures(case.seed) if self.name in CAPTIONERS + SEERS else case.source

    def pictures(self, seed: int) -> Images:
        """Two pictures, of unequal sides unless the model has learned positions for a square."""
        is_square = getattr(CATALOGUE[self.name], "pooling", "") == "first" and self.name in SEERS
        return pictures(seed, self.dtype, sides=(11, 11) if is_square else (11, 5))

    @property
    def tolerance(self) -> float:
        return TOLERANCES[self.dtype]

    def assert_same(self, actual: Tensor, expected: Tensor) -> None:
        """Equal but for rounding."""
        torch.testing.assert_close(actual, expected, atol=self.tolerance, rtol=self.tolerance, equal_nan=True)

    def differ(self, one: Tensor, other: Tensor) -> bool:
        """Whether two tensors differ by far more than rounding."""
        return bool((one - other).abs().max() > 10 * self.tolerance)


@cache
@torch.inference_mode(False)  # the first test may be in that mode, whose weights cannot be changed outside it
def _built(small: Small, vocabulary: int) -> nn.Module:
    config = CATALOGUE[small.name]
    is_shared = isinstance(config, TransformerConfig) and config.share_embeddings
    source = vocabulary if is_shared else SOURCE_VOCABULARY
    return build_model(config, source_vocabulary=source, target_vocabulary=vocabulary).to(small.dtype).eval()


def randomise(model: nn.Module, seed: int) -> nn.Module:
    """The same model with weights from a normal distribution, and running statistics as after some training."""
    size = sum(weight.numel() for weight in model.parameters())  # so that no two kinds get the same numbers
    generator = torch.Generator().manual_seed(seed + size)
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0, 0.5, generator=generator)
        for name, statistic in model.named_buffers():
            if name.endswith("running_mean"):
                statistic.normal_(0, 0.5, generator=generator)
            elif name.endswith("running_var"):
                statistic.uniform_(0.5, 2.0, generator=generator)
    return model


def for_every(names: list[str]) -> Callable[[Any], Any]:
    """The test, once for each of these models in each precision, as its argument `small`."""
    cases = [Small(name, dtype) for name, dtype in product(names, DTYPES)]
    return pytest.mark.parametrize("small", cases, ids=[f"{one.name}-{str(one.dtype)[6:]}" for one in cases])


# --- what they are fed -----------------------------------------------------------------------------------------------

seeds = st.integers(0, 2**31 - 1)


@dataclass(frozen=True)
class Case:
    """How long the sentences of a batch are, and a seed that all else follows from.

    It becomes tensors in the test only: beartype looks at random items, which hypothesis forbids while it draws.
    """

    sources: tuple[int, ...]
    targets: tuple[int, ...]
    seed: int

    @property
    def source(self) -> PaddedTokens:
        """What the encoder reads: these lengths and END."""
        return encode_source_rows(self._rows(self.sources))

    @property
    def target(self) -> PaddedTokens:
        """What the decoder reads: BEGIN and these lengths."""
        return PaddedTokens.from_rows([[BEGIN, *row] for row in self._rows(self.targets)])

    def _rows(self, lengths: tuple[int, ...]) -> list[list[int]]:
        random = Random(self.seed)
        return [[random.randrange(5, TARGET_VOCABULARY) for _ in range(length)] for length in lengths]


def cases(*, shortest: int = 1) -> st.SearchStrategy[Case]:
    """Two sentence pairs of unequal lengths; a source may be empty but for its END."""
    return st.builds(Case, unequal(0), unequal(shortest), seeds)


def unequal(shortest: int, longest: int = 4) -> st.SearchStrategy[tuple[int, ...]]:
    """Two lengths, in either order; the longest come first, for hypothesis begins with the first."""
    lengths = range(longest, shortest - 1, -1)
    return st.sampled_from([pair for pair in product(lengths, repeat=2) if pair[0] != pair[1]])


def pictures(seed: int, dtype: torch.dtype, sides: tuple[int, int] = (11, 5)) -> Images:
    """Two pictures, whose pixels go from 0 to 255."""
    generator = torch.Generator().manual_seed(seed)
    return Images(torch.rand(2, 3, *sides, generator=generator, dtype=dtype) * 255)


def with_junk_padding(padded: PaddedTokens, columns: int, seed: int) -> PaddedTokens:
    """The same rows with further columns of padding, and arbitrary tokens under all padding, old and new."""
    generator = torch.Generator().manual_seed(seed)
    batch, length = padded.tokens.shape
    junk = torch.randint(0, TARGET_VOCABULARY, (batch, length + columns), generator=generator)
    is_real = torch.cat([padded.is_real, torch.zeros(batch, columns, dtype=torch.bool)], dim=1)
    wider = torch.cat([padded.tokens, junk[:, length:]], dim=1)
    return replace(padded, tokens=wider.where(is_real, junk), is_real=is_real)


def one_row(padded: Any, row: int) -> Any:
    """One row by itself, without padding; or one picture."""
    if isinstance(padded, Images):
        return Images(padded.pixels[row : row + 1])
    return PaddedTokens.from_rows([padded.tokens[row, : padded.lengths[row]].tolist()])


def forced_logits(model: Any, source: PaddedTokens | Images, tokens: Tensor) -> Tensor:
    """Logits of a whole target, in one pass."""
    memory = model.encode(source)
    logits: Tensor = model.decode(tokens, memory, model.init_state(memory)).logits
    return logits


def other_tokens(tokens: Tensor) -> Tensor:
    """Another token in every place, none of them reserved."""
    return 5 + (tokens - 4) % (TARGET_VOCABULARY - 5)
