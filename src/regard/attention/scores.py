r"""Attention scores: how well a query and a key agree, before the softmax.

    dot          q . k                          Luong et al., 2015
    scaled_dot   q . k / sqrt(D)                Vaswani et al., 2017
    general      q . W k                        Luong et al., 2015
    additive     v . tanh(W_q q + W_k k + b)    Bahdanau et al., 2015

To add a score, write a class here with its `name` and `formula`, list it in `SCORES`, and add its name to `ScoreName`
in config.py. Tests and traces follow from `SCORES`; CONTRIBUTING.md names the other entries, and
tests/unit/test_extension_points.py fails until all exist.
"""

import math
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn


def dot(query: Float[Tensor, "... Q D"], key: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q K"]:
    """q . k for every query and key."""
    return query @ key.transpose(-2, -1)


def scaled_dot(query: Float[Tensor, "... Q D"], key: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q K"]:
    """q . k / sqrt(D): if entries have variance one, scores have variance one for every width."""
    return dot(query, key) / math.sqrt(query.shape[-1])


class AttentionScore(nn.Module):
    """Base of all scores. `project_keys` depends on the keys alone and runs once; `forward` is the rest."""

    name: ClassVar[str]
    formula: ClassVar[str]
    needs_equal_widths: ClassVar[bool] = False  # of query and key

    def __init__(self, query_width: int, key_width: int) -> None:  # noqa: ARG002  (the same for every score)
        super().__init__()
        self.project_keys: nn.Module = nn.Identity()

    def forward(self, query: Float[Tensor, "... Q D"], key: Float[Tensor, "... K E"]) -> Float[Tensor, "... Q K"]:
        raise NotImplementedError

    def unscaled(self, query: Float[Tensor, "... Q D"], key: Float[Tensor, "... K E"]) -> Float[Tensor, "... Q K"]:
        """The score without its scaling, if it has any."""
        scores: Tensor = self(query, key)
        return scores

    @staticmethod
    def scale(width: int) -> float:  # noqa: ARG004  (only a scaled score depends on it)
        """The factor that a trace shows as a step of its own."""
        return 1.0


class DotScore(AttentionScore):
    """The dot product of query and key."""

    name = "dot"
    formula = "q · k"
    needs_equal_widths = True

    def forward(self, query: Float[Tensor, "... Q D"], key: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q K"]:
        return dot(query, key)


class ScaledDotScore(AttentionScore):
    """The dot product divided by the root of the width."""

    name = "scaled_dot"
    formula = "q · k / √D"
    needs_equal_widths = True

    def forward(self, query: Float[Tensor, "... Q D"], key: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q K"]:
        return scaled_dot(query, key)

    def unscaled(self, query: Float[Tensor, "... Q D"], key: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q K"]:
        return dot(query, key)

    @staticmethod
    def scale(width: int) -> float:
        return 1 / math.sqrt(width)


class GeneralScore(AttentionScore):
    """The dot product of the query and a projection of the key."""

    name = "general"
    formula = "q · W k"

    def __init__(self, query_width: int, key_width: int) -> None:
        super().__init__(query_width, key_width)
        self.project_keys = nn.Linear(key_width, query_width, bias=False)

    def forward(self, query: Float[Tensor, "... Q D"], key: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q K"]:
        return dot(query, key)


class AdditiveScore(AttentionScore):
    """A network with one hidden layer, as wide as the query, that takes query and key."""

    name = "additive"
    formula = "v · tanh(W_q q + W_k k + b)"

    def __init__(self, query_width: int, key_width: int) -> None:
        super().__init__(query_width, key_width)
        self.query = nn.Linear(query_width, query_width, bias=False)
        self.project_keys = nn.Linear(key_width, query_width)
        self.vector = nn.Parameter(torch.empty(query_width).uniform_(-1, 1) / math.sqrt(query_width))

    def forward(self, query: Float[Tensor, "... Q query"], key: Float[Tensor, "... K D"]) -> Float[Tensor, "... Q K"]:
        return torch.tanh(self.query(query).unsqueeze(-2) + key.unsqueeze(-3)) @ self.vector


SCORES: dict[str, type[AttentionScore]] = {
    score.name: score for score in (DotScore, ScaledDotScore, GeneralScore, AdditiveScore)
}


def make_score(name: str, query_width: int, key_width: int) -> AttentionScore:
    """The score of this name, for queries and keys of these widths."""
    if name not in SCORES:
        raise ValueError(f"{name!r} is not a score; choose one of {', '.join(SCORES)}")
    return SCORES[name](query_width, key_width)
