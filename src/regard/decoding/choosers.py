"""How the next tokens are chosen: each chooser takes log-probabilities and running scores, and ranks its candidates.

Greedy search is a beam of one.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.config import DecodingConfig

GROUP = 16  # tokens, of which the largest is looked at first
COLDEST = 1e-30  # temperature: one much smaller is zero in float32

LogProbabilities = Float[Tensor, "B beam V"]
RunningScores = Float[Tensor, "B beam"]


class Choice(NamedTuple):
    """Candidates of each sentence, the best first: which hypothesis each one extends, by which token, to what score."""

    parents: Int[Tensor, "B C"]
    tokens: Int[Tensor, "B C"]
    scores: Float[Tensor, "B C"]


Chooser = Callable[[LogProbabilities, RunningScores], Choice]


def choose_best(log_probabilities: LogProbabilities, running_scores: RunningScores) -> Choice:
    """Twice as many candidates as hypotheses: even if each of them could end here, as many can go on."""
    hypotheses, vocabulary = log_probabilities.shape[1:]
    places = _promising(log_probabilities, running_scores, 2 * hypotheses)
    totals = log_probabilities.flatten(1).gather(1, places) + running_scores.gather(1, places // vocabulary)
    scores, order = totals.topk(min(2 * hypotheses, totals.shape[1]), dim=-1)
    chosen = places.gather(1, order)
    return Choice(chosen // vocabulary, chosen % vocabulary, scores)


def _promising(log_probabilities: LogProbabilities, running_scores: RunningScores, count: int) -> Int[Tensor, "B P"]:
    """Places among all hypotheses' tokens where the `count` best are: those of the groups with the largest maxima.

    Sorting a few groups takes a fraction of the time that sorting out the whole vocabulary would.
    """
    batch, hypotheses, vocabulary = log_probabilities.shape
    groups, device = vocabulary // GROUP, log_probabilities.device
    if hypotheses * groups <= 2 * count:
        return torch.arange(hypotheses * vocabulary, device=device).expand(batch, -1)
    grouped = log_probabilities[..., : groups * GROUP].unflatten(-1, (GROUP, groups))  # type: ignore[no-untyped-call]
    maxima = (grouped.amax(dim=-2) + running_scores.unsqueeze(-1)).flatten(1)
    best = maxima.topk(count, dim=-1).indices
    first = best // groups * vocabulary + best % groups
    members = first.unsqueeze(-1) + torch.arange(0, groups * GROUP, groups, device=device)
    begin = torch.arange(0, hypotheses * vocabulary, vocabulary, device=device)
    left_over = begin.unsqueeze(-1) + torch.arange(groups * GROUP, vocabulary, device=device)  # too few for a group
    return torch.cat([members.flatten(1), left_over.flatten().expand(batch, -1)], dim=-1)


def choose_at_random(
    log_probabilities: LogProbabilities, running_scores: RunningScores, *, config: DecodingConfig
) -> Choice:
    """Each hypothesis draws one token; the draw is shaped by temperature, top-k and top-p, its score is the model's."""
    batch, hypotheses, vocabulary = log_probabilities.shape
    relative = log_probabilities - log_probabilities.amax(dim=-1, keepdim=True)  # so that no temperature can overflow
    shaped = keep_likeliest(relative / max(config.temperature, COLDEST), top_k=config.top_k, top_p=config.top_p)
    tokens = shaped.softmax(dim=-1).view(-1, vocabulary).multinomial(1).view(batch, hypotheses)
    drawn = log_probabilities.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    parents = torch.arange(hypotheses, device=tokens.device).expand(batch, -1)
    return Choice(parents, tokens, running_scores + drawn)


def keep_likeliest(logits: Float[Tensor, "... V"], *, top_k: int = 0, top_p: float = 1.0) -> Float[Tensor, "... V"]:
    """Logits with -inf outside the `top_k` likeliest tokens, and outside the fewest that together hold `top_p`."""
    if top_k:
        smallest = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < smallest, float("-inf"))
    if top_p < 1.0:
        ordered, order = logits.sort(dim=-1, descending=True)
        probabilities = ordered.softmax(dim=-1)
        held_before = probabilities.cumsum(dim=-1) - probabilities  # the likeliest token is kept whatever top_p is
        is_kept = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, held_before < top_p)
        logits = logits.masked_fill(~is_kept, float("-inf"))
    return logits


def make_chooser(config: DecodingConfig) -> Chooser:
    """The chooser a config asks for."""
    if config.sample:
        return lambda log_probabilities, scores: choose_at_random(log_probabilities, scores, config=config)
    return choose_best
