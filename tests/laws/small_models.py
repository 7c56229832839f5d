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

from regard.batch import Padded, Pictures, source_of
from regard.config import (
    AttendingCaptionerConfig,
    AttendingConfig,
    ConvolutionalConfig,
    DecoderOnlyConfig,
    EncoderOnlyConfig,
    EyeConfig,
    ModelConfig,
    PatchesEye,
    RecurrentCaptionerConfig,
    RecurrentConfig,
    RecurrentStack,
    ResidualEye,
    Stack,
    TransformerCaptionerConfig,
    TransformerConfig,
)
from regard.models.catalogue import build
from regard.symbols import BEGIN

SOURCE_VOCABULARY = 13
TARGET_VOCABULARY = 11
SMALLEST = 6  # the reserved tokens and one more: few enough for an exhaustive search

POSITIONS = ("sinusoidal", "learned", "rotary", "none")
NORMS = ("pre", "post", "post")
ACTIVATIONS = ("relu", "gelu", "silu")
SCORES = ("dot", "scaled_dot", "general", "additive")
TOLERANCES = {torch.float32: 3e-5, torch.float64: 1e-10}
DTYPES = tuple(TOLERANCES)


def _recurrent() -> Iterator[tuple[str, ModelConfig]]:
    for cell in ("rnn", "gru", "lstm"):
        same = RecurrentStack(layers=2, width=7)
        yield f"rnn-{cell}", RecurrentConfig(cell=cell, embedding=3, encoder=same, decoder=same)
        decoder = RecurrentStack(layers=2, width=5)
        yield f"rnn-{cell}-unequal", RecurrentConfig(cell=cell, embedding=3, encoder=same, decoder=decoder)


def _attending() -> Iterator[tuple[str, ModelConfig]]:
    cells = cycle(("rnn", "gru", "lstm", "gru", "lstm"))  # five, so that each cell meets each wiring
    for score, wiring in product(SCORES, ("previous", "current", "feeding")):
        decoder = RecurrentStack(layers=2, width=14 if "dot" in score else 5)
        yield (
            f"attending-{score}-{wiring}",
            AttendingConfig(
                cell=next(cells),
                embedding=3,
                encoder=RecurrentStack(width=14),
                decoder=decoder,
                score=score,
                wiring="previous" if wiring == "previous" else "current",
                input_feeding=wiring == "feeding",
            ),
        )


def _transformers() -> Iterator[tuple[str, ModelConfig]]:
    mixers = [("attention", positions) for positions in POSITIONS]
    mixers += [("ssru", positions) for positions in POSITIONS if positions != "rotary"]
    ties, activations = cycle(product((True, False), (False, True))), cycle(ACTIVATIONS)
    for norm, (mixer, positions) in product(NORMS[:2], mixers):
        tied, shared = next(ties)
        # Rotary positions turn pairs of entries, so that a head's width has to be even.
        layers = 2 if norm == "pre" else 1
        encoder = Stack(layers=3 - layers, width=12 if positions == "rotary" else 15, heads=3, inner=7)
        decoder = Stack(layers=layers, width=encoder.width if shared else 14, heads=3 if shared else 7, inner=17)
        name = f"transformer-{norm}-{mixer}-{positions}{'' if tied else '-untied'}{'-shared' if shared else ''}"
        yield (
            name,
            TransformerConfig(
                encoder=encoder,
                decoder=decoder,
                mixer=mixer,
                norm=norm,
                activation=next(activations),
                positions=positions,
                layout="halves" if tied else "interleaved",
                maximum_length=64,
                share_embeddings=shared,
                tie_output=tied,
            ),
        )


def _decoders() -> Iterator[tuple[str, ModelConfig]]:
    for (positions, sizes), norm, activation in zip(_placed_stacks(), cycle(NORMS), cycle(ACTIVATIONS), strict=False):
        style: dict[str, Any] = {"norm": norm, "activation": activation, "positions": positions}
        yield f"decoder-only-{positions}", DecoderOnlyConfig(stack=sizes, maximum_length=64, **style)


def _readers() -> Iterator[tuple[str, ModelConfig]]:
    kinds = product(_placed_stacks(), (0, 7))
    for ((positions, sizes), classes), norm, activation in zip(kinds, cycle(NORMS), cycle(ACTIVATIONS), strict=False):
        style: dict[str, Any] = {"norm": norm, "activation": activation, "positions": positions, "classes": classes}
        name = f"encoder-only-{positions}-{'classes' if classes else 'tokens'}"
        yield name, EncoderOnlyConfig(stack=sizes, maximum_length=64, **style)


def _placed_stacks() -> Iterator[tuple[str, Stack]]:
    for positions in POSITIONS:
        yield positions, Stack(layers=2, width=12 if positions == "rotary" else 15, heads=3, inner=7)


def _convolutional() -> Iterator[tuple[str, ModelConfig]]:
    for heads in (0, 2, 7):
        yield f"convolutional-{heads}", ConvolutionalConfig(channels=3, width=7, blocks=2, classes=5, heads=heads)


def _eyes() -> Iterator[EyeConfig]:
    """A residual network and a Vision Transformer by turns; EfficientNet is too large for laws."""
    patches = PatchesEye(size=22, patch=2, stack=Stack(layers=2, width=15, heads=3, inner=7))
    return cycle((ResidualEye(width=3, blocks=2), patches))


def _captioners() -> Iterator[tuple[str, ModelConfig]]:
    for cell, eye in zip(("rnn", "gru", "lstm"), _eyes(), strict=False):
        decoder = RecurrentStack(layers=2, width=7)
        yield f"captioner-rnn-{cell}", RecurrentCaptionerConfig(eye=eye, cell=cell, embedding=5, decoder=decoder)
    cells = cycle(("rnn", "gru", "lstm"))
    for score, gate, eye in zip(SCORES, (True, False, False, True), _eyes(), strict=False):
        sizes: dict[str, Any] = {"embedding": 5, "decoder": RecurrentStack(layers=2, width=7)}
        config = AttendingCaptionerConfig(eye=eye, cell=next(cells), score=score, gate=gate, **sizes)
        yield f"captioner-attention-{score}{'' if gate else '-ungated'}", config
    ties, styles = cycle((True, False)), zip(cycle(NORMS), cycle(ACTIVATIONS), strict=False)
    for (positions, sizes), eye, (norm, activation) in zip(_placed_stacks(), _eyes(), styles, strict=False):
        style: dict[str, Any] = {"norm": norm, "activation": activation, "positions": positions}
        config = TransformerCaptionerConfig(eye=eye, decoder=sizes, maximum_length=64, tie_output=next(ties), **style)
        yield f"captioner-transformer-{positions}", config


CATALOGUE: dict[str, ModelConfig] = dict(
    [*_recurrent(), *_attending(), *_transformers(), *_decoders(), *_readers(), *_convolutional(), *_captioners()]
)
CAPTIONERS = [name for name, _ in _captioners()]
READERS = [name for name, config in CATALOGUE.items() if isinstance(config, EncoderOnlyConfig)]
SEERS = [name for name, config in CATALOGUE.items() if isinstance(config, ConvolutionalConfig)]
GENERATORS = [name for name in CATALOGUE if name not in READERS + SEERS]
TRANSLATORS = [
    name for name in GENERATORS if name not in CAPTIONERS and not isinstance(CATALOGUE[name], DecoderOnlyConfig)
]
LOOKERS = [name for name in TRANSLATORS if not isinstance(CATALOGUE[name], RecurrentConfig)]  # attend to the source


@dataclass(frozen=True)
class Small:
    """A model of the catalogue by its name, in one of the two precisions."""

    name: str
    dtype: torch.dtype

    def build(self, seed: int, *, vocabulary: int = TARGET_VOCABULARY) -> Any:
        """The model with every weight random, biases, gains and gates too, so that no part of it can go unused."""
        return randomise(_built(self, vocabulary), seed)

    def source(self, case: "Case") -> Padded | Pictures:
        """What the model is asked about in this case: sentences, or pictures."""
        return pictures(case.seed, self.dtype, count=2) if self.name in CAPTIONERS else case.source

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
def _built(small: Small, vocabulary: int) -> nn.Module:
    config = CATALOGUE[small.name]
    is_shared = isinstance(config, TransformerConfig) and config.share_embeddings
    source = vocabulary if is_shared else SOURCE_VOCABULARY
    return build(config, source_vocabulary=source, target_vocabulary=vocabulary).to(small.dtype).eval()


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
    def source(self) -> Padded:
        """What the encoder reads: these lengths and END."""
        return source_of(self._rows(self.sources))

    @property
    def target(self) -> Padded:
        """What the decoder reads: BEGIN and these lengths."""
        return Padded.from_rows([[BEGIN, *row] for row in self._rows(self.targets)])

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


def pictures(seed: int, dtype: torch.dtype, count: int = 3) -> Pictures:
    """Pictures whose height and width are unequal; their pixels go from 0 to 255."""
    generator = torch.Generator().manual_seed(seed)
    return Pictures(torch.rand(count, 3, 11, 5, generator=generator, dtype=dtype) * 255)


def with_junk_padding(padded: Padded, columns: int, seed: int) -> Padded:
    """The same rows with further columns of padding, and arbitrary tokens under all padding, old and new."""
    generator = torch.Generator().manual_seed(seed)
    batch, length = padded.tokens.shape
    junk = torch.randint(0, TARGET_VOCABULARY, (batch, length + columns), generator=generator)
    is_real = torch.cat([padded.is_real, torch.zeros(batch, columns, dtype=torch.bool)], dim=1)
    wider = torch.cat([padded.tokens, junk[:, length:]], dim=1)
    return replace(padded, tokens=wider.where(is_real, junk), is_real=is_real)


def one_row(padded: Any, row: int) -> Any:
    """One row by itself, without padding; or one picture."""
    if isinstance(padded, Pictures):
        return Pictures(padded.pixels[row : row + 1])
    return Padded.from_rows([padded.tokens[row, : padded.lengths[row]].tolist()])


def say(model: Any, source: Padded | Pictures, tokens: Tensor) -> Tensor:
    """Logits of a whole target, in one pass."""
    memory = model.encode(source)
    logits: Tensor = model.decode(tokens, memory, model.start(memory)).logits
    return logits


def other_tokens(tokens: Tensor) -> Tensor:
    """Another token in every place, none of them reserved."""
    return 5 + (tokens - 4) % (TARGET_VOCABULARY - 5)
