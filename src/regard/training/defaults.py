"""A config for whoever has text files and no recipe: how large a model a corpus can feed, and how long to train it.

The sizes follow published experience: a model too large for its corpus learns it by heart (so small corpora get narrow
layers, few pieces and much dropout), and one too small stops learning early.
"""

from dataclasses import dataclass

from regard.config import (
    Config,
    DataConfig,
    DecoderOnlyConfig,
    LanguageConfig,
    ModelConfig,
    Stack,
    TokensConfig,
    TrainingConfig,
    TransformerConfig,
)
from regard.data import read_pairs, read_texts

BYTES_OF_A_TOKEN = 4  # in UTF-8, about, whatever the script: longer words in letters, few characters in syllables
VALIDATIONS = 25
PATIENCE = 6


@dataclass(frozen=True)
class CorpusSize:
    """How much there is to learn from; tokens are those of the longer side, estimated."""

    pairs: int
    tokens: int
    is_text: bool = False  # lines of one language, and no pairs


@dataclass(frozen=True)
class Size:
    """What suits corpora of up to so many pairs."""

    pairs: float
    vocabulary: int
    layers: int
    width: int
    dropout: float
    batch_tokens: int
    epochs: int


SIZES = [
    Size(3_000, vocabulary=1_000, layers=2, width=128, dropout=0.3, batch_tokens=1_024, epochs=80),
    Size(15_000, vocabulary=2_000, layers=3, width=128, dropout=0.3, batch_tokens=2_048, epochs=50),
    Size(100_000, vocabulary=6_000, layers=4, width=256, dropout=0.3, batch_tokens=4_096, epochs=30),
    Size(500_000, vocabulary=10_000, layers=5, width=256, dropout=0.2, batch_tokens=8_192, epochs=20),
    Size(2_000_000, vocabulary=16_000, layers=6, width=512, dropout=0.1, batch_tokens=16_384, epochs=15),
    Size(float("inf"), vocabulary=32_000, layers=6, width=512, dropout=0.1, batch_tokens=25_000, epochs=10),
]
LARGEST_BATCH = 8_192  # tokens computed at once; a larger batch is the sum of several
HEAD_WIDTH = 64
MOST_STEPS = 300_000


def measure_corpus(data: DataConfig, *, is_text: bool = False) -> CorpusSize:
    """Read through the training files once."""
    pairs = size = 0
    for pair in read_texts(data.train) if is_text else read_pairs(data.train, languages=data.languages):
        pairs += 1
        size += max(len(pair.source.encode()), len(pair.target.encode())) + BYTES_OF_A_TOKEN  # END is a token too
    return CorpusSize(pairs, size // BYTES_OF_A_TOKEN, is_text)


def config_for(data: DataConfig, found: CorpusSize, *, steps: int | None = None) -> Config:
    """A model as large as the corpus can feed, trained for as long as that takes, or for the given steps.

    For pairs it is a Transformer, for text of one language the decoder alone.
    """
    size = next(one for one in SIZES if found.pairs <= one.pairs)
    stack = Stack(layers=size.layers, width=size.width, heads=size.width // HEAD_WIDTH, inner=4 * size.width)
    model: ModelConfig = TransformerConfig(
        encoder=stack, decoder=stack, norm="pre", dropout=size.dropout, share_embeddings=True
    )
    if found.is_text:
        model = DecoderOnlyConfig(stack=stack, positions="rotary", dropout=size.dropout)
    return Config(
        model=model, tokens=TokensConfig(size=size.vocabulary), data=data, training=_training(size, found, steps)
    )


def _training(size: Size, found: CorpusSize, steps: int | None) -> TrainingConfig:
    steps_of_epoch = max(1, found.tokens // size.batch_tokens)
    steps = steps or min(MOST_STEPS, max(400, size.epochs * steps_of_epoch))
    accumulate = -(-size.batch_tokens // LARGEST_BATCH)
    every = min(steps, max(50, steps // VALIDATIONS))
    return TrainingConfig(
        steps=steps,
        batch_tokens=size.batch_tokens // accumulate,
        accumulate=accumulate,
        learning_rate={128: 2e-3, 256: 1e-3, 512: 7e-4}[size.width],
        warmup=min(4_000, steps // 10),
        validate_every=every,
        checkpoint_every=every,
        patience=PATIENCE,
        metric="loss" if found.is_text else "bleu",
    )


def explain(config: Config, found: CorpusSize) -> list[str]:
    """What a config for this corpus came to, by the names that --set takes; some of it may have been set."""
    training = config.training
    epochs = training.steps * training.batch_tokens * training.accumulate / max(1, found.tokens)
    examples = "lines" if found.is_text else "pairs"
    both = "one vocabulary for both sides" if config.tokens.shared else "a vocabulary for each side"
    vocabulary = "the vocabulary" if found.is_text else both
    return [
        f"{found.pairs:,} {examples}, about {found.tokens:,} tokens. "
        "Chosen for a corpus of this size (change with --set):",
        f"  tokens.size={config.tokens.size}: pieces of {vocabulary}, seen often enough to be learnt",
        *_explain_model(config.model),
        f"  training.batch_tokens={training.batch_tokens}, training.accumulate={training.accumulate}",
        f"  training.learning_rate={training.learning_rate}, training.warmup={training.warmup} steps to reach it",
        f"  training.steps={training.steps}: about {epochs:.0f} times through the corpus{_explain_end(training)}",
    ]


def _explain_end(training: TrainingConfig) -> str:
    if not training.patience:
        return ""
    validations = f"{training.patience} validations (each {training.validate_every} steps)"
    return f", or fewer: training ends after {validations} without a better {training.metric}"


def _explain_model(model: ModelConfig) -> list[str]:
    """Only these were chosen; another model was set, and its maker knows it."""
    if isinstance(model, TransformerConfig):
        own, layers, name = model.encoder, f"{model.encoder.layers} + {model.decoder.layers}", "Transformer"
    elif isinstance(model, LanguageConfig):
        own, layers, name = model.stack, str(model.stack.layers), f"{type(model).__struct_config__.tag} model"
    else:
        return []
    return [
        f"  model: a{'n' if name[0] == 'e' else ''} {name} of {layers} layers, width {own.width}, {own.heads} heads",
        f"  model.dropout={model.dropout}: more for a smaller corpus, so that it is not learnt by heart",
    ]
