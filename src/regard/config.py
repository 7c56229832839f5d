"""Every option on one page: frozen structs, read from and written to TOML; an unknown key is an error.

A run has one `Config` with the sections `model`, `tokenizer`, `data`, `training` and `decoding`. Nothing here imports
torch, so the command line checks a recipe without delay. `Config.json_schema()` describes recipes for editors.
"""

import copy
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, Union, Unpack, cast

import msgspec
import tomli_w
from msgspec import Meta

from regard.errors import RegardError
from regard.files import MEBIBYTE, read_input
from regard.struct_decoding import MAX_SHOWN_PROBLEMS, convert, find_problems, format_problems, override_hint, shorten

PositiveInt = Annotated[int, Meta(ge=1, le=2**31 - 1)]
NonNegativeInt = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Fraction = Annotated[float, Meta(ge=0, lt=1)]  # dropout, smoothing, decay
NonNegativeFloat = Annotated[float, Meta(ge=0, le=1e9)]
PositiveFloat = Annotated[float, Meta(gt=0, le=1e9)]
# The largest published models are smaller. A larger number is a mistake, or a file made to exhaust this machine.
Layers = Annotated[int, Meta(ge=1, le=256)]
Width = Annotated[int, Meta(ge=1, le=2**16)]
ImageSize = Annotated[int, Meta(ge=1, le=4096)]
Threads = Annotated[int, Meta(ge=0, le=1024)]
Classes = Annotated[int, Meta(ge=0, le=2**16)]
RGB = tuple[float, float, float]

# Each name below stands for one class that carries the same `name`; tests/unit/test_extension_points.py compares them.
ScoreName = Literal["dot", "scaled_dot", "general", "additive"]  # attention/scores.py
EQUAL_WIDTH_SCORES: tuple[ScoreName, ...] = ("dot", "scaled_dot")  # of query and key
PositionsName = Literal["sinusoidal", "learned", "rotary", "relative", "none"]  # layers/positions.py
CellType = Literal["rnn", "gru", "lstm"]  # layers/recurrent.py
Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]  # layers/transformer_block.py
MetricName = Literal["loss", "bleu", "chrf", "cider", "accuracy", "macro_f1"]  # of a validation
MAX_SOURCE_TOKENS = 1024  # longer lines are truncated: the time of attention grows with the square of the length


class ConfigSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every section: immutable, keyword arguments only, no unknown keys."""


# --- model: base structs ---------------------------------------------------------------------------------------------


class RecurrentLayersConfig(ConfigSection, frozen=True, kw_only=True):
    """A stack of recurrent layers."""

    layers: Layers = 1
    width: Width = 256

    def check_directions(self) -> None:
        """Refuse a width that two directions cannot share."""
        if self.width % 2:
            raise ValueError(f"encoder.width is {self.width}; it must be even: each direction has half of it")


class TransformerStackConfig(ConfigSection, frozen=True, kw_only=True):
    """A stack of Transformer layers; the defaults are those of the published base model."""

    layers: Layers = 6
    width: Width = 512
    heads: Width = 8
    ffn_width: Width = 2048  # width inside the feed-forward network
    head_width: NonNegativeInt = 0  # of each head's queries, keys and values; 0: `width` divided among the heads
    key_value_heads: NonNegativeInt = 0  # fewer than `heads`: grouped-query attention; 0: as many
    self_attention_heads: list[PositiveInt] = []  # that each layer of a pruned model has left; empty: `heads`
    cross_attention_heads: list[PositiveInt] = []

    @property
    def is_pruned(self) -> bool:
        """Whether heads were removed."""
        return bool(self.self_attention_heads or self.cross_attention_heads)

    def __post_init__(self) -> None:
        for name in ("self_attention_heads", "cross_attention_heads"):
            left = getattr(self, name)
            if left and (len(left) != self.layers or max(left) > self.heads):
                raise ValueError(f"{name} is {left}; give a number up to {self.heads} for each of {self.layers} layers")
        if self.is_pruned and self.key_value_heads:
            raise ValueError("key_value_heads is set, and heads of such groups cannot be removed one by one")
        if self.key_value_heads and self.heads % self.key_value_heads:
            raise ValueError(
                f"heads is {self.heads} and key_value_heads {self.key_value_heads}; the heads must divide evenly "
                "among those of the keys and values"
            )
        if not self.head_width and self.width % self.heads:
            raise ValueError(
                f"width is {self.width} and heads {self.heads}; the width must divide evenly among the heads, "
                "unless head_width is set"
            )

    @property
    def width_per_head(self) -> int:
        """The width of each head's queries, keys and values."""
        return self.head_width or self.width // self.heads


class RecurrentStyle(ConfigSection, frozen=True, kw_only=True):
    """The options of every model with recurrent layers."""

    cell: CellType = "lstm"
    embedding_width: Width = 256
    dropout: Fraction = 0.2

    @property
    def max_positions(self) -> None:
        """A recurrent model reads sequences of any length."""


class RecurrentDecoderStyle(RecurrentStyle, frozen=True, kw_only=True):
    """The options of every model with a recurrent decoder."""

    decoder: RecurrentLayersConfig = RecurrentLayersConfig()


class TransformerStyle(ConfigSection, frozen=True, kw_only=True):
    """The options of every model made from Transformer blocks."""

    norm: Literal["post", "pre"] = "post"
    norm_type: Literal["layer_norm", "rms_norm"] = "layer_norm"
    norm_epsilon: PositiveFloat = 1e-5  # added to the variance before the root
    activation: Activation = "relu"
    gated_ffn: bool = False  # W_2 (f(W_1 x) * W_3 x): with silu, SwiGLU
    linear_bias: bool = True  # of the linear layers inside the blocks
    scale_scores: bool = True  # divide the scores by the root of a head's width
    positions: PositionsName = "sinusoidal"
    max_position_embeddings: Annotated[int, Meta(ge=1, le=2**20)] = 1024  # learned positions only
    sinusoidal_base: PositiveFloat = 10_000.0  # sinusoidal positions only
    rotary_base: PositiveFloat = 10_000.0  # rotary positions only
    relative_buckets: Annotated[int, Meta(ge=4, le=2**16)] = 32  # relative positions only: of distances
    relative_max_distance: Annotated[int, Meta(ge=4, le=2**20)] = 128  # relative positions only: beyond, one bucket
    dropout: Fraction = 0.1
    attention_dropout: Fraction = 0.0  # dropout of the attention weights

    @property
    def max_positions(self) -> int | None:
        """The number of learned positions, one of them for BEGIN or END; None: computed, for any length."""
        return self.max_position_embeddings if self.positions == "learned" else None

    def _check_positions(self, **stacks: TransformerStackConfig) -> None:
        if self.positions == "relative" and self.relative_max_distance <= self.relative_buckets // 2:
            raise ValueError(
                f"relative_max_distance is {self.relative_max_distance} and relative_buckets {self.relative_buckets}; "
                "the distance must be larger than half the number of buckets"
            )
        for name, stack in stacks.items():
            if self.positions == "relative" and any(left < stack.heads for left in stack.self_attention_heads):
                raise ValueError(
                    f'{name}.self_attention_heads is {stack.self_attention_heads}; positions = "relative" has a bias '
                    f"for each of {stack.heads} heads that all layers share, so that no layer can lack one"
                )
            if self.positions == "rotary" and stack.width_per_head % 2:
                raise ValueError(
                    f"{name}.width is {stack.width} and {name}.heads {stack.heads}; "
                    'positions = "rotary" rotates pairs of entries and needs an even width for each head'
                )


class LanguageModelStyle(TransformerStyle, frozen=True, kw_only=True):
    """The options of models with one stack of blocks, trained on text in one language."""

    transformer: TransformerStackConfig = TransformerStackConfig()
    activation: Activation = "gelu"
    positions: PositionsName = "learned"

    def __post_init__(self) -> None:
        self._check_positions(transformer=self.transformer)


# --- model: one struct for each architecture -------------------------------------------------------------------------


class RNNConfig(RecurrentDecoderStyle, frozen=True, kw_only=True, tag_field="kind", tag="rnn"):
    """The sequence-to-sequence RNN: one vector carries the whole source to the decoder."""

    encoder: RecurrentLayersConfig = RecurrentLayersConfig()


class AttentionRNNConfig(RecurrentDecoderStyle, frozen=True, kw_only=True, tag_field="kind", tag="rnn-attention"):
    """The RNN with attention: a bidirectional encoder, and a decoder that attends to the source at every step."""

    encoder: RecurrentLayersConfig = RecurrentLayersConfig()  # each direction has half of its width
    score: ScoreName = "additive"
    query_state: Literal["previous", "current"] = "previous"  # the query: s_{t-1} (Bahdanau) or s_t (Luong)
    input_feeding: bool = False  # with "current": the last attentional state is part of the next input

    def __post_init__(self) -> None:
        self.encoder.check_directions()
        if self.score in EQUAL_WIDTH_SCORES and self.encoder.width != self.decoder.width:
            raise ValueError(
                f"encoder.width is {self.encoder.width} and decoder.width {self.decoder.width}; "
                f'score = "{self.score}" needs them equal: make them equal, or use "general" or "additive"'
            )
        if self.input_feeding and self.query_state == "previous":
            raise ValueError(
                'input_feeding needs query_state = "current"; with "previous" the context is part of the input already'
            )


class TransformerConfig(TransformerStyle, frozen=True, kw_only=True, tag_field="kind", tag="transformer"):
    """The Transformer, encoder and decoder."""

    encoder: TransformerStackConfig = TransformerStackConfig()
    decoder: TransformerStackConfig = TransformerStackConfig()
    decoder_autoregression: Literal["self-attention", "ssru"] = "self-attention"
    share_embeddings: bool = False  # one embedding table for source and target: needs one vocabulary
    scale_embeddings: bool = True  # multiply them by the root of the width
    tie_word_embeddings: bool = True  # the output layer is the target's embedding table
    output_bias: bool = False  # of a tied output layer; one with its own weights has a bias, or an `output_mask`
    output_mask: bool = False  # a fixed bias instead, so that tokens that an imported model lacks are never predicted
    scale_output: bool = False  # divide the input of the output layer by the root of the width (T5)
    zero_begin: bool = False  # the decoder begins with a vector of zeros, not with that of BEGIN (Marian)
    source_end: bool = True  # False: END after the source is not visible to any query (models of OpenNMT)

    def __post_init__(self) -> None:
        if self.share_embeddings and self.encoder.width != self.decoder.width:
            raise ValueError(
                f"encoder.width is {self.encoder.width} and decoder.width {self.decoder.width}; "
                "share_embeddings needs them equal"
            )
        if self.output_bias and self.output_mask:
            raise ValueError("output_bias and output_mask are both set; an output layer has one of them")
        if self.decoder_autoregression == "ssru" and self.positions in ("rotary", "relative"):
            raise ValueError(
                f'positions = "{self.positions}" changes the scores of queries and keys, which '
                'decoder_autoregression = "ssru" does not have'
            )
        self._check_positions(encoder=self.encoder, decoder=self.decoder)


class DecoderOnlyConfig(LanguageModelStyle, frozen=True, kw_only=True, tag_field="kind", tag="decoder-only"):
    """A causal language model: the decoder alone (GPT)."""

    norm: Literal["post", "pre"] = "pre"
    tie_word_embeddings: bool = True  # the output layer is the embedding table
    output_mask: bool = False  # a fixed bias, so that tokens that an imported model lacks are never predicted


class EncoderOnlyConfig(LanguageModelStyle, frozen=True, kw_only=True, tag_field="kind", tag="encoder-only"):
    """A masked language model, or a text classifier: the encoder alone (BERT)."""

    max_position_embeddings: Annotated[int, Meta(ge=1, le=2**20)] = 512
    classes: Classes = 0  # 0: the masked-token head; else a head with this many classes
    pooling: Literal["first", "mean"] = "first"  # the class is predicted from the first token, or from the mean of all
    pooler_activation: Literal["tanh", "relu"] = "tanh"  # of the class head's first layer
    masked_head: bool = True  # False: no head, as in models for sentence vectors
    token_types: Annotated[int, Meta(ge=0, le=2**20)] = 0  # vectors for parts of the input; the first one is used


class AttentionRNNClassifierConfig(
    RecurrentStyle, frozen=True, kw_only=True, tag_field="kind", tag="classifier-rnn-attention"
):
    """A text classifier: a bidirectional RNN, and attention that pools its states into one vector."""

    encoder: RecurrentLayersConfig = RecurrentLayersConfig()  # each direction has half of its width
    score: ScoreName = "additive"
    classes: Classes = 0  # 0: one for each label of the training data

    def __post_init__(self) -> None:
        self.encoder.check_directions()


# --- model: image encoders, captioners and image classifiers ---------------------------------------------------------


class ConvolutionalStyle(ConfigSection, frozen=True, kw_only=True):
    """The options of convolutional networks that are trained together with the rest of the model."""

    image_size: ImageSize = 64  # images are resized to this many pixels on each side
    width: Width = 32  # of the first block; each later block doubles it and halves the grid
    blocks: Annotated[int, Meta(ge=1, le=8)] = 3

    @property
    def grid_size(self) -> int:
        """The number of grid cells on each side."""
        return -(-self.image_size // (1 << self.blocks))


class ResNetConfig(ConvolutionalStyle, frozen=True, kw_only=True, tag_field="kind", tag="resnet"):
    """A small residual network."""


class CNNConfig(ConvolutionalStyle, frozen=True, kw_only=True, tag_field="kind", tag="cnn"):
    """Convolutions, then an optional self-attention layer over the grid."""

    image_size: ImageSize = 28
    blocks: Annotated[int, Meta(ge=1, le=16)] = 2
    heads: Annotated[int, Meta(ge=0, le=2**16)] = 4  # of the self-attention after the last block; 0: no such layer

    def __post_init__(self) -> None:
        grid_width = self.width * 2 ** (self.blocks - 1)
        if self.heads and grid_width % self.heads:
            raise ValueError(f"the grid has {grid_width} channels and heads is {self.heads}; they must divide evenly")


class EfficientNetConfig(ConfigSection, frozen=True, kw_only=True, tag_field="kind", tag="efficientnet-lite0"):
    """EfficientNet-Lite0: 7 x 7 cells of 1280 features at 224 pixels."""

    image_size: Annotated[int, Meta(ge=32, le=4096)] = 224
    weights: str = ""  # directory written by `regard import efficientnet-lite0`; empty: random weights
    frozen: bool = True  # the network is not trained, so each image passes through it only once

    @property
    def grid_size(self) -> int:
        """The number of grid cells on each side."""
        return -(-self.image_size // 32)


class VisionTransformerConfig(ConfigSection, frozen=True, kw_only=True, tag_field="kind", tag="vit"):
    """A Vision Transformer: self-attention over the patches of an image."""

    image_size: ImageSize = 64
    patch_size: ImageSize = 8  # pixels on each side
    transformer: TransformerStackConfig = TransformerStackConfig(layers=4, width=128, heads=4, ffn_width=256)
    class_token: bool = False  # a learned first token, and learned positions: for a classifier with pooling = "first"
    activation: Activation = "gelu"
    norm_epsilon: PositiveFloat = 1e-5  # added to the variance before the root
    pixel_mean: RGB = (127.0, 127.0, 127.0)  # subtracted from the pixels, which are 0 to 255
    pixel_std: RGB = (128.0, 128.0, 128.0)  # that they are divided by then

    def __post_init__(self) -> None:
        if self.image_size % self.patch_size:
            raise ValueError(
                f"image_size is {self.image_size} and patch_size {self.patch_size}; "
                "an image must divide evenly into patches"
            )
        if min(self.pixel_std) <= 0:
            raise ValueError(f"pixel_std is {self.pixel_std}; pixels are divided by it, so that it must be positive")

    @property
    def grid_size(self) -> int:
        """The number of grid cells on each side."""
        return self.image_size // self.patch_size


ImageEncoderConfig = Union[CNNConfig, ResNetConfig, EfficientNetConfig, VisionTransformerConfig]  # noqa: UP007


def _has_class_token(encoder: ImageEncoderConfig) -> bool:
    return isinstance(encoder, VisionTransformerConfig) and encoder.class_token


def _check_captioner(encoder: ImageEncoderConfig) -> None:
    if _has_class_token(encoder):
        raise ValueError("image_encoder.class_token is set; a captioner reads the cells and has no use for it")


class RNNCaptionerConfig(RecurrentDecoderStyle, frozen=True, kw_only=True, tag_field="kind", tag="captioner-rnn"):
    """A captioner without attention: one vector carries the whole image to the decoder."""

    image_encoder: ImageEncoderConfig = ResNetConfig()

    def __post_init__(self) -> None:
        _check_captioner(self.image_encoder)


class AttentionRNNCaptionerConfig(
    RecurrentDecoderStyle, frozen=True, kw_only=True, tag_field="kind", tag="captioner-rnn-attention"
):
    """A captioner that attends to the grid cells of the image before every token."""

    image_encoder: ImageEncoderConfig = ResNetConfig()
    score: ScoreName = "additive"
    doubly_stochastic: NonNegativeFloat = 0.0  # strength of the penalty on cells whose summed weights differ from 1

    def __post_init__(self) -> None:
        _check_captioner(self.image_encoder)


class TransformerCaptionerConfig(
    TransformerStyle, frozen=True, kw_only=True, tag_field="kind", tag="captioner-transformer"
):
    """A Transformer decoder over the grid cells of the image."""

    image_encoder: ImageEncoderConfig = ResNetConfig()
    decoder: TransformerStackConfig = TransformerStackConfig(layers=3, width=256, heads=4, ffn_width=1024)
    norm: Literal["post", "pre"] = "pre"

    def __post_init__(self) -> None:
        _check_captioner(self.image_encoder)
        self._check_positions(decoder=self.decoder)


class ImageClassifierConfig(ConfigSection, frozen=True, kw_only=True, tag_field="kind", tag="classifier-image"):
    """An image classifier: an image encoder, whose grid cells are pooled into one vector."""

    image_encoder: ImageEncoderConfig = CNNConfig()
    # attention: a learned query attends to the cells; first: the class token of a Vision Transformer
    pooling: Literal["mean", "attention", "first"] = "mean"
    score: ScoreName = "additive"  # of the pooling attention
    classes: Classes = 0  # 0: one for each label of the training data
    dropout: Fraction = 0.1

    def __post_init__(self) -> None:
        if (self.pooling == "first") != _has_class_token(self.image_encoder):
            raise ValueError(
                f'pooling is "{self.pooling}"; "first" and image_encoder.class_token, of a Vision Transformer, are for '
                "each other: set both or neither"
            )

    @property
    def max_positions(self) -> None:
        """A model of images has no positions of tokens."""


CaptionerConfig = RNNCaptionerConfig | AttentionRNNCaptionerConfig | TransformerCaptionerConfig
LanguageModelConfig = DecoderOnlyConfig | EncoderOnlyConfig
ModelConfig = Union[  # noqa: UP007  (msgspec reads the members of a tagged union at run time)
    RNNConfig,
    AttentionRNNConfig,
    TransformerConfig,
    DecoderOnlyConfig,
    EncoderOnlyConfig,
    AttentionRNNClassifierConfig,
    ImageClassifierConfig,
    RNNCaptionerConfig,
    AttentionRNNCaptionerConfig,
    TransformerCaptionerConfig,
]
Task = Literal["translation", "image-to-text", "text-generation", "fill-mask", "classification"]


def task_of(model: ModelConfig) -> Task:
    """What a model is for."""
    match model:
        case RNNCaptionerConfig() | AttentionRNNCaptionerConfig() | TransformerCaptionerConfig():
            return "image-to-text"
        case DecoderOnlyConfig():
            return "text-generation"
        case EncoderOnlyConfig(classes=0):
            return "fill-mask"
        case EncoderOnlyConfig() | AttentionRNNClassifierConfig() | ImageClassifierConfig():
            return "classification"
    return "translation"


# --- the other sections ----------------------------------------------------------------------------------------------


class TokenizerConfig(ConfigSection, frozen=True, kw_only=True):
    """How text becomes ids."""

    model_type: Literal["unigram", "bpe", "char", "word"] = "unigram"
    vocab_size: Annotated[int, Meta(ge=16, le=1_000_000)] = 8000  # pieces, the reserved ones included; an upper bound
    shared: bool = True  # one vocabulary for both sides
    sampling_rate: Fraction = 0.0  # fraction of training sentences segmented at random (subword regularisation)


class SourceConfig(ConfigSection, frozen=True, kw_only=True):
    """One of several training corpora."""

    files: Annotated[list[str], Meta(min_length=1)]  # as in data.train
    weight: Annotated[float, Meta(gt=0, le=100)] = 1.0  # uses of each example in an epoch; 0.5: half of them, at random


class DataConfig(ConfigSection, frozen=True, kw_only=True):
    """Where the examples are. Give `train` and `valid` as one file of pairs, or as a source and a target file.

    For a captioner each is a file of captions, or a folder with a captions.txt, optionally followed by the name of a
    split. For a decoder-only or encoder-only model each is one or more files of plain text, one example a line. For a
    classifier each is one or more files of texts with labels (.tsv, .jsonl, .csv); for one of images a folder with one
    folder for each class, or such a file.
    """

    train: list[str] = []  # [pairs] or [source, target]; .gz is unpacked; .tsv, .csv, .jsonl, .po, .tmx hold pairs
    sources: list[SourceConfig] = []  # several corpora instead of `train`
    valid: list[str] = []  # empty: some pairs are held out of `train`; a captioner needs its own validation images
    old_valid: list[str] = []  # fine-tuning: examples like those of the start model, scored beside `valid`
    languages: list[str] = []  # language codes: [source, target], as in ["en", "ko"]; for one language, [code]
    closing_mark: str = ""  # such as ".": added to a source that ends in a letter or digit, as none did in training
    labels: list[str] = []  # the classes of a classifier, in the order of its outputs; empty: those of `train`, sorted
    image_folder: str = ""  # folder of the images; empty: the captions' folder, or `images` in it
    image_store: str = ""  # directory for prepared images, which several runs may share; empty: in the run's directory
    flip_images: bool = False  # mirror half of the images, except those whose captions mention left or right
    max_tokens: PositiveInt = 256  # longer training sentences (in tokens) are dropped, and counted
    max_length_ratio: PositiveFloat = 9.0  # pairs whose lengths differ by more than this factor are dropped, too
    deduplicate: bool = False  # drop repeated pairs; Unicode normalisation and outer white space do not matter

    @property
    def corpora(self) -> list[SourceConfig]:
        """The training corpora: those of `sources`, or that of `train`."""
        return self.sources or ([SourceConfig(files=self.train)] if self.train else [])

    @property
    def train_files(self) -> list[str]:
        """Every training file."""
        return [path for corpus in self.corpora for path in corpus.files]

    @property
    def language_pair(self) -> tuple[str, str]:
        """The codes of source and target; empty if they are not given, as for an image."""
        *source, target = self.languages or ("", "")
        return "".join(source), target


class TrainingConfig(ConfigSection, frozen=True, kw_only=True):
    """How a model is trained."""

    seed: NonNegativeInt = 0
    start_from: str = ""  # fine-tuning: directory of the model that training starts from; empty: random weights
    start_digest: str = ""  # SHA-256 of the weights of that model; `regard train` records it
    freeze: list[str] = []  # what is not trained: "embeddings", or the beginnings of parameters' names, as "encoder"
    steps: PositiveInt = 10_000
    batch_tokens: PositiveInt = 4096  # padded tokens of the longer side in one batch
    gradient_accumulation: Annotated[int, Meta(ge=1, le=1024)] = 1  # batches in one step, which are in memory together
    learning_rate: PositiveFloat = 1e-3  # the peak, at the end of the warm-up
    schedule: Literal["inverse_sqrt", "cosine", "constant"] = "inverse_sqrt"
    warmup_steps: NonNegativeInt = 1000
    weight_decay: NonNegativeFloat = 0.0
    label_smoothing: Fraction = 0.1
    mask_rate: Annotated[float, Meta(gt=0, lt=1)] = 0.15  # encoder-only: fraction of the tokens that are masked
    max_grad_norm: NonNegativeFloat = 1.0  # gradient clipping; 0: none
    average_checkpoints: NonNegativeInt = 0  # average this many last checkpoints; 0 or 1: the best one alone
    ema_decay: Fraction = 0.0  # exponential moving average of the weights, instead of `average_checkpoints`; 0: none
    validate_every: PositiveInt = 500  # steps
    checkpoint_every: PositiveInt = 500  # steps
    validation_metric: MetricName = "bleu"  # cider: captioners; loss: language models; accuracy, macro_f1: classifiers
    early_stopping_patience: NonNegativeInt = 0  # validations without a better score; 0: never stop early
    precision: Literal["auto", "float32", "bfloat16"] = "auto"  # auto: bfloat16 where the hardware supports it
    device: str = "auto"
    parallelism: Literal["replicated", "fsdp"] = "replicated"  # on several ranks: whole copies, or sharded parameters
    threads: Threads = 0  # 0: one for each core
    probes: list[str] = []  # source sentences whose attention is saved during training; empty: some validation ones


class DecodeOptions(TypedDict, total=False):
    """The options of `DecodingConfig`, each optional: what a call may override."""

    beam_size: int
    nbest: int
    length_penalty: float
    do_sample: bool
    temperature: float
    top_k: int
    top_p: float
    max_length_ratio: float
    max_length_extra: int


def decode_options(**given: object) -> DecodeOptions:
    """The options that are not None, as they come from a command line or a request."""
    return cast(DecodeOptions, {name: value for name, value in given.items() if value is not None})


class DecodingConfig(ConfigSection, frozen=True, kw_only=True):
    """How output is searched for, or sampled."""

    beam_size: Annotated[int, Meta(ge=1, le=1024)] = 5  # 1: greedy
    nbest: Annotated[int, Meta(ge=1, le=1024)] = 1
    length_penalty: Annotated[float, Meta(ge=0, le=10)] = 1.0  # a score is divided by length to this power
    do_sample: bool = False  # sample tokens instead of searching: nbest independent outputs
    temperature: PositiveFloat = 1.0
    top_k: NonNegativeInt = 0  # sample from the k most probable tokens; 0: all
    top_p: Annotated[float, Meta(gt=0, le=1)] = 1.0  # sample from the fewest tokens with this much probability
    max_length_ratio: Annotated[float, Meta(ge=0, le=100)] = (
        2.0  # at most max_length_ratio * source + max_length_extra tokens
    )
    max_length_extra: Annotated[int, Meta(ge=1, le=2**16)] = 20

    def __post_init__(self) -> None:
        if self.nbest > self.beam_size and not self.do_sample:
            raise ValueError(
                f"nbest is {self.nbest} and beam_size {self.beam_size}; a beam holds at most beam_size outputs"
            )

    @property
    def num_hypotheses(self) -> int:
        """The number of hypotheses that one sentence has at once."""
        return self.nbest if self.do_sample else self.beam_size

    def max_output_tokens(self, source: int, *, prefix: int = 0, max_positions: int | None = None) -> int:
        """The most tokens, END included, of an output for a source of so many, by a model with `max_positions`.

        It does not depend on the other sentences of the batch. One position stays free, so that every output can be
        rescored, after BEGIN.
        """
        bound = prefix + int(self.max_length_ratio * source) + self.max_length_extra
        return bound if max_positions is None else min(bound, max(1, max_positions - 1))

    def with_options(self, **options: Unpack[DecodeOptions]) -> "DecodingConfig":
        """This section with some options replaced, checked like those of a recipe."""
        table = msgspec.to_builtins(self) | options
        if problems := list(find_problems(table, DecodingConfig, "decoding")):
            raise RegardError(format_problems(problems, "the decoding options"))
        return convert(table, DecodingConfig)


class Config(ConfigSection, frozen=True, kw_only=True):
    """Everything that defines a run."""

    model: ModelConfig = TransformerConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    data: DataConfig = DataConfig()
    training: TrainingConfig = TrainingConfig()
    decoding: DecodingConfig = DecodingConfig()

    @classmethod
    def load(cls, path: str | PathLike[str], *, overrides: Sequence[str] = ()) -> "Config":
        """Read a TOML file."""
        return cls.from_dict(read_table(Path(path)), overrides=overrides, origin=str(path))

    @classmethod
    def from_toml(cls, text: str | bytes, *, overrides: Sequence[str] = (), origin: str = "the recipe") -> "Config":
        """Read TOML text, or its bytes in UTF-8."""
        return cls.from_dict(_parse_toml(text, origin), overrides=overrides, origin=origin)

    @classmethod
    def from_dict(cls, table: dict[str, Any], *, overrides: Sequence[str] = (), origin: str = "the recipe") -> "Config":
        """Read a plain table, with overrides such as "training.steps=2000" applied; one error lists all problems."""
        table = copy.deepcopy(table)
        for override in check_overrides(overrides):
            _apply_override(table, override)
        found = islice(find_problems(table, cls, ""), MAX_SHOWN_PROBLEMS + 1)  # one more: there are others
        problems = [line + override_hint(line, overrides) for line in found]
        if problems:
            raise RegardError(format_problems(problems, origin))
        return convert(table, cls)

    def to_toml(self) -> str:
        """The whole config, defaults included, as TOML that `from_toml` reads back as an equal config."""
        return tomli_w.dumps(msgspec.to_builtins(self))

    @staticmethod
    def json_schema() -> dict[str, Any]:
        """The JSON schema of a recipe, for completion and checks in editors."""
        schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "regard recipe"}
        return schema | msgspec.json.schema(Config)

    @property
    def max_training_tokens(self) -> int:
        """The most tokens, without BEGIN and END, that a training example may have."""
        positions = self.model.max_positions
        return self.data.max_tokens if positions is None else min(self.data.max_tokens, positions - 1)

    def check_consistency(self, *, origin: str = "the recipe") -> None:
        """Refuse sections that contradict each other.

        Called before a run starts, not when a config is read, so that older saved models still load.
        """
        problems = list(_find_contradictions(self))
        if problems:
            raise RegardError(format_problems(problems, origin))


def _find_contradictions(config: Config) -> Iterator[str]:
    model, training = config.model, config.training
    if isinstance(model, TransformerConfig) and model.share_embeddings and not config.tokenizer.shared:
        yield (
            "model.share_embeddings: true needs one vocabulary, and tokenizer.shared is false; "
            "set tokenizer.shared = true, or model.share_embeddings = false"
        )
    if training.average_checkpoints > 1 and training.ema_decay:
        yield (
            f"training.ema_decay: {training.ema_decay} cannot be combined with training.average_checkpoints = "
            f"{training.average_checkpoints}: validation would score the moving average, and the saved model would be "
            "a mean without it; set one of the two to 0"
        )
    if config.data.sources and config.data.train:
        yield "data.sources: data.train is set as well; name every corpus in data.sources, or one in data.train"
    if config.data.sources and hasattr(model, "image_encoder"):
        yield "data.sources: a model of images reads one file or folder; name it in data.train"
    if config.data.old_valid and task_of(model) in ("image-to-text", "classification"):
        yield f"data.old_valid: it is for pairs and texts; score a model for {task_of(model)} with `regard evaluate`"
    if config.data.labels and len(config.data.labels) != getattr(model, "classes", 0):
        yield f"data.labels: {len(config.data.labels)} labels for a model with {getattr(model, 'classes', 0)} classes"
    codes, expected_count = config.data.languages, 2 if task_of(model) == "translation" else 1
    if codes and (len(codes) != expected_count or len({code for code in codes if code.strip()}) != expected_count):
        text = "the captions" if isinstance(model, CaptionerConfig) else "the text"
        expected = f'the code of {text}, as in ["en"]' if expected_count == 1 else 'two codes, as in ["en", "ko"]'
        yield f"data.languages: expected {expected}, got {shorten(codes)}"


def max_source_tokens(positions: int | None) -> int:
    """The most tokens of a line that a model with so many positions reads; one position is for END or BEGIN."""
    return MAX_SOURCE_TOKENS if positions is None else min(MAX_SOURCE_TOKENS, max(1, positions - 1))


# --- TOML ------------------------------------------------------------------------------------------------------------

MAX_TOML_BYTES = MEBIBYTE
MAX_KEY_PARTS = 16  # the time to parse a key grows with the square of its parts
GIVE_RECIPE = "Give the path of a TOML recipe."
_STRING_OR_COMMENT = re.compile(
    r'''"""(?:\\.|[^\\])*?(?:"""|\Z)|'{3}.*?(?:'{3}|\Z)|"(?:\\.|[^"\\\n])*+"?|'[^'\n]*+'?|\#[^\n]*+''', re.DOTALL
)
_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{MAX_KEY_PARTS}}}")


def read_table(path: Path) -> dict[str, Any]:
    """The contents of a TOML file as a plain table, not yet checked."""
    return _parse_toml(read_input(path, max_bytes=MAX_TOML_BYTES, advice=GIVE_RECIPE), str(path))


def merge_tables(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Two tables merged, section by section; where both have a value, that of `above` is used."""
    shared = {
        key: value for key, value in above.items() if isinstance(value, dict) and isinstance(below.get(key), dict)
    }
    return below | above | {key: merge_tables(below[key], value) for key, value in shared.items()}


def _parse_toml(text: str | bytes, origin: str) -> dict[str, Any]:
    if len(text) > MAX_TOML_BYTES:
        raise RegardError(f"{origin} has {len(text):,} bytes, and at most {MAX_TOML_BYTES:,} are allowed.")
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8-sig")
        if _LONG_KEY.search(_STRING_OR_COMMENT.sub("s", decoded)):
            raise RegardError(f"{origin} has a key of more than {MAX_KEY_PARTS} parts. A recipe needs at most four.")
        return tomllib.loads(decoded)
    except UnicodeDecodeError as error:
        line = text[: error.start].count(b"\n") + 1  # type: ignore[arg-type]
        raise RegardError(f"{origin} is not UTF-8, in line {line}: {error.reason}. Save it as UTF-8.") from None
    except (ValueError, RecursionError) as error:  # not TOML, a number of thousands of digits, or brackets as deep
        raise RegardError(f"{origin} is not TOML: {error}. Fix the line and retry.") from None


def check_overrides(overrides: Sequence[str]) -> tuple[str, ...]:
    """The overrides, each a text; one text, or a table of values, is an error."""
    if isinstance(overrides, str | Mapping) or not all(isinstance(one, str) for one in overrides):
        raise RegardError(f'the overrides are {shorten(overrides)}. Give a list such as ["training.steps=2000"].')
    return tuple(overrides)


def _apply_override(table: dict[str, Any], override: str) -> None:
    path, equals, value = override.partition("=")
    if not equals or not path.strip():
        raise RegardError(f"--set {override!r} has no value. Write section.key=value, as in training.steps=2000.")
    *parents, last = path.strip().split(".")
    if len(parents) >= MAX_KEY_PARTS:
        raise RegardError(f"--set {shorten(override)} has a key of more than {MAX_KEY_PARTS} parts.")
    for key in parents:
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            raise RegardError(f"--set {override!r}: {key} is a value, not a section.")
    try:
        table[last] = _parse_toml(f"value = {value}", "the value")["value"]
    except RegardError:
        table[last] = value  # a bare word is a string, so that no quotes are needed for the shell and for TOML
