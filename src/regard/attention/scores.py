r"""How well a query and a key agree, before the softmax: attentions differ only in this function.

    dot          q . k                          Luong et al., 2015
    scaled dot   q . k / sqrt(D)                Vaswani et al., 2017
    general      q . W k                        Luong et al., 2015
    additive     v . tanh(W_q q + W_k k)        Bahdanau et al., 2015

A score module's `prepare` is the work that depends on the keys alone, done once for a sentence; `forward` is the rest.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn


def dot(query: Float[Tensor, "... Q D"], key: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q K"]:
    """q . k for every query and key."""
    return query @ key.transpose(-2, -1)


def scaled_dot(query: Float[Tensor, "... Q D"], key: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q K"]:
    """q . k / sqrt(D): for entries of variance one, a score of variance one whatever the width."""
    return dot(query, key) / math.sqrt(query.shape[-1])


class DotScore(nn.Module):
    """A dot product, scaled or not, of keys as they are or (the general score) after a matrix of their own."""

    def __init__(self, formula: Callable[[Tensor, Tensor], Tensor], prepare: nn.Module) -> None:
        super().__init__()
        self.formula, self.prepare = formula, prepare

    def forward(self, query: Float[Tensor, "... Q D"], key: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q K"]:
        return self.formula(query, key)


class AdditiveScore(nn.Module):
    """v . tanh(q + k): a network with one hidden layer, as wide as a query, says how well a query and a key agree."""

    def __init__(self, query_width: int, key_width: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, query_width, bias=False)
        self.prepare = nn.Linear(key_width, query_width)
        self.vector = nn.Parameter(torch.empty(query_width).uniform_(-1, 1) / math.sqrt(query_width))

    def forward(self, query: Float[Tensor, "... Q query"], key: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q K"]:
        return torch.tanh(self.query(query).unsqueeze(-2) + key.unsqueeze(-3)) @ self.vector


def make_score(name: str, query_width: int, key_width: int) -> DotScore | AdditiveScore:
    """The score of that name, for queries and keys of these widths."""
    match name:
        case "dot" | "scaled_dot":
            return DotScore(dot if name == "dot" else scaled_dot, nn.Identity())
        case "general":
            return DotScore(dot, nn.Linear(key_width, query_width, bias=False))
        case "additive":
            return AdditiveScore(query_width, key_width)
    raise ValueError(f"no score is called {name!r}; there are dot, scaled_dot, general and additive")
