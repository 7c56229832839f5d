"""A config for text files without a recipe: the size of the model and the length of the training, by the corpus.

The sizes follow published experience: a model too large for its corpus learns it by heart (so small corpora get narrow
layers, few pieces and much dropout), and one too small stops learning early.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import msgspec

from regard.config import (
    CNNConfig,
    Config,
    DataConfig,
    DecoderOnlyConfig,
    EncoderOnlyConfig,
    ImageClassifierConfig,
    LanguageModelConfig,
    MetricName,
    ModelConfig,
    TokenizerConfig,
    TrainingConfig,
    TransformerConfig,
    TransformerStackConfig,
)
from regard.data.captions import read_captioned
from regard.data.images import image_side
from regard.data.labelled_examples import are_images, find_labels, read_labelled_images, read_labelled_texts
from regard.data.pair_readers import read_pairs
from regard.data.pair_readers.text import Pair, read_monolingual

BYTES_PER_TOKEN = 4  # in UTF-8, about, whatever the script: longer words in letters, few characters in syllables
NUM_VALIDATIONS = 25
ExampleKind = Literal["pairs", "text", "captions", "labels", "images"]  # labels: of texts; images: with labels
EXAMPLE_NAMES: dict[ExampleKind, str] = {
    "pairs": "pairs",
    "text": "lines",
    "captions": "captions",
    "labels": "labelled texts",
    "images": "labelled images",
}
DEFAULT_METRICS: dict[ExampleKind, MetricName] = {
    "pairs": "bleu",
    "text": "loss",
    "captions": "bleu",
    "labels": "accuracy",
    "images": "accuracy",
}
DEFAULT_PATIENCE = 6


@dataclass(frozen=True)
class CorpusSize:
    """How much there is to learn from; tokens are those of the longer side, estimated."""

    pairs: int
    tokens: int
    kind: ExampleKind = "pairs"
    labels: tuple[str, ...] = ()
    image_side: int = 0  # of the first image, in pixels


@dataclass(frozen=True)
class SizePreset:
    """What suits corpora of up to so many pairs."""

    pairs: float
    vocabulary: int
    layers: int
    width: int
    dropout: float
    batch_tokens: int
    epochs: int


SIZE_PRESETS = [
    SizePreset(3_000, vocabulary=1_000, layers=2, width=128, dropout=0.3, batch_tokens=1_024, epochs=80),
    SizePreset(15_000, vocabulary=2_000, layers=3, width=128, dropout=0.3, batch_tokens=2_048, epochs=50),
    SizePreset(100_000, vocabulary=6_000, layers=4, width=256, dropout=0.3, batch_tokens=4_096, epochs=30),
    SizePreset(500_000, vocabulary=10_000, layers=5, width=256, dropout=0.2, batch_tokens=8_192, epochs=20),
    SizePreset(2_000_000, vocabulary=16_000, layers=6, width=512, dropout=0.1, batch_tokens=16_384, epochs=15),
    SizePreset(float("inf"), vocabulary=32_000, layers=6, width=512, dropout=0.1, batch_tokens=25_000, epochs=10),
]

MAX_BATCH_TOKENS = 8_192  # tokens computed at once; a larger batch is the sum of several
HEAD_WIDTH = 64
MAX_STEPS = 300_000
# Fine-tuning: a fifth of the epochs, and a lower learning rate. docs/fine-tuning.md has the measurements.
TUNING_FRACTION, MIN_TUNING_EPOCHS, MIN_TUNING_STEPS, MAX_TUNING_WARMUP = 5, 3, 200, 100
BERT_RATE, BERT_WIDTH, MAX_TUNING_RATE = 5e-5, 768, 1e-3
REPLAY_FRACTION = 0.375  # of this rate
REPLAYED_FOR_EACH_NEW = 3  # examples: with one, a translator lost more than a BLEU of its old test set
MAX_IMAGE_SIDE = 64  # a larger image is scaled down
GRID_SIDE = 7  # cells on each side of the last grid, about
IMAGE_BATCH = 128
IMAGE_EPOCHS = [(3_000, 30), (20_000, 15), (float("inf"), 5)]  # for up to so many images


def measure_corpus(data: DataConfig, kind: ExampleKind = "pairs") -> CorpusSize:
    """Read the training files once; the tokens of a corpus are multiplied by its weight."""
    if kind == "labels" and are_images(data.train_files[0]):
        labels = find_labels([data.train], is_image=True, image_folder=data.image_folder)
        images = read_labelled_images(data.train[0], images=data.image_folder or None)
        return CorpusSize(len(images), len(images), "images", tuple(labels), image_side(images[0].image))
    readers: dict[str, Callable[[Sequence[str]], Iterator[Pair]]] = {
        "pairs": partial(read_pairs, languages=data.languages),
        "text": read_monolingual,
        "labels": read_labelled_texts,
    }
    pairs, tokens = 0, 0.0
    for corpus in data.corpora:
        for pair in readers[kind](corpus.files):
            pairs += 1
            size = max(0 if kind == "labels" else len(pair.source.encode()), len(pair.target.encode()))
            tokens += corpus.weight * (size + BYTES_PER_TOKEN) / BYTES_PER_TOKEN  # END is a token too
    labels = find_labels([corpus.files for corpus in data.corpora], is_image=False) if kind == "labels" else []
    return CorpusSize(pairs, int(tokens), kind, tuple(labels))


def with_replay_weight(data: DataConfig, weight: float | None, kind: ExampleKind) -> DataConfig:
    """The weight of the last corpus, which is replayed: by default three of its examples for each of the others."""
    *new, replay = data.sources
    if weight is None:
        counts = [
            measure_corpus(DataConfig(train=one.files, languages=data.languages), kind).pairs for one in data.sources
        ]
        weight = default_replay_weight(new=sum(counts[:-1]), old=counts[-1])
    return msgspec.structs.replace(data, sources=[*new, msgspec.structs.replace(replay, weight=weight)])


def default_replay_weight(*, new: int, old: int) -> float:
    """Uses of each old example in an epoch, so that there are three for each new one; no example is used twice."""
    return min(1.0, round(REPLAYED_FOR_EACH_NEW * new / max(1, old), 3)) or 0.001


def measure_captions(data: DataConfig) -> CorpusSize:
    """Read the captions once."""
    split = data.train[1] if len(data.train) > 1 else None
    images = read_captioned(data.train[0], split=split, images=data.image_folder or None)
    sizes = [len(caption.encode()) for one in images for caption in one.captions]
    return CorpusSize(len(sizes), sum(sizes) // BYTES_PER_TOKEN + len(sizes), "captions")


def default_config(data: DataConfig, corpus_size: CorpusSize, *, steps: int | None = None) -> Config:
    """A model and a number of steps that fit the size of the corpus, or the given steps.

    For pairs it is a Transformer, for text of one language a decoder-only model, for labelled texts an encoder-only
    model with a class head, and for labelled images a CNN with self-attention.
    """
    size = next(one for one in SIZE_PRESETS if corpus_size.pairs <= one.pairs)
    stack = TransformerStackConfig(
        layers=size.layers, width=size.width, heads=size.width // HEAD_WIDTH, ffn_width=4 * size.width
    )
    model: ModelConfig
    match corpus_size.kind:
        case "pairs" | "captions":
            model = TransformerConfig(
                encoder=stack, decoder=stack, norm="pre", dropout=size.dropout, share_embeddings=True
            )
        case "text":
            model = DecoderOnlyConfig(transformer=stack, positions="rotary", dropout=size.dropout)
        case "labels":  # the mean of all tokens learns from fewer labels than the first token
            options: dict[str, Any] = {"norm": "pre", "positions": "rotary", "pooling": "mean"}
            classes = len(corpus_size.labels)
            model = EncoderOnlyConfig(transformer=stack, dropout=size.dropout, classes=classes, **options)
        case "images":
            side = min(MAX_IMAGE_SIDE, corpus_size.image_side)
            cnn = CNNConfig(image_size=side, blocks=max(1, min(3, (side // GRID_SIDE).bit_length() - 1)))
            model = ImageClassifierConfig(image_encoder=cnn, classes=len(corpus_size.labels))
    training = _training_defaults(size, corpus_size, steps)
    if corpus_size.kind == "images":
        training = _image_training_defaults(corpus_size.pairs, steps)
    return Config(
        model=model,
        tokenizer=TokenizerConfig(vocab_size=size.vocabulary),
        data=msgspec.structs.replace(data, labels=list(corpus_size.labels)),
        training=training,
    )


def _training_defaults(size: SizePreset, corpus_size: CorpusSize, steps: int | None) -> TrainingConfig:
    steps_of_epoch = max(1, corpus_size.tokens // size.batch_tokens)
    steps = steps or min(MAX_STEPS, max(400, size.epochs * steps_of_epoch))
    accumulate = -(-size.batch_tokens // MAX_BATCH_TOKENS)
    every = min(steps, max(50, steps // NUM_VALIDATIONS))
    return TrainingConfig(
        steps=steps,
        batch_tokens=size.batch_tokens // accumulate,
        gradient_accumulation=accumulate,
        learning_rate={128: 2e-3, 256: 1e-3, 512: 7e-4}[size.width],
        warmup_steps=min(4_000, steps // 10),
        validate_every=every,
        checkpoint_every=every,
        early_stopping_patience=DEFAULT_PATIENCE,
        validation_metric=DEFAULT_METRICS[corpus_size.kind],
    )


def _image_training_defaults(images: int, steps: int | None) -> TrainingConfig:
    """For a CNN that is trained from scratch: a batch is so many images, and the rate ends at zero."""
    epochs = next(epochs for most, epochs in IMAGE_EPOCHS if images <= most)
    steps = steps or min(MAX_STEPS, max(200, epochs * images // IMAGE_BATCH))
    every = max(1, min(steps, max(50, steps // 10)))
    return TrainingConfig(
        steps=steps,
        batch_tokens=IMAGE_BATCH,
        learning_rate=3e-3,
        schedule="cosine",
        warmup_steps=steps // 10,
        weight_decay=1e-2,
        validate_every=every,
        checkpoint_every=every,
        validation_metric=DEFAULT_METRICS["images"],
    )


def fine_tuning_config(
    start: Config, data: DataConfig, corpus_size: CorpusSize, *, steps: int | None = None, is_replay: bool = False
) -> Config:
    """The start model's own sections, and a short training with a low learning rate that fits the corpus."""
    size = next(one for one in SIZE_PRESETS if corpus_size.pairs <= one.pairs)
    is_image = corpus_size.kind == "images"
    batch_tokens = IMAGE_BATCH if is_image else min(size.batch_tokens, MAX_BATCH_TOKENS)
    steps_of_epoch = max(1, corpus_size.tokens // batch_tokens)
    epochs = max(MIN_TUNING_EPOCHS, size.epochs // TUNING_FRACTION)
    steps = steps or min(MAX_STEPS, max(MIN_TUNING_STEPS, epochs * steps_of_epoch))
    every = min(steps, max(25, steps // NUM_VALIDATIONS))
    model: Any = start.model
    if corpus_size.labels:
        known = start.data.labels
        labels = known if set(corpus_size.labels) <= set(known) else list(corpus_size.labels)
        model, data = (
            msgspec.structs.replace(model, classes=len(labels)),
            msgspec.structs.replace(data, labels=labels),
        )
    training = TrainingConfig(
        steps=steps,
        batch_tokens=batch_tokens,
        learning_rate=fine_tuning_rate(start.model, is_replay=is_replay),
        warmup_steps=min(MAX_TUNING_WARMUP, steps // 10),
        label_smoothing=0.0 if corpus_size.kind in ("text", "captions") else 0.1,
        validate_every=every,
        checkpoint_every=every,
        early_stopping_patience=DEFAULT_PATIENCE,
        validation_metric=DEFAULT_METRICS[corpus_size.kind],
    )
    return Config(model=model, tokenizer=start.tokenizer, decoding=start.decoding, data=data, training=training)


def fine_tuning_rate(model: ModelConfig, *, is_replay: bool = False) -> float:
    """The usual rate of BERT, more for a narrower model; wide models were trained longer, and forget faster.

    With replayed old data the model is to keep what it can do, so the rate is lower.
    """
    stack = getattr(model, "decoder", None) or getattr(model, "transformer", None)
    width = getattr(stack, "width", BERT_WIDTH)
    rate = min(MAX_TUNING_RATE, float(f"{BERT_RATE * (BERT_WIDTH / width) ** 2:.1g}"))
    return float(f"{rate * REPLAY_FRACTION:.1g}") if is_replay else rate


def describe_fine_tuning(config: Config, corpus_size: CorpusSize) -> list[str]:
    """What is fine-tuned, and the training options by the names that --set takes."""
    training = config.training
    examples = EXAMPLE_NAMES[corpus_size.kind]
    epochs = training.steps * training.batch_tokens * training.gradient_accumulation / max(1, corpus_size.tokens)
    return [
        f"fine-tuning {training.start_from} (weights with SHA-256 {training.start_digest[:16]}...), with its own "
        f"vocabulary, on {corpus_size.pairs:,} {examples}, about {corpus_size.tokens:,} tokens (change with --set):",
        f"  training.learning_rate={training.learning_rate}, training.warmup_steps={training.warmup_steps}, "
        f"training.batch_tokens={training.batch_tokens}",
        f"  training.steps={training.steps}: about {epochs:.1f} times through the data",
    ]


def describe_defaults(config: Config, corpus_size: CorpusSize) -> list[str]:
    """The chosen options by the names that --set takes; some of them may have been set."""
    training = config.training
    epochs = training.steps * training.batch_tokens * training.gradient_accumulation / max(1, corpus_size.tokens)
    examples = EXAMPLE_NAMES[corpus_size.kind]
    both = "one vocabulary for both sides" if config.tokenizer.shared else "a vocabulary for each side"
    vocabulary = both if corpus_size.kind == "pairs" else "the vocabulary"
    validations = f"{training.early_stopping_patience} validations (each {training.validate_every} steps)"
    early = f", or fewer: training ends after {validations} without a better {training.validation_metric}"
    tokens = "" if corpus_size.kind == "images" else f", about {corpus_size.tokens:,} tokens"
    pieces = (
        f"  tokenizer.vocab_size={config.tokenizer.vocab_size}: pieces of {vocabulary}, frequent enough to be learned"
    )
    return [
        f"{corpus_size.pairs:,} {examples}{tokens}. Chosen for a corpus of this size (change with --set):",
        *([] if corpus_size.kind == "images" else [pieces]),
        *_describe_model(config.model),
        f"  training.batch_tokens={training.batch_tokens}, "
        f"training.gradient_accumulation={training.gradient_accumulation}",
        f"  training.learning_rate={training.learning_rate}, "
        f"training.warmup_steps={training.warmup_steps} steps to reach it",
        f"  training.steps={training.steps}: about {epochs:.0f} times through the corpus"
        + (early if training.early_stopping_patience else ""),
    ]


def _describe_model(model: ModelConfig) -> list[str]:
    """The chosen model; nothing for a model that was set by hand."""
    if isinstance(model, TransformerConfig):
        own, layers, name = model.encoder, f"{model.encoder.layers} + {model.decoder.layers}", "Transformer"
    elif isinstance(model, LanguageModelConfig):
        own, layers, name = (
            model.transformer,
            str(model.transformer.layers),
            f"{type(model).__struct_config__.tag} model",
        )
    elif isinstance(model, ImageClassifierConfig) and isinstance(model.image_encoder, CNNConfig):
        encoder = model.image_encoder
        attention = f"self-attention with {encoder.heads} heads" if encoder.heads else "no self-attention"
        return [
            f"  model: a CNN of {encoder.blocks} blocks, width {encoder.width}, and {attention}, on images of "
            f"{encoder.image_size} x {encoder.image_size} pixels"
        ]
    else:
        return []
    return [
        f"  model: a{'n' if name[0] == 'e' else ''} {name} of {layers} layers, width {own.width}, {own.heads} heads",
        f"  model.dropout={model.dropout}: more for a smaller corpus, to prevent memorisation",
    ]
