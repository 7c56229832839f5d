"""Learns a sentencepiece model from lines of text, in memory and always the same one from the same lines.

Sentencepiece by itself would draw its sample with a seed that cannot be set, skip long lines, and stop when the
text has more characters than the vocabulary has room. These are settled here, before it sees the text.
"""

import io
import logging
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Literal, get_args

import sentencepiece

from regard.errors import RegardError
from regard.symbols import BEGIN, END, PADDING, RESERVED, UNKNOWN
from regard.tokens.text import normalise

Kind = Literal["unigram", "bpe", "char", "word"]

LARGEST_SAMPLE = 1_000_000  # lines learnt from; of a larger corpus, a random sample
LONGEST_LINE = 1_000  # characters; sentencepiece skips lines of more than 4,192 bytes, so longer ones are cut
SMALLEST_WITH_BYTES = 1_000  # pieces; below it the 256 bytes would take more than a quarter of the vocabulary
COVERAGE_WITH_BYTES = 0.9995  # of the text; rarer characters are spelled in bytes and leave their room to longer pieces
THREADS = 2  # fixed: sums in another order would give another vocabulary on another machine
_SKIPPED_MARK = "▅"  # U+2585: sentencepiece keeps it for itself and skips the lines that hold it

_log = logging.getLogger(__name__)


def learn(lines: Iterable[str], *, kind: Kind = "unigram", size: int = 8000) -> bytes:
    """The bytes of a sentencepiece model of at most `size` pieces; a text too small to fill it is noted in the log."""
    if kind not in get_args(Kind):
        raise RegardError(f"the kind of tokens is {kind!r}; choose one of {', '.join(get_args(Kind))}.")
    if size < len(RESERVED) + 2:
        raise RegardError(f"the vocabulary's size is {size}; give at least {len(RESERVED) + 2}.")
    # Each distinct line once: on repeated lines the search for unigram pieces takes quadratic time.
    sample = list(dict.fromkeys(_sample(_learnable(lines))))
    if not sample:
        raise RegardError("there is no text to learn a vocabulary from. Give at least one line that is not blank.")
    return _learn(sample, kind, size)


def _learnable(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        text = normalise(line.replace(_SKIPPED_MARK, " "))
        for start in range(0, len(text), LONGEST_LINE):
            if part := text[start : start + LONGEST_LINE].strip():
                yield part


def _sample(lines: Iterator[str], largest: int = LARGEST_SAMPLE) -> list[str]:
    """At most `largest` of the lines, each as likely as any other (reservoir sampling)."""
    kept = list(islice(lines, largest))
    draw = random.Random(0)  # noqa: S311  (repeatable, not secret)
    for seen, line in enumerate(lines, start=largest + 1):
        place = draw.randrange(seen)
        if place < largest:
            kept[place] = line
    return kept


def _learn(sample: list[str], kind: Kind, size: int) -> bytes:
    with_bytes = kind in ("unigram", "bpe") and size >= SMALLEST_WITH_BYTES
    if kind in ("unigram", "bpe"):  # every character is a piece here, and an eighth of the room is kept for longer ones
        room = size - len(RESERVED) - (256 if with_bytes else 0)
        sample = _with_common_characters(sample, most=room - room // 8)
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sample),
        model_writer=writer,
        model_type=kind,
        vocab_size=size,
        hard_vocab_limit=False,
        byte_fallback=with_bytes,
        character_coverage=COVERAGE_WITH_BYTES if with_bytes else 1.0,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,  # `normalise` has done it
        add_dummy_prefix=True,  # the first word gets its mark too, and so the same pieces as anywhere else
        # An unknown word has swallowed the space before it; an unknown character has not.
        unk_surface=" ⁇ " if kind == "word" else "⁇",
        num_threads=THREADS,
        minloglevel=2,
        **_reserved(),
    )
    return _noting_a_shortfall(writer.getvalue(), size)


def _reserved() -> dict[str, Any]:
    pieces = {identity: piece for piece, identity in RESERVED.items()}
    ids = {"pad": PADDING, "unk": UNKNOWN, "bos": BEGIN, "eos": END}
    options: dict[str, Any] = {f"{name}_id": identity for name, identity in ids.items()}
    options |= {f"{name}_piece": pieces.pop(identity) for name, identity in ids.items()}
    return options | {"control_symbols": list(pieces.values())}


def _with_common_characters(sample: list[str], most: int) -> list[str]:
    """The lines with spaces for all but the most common characters; the word mark is one of them."""
    counts: Counter[str] = Counter()
    for line in sample:
        counts.update(line)
    del counts[" "]
    common = {character for character, _ in counts.most_common(most - 1)}
    rare = {ord(character): " " for character in counts if character not in common}
    lines = (normalise(line.translate(rare)) for line in sample) if rare else iter(sample)
    return [line for line in lines if line]


def _noting_a_shortfall(model: bytes, size: int) -> bytes:
    found = sentencepiece.SentencePieceProcessor(model_proto=model).get_piece_size()
    if found < size:
        _log.warning("the text fills only %d of the %d pieces asked for; the vocabulary has no more", found, size)
    return model
