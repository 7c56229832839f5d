"""Every option on one page: frozen structs, read from and written to TOML; an unknown key is an error.

A run has one `Config`: its sections are `model`, `tokens`, `data`, `training` and `decoding`. Nothing here imports
torch, so that the command line can check a recipe in an instant.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union

import msgspec
import tomli_w
from msgspec import Meta

from regard.errors import RegardError
from regard.problems import listed, problems_of, set_by, shown

Positive = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Natural = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Share = Annotated[float, Meta(ge=0, lt=1)]  # of dropout, smoothing, decay
Amount = Annotated[float, Meta(ge=0, le=1e9)]
Rate = Annotated[float, Meta(gt=0, le=1e9)]
Cell = Literal["rnn", "gru", "lstm"]
ScoreName = Literal["dot", "scaled_dot", "general", "additive"]
PositionsName = Literal["sinusoidal", "learned", "rotary", "none"]


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every section is made from: immutable, by keyword only, no unknown keys."""


# --- model: one struct for each step of the lineage ------------------------------------------------------------------


class RecurrentStack(Options, frozen=True, kw_only=True):
    """Recurrent layers, one on top of the other."""

    layers: Positive = 1
    width: Positive = 256


class RecurrentConfig(Options, frozen=True, kw_only=True, tag_field="kind", tag="rnn"):
    """The sequence-to-sequence RNN: all that the decoder learns of the source is one vector."""

    cell: Cell = "lstm"
    embedding: Positive = 256
    encoder: RecurrentStack = RecurrentStack()
    decoder: RecurrentStack = RecurrentStack()
    dropout: Share = 0.2


class AttendingConfig(Options, frozen=True, kw_only=True, tag_field="kind", tag="rnn-attention"):
    """The RNN that attends: a bidirectional encoder, and a decoder that looks back at every step."""

    cell: Cell = "lstm"
    embedding: Positive = 256
    encoder: RecurrentStack = RecurrentStack()  # each direction has half of its width
    decoder: RecurrentStack = RecurrentStack()
    score: ScoreName = "additive"
    wiring: Literal["previous", "current"] = "previous"  # which state asks: s_{t-1} (Bahdanau) or s_t (Luong)
    input_feeding: bool = False  # with "current": what was joined before the last output is part of the next input
    dropout: Share = 0.2

    def __post_init__(self) -> None:
        if self.encoder.width % 2:
            raise ValueError(f"encoder.width is {self.encoder.width}; it must be even: each direction has half of it")
        if self.score in ("dot", "scaled_dot") and self.encoder.width != self.decoder.width:
            raise ValueError(
                f"encoder.width is {self.encoder.width} and decoder.width {self.decoder.width}; "
                f'score = "{self.score}" needs them equal: make them so, or take "general" or "additive"'
            )
        if self.input_feeding and self.wiring == "previous":
            raise ValueError('input_feeding is part of wiring = "current"; with "previous" the context is fed already')


class Stack(Options, frozen=True, kw_only=True):
    """A stack of Transformer layers; the defaults are those of the published base model."""

    layers: Positive = 6
    width: Positive = 512
    heads: Positive = 8
    inner: Positive = 2048  # width inside the feed-forward network

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ValueError(
                f"width is {self.width} and heads {self.heads}; the width must divide evenly among the heads"
            )


def _check_turning(positions: str, **stacks: Stack) -> None:
    for name, stack in stacks.items():
        if positions == "rotary" and stack.width // stack.heads % 2:
            raise ValueError(
                f"{name}.width is {stack.width} and {name}.heads {stack.heads}; "
                'positions = "rotary" turns pairs, and needs an even width for each head'
            )


class TransformerConfig(Options, frozen=True, kw_only=True, tag_field="kind", tag="transformer"):
    """The Transformer, encoder and decoder."""

    encoder: Stack = Stack()
    decoder: Stack = Stack()
    mixer: Literal["attention", "ssru"] = "attention"  # how a decoder layer looks at its own past
    norm: Literal["post", "pre"] = "post"
    activation: Literal["relu", "gelu", "silu"] = "relu"
    positions: PositionsName = "sinusoidal"
    layout: Literal["interleaved", "halves"] = "interleaved"  # of the sines and cosines
    maximum_length: Positive = 1024  # learned positions only
    share_embeddings: bool = False  # one table for source and target: needs one vocabulary
    tie_output: bool = True  # the output layer is the target's embedding table
    dropout: Share = 0.1
    attention_dropout: Share = 0.0  # of the weights
    inner_dropout: Share = 0.0  # inside the feed-forward network; 0, as published

    def __post_init__(self) -> None:
        if self.share_embeddings and self.encoder.width != self.decoder.width:
            raise ValueError(
                f"encoder.width is {self.encoder.width} and decoder.width {self.decoder.width}; "
                "share_embeddings needs them equal"
            )
        if self.mixer == "ssru" and self.positions == "rotary":
            raise ValueError('positions = "rotary" turns queries and keys, which mixer = "ssru" does not have')
        _check_turning(self.positions, encoder=self.encoder, decoder=self.decoder)


class DecoderOnlyConfig(Options, frozen=True, kw_only=True, tag_field="kind", tag="decoder-only"):
    """A language model: the decoder alone, with nothing to look at but its own past."""

    stack: Stack = Stack()
    norm: Literal["post", "pre"] = "pre"
    activation: Literal["relu", "gelu", "silu"] = "gelu"
    positions: PositionsName = "learned"
    maximum_length: Positive = 1024
    dropout: Share = 0.1

    def __post_init__(self) -> None:
        _check_turning(self.positions, stack=self.stack)


class EncoderOnlyConfig(Options, frozen=True, kw_only=True, tag_field="kind", tag="encoder-only"):
    """A reader: the encoder alone, with a head that names masked tokens or one that names a class."""

    stack: Stack = Stack()
    norm: Literal["post", "pre"] = "post"
    activation: Literal["relu", "gelu", "silu"] = "gelu"
    positions: PositionsName = "learned"
    maximum_length: Positive = 512
    classes: Natural = 0  # 0: the masked-token head
    dropout: Share = 0.1

    def __post_init__(self) -> None:
        _check_turning(self.positions, stack=self.stack)


class ConvolutionalConfig(Options, frozen=True, kw_only=True, tag_field="kind", tag="convolutional"):
    """A classifier of pictures: convolutions, with a self-attention layer over the grid or without."""

    channels: Positive = 1  # of the picture
    width: Positive = 32  # of the first block; each later block doubles it and halves the grid
    blocks: Annotated[int, Meta(ge=1, le=16)] = 2
    classes: Positive = 10
    heads: Natural = 4  # of the self-attention layer after the last block; 0: no such layer
    dropout: Share = 0.1

    def __post_init__(self) -> None:
        grid_width = self.width * 2 ** (self.blocks - 1)
        if self.heads and grid_width % self.heads:
            raise ValueError(f"the grid has {grid_width} channels and heads is {self.heads}; they must divide evenly")


# --- model: captioners, which look at pictures through an eye --------------------------------------------------------


class ResidualEye(Options, frozen=True, kw_only=True, tag_field="kind", tag="residual"):
    """A small residual network that learns with the rest."""

    size: Positive = 64  # a picture is brought to this many pixels on each side
    width: Positive = 32  # of the first block; each later block doubles it and halves the grid
    blocks: Annotated[int, Meta(ge=1, le=8)] = 3

    @property
    def side(self) -> int:
        """How many places the grid has on each side."""
        return -(-self.size // (1 << self.blocks))


class EfficientNetEye(Options, frozen=True, kw_only=True, tag_field="kind", tag="efficientnet-lite0"):
    """EfficientNet-Lite0: 7 x 7 places of 1280 features at 224 pixels."""

    size: Annotated[int, Meta(ge=32, le=4096)] = 224
    weights: str = ""  # directory that `regard import efficientnet-lite0` wrote; empty: none, it begins at random
    frozen: bool = True  # it does not learn, so that each picture passes through it only once

    @property
    def side(self) -> int:
        """How many places the grid has on each side."""
        return -(-self.size // 32)


class PatchesEye(Options, frozen=True, kw_only=True, tag_field="kind", tag="patches"):
    """A Vision Transformer: a picture cut into patches, which look at each other."""

    size: Positive = 64
    patch: Positive = 8  # pixels on each side
    stack: Stack = Stack(layers=4, width=128, heads=4, inner=256)
    dropout: Share = 0.1

    def __post_init__(self) -> None:
        if self.size % self.patch:
            raise ValueError(f"size is {self.size} and patch {self.patch}; a picture must divide evenly into patches")

    @property
    def side(self) -> int:
        """How many places the grid has on each side."""
        return self.size // self.patch


EyeConfig = Union[ResidualEye, EfficientNetEye, PatchesEye]  # noqa: UP007


class RecurrentCaptionerConfig(Options, frozen=True, kw_only=True, tag_field="kind", tag="captioner-rnn"):
    """A captioner without attention: all that the decoder learns of the picture is one vector."""

    eye: EyeConfig = ResidualEye()
    cell: Cell = "lstm"
    embedding: Positive = 256
    decoder: RecurrentStack = RecurrentStack()
    dropout: Share = 0.2


class AttendingCaptionerConfig(Options, frozen=True, kw_only=True, tag_field="kind", tag="captioner-attention"):
    """A captioner that looks at the places of the picture before every word."""

    eye: EyeConfig = ResidualEye()
    cell: Cell = "lstm"
    embedding: Positive = 256
    decoder: RecurrentStack = RecurrentStack()
    score: ScoreName = "additive"
    gate: bool = True  # the decoder says at each word how much of the picture it wants
    doubly_stochastic: Amount = 0.0  # strength of the penalty for places whose weights over all words are far from 1
    dropout: Share = 0.2


class TransformerCaptionerConfig(Options, frozen=True, kw_only=True, tag_field="kind", tag="captioner-transformer"):
    """A Transformer decoder over the places of the picture."""

    eye: EyeConfig = ResidualEye()
    decoder: Stack = Stack(layers=3, width=256, heads=4, inner=1024)
    norm: Literal["post", "pre"] = "pre"
    activation: Literal["relu", "gelu", "silu"] = "relu"
    positions: PositionsName = "sinusoidal"
    maximum_length: Positive = 256  # learned positions only
    tie_output: bool = True
    dropout: Share = 0.1

    def __post_init__(self) -> None:
        _check_turning(self.positions, decoder=self.decoder)


CaptionerConfig = RecurrentCaptionerConfig | AttendingCaptionerConfig | TransformerCaptionerConfig  # what has an eye
LanguageConfig = DecoderOnlyConfig | EncoderOnlyConfig  # what is learnt from text of one language

ModelConfig = Union[  # noqa: UP007  (msgspec reads the members of a tagged union at run time)
    RecurrentConfig,
    AttendingConfig,
    TransformerConfig,
    DecoderOnlyConfig,
    EncoderOnlyConfig,
    ConvolutionalConfig,
    RecurrentCaptionerConfig,
    AttendingCaptionerConfig,
    TransformerCaptionerConfig,
]


# --- the other sections ----------------------------------------------------------------------------------------------


class TokensConfig(Options, frozen=True, kw_only=True):
    """How text becomes ids."""

    kind: Literal["unigram", "bpe", "char", "word"] = "unigram"
    size: Annotated[int, Meta(ge=16, le=1_000_000)] = 8000  # pieces, the reserved ones included; an upper bound
    shared: bool = True  # one vocabulary for both sides
    sampling: Share = 0.0  # share of training sentences cut anew at random (subword regularisation); 0: never


class PicturesConfig(Options, frozen=True, kw_only=True):
    """Where a captioner's pictures are, and how they are varied in training."""

    folder: str = ""  # that the pictures' names begin from; empty: beside the captions, in `images` or not
    store: str = ""  # directory for prepared pictures, which several runs may share; empty: in the run's own
    crop: Share = 0.0  # at most this share of each side is cut off
    flip: bool = False  # half of the pictures are mirrored, but for those whose captions tell left from right
    colour: Share = 0.0  # brightness, contrast and saturation change at most by this share


class DataConfig(Options, frozen=True, kw_only=True):
    """Where the sentence pairs are. Give `train` and `valid` as one file of pairs, or as a source and a target file.

    For a captioner each is a file of captions, or a folder with a captions.txt, and then maybe the name of a split. For
    a decoder-only or encoder-only model each is one or more files of plain text, a line an example.
    """

    train: list[str] = []  # [pairs] or [source, target]; .gz is unpacked; .tsv, .jsonl, .po, .tmx hold pairs
    valid: list[str] = []  # empty: a few of the pairs are held out of `train`; a captioner needs pictures of its own
    languages: list[str] = []  # [source, target], as codes: ["en", "ko"]; where there is one language only, [it]
    pictures: PicturesConfig = PicturesConfig()
    maximum_length: Positive = 256  # longer training sentences (in tokens) are dropped, and counted
    maximum_ratio: Rate = 9.0  # so are pairs whose lengths differ by more than this factor
    deduplicate: bool = False  # pairs that differ in the spelling of a character, or in space around, are the same


class TrainingConfig(Options, frozen=True, kw_only=True):
    """How a model is trained."""

    seed: Natural = 0
    steps: Positive = 10_000
    batch_tokens: Positive = 4096  # padded tokens of the longer side in one batch
    accumulate: Positive = 1  # batches to one step
    learning_rate: Rate = 1e-3  # the highest one, where the warm-up ends
    schedule: Literal["inverse-square-root", "cosine", "constant"] = "inverse-square-root"
    warmup: Natural = 1000  # steps
    betas: tuple[Share, Share] = (0.9, 0.98)
    weight_decay: Amount = 0.0
    label_smoothing: Share = 0.1
    blanks: Annotated[float, Meta(gt=0, lt=1)] = 0.15  # encoder-only: share of the tokens that are taken out, and named
    clip: Amount = 1.0  # largest norm of the gradient; 0: no bound
    average: Natural = 0  # the bundle holds the mean of this many last checkpoints; 0 or 1: the best one alone
    moving_average: Share = 0.0  # decay of an exponential moving average of the weights, instead of `average`; 0: none
    validate_every: Positive = 500  # steps
    checkpoint_every: Positive = 500
    keep: Positive = 3  # checkpoints, besides the best
    metric: Literal["loss", "bleu", "chrf", "cider"] = "bleu"  # cider: captioners only; language models: loss
    patience: Natural = 0  # validations without a better score before stopping; 0: never stop early
    precision: Literal["auto", "float32", "bfloat16"] = "auto"  # of products; auto: bfloat16 where hardware has it
    device: str = "auto"
    parallel: Literal["replicate", "shard"] = "replicate"  # on several ranks: the whole model on each, or a part of it
    threads: Natural = 0  # 0: as many as the machine has cores
    compile: bool = False  # by torch.compile: slow to begin; a gain on graphics cards, none was found on CPUs
    probes: list[str] = []  # source sentences whose attention is saved as it forms; none: a few of the validation set


class DecodingConfig(Options, frozen=True, kw_only=True):
    """How text is chosen."""

    beam: Annotated[int, Meta(ge=1, le=1024)] = 5  # 1: greedy
    nbest: Annotated[int, Meta(ge=1, le=1024)] = 1
    length_penalty: Annotated[float, Meta(ge=0, le=10)] = 1.0  # a score is divided by length to this power
    coverage: Amount = 0.0  # strength of the penalty for source words that nothing attended to; 0: none
    sample: bool = False  # draw tokens at random instead of searching: nbest outputs, each drawn by itself
    temperature: Rate = 1.0
    top_k: Natural = 0  # draw among this many likeliest tokens; 0: all
    top_p: Annotated[float, Meta(gt=0, le=1)] = 1.0  # draw among the likeliest tokens that hold this much probability
    length_ratio: Amount = 2.0  # an output has at most length_ratio * source + length_extra tokens
    length_extra: Positive = 20

    def __post_init__(self) -> None:
        if self.nbest > self.beam and not self.sample:
            raise ValueError(f"nbest is {self.nbest} and beam {self.beam}; a beam cannot hold more than itself")

    @property
    def width(self) -> int:
        """How many hypotheses of a sentence there are at once."""
        return self.nbest if self.sample else self.beam


class Config(Options, frozen=True, kw_only=True):
    """Everything that makes a run."""

    model: ModelConfig = TransformerConfig()
    tokens: TokensConfig = TokensConfig()
    data: DataConfig = DataConfig()
    training: TrainingConfig = TrainingConfig()
    decoding: DecodingConfig = DecodingConfig()


# --- TOML in and out -------------------------------------------------------------------------------------------------


def from_toml(text: str, *, settings: tuple[str, ...] = (), origin: str = "the recipe") -> Config:
    """The config a TOML text describes, `section.key=value` settings laid over it."""
    return from_table(_table(text, origin), origin=origin, settings=settings)


def from_table(table: dict[str, Any], *, origin: str = "the recipe", settings: tuple[str, ...] = ()) -> Config:
    """The config a plain table describes, settings over it; one error lists all problems, and where they may be set."""
    for setting in settings:
        _lay_over(table, setting)
    problems = [line + set_by(line, settings) for line in problems_of(table, Config, "")]
    if problems:
        raise RegardError(listed(problems, origin))
    return msgspec.convert(table, Config)


def check_sections(config: Config, *, origin: str = "the recipe") -> None:
    """Refuse what sections say against each other.

    Asked before a run begins, and not when a config is read: models that were saved before there was a rule still load.
    """
    problems = list(_contradictions(config))
    if problems:
        raise RegardError(listed(problems, origin))


def _contradictions(config: Config) -> Iterator[str]:
    if getattr(config.model, "share_embeddings", False) and not config.tokens.shared:
        yield (
            "model.share_embeddings: true needs one vocabulary, and tokens.shared is false; "
            "set tokens.shared = true, or model.share_embeddings = false"
        )
    training = config.training
    if training.average > 1 and training.moving_average:
        yield (
            f"training.moving_average: {training.moving_average} does not go together with training.average = "
            f"{training.average}: the scores would be those of the moving average, and the model a mean without it; "
            "set one of the two to 0"
        )
    codes, wanted = config.data.languages, 1 if isinstance(config.model, CaptionerConfig | LanguageConfig) else 2
    if codes and (len(codes) != wanted or len({code for code in codes if code.strip()}) != wanted):
        whose = "the captions" if isinstance(config.model, CaptionerConfig) else "the text"
        expected = f'the code of {whose}, as in ["en"]' if wanted == 1 else 'two codes, as in ["en", "ko"]'
        yield f"data.languages: expected {expected}, got {shown(codes)}"


def load(path: Path, *, settings: tuple[str, ...] = ()) -> Config:
    """The config in a TOML file."""
    return from_table(read_table(path), settings=settings, origin=str(path))


def read_table(path: Path) -> dict[str, Any]:
    """What a TOML file names, as a plain table that nothing was checked of."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise RegardError(f"{path} is not UTF-8: {error}. Save it as UTF-8.") from None
    except OSError as error:
        raise RegardError(f"{path} cannot be read: {error.strerror}. Give the path of a TOML recipe.") from None
    return _table(text, str(path))


def laid_over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """A table with another over it: sections that both have are joined, and of two values the upper one counts."""
    joined = {
        key: value for key, value in above.items() if isinstance(value, dict) and isinstance(below.get(key), dict)
    }
    return below | above | {key: laid_over(below[key], value) for key, value in joined.items()}


def to_toml(config: Config) -> str:
    """The whole config, defaults included, as TOML that `from_toml` reads back as an equal config."""
    return tomli_w.dumps(msgspec.to_builtins(config))


def _table(text: str, origin: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # not TOML, a number of thousands of digits, or brackets as deep
        raise RegardError(f"{origin} is not TOML: {error}. Mend the line, then try again.") from None


def _lay_over(table: dict[str, Any], setting: str) -> None:
    path, equals, value = setting.partition("=")
    if not equals or not path.strip():
        raise RegardError(f"--set {setting!r} has no value. Write section.key=value, as in training.steps=2000.")
    *parents, last = path.strip().split(".")
    for key in parents:
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            raise RegardError(f"--set {setting!r}: {key} is a value, not a section.")
    try:
        table[last] = tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        table[last] = value  # a bare word is a string, so that nobody has to quote for the shell and for TOML
