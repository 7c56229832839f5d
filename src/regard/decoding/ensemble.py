"""Several models that speak as one: the mean of what each finds likely, so that the one decode loop serves them too."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import RegardError
from regard.layers.embedding import Output
from regard.models.interface import Decoded, Memory, Source, State


@dataclass(frozen=True)
class Parts:
    """The memory, or the state, of each model."""

    of_each: tuple[Memory | State, ...]


class AsTheyAre(Output):
    """The output layer of what are logits already."""

    def __call__(self, hidden: Float[Tensor, "... V"]) -> Float[Tensor, "... V"]:
        return hidden


class Ensemble(nn.Module):
    """Models of the same vocabularies; a token's log-probability is the mean of theirs (then made to sum to one)."""

    def __init__(self, models: Sequence[nn.Module]) -> None:
        super().__init__()
        if not models:
            raise RegardError("an ensemble needs at least one model; none was given.")
        self.models = nn.ModuleList(models)
        bounds = [model.longest for model in models if model.longest is not None]
        self.longest: int | None = min(map(int, bounds), default=None)  # type: ignore[arg-type]

    def encode(self, source: Source) -> Parts:
        return Parts(tuple(model.encode(source) for model in self.models))  # type: ignore[operator]

    def start(self, memory: Parts) -> Parts:
        return Parts(tuple(model.start(own) for model, own in zip(self.models, memory.of_each, strict=True)))  # type: ignore[operator]

    def decode(self, tokens: Int[Tensor, "B T"], memory: Parts, state: Parts) -> Decoded:
        parts = zip(self.models, memory.of_each, state.of_each, strict=True)
        decoded = [model.decode(tokens, *own) for model, *own in parts]  # type: ignore[operator]
        said = torch.stack([one.logits.log_softmax(dim=-1) for one in decoded]).mean(dim=0)
        return Decoded(said, AsTheyAre(said.new_empty(0, 0), None), Parts(tuple(one.state for one in decoded)))
