"""Selection of the next tokens: top-k for beam search, or sampling.

A selector takes log-probabilities and running scores and returns ranked candidates. Greedy search is a beam of one.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.config import DecodingConfig

GROUP_SIZE = 16  # tokens
MIN_TEMPERATURE = 1e-30  # a much smaller one is zero in float32
LogProbabilities = Float[Tensor, "B beam V"]
RunningScores = Float[Tensor, "B beam"]


class Candidates(NamedTuple):
    """The candidates of each sentence, the best first: the hypothesis, the token that extends it, and the new score."""

    parents: Int[Tensor, "B C"]
    tokens: Int[Tensor, "B C"]
    scores: Float[Tensor, "B C"]


Selector = Callable[[LogProbabilities, RunningScores], Candidates]


def select_top_k(log_probabilities: LogProbabilities, running_scores: RunningScores) -> Candidates:
    """Twice as many candidates as hypotheses: even if each of them ends, enough others continue."""
    hypotheses, vocabulary = log_probabilities.shape[1:]
    indices = _grouped_top_k(log_probabilities, running_scores, 2 * hypotheses)
    totals = log_probabilities.flatten(1).gather(1, indices) + running_scores.gather(1, indices // vocabulary)
    scores, order = totals.topk(min(2 * hypotheses, totals.shape[1]), dim=-1)
    chosen = indices.gather(1, order)
    return Candidates(chosen // vocabulary, chosen % vocabulary, scores)


def _grouped_top_k(
    log_probabilities: LogProbabilities, running_scores: RunningScores, count: int
) -> Int[Tensor, "B P"]:
    """Indices into all hypotheses' tokens that include the `count` best: those of the groups with the largest maxima.

    Sorting a few groups takes a fraction of the time of a top-k over the whole vocabulary.
    """
    batch, hypotheses, vocabulary = log_probabilities.shape
    groups, device = vocabulary // GROUP_SIZE, log_probabilities.device
    if hypotheses * groups <= 2 * count:
        return torch.arange(hypotheses * vocabulary, device=device).expand(batch, -1)
    grouped = log_probabilities[..., : groups * GROUP_SIZE].unflatten(-1, (GROUP_SIZE, groups))  # type: ignore[no-untyped-call]
    maxima = (grouped.amax(dim=-2) + running_scores.unsqueeze(-1)).flatten(1)
    best = maxima.topk(count, dim=-1).indices
    first = best // groups * vocabulary + best % groups
    members = first.unsqueeze(-1) + torch.arange(0, groups * GROUP_SIZE, groups, device=device)
    begin = torch.arange(0, hypotheses * vocabulary, vocabulary, device=device)
    left_over = begin.unsqueeze(-1) + torch.arange(groups * GROUP_SIZE, vocabulary, device=device)  # a part of a group
    return torch.cat([members.flatten(1), left_over.flatten().expand(batch, -1)], dim=-1)


def select_by_sampling(
    log_probabilities: LogProbabilities, running_scores: RunningScores, *, config: DecodingConfig
) -> Candidates:
    """Sample one token for each hypothesis by temperature, top-k and top-p; its score is the model's."""
    batch, hypotheses, vocabulary = log_probabilities.shape
    relative = log_probabilities - log_probabilities.amax(dim=-1, keepdim=True)  # no temperature can overflow
    shaped = filter_logits(relative / max(config.temperature, MIN_TEMPERATURE), top_k=config.top_k, top_p=config.top_p)
    tokens = shaped.softmax(dim=-1).view(-1, vocabulary).multinomial(1).view(batch, hypotheses)
    sampled = log_probabilities.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    parents = torch.arange(hypotheses, device=tokens.device).expand(batch, -1)
    return Candidates(parents, tokens, running_scores + sampled)


def filter_logits(logits: Float[Tensor, "... V"], *, top_k: int = 0, top_p: float = 1.0) -> Float[Tensor, "... V"]:
    """Logits with -inf outside the `top_k` most probable tokens, and outside the fewest that sum to `top_p`."""
    if top_k:
        smallest = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < smallest, float("-inf"))
    if top_p < 1.0:
        ordered, order = logits.sort(dim=-1, descending=True)
        probabilities = ordered.softmax(dim=-1)
        probability_before = probabilities.cumsum(dim=-1) - probabilities  # the most probable token is always kept
        is_kept = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, probability_before < top_p)
        logits = logits.masked_fill(~is_kept, float("-inf"))
    return logits


def make_selector(config: DecodingConfig) -> Selector:
    """The selector for a config."""
    if config.do_sample:
        return lambda log_probabilities, scores: select_by_sampling(log_probabilities, scores, config=config)
    return select_top_k
