"""The end of a pass: the output layer and its softmax, as the likeliest tokens at each position and the one said."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from msgspec import Struct
from torch import Tensor

from regard.models.interface import Decoded
from regard.models.uses import QuerySide
from regard.translation.arrays import Array, Linear, Row, as_array

LIKELIEST = 10


class TokenSteps(Struct, frozen=True, kw_only=True):
    """One token of the vocabulary: logit = weight . hidden + bias."""

    piece: str
    rank: int  # counted from 1
    logit: float
    probability: float
    is_said: bool
    weight: Row | None  # None where a file has left it out
    bias: float


class OutputSteps(Struct, frozen=True, kw_only=True):
    """The likeliest tokens at one position, and last, where it is not among them, the one that was said."""

    vocabulary: int
    hidden: Row  # what goes to the output layer
    log_total: float  # log of the sum of e^logit over the whole vocabulary
    tokens: list[TokenSteps]


@dataclass(frozen=True)
class Candidate:
    """A token at a position."""

    token: int
    piece: str
    rank: int
    logit: float
    probability: float
    is_said: bool


@dataclass(frozen=True, eq=False)
class OutputNumbers:
    """What the output layer gave at every position of one side."""

    side: QuerySide
    hidden: Array  # (T, W)
    log_totals: Array  # (T)
    candidates: list[list[Candidate]]
    output: Linear  # the model's own

    def at(self, place: int) -> OutputSteps:
        return OutputSteps(
            vocabulary=len(self.output.weight),
            hidden=self.hidden[place].tolist(),
            log_total=float(self.log_totals[place]),
            tokens=[self._steps(one) for one in self.candidates[place]],
        )

    def _steps(self, one: Candidate) -> TokenSteps:
        return TokenSteps(
            piece=one.piece,
            rank=one.rank,
            logit=one.logit,
            probability=one.probability,
            is_said=one.is_said,
            weight=self.output.weight[one.token].tolist(),
            bias=0.0 if self.output.bias is None else float(self.output.bias[one.token]),
        )


Spell = Callable[[list[int]], list[str]]


@torch.inference_mode()
def output_numbers(decoded: Decoded, said: list[int | None], side: QuerySide, spell: Spell) -> OutputNumbers:
    """The likeliest tokens of a pass over one row, with what was said at each position; None where nothing was."""
    logits = decoded.logits[0].float()
    rows = zip(logits, logits.softmax(dim=-1), said, strict=True)
    weight, bias = decoded.output
    return OutputNumbers(
        side=side,
        hidden=as_array(decoded.hidden[0]),
        log_totals=as_array(logits.logsumexp(dim=-1)),
        candidates=[_candidates(*row, spell) for row in rows],
        output=Linear(as_array(weight), None if bias is None else as_array(bias)),
    )


def _candidates(logits: Tensor, probabilities: Tensor, said: int | None, spell: Spell) -> list[Candidate]:
    tokens: list[int] = logits.topk(min(LIKELIEST, len(logits))).indices.tolist()
    ranks = list(range(1, len(tokens) + 1))
    if said is not None and said not in tokens:
        tokens.append(said)
        ranks.append(int((logits > logits[said]).sum()) + 1)
    return [
        Candidate(token, piece, rank, float(logits[token]), float(probabilities[token]), token == said)
        for token, piece, rank in zip(tokens, spell(tokens), ranks, strict=True)
    ]
