"""How well a language model knows a text: the probability that it gives each token, and whether it would name it."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.batch import Batch, Padded, source_of
from regard.metrics.language import Known
from regard.models.interface import Decoded
from regard.symbols import MASK

ROWS_AT_ONCE = 64


@torch.inference_mode()
def known_by_writer(model: Any, rows: Sequence[list[int]], *, device: torch.device) -> Iterator[Known]:
    """Of each row: its tokens and END, each named from those before it."""
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[start : start + ROWS_AT_ONCE]
        batch = Batch.of([[] for _ in part], part, device=device)
        memory = model.encode(batch.source)
        assert batch.inputs is not None  # noqa: S101  (for the type checker)
        decoded = model.decode(batch.inputs.tokens, memory, model.start(memory))
        yield from _known(decoded, batch.outputs)


@torch.inference_mode()
def known_by_reader(model: Any, rows: Sequence[list[int]], *, device: torch.device) -> Iterator[Known]:
    """Of each row: its tokens, each named from all others, as often as there are tokens: Salazar et al., 2020."""
    for row in rows:
        log_probability, right = 0.0, 0
        for start in range(0, len(row), ROWS_AT_ONCE):
            places = range(start, min(start + ROWS_AT_ONCE, len(row)))
            given = [[*row[:place], MASK, *row[place + 1 :]] for place in places]
            decoded: Decoded = model.read(source_of(given, device=device))
            hidden = decoded.hidden[range(len(places)), list(places)]
            found, is_right = _named(decoded.output(hidden), torch.tensor([row[place] for place in places]).to(device))
            log_probability, right = log_probability + float(found.sum()), right + int(is_right.sum())
        yield Known(log_probability, len(row), right)


def _known(decoded: Decoded, said: Padded) -> Iterator[Known]:
    found, is_right = _named(decoded.logits, said.tokens)
    for row, length in enumerate(said.lengths):
        yield Known(float(found[row, :length].sum()), length, int(is_right[row, :length].sum()))


def _named(logits: Float[Tensor, "... V"], tokens: Int[Tensor, "..."]) -> tuple[Tensor, Tensor]:
    """The log-probability of each token, and whether it is the likeliest."""
    found = logits.log_softmax(dim=-1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    return found, logits.argmax(dim=-1) == tokens
