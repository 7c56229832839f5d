"""Trains a sentencepiece model on lines of text, in memory; the same lines always give the same model.

sentencepiece alone would sample with a seed that cannot be set, skip long lines, and fail if the text has more distinct
characters than the vocabulary has pieces. The preparation here avoids all three.
"""

import io
import logging
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Literal, TypeVar, get_args

import sentencepiece

from regard.errors import RegardError
from regard.special_tokens import BEGIN, END, PADDING, RESERVED, UNKNOWN
from regard.tokenization.text import normalize

Example = TypeVar("Example")
ModelType = Literal["unigram", "bpe", "char", "word"]
MAX_SAMPLE_LINES = 1_000_000  # of a larger corpus, a random sample is used
MAX_LINE_CHARACTERS = 1_000  # sentencepiece skips lines of more than 4,192 bytes, so longer ones are split
MIN_SIZE_WITH_BYTES = 1_000  # in smaller vocabularies the 256 bytes would take more than a quarter of the pieces
COVERAGE_WITH_BYTES = 0.9995  # of the text; rarer characters are encoded in bytes, which leaves more pieces for words
THREADS = 2  # fixed: sums in another order would give another vocabulary
_RESERVED_CHARACTER = "▅"  # U+2585: sentencepiece reserves it and skips lines that contain it
_log = logging.getLogger(__name__)


def train_sentencepiece(lines: Iterable[str], *, model_type: ModelType = "unigram", vocab_size: int = 8000) -> bytes:
    """The bytes of a sentencepiece model of at most `vocab_size` pieces; a warning is logged if there are fewer."""
    if model_type not in get_args(ModelType):
        raise RegardError(
            f"the tokenizer's model_type is {model_type!r}; choose one of {', '.join(get_args(ModelType))}."
        )
    if vocab_size < len(RESERVED) + 2:
        raise RegardError(f"the vocabulary's size is {vocab_size}; give at least {len(RESERVED) + 2}.")
    texts = (normalize(line.replace(_RESERVED_CHARACTER, " ")) for line in lines)
    cut = MAX_LINE_CHARACTERS
    parts = (text[start : start + cut].strip() for text in texts for start in range(0, len(text), cut))
    # Each distinct line once: on repeated lines the unigram training takes quadratic time.
    sample = list(dict.fromkeys(reservoir_sample((part for part in parts if part), MAX_SAMPLE_LINES)))
    if not sample:
        raise RegardError("there is no text to train a vocabulary on. Give at least one line that is not blank.")
    return _train_on_sample(sample, model_type, vocab_size)


def reservoir_sample(examples: Iterator[Example], largest: int) -> list[Example]:
    """At most `largest` of the examples, each with the same probability (reservoir sampling), and always the same."""
    sample = list(islice(examples, largest))
    rng = random.Random(0)  # noqa: S311  (repeatable, not secret)
    for seen, example in enumerate(examples, start=largest + 1):
        index = int(rng.random() * seen)
        if index < largest:
            sample[index] = example
    return sample


def _train_on_sample(sample: list[str], model_type: ModelType, vocab_size: int) -> bytes:
    with_bytes = model_type in ("unigram", "bpe") and vocab_size >= MIN_SIZE_WITH_BYTES
    if model_type in ("unigram", "bpe"):  # every character is a piece; an eighth of the pieces is left for longer ones
        available = vocab_size - len(RESERVED) - (256 if with_bytes else 0)
        sample = _with_common_characters(sample, most=available - available // 8)
    pieces = {identity: piece for piece, identity in RESERVED.items()}
    ids = {"pad": PADDING, "unk": UNKNOWN, "bos": BEGIN, "eos": END}
    special: dict[str, Any] = {f"{name}_id": identity for name, identity in ids.items()}
    special |= {f"{name}_piece": pieces.pop(identity) for name, identity in ids.items()}
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sample),
        model_writer=writer,
        model_type=model_type,
        vocab_size=vocab_size,
        hard_vocab_limit=False,
        byte_fallback=with_bytes,
        character_coverage=COVERAGE_WITH_BYTES if with_bytes else 1.0,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,  # `normalize` has done it
        add_dummy_prefix=True,  # the first word has a mark, too, and so the same pieces as elsewhere
        # An unknown word includes the space before it; an unknown character does not.
        unk_surface=" ⁇ " if model_type == "word" else "⁇",
        num_threads=THREADS,
        minloglevel=2,
        control_symbols=list(pieces.values()),
        **special,
    )
    model = writer.getvalue()
    size = sentencepiece.SentencePieceProcessor(model_proto=model).get_piece_size()
    if size < vocab_size:
        _log.warning("the text gives only %d of the %d pieces; the vocabulary has no more", size, vocab_size)
    return model


def _with_common_characters(sample: list[str], most: int) -> list[str]:
    """The lines with rare characters replaced by spaces; the word mark is one of the common ones."""
    counts: Counter[str] = Counter()
    for line in sample:
        counts.update(line)
    del counts[" "]
    common = {character for character, _ in counts.most_common(most - 1)}
    rare = {ord(character): " " for character in counts if character not in common}
    lines = (normalize(line.translate(rare)) for line in sample) if rare else iter(sample)
    return [line for line in lines if line]
