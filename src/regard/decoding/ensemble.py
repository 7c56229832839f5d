"""An ensemble: the mean of the log-probabilities of several models, behind the interface of one model."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import RegardError
from regard.layers.embedding import OutputProjection
from regard.models.interface import DecoderOutput, Memory, Source, State


@dataclass(frozen=True)
class EnsembleState:
    """The memory, or the state, of each model."""

    parts: tuple[Memory | State, ...]


class IdentityProjection(OutputProjection):
    """The output layer for hidden states that are logits already."""

    def __call__(self, hidden: Float[Tensor, "... V"]) -> Float[Tensor, "... V"]:
        return hidden


class Ensemble(nn.Module):
    """Models with the same vocabularies; the log-probability of a token is their mean, normalised by the loop."""

    def __init__(self, models: Sequence[nn.Module]) -> None:
        super().__init__()
        if not models:
            raise RegardError("an ensemble needs at least one model; none was given.")
        self.models = nn.ModuleList(models)
        bounds = [model.max_positions for model in models if model.max_positions is not None]
        self.max_positions: int | None = min(map(int, bounds), default=None)  # type: ignore[arg-type]

    def encode(self, source: Source) -> EnsembleState:
        return EnsembleState(tuple(model.encode(source) for model in self.models))  # type: ignore[operator]

    def init_state(self, memory: EnsembleState) -> EnsembleState:
        return EnsembleState(tuple(model.init_state(own) for model, own in zip(self.models, memory.parts, strict=True)))  # type: ignore[operator]

    def decode(self, tokens: Int[Tensor, "B T"], memory: EnsembleState, state: EnsembleState) -> DecoderOutput:
        states = zip(self.models, memory.parts, state.parts, strict=True)
        decoded = [model.decode(tokens, *own) for model, *own in states]  # type: ignore[operator]
        log_probabilities = torch.stack([one.logits.log_softmax(dim=-1) for one in decoded]).mean(dim=0)
        return DecoderOutput(
            log_probabilities,
            IdentityProjection(log_probabilities.new_empty(0, 0), None),
            EnsembleState(tuple(one.state for one in decoded)),
        )
