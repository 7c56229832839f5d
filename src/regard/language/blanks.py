"""Tokens taken out of a text: by whoever writes `___`, or by chance in training."""

import re
from collections.abc import Sequence
from random import Random

from regard.symbols import MASK, PADDING, RESERVED
from regard.tokens import Tokenizer
from regard.tokens.text import WORD_MARK

BLANK = "___"
_BLANKS = re.compile(r"_{2,}|<mask>")
MASKED, REPLACED = 0.8, 0.1  # of the tokens taken out; the rest stay, so that a reader learns to doubt what it sees


def with_blanks(text: str, tokenizer: Tokenizer) -> list[int]:
    """The ids of a text in which MASK stands for each blank: two or more underscores, or `<mask>`."""
    first, *others = _BLANKS.split(text)
    row = tokenizer.encode(first)
    for part in others:
        row += [MASK, *_after_blank(part, tokenizer)]
    return row


def _after_blank(part: str, tokenizer: Tokenizer) -> list[int]:
    """The ids of what follows a blank: what stands close to it, as a full stop does, begins no word of its own."""
    row = tokenizer.encode(part)
    if not row or part[0].isspace():
        return row
    [beginning] = tokenizer.pieces(row[:1])
    bare = beginning.removeprefix(WORD_MARK)
    if not bare:
        return row[1:]
    return [tokenizer.vocabulary.index(bare), *row[1:]] if bare in tokenizer.vocabulary else row


def take_out(row: Sequence[int], chance: Random, *, share: float, vocabulary: int) -> tuple[list[int], list[int]]:
    """The row with a share of its tokens taken out, at least one, and what stood there; PADDING everywhere else.

    Of those taken out most are masked, some replaced by any other token, and some stay: Devlin et al., 2019.
    """
    count = max(1, round(share * len(row)))
    given, wanted = list(row), [PADDING] * len(row)
    for place in chance.sample(range(len(row)), min(count, len(row))):
        wanted[place] = row[place]
        draw = chance.random()
        if draw < MASKED:
            given[place] = MASK
        elif draw < MASKED + REPLACED:
            given[place] = chance.randrange(len(RESERVED), vocabulary)
    return given, wanted
