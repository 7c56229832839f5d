"""A config for text files without a recipe: the size of the model and the length of the training, by the corpus.

The sizes follow published experience: a model too large for its corpus learns it by heart (so small corpora get narrow
layers, few pieces and much dropout), and one too small stops learning early.
"""

from dataclasses import dataclass

import msgspec

from regard.config import (
    CaptionerConfig,
    Config,
    DataConfig,
    DecoderOnlyConfig,
    LanguageModelConfig,
    ModelConfig,
    TokenizerConfig,
    TrainingConfig,
    TransformerConfig,
    TransformerStackConfig,
)
from regard.data.captions import read_captioned
from regard.data.readers import read_pairs
from regard.data.readers.text import read_monolingual

BYTES_PER_TOKEN = 4  # in UTF-8, about, whatever the script: longer words in letters, few characters in syllables
NUM_VALIDATIONS = 25
DEFAULT_PATIENCE = 6


@dataclass(frozen=True)
class CorpusSize:
    """How much there is to learn from; tokens are those of the longer side, estimated."""

    pairs: int
    tokens: int
    is_text: bool = False  # lines of one language, and no pairs
    has_captions: bool = False  # of images


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


def measure_corpus(data: DataConfig, *, is_text: bool = False) -> CorpusSize:
    """Read the training files once; the tokens of a corpus count as often as its weight says."""
    pairs, tokens = 0, 0.0
    for corpus in data.corpora:
        read = read_monolingual(corpus.files) if is_text else read_pairs(corpus.files, languages=data.languages)
        for pair in read:
            pairs += 1
            size = max(len(pair.source.encode()), len(pair.target.encode()))
            tokens += corpus.weight * (size + BYTES_PER_TOKEN) / BYTES_PER_TOKEN  # END is a token too
    return CorpusSize(pairs, int(tokens), is_text)


def with_replay_weight(data: DataConfig, weight: float | None, *, is_text: bool = False) -> DataConfig:
    """The weight of the last corpus, which is replayed: by default as many of its examples as of all others."""
    *new, replay = data.sources
    if weight is None:
        counts = [
            measure_corpus(DataConfig(train=one.files, languages=data.languages), is_text=is_text).pairs
            for one in data.sources
        ]
        weight = min(1.0, round(sum(counts[:-1]) / max(1, counts[-1]), 3)) or 0.001
    return msgspec.structs.replace(data, sources=[*new, msgspec.structs.replace(replay, weight=weight)])


def measure_captions(data: DataConfig) -> CorpusSize:
    """Read the captions once."""
    split = data.train[1] if len(data.train) > 1 else None
    images = read_captioned(data.train[0], split=split, images=data.image_folder or None)
    sizes = [len(caption.encode()) for one in images for caption in one.captions]
    return CorpusSize(len(sizes), sum(sizes) // BYTES_PER_TOKEN + len(sizes), has_captions=True)


def default_config(data: DataConfig, corpus_size: CorpusSize, *, steps: int | None = None) -> Config:
    """A model and a number of steps that fit the size of the corpus, or the given steps.

    For pairs it is a Transformer, for text of one language a decoder-only model.
    """
    size = next(one for one in SIZE_PRESETS if corpus_size.pairs <= one.pairs)
    stack = TransformerStackConfig(
        layers=size.layers, width=size.width, heads=size.width // HEAD_WIDTH, ffn_width=4 * size.width
    )
    model: ModelConfig = TransformerConfig(
        encoder=stack, decoder=stack, norm="pre", dropout=size.dropout, share_embeddings=True
    )
    if corpus_size.is_text:
        model = DecoderOnlyConfig(transformer=stack, positions="rotary", dropout=size.dropout)
    return Config(
        model=model,
        tokenizer=TokenizerConfig(vocab_size=size.vocabulary),
        data=data,
        training=_training_defaults(size, corpus_size, steps),
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
        validation_metric="loss" if corpus_size.is_text else "bleu",
    )


def fine_tuning_config(start: Config, data: DataConfig, corpus_size: CorpusSize, *, steps: int | None = None) -> Config:
    """The start model's own sections, and a short training with a low learning rate that fits the corpus."""
    size = next(one for one in SIZE_PRESETS if corpus_size.pairs <= one.pairs)
    batch_tokens = min(size.batch_tokens, MAX_BATCH_TOKENS)
    steps_of_epoch = max(1, corpus_size.tokens // batch_tokens)
    epochs = max(MIN_TUNING_EPOCHS, size.epochs // TUNING_FRACTION)
    steps = steps or min(MAX_STEPS, max(MIN_TUNING_STEPS, epochs * steps_of_epoch))
    every = min(steps, max(25, steps // NUM_VALIDATIONS))
    is_translator = not isinstance(start.model, LanguageModelConfig | CaptionerConfig)
    training = TrainingConfig(
        steps=steps,
        batch_tokens=batch_tokens,
        learning_rate=fine_tuning_rate(start.model),
        warmup_steps=min(MAX_TUNING_WARMUP, steps // 10),
        label_smoothing=0.1 if is_translator else 0.0,
        validate_every=every,
        checkpoint_every=every,
        early_stopping_patience=DEFAULT_PATIENCE,
        validation_metric="loss" if isinstance(start.model, LanguageModelConfig) else "bleu",
    )
    return Config(model=start.model, tokenizer=start.tokenizer, decoding=start.decoding, data=data, training=training)


def fine_tuning_rate(model: ModelConfig) -> float:
    """The usual rate of BERT, more for a narrower model; wide models were trained longer, and forget faster."""
    stack = getattr(model, "decoder", None) or getattr(model, "transformer", None)
    width = getattr(stack, "width", BERT_WIDTH)
    return min(MAX_TUNING_RATE, float(f"{BERT_RATE * (BERT_WIDTH / width) ** 2:.1g}"))


def describe_fine_tuning(config: Config, corpus_size: CorpusSize) -> list[str]:
    """What is fine-tuned, and the training options by the names that --set takes."""
    training = config.training
    examples = "captions" if corpus_size.has_captions else "lines" if corpus_size.is_text else "pairs"
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
    examples = "lines" if corpus_size.is_text else "pairs"
    both = "one vocabulary for both sides" if config.tokenizer.shared else "a vocabulary for each side"
    vocabulary = "the vocabulary" if corpus_size.is_text else both
    validations = f"{training.early_stopping_patience} validations (each {training.validate_every} steps)"
    early = f", or fewer: training ends after {validations} without a better {training.validation_metric}"
    return [
        f"{corpus_size.pairs:,} {examples}, about {corpus_size.tokens:,} tokens. "
        "Chosen for a corpus of this size (change with --set):",
        f"  tokenizer.vocab_size={config.tokenizer.vocab_size}: pieces of {vocabulary}, frequent enough to be learned",
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
    else:
        return []
    return [
        f"  model: a{'n' if name[0] == 'e' else ''} {name} of {layers} layers, width {own.width}, {own.heads} heads",
        f"  model.dropout={model.dropout}: more for a smaller corpus, to prevent memorisation",
    ]
