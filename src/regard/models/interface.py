"""What a model that generates must offer, and what its memory and state are: trees of batch-first tensors.

Memory is fixed once the source is encoded; state changes with every step. Both are frozen dataclasses whose tensors
have the batch as their first axis, so that choosing rows (of a beam, or those not finished) is one function for all.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.batch import Grid, Padded, Pictures
from regard.layers.embedding import Output

Source = Padded | Pictures | Grid
Memory = Any  # a frozen dataclass of the model's own
State = Any
Tree = TypeVar("Tree")


@dataclass(frozen=True)
class Decoded:
    """The hidden state after each new token, the output layer to apply to it, and the state to go on from."""

    hidden: Float[Tensor, "B T W"]
    output: Output
    state: State
    penalty: Float[Tensor, " B"] | None = None  # what a row's loss is raised by in training, besides its words

    @property
    def logits(self) -> Float[Tensor, "B T V"]:
        """Scores over the vocabulary after each new token; a loss, or a search, may ask for fewer through `output`."""
        return self.output(self.hidden)


@runtime_checkable
class Generator(Protocol):
    """A model that says a sequence, token by token, about a source."""

    longest: int | None  # positions that it has, for tokens and BEGIN or END; None: as many as one likes

    def encode(self, source: Source) -> Memory:
        """All that will ever be needed of the source."""

    def start(self, memory: Memory) -> State:
        """The state before the first token."""

    def decode(self, tokens: Int[Tensor, "B T"], memory: Memory, state: State) -> Decoded:
        """What follows each of the new tokens: a whole target in training, one token at a time in a search.

        Tokens and state may have several rows for each row of the memory, side by side: hypotheses about one source.
        """


@runtime_checkable
class ClozeReader(Protocol):
    """A model that names the tokens of a text at once, each from all the others."""

    longest: int | None  # positions that it has, one of them for END; None: as many as one likes

    def read(self, source: Padded) -> Decoded:
        """What may stand at each place of the source; there is no state to go on from."""


def select_rows(tree: Tree, rows: Int[Tensor, " R"]) -> Tree:
    """The same memory or state for the given rows of the batch, in the given order; a row may be given twice."""
    chosen: Any
    if isinstance(tree, Tensor):
        chosen = tree.index_select(0, rows)
    elif hasattr(tree, "select_rows"):
        chosen = tree.select_rows(rows)
    elif isinstance(tree, tuple):
        chosen = tuple(select_rows(part, rows) for part in tree)
    elif dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        fields = dataclasses.fields(tree)
        chosen = type(tree)(**{field.name: select_rows(getattr(tree, field.name), rows) for field in fields})
    else:
        chosen = tree  # numbers, and None: the same for every row
    return chosen  # type: ignore[no-any-return]


def repeat_rows(tree: Tree, times: int, *, batch: int, device: torch.device) -> Tree:
    """Every row `times` times over, the copies side by side."""
    return tree if times == 1 else select_rows(tree, torch.arange(batch, device=device).repeat_interleave(times))
