"""Beam search over a batch: the live hypotheses, the finished ones, and the rows that can be dropped.

All sentences have the same number of hypotheses and the same length. A sentence is done when it has as many finished
hypotheses as the beam is wide. Rows move when a beam changes its order, or when many sentences are done, so that greedy
search does not copy its caches at every step. The memory has one row for all hypotheses of a sentence.
"""

import math
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.decoding.hypothesis import Hypothesis
from regard.decoding.selection import Candidates, RunningScores
from regard.models.interface import Memory, State, select_rows
from regard.special_tokens import END

COMPACT_SHARE = 0.25  # up to this fraction, finished sentences stay in the batch: moving rows costs more


class BeamSearch:
    """The live hypotheses of the sentences in the batch, and the finished ones of all sentences."""

    def __init__(
        self, memory: Memory, max_lengths: list[int], *, width: int, length_penalty: float | None, device: Any
    ) -> None:
        batch = len(max_lengths)
        self.width = width
        self.length_penalty = length_penalty  # None: no scores
        self.memory = memory  # one row for each sentence, shared by its hypotheses
        self.sentences = torch.arange(batch, device=device)  # the sentence of each row
        self.max_lengths = torch.tensor(max_lengths, device=device)
        self.is_done = torch.zeros(batch, dtype=torch.bool, device=device)
        self.tokens = torch.empty(batch, width, 0, dtype=torch.long, device=device)
        self.finished: list[list[Hypothesis]] = [[] for _ in max_lengths]

    def start(self, tokens: Int[Tensor, "B T"], scores: RunningScores, state: State) -> None:
        """Start from the given tokens."""
        self.tokens = tokens.unsqueeze(1).expand(-1, self.width, -1)
        self.scores = scores
        self.state = state

    @property
    def is_scored(self) -> bool:
        return self.length_penalty is not None

    @property
    def is_running(self) -> bool:
        return not bool(self.is_done.all())

    @property
    def last_tokens(self) -> Int[Tensor, "N 1"]:
        """The last token of every hypothesis, as the model's next input."""
        return self.tokens[:, :, -1].reshape(-1, 1)

    @torch.inference_mode()
    def step(self, candidates: Candidates, state: State) -> None:
        """Add one token: store finished hypotheses, continue with the best others, drop rows that are done."""
        at_limit = self.tokens.shape[2] + 1 >= self.max_lengths
        self._finish_hypotheses(candidates, at_limit)
        continuing = _first_candidates(candidates, candidates.tokens != END, self.width)
        finished = torch.tensor([len(self.finished[sentence]) for sentence in self.sentences.tolist()])
        has_enough = finished.to(at_limit.device) >= self.width
        self.is_done = self.is_done | at_limit | has_enough | ~continuing.scores.isfinite().any(dim=1)
        self._reorder_rows(continuing, state)

    def best_so_far(self) -> list[list[int]]:
        """For streaming: the best live hypothesis of an unfinished sentence, the best output of a finished one."""
        best = [max(ended, key=lambda one: one.score).tokens if ended else [] for ended in self.finished]
        leaders = self.tokens[torch.arange(len(self.sentences)), self.scores.argmax(dim=1)].tolist()
        for row, sentence in enumerate(self.sentences.tolist()):
            if not self.is_done[row]:
                best[sentence] = leaders[row]
        return best

    def _finish_hypotheses(self, candidates: Candidates, at_limit: Bool[Tensor, " B"]) -> None:
        """Store the candidates that end among the best `width`; at the maximum length all of them end."""
        is_ending = (
            ((candidates.tokens == END) | at_limit[:, None]) & candidates.scores.isfinite() & ~self.is_done[:, None]
        )
        is_ending[:, self.width :] = False
        rows, ranks = is_ending.nonzero(as_tuple=True)
        if not len(rows):
            return
        last, totals = candidates.tokens[rows, ranks], candidates.scores[rows, ranks].tolist()
        outputs = torch.cat([self.tokens[rows, candidates.parents[rows, ranks]], last[:, None]], dim=1).tolist()
        for sentence, tokens, log_probability in zip(self.sentences[rows].tolist(), outputs, totals, strict=True):
            is_finished = tokens[-1] == END
            output_tokens = tokens[:-1] if is_finished else tokens
            if self.length_penalty is None:
                found = Hypothesis(output_tokens, math.nan, math.nan, is_finished)
            else:
                score = log_probability / len(tokens) ** self.length_penalty
                found = Hypothesis(output_tokens, score, log_probability, is_finished)
            self.finished[sentence].append(found)

    def _reorder_rows(self, continuing: Candidates, state: State) -> None:
        """Move every row to the index of its hypothesis, and drop finished sentences."""
        same_order = torch.arange(self.width, device=self.sentences.device)
        is_moving = not torch.equal(continuing.parents, same_order.expand_as(continuing.parents))
        kept_rows = torch.arange(len(self.sentences), device=self.sentences.device)
        if self.is_done.any() and (is_moving or self.is_done.float().mean() >= COMPACT_SHARE):
            kept_rows, is_moving = kept_rows[~self.is_done], True
            self.memory = select_rows(self.memory, kept_rows)
            self.sentences, self.max_lengths = self.sentences[kept_rows], self.max_lengths[kept_rows]
            self.is_done = self.is_done[kept_rows]
        rows = (kept_rows[:, None] * self.width + continuing.parents[kept_rows]).flatten()
        self.state = select_rows(state, rows) if is_moving else state
        earlier = self.tokens.flatten(0, 1)[rows].unflatten(0, (len(kept_rows), self.width))  # type: ignore[no-untyped-call]
        self.tokens = torch.cat([earlier, continuing.tokens[kept_rows].unsqueeze(-1)], dim=-1)
        self.scores = continuing.scores[kept_rows] if self.is_scored else torch.zeros_like(continuing.scores[kept_rows])


def _first_candidates(candidates: Candidates, wanted: Bool[Tensor, "B C"], count: int) -> Candidates:
    """The first `count` wanted candidates of each sentence; where there are fewer, the rest have a score of -inf."""
    order = (~wanted).byte().argsort(dim=1, stable=True)[:, :count]
    parents, tokens, scores = (part.gather(1, order) for part in candidates)
    return Candidates(parents, tokens, scores.masked_fill(~wanted.gather(1, order), float("-inf")))
