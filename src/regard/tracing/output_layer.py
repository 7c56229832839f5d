"""The output layer in a trace: the most probable tokens at every position, with their rows of its matrix.

The logit lens applies it to the output of every block (nostalgebraist, 2020).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from msgspec import Struct
from torch import Tensor

from regard.errors import RegardError
from regard.models.encoder_only import ClassHead, MaskedTokenHead
from regard.models.interface import DecoderOutput, QuerySide
from regard.tracing.activations import Array, FloatRow, LinearArrays, to_array
from regard.tracing.interventions import captured_values
from regard.tracing.model_parts import ModelParts
from regard.tracing.pass_input import PassInput

TOP_K = 10  # tokens of the vocabulary that are listed at each position


IdsToPieces = Callable[[list[int]], list[str]]


class TokenArithmetic(Struct, frozen=True, kw_only=True):
    """One token of the vocabulary: logit = weight . hidden + bias."""

    piece: str
    rank: int  # counted from 1
    logit: float
    probability: float
    is_chosen: bool
    weight: FloatRow | None  # None where a file leaves it out
    bias: float


class OutputArithmetic(Struct, frozen=True, kw_only=True):
    """The most probable tokens at one position, and last, if it is not among them, the chosen one."""

    vocabulary: int
    hidden: FloatRow  # the input of the output layer
    log_partition: float  # log of the sum of e^logit over the whole vocabulary
    tokens: list[TokenArithmetic]


@dataclass(frozen=True)
class OutputCandidate:
    """A token at a position."""

    token: int
    piece: str
    rank: int
    logit: float
    probability: float
    is_chosen: bool


@dataclass(frozen=True, eq=False)
class OutputArrays:
    """The output layer at every position of one side."""

    side: QuerySide
    hidden: Array  # (T, W)
    log_partitions: Array  # (T)
    candidates: list[list[OutputCandidate]]
    output: LinearArrays  # the model's own
    to_pieces: IdsToPieces

    def at_temperature(self, temperature: float) -> list[list[OutputCandidate]]:
        """The most probable tokens of every position, if the logits are divided by a temperature."""
        if temperature == 1:
            return self.candidates
        weight, bias = self.output
        logits = self.hidden @ weight.T + (0 if bias is None else bias)
        totals = np.logaddexp.reduce(logits / temperature, axis=-1)
        return [
            [replace(one, probability=float(np.exp(one.logit / temperature - total))) for one in own]
            for own, total in zip(self.candidates, totals, strict=True)
        ]

    def at(self, position: int) -> OutputArithmetic:
        """The most probable tokens at one position, with their rows of the output layer."""
        weight, bias = self.output
        return OutputArithmetic(
            vocabulary=len(weight),
            hidden=self.hidden[position].tolist(),
            log_partition=float(self.log_partitions[position]),
            tokens=[
                TokenArithmetic(
                    piece=one.piece,
                    rank=one.rank,
                    logit=one.logit,
                    probability=one.probability,
                    is_chosen=one.is_chosen,
                    weight=weight[one.token].tolist(),
                    bias=0.0 if bias is None else float(bias[one.token]),
                )
                for one in self.candidates[position]
            ],
        )


@torch.inference_mode()
def output_arrays(
    decoded: DecoderOutput, chosen: list[int | None], side: QuerySide, to_pieces: IdsToPieces
) -> OutputArrays:
    """The most probable tokens of a pass over one row, and the chosen token of each position, or None."""
    logits = decoded.logits[0].float()
    rows = zip(logits, chosen, strict=True)
    weight, bias = decoded.projection
    return OutputArrays(
        side=side,
        hidden=to_array(decoded.hidden[0]),
        log_partitions=to_array(logits.logsumexp(dim=-1)),
        candidates=[top_candidates(*row, to_pieces) for row in rows],
        output=LinearArrays(to_array(weight), None if bias is None else to_array(bias)),
        to_pieces=to_pieces,
    )


def top_candidates(logits: Float[Tensor, " V"], chosen: int | None, to_pieces: IdsToPieces) -> list[OutputCandidate]:
    """The most probable tokens, and the chosen one."""
    probabilities = logits.softmax(dim=-1)
    tokens: list[int] = logits.topk(min(TOP_K, len(logits))).indices.tolist()
    ranks = list(range(1, len(tokens) + 1))
    if chosen is not None and chosen not in tokens:
        tokens.append(chosen)
        ranks.append(int((logits > logits[chosen]).sum()) + 1)
    return [
        OutputCandidate(token, piece, rank, float(logits[token]), float(probabilities[token]), token == chosen)
        for token, piece, rank in zip(tokens, to_pieces(tokens), ranks, strict=True)
    ]


@torch.inference_mode()
def logit_lens(passed: PassInput) -> list[tuple[str, DecoderOutput]]:
    """Every block's name, with its output as if it were that of the last block."""
    parts = ModelParts(passed.model)
    stack = parts.stacks.get("encoder" if passed.target is None else "decoder")
    if stack is None:
        raise RegardError("this model has no Transformer blocks whose outputs the output layer could read.")
    with passed.interventions(), captured_values([(block, "block") for block in stack.blocks]) as captured:
        decoded = passed.run()
    head = getattr(passed.model, "head", None)
    names = {id(module): name for name, module in parts.modules.items()}
    lens = []
    for block in stack.blocks:
        hidden = stack.norm(captured[id(block), "block"][0])
        if isinstance(head, MaskedTokenHead):
            hidden = head.transform_hidden(hidden)
        elif isinstance(head, ClassHead):
            hidden = head.pool(hidden, passed.source)  # type: ignore[arg-type]
        hidden = hidden * getattr(passed.model, "output_scale", 1.0)
        lens.append((names[id(block)], replace(decoded, hidden=hidden)))
    return lens
