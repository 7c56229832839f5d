"""The hypotheses of a batch while they grow: who goes on, who has ended, and which rows may leave.

All sentences have the same number of hypotheses and the same length so far. A sentence leaves when it has as many ended
hypotheses as the beam is wide. Rows are moved when a beam changes its order, or when many sentences are done, so that
greedy search does not copy its caches at every step. The memory has one row for all hypotheses of a sentence.
"""

import math
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.decoding.choosers import Choice, RunningScores
from regard.decoding.hypothesis import Hypothesis
from regard.models.interface import Memory, State, select_rows
from regard.symbols import END

SHED_SHARE = 0.25  # while no row moves, finished sentences are carried along up to this share: moving costs more


class Search:
    """The live hypotheses of the sentences still in the batch, and the ended ones of all."""

    def __init__(
        self, memory: Memory, limits: list[int], *, width: int, length_penalty: float | None, device: Any
    ) -> None:
        batch = len(limits)
        self.width = width
        self.length_penalty = length_penalty  # None: scores are nobody's business
        self.memory = memory  # a row for each sentence, which all its hypotheses look at
        self.sentences = torch.arange(batch, device=device)  # which sentence each row of the search is
        self.limits = torch.tensor(limits, device=device)
        self.is_done = torch.zeros(batch, dtype=torch.bool, device=device)
        self.tokens = torch.empty(batch, width, 0, dtype=torch.long, device=device)
        self.ended: list[list[Hypothesis]] = [[] for _ in limits]

    def begin(self, tokens: Int[Tensor, "B T"], scores: RunningScores, state: State) -> None:
        """Set out from the tokens that are given."""
        self.tokens = tokens.unsqueeze(1).expand(-1, self.width, -1)
        self.scores = scores
        self.state = state

    @property
    def is_scored(self) -> bool:
        return self.length_penalty is not None

    @property
    def is_going(self) -> bool:
        return not bool(self.is_done.all())

    @property
    def newest(self) -> Int[Tensor, "N 1"]:
        """The last token of every hypothesis, as the model's next input."""
        return self.tokens[:, :, -1].reshape(-1, 1)

    @torch.inference_mode()
    def advance(self, choice: Choice, state: State) -> None:
        """One token further: ended hypotheses are put aside, the best others go on, rows that are done may leave."""
        at_limit = self.tokens.shape[2] + 1 >= self.limits
        self._put_aside(choice, at_limit)
        going_on = _first(choice, choice.tokens != END, self.width)
        self._mark_done(going_on, at_limit)
        self._move(going_on, state)

    def best(self) -> list[list[int]]:
        """For those who watch: of a sentence that goes on its leading hypothesis, of a finished one its best."""
        best = [max(ended, key=lambda one: one.score).tokens if ended else [] for ended in self.ended]
        leaders = self.tokens[torch.arange(len(self.sentences)), self.scores.argmax(dim=1)].tolist()
        for row, sentence in enumerate(self.sentences.tolist()):
            if not self.is_done[row]:
                best[sentence] = leaders[row]
        return best

    def _put_aside(self, choice: Choice, at_limit: Bool[Tensor, " B"]) -> None:
        """Keep what ends among the best candidates, as many as the beam is wide; at the length bound all of them do."""
        is_ending = ((choice.tokens == END) | at_limit[:, None]) & choice.scores.isfinite() & ~self.is_done[:, None]
        is_ending[:, self.width :] = False
        rows, ranks = is_ending.nonzero(as_tuple=True)
        if not len(rows):
            return
        last, totals = choice.tokens[rows, ranks], choice.scores[rows, ranks].tolist()
        outputs = torch.cat([self.tokens[rows, choice.parents[rows, ranks]], last[:, None]], dim=1).tolist()
        for sentence, tokens, log_probability in zip(self.sentences[rows].tolist(), outputs, totals, strict=True):
            self.ended[sentence].append(self._hypothesis(tokens, log_probability))

    def _hypothesis(self, tokens: list[int], log_probability: float) -> Hypothesis:
        is_ended = tokens[-1] == END
        said = tokens[:-1] if is_ended else tokens
        if self.length_penalty is None:
            return Hypothesis(said, math.nan, math.nan, is_ended)
        return Hypothesis(said, log_probability / len(tokens) ** self.length_penalty, log_probability, is_ended)

    def _mark_done(self, going_on: Choice, at_limit: Bool[Tensor, " B"]) -> None:
        ended = torch.tensor([len(self.ended[sentence]) for sentence in self.sentences.tolist()])
        has_enough = ended.to(at_limit.device) >= self.width
        self.is_done = self.is_done | at_limit | has_enough | ~going_on.scores.isfinite().any(dim=1)

    def _move(self, going_on: Choice, state: State) -> None:
        """Put every row where its hypothesis is now, and let finished sentences go."""
        own_places = torch.arange(self.width, device=self.sentences.device)
        is_moving = not torch.equal(going_on.parents, own_places.expand_as(going_on.parents))
        kept = torch.arange(len(self.sentences), device=self.sentences.device)
        if self.is_done.any() and (is_moving or self.is_done.float().mean() >= SHED_SHARE):
            kept, is_moving = kept[~self.is_done], True
            self.memory = select_rows(self.memory, kept)
            self.sentences, self.limits = self.sentences[kept], self.limits[kept]
            self.is_done = self.is_done[kept]
        rows = (kept[:, None] * self.width + going_on.parents[kept]).flatten()
        self.state = select_rows(state, rows) if is_moving else state
        earlier = self.tokens.flatten(0, 1)[rows].unflatten(0, (len(kept), self.width))  # type: ignore[no-untyped-call]
        self.tokens = torch.cat([earlier, going_on.tokens[kept].unsqueeze(-1)], dim=-1)
        self.scores = going_on.scores[kept] if self.is_scored else torch.zeros_like(going_on.scores[kept])


def _first(choice: Choice, wanted: Bool[Tensor, "B C"], count: int) -> Choice:
    """The first `count` wanted candidates of each sentence; where there are fewer, the rest have a score of -inf."""
    order = (~wanted).byte().argsort(dim=1, stable=True)[:, :count]
    parents, tokens, scores = (part.gather(1, order) for part in choice)
    return Choice(parents, tokens, scores.masked_fill(~wanted.gather(1, order), float("-inf")))
