"""A pass that can run again, with parts removed or as several equal rows: what measures of its parts begin with."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from regard.attention.hooks import ActiveEdits, restored_edits
from regard.batch import ImageFeatures, Images, PaddedTokens
from regard.decoding.loop import forced_decode
from regard.models.interface import DecoderOutput, Source
from regard.special_tokens import END, MASK

MAX_BATCH_TOKENS = 8192  # of one batch of copies, those of source and target together


@dataclass(frozen=True, eq=False)
class PassInput:
    """All that is needed to run a pass again: a model, one source, its target, and the interventions at that time."""

    model: nn.Module
    source: Source
    target: list[int] | None  # None: a masked language model, which predicts its source, or a classifier
    edits: ActiveEdits | None
    chosen_class: int | None = None  # of a classifier: the class that it predicted

    @property
    def rows_per_batch(self) -> int:
        """How many copies run at once."""
        return max(1, MAX_BATCH_TOKENS // (max(self.source.lengths) + len(self.target or ()) + 1))

    @contextmanager
    def interventions(self) -> Iterator[None]:
        """The interventions of the pass, and no others."""
        with restored_edits(self.edits):
            yield

    def run(self, sentences: Sequence[int] = (0,)) -> DecoderOutput:
        """The pass for copies of its pair: as many targets as `sentences`, which give the copy of the source."""
        source = repeat_source(self.source, max(sentences) + 1)
        if self.target is not None:
            return forced_decode(self.model, source, [self.target] * len(sentences), sentences=list(sentences))  # type: ignore[arg-type]
        with torch.inference_mode():
            decoded: DecoderOutput = self.model.predict(source)  # type: ignore[operator]
            return replace(decoded, hidden=decoded.hidden[list(sentences)])

    def expected_tokens(self, logits: Tensor) -> Tensor:
        """The token of each position: of the target, or of the source, where a mask stands for its best token.

        A classifier has one position, whose token is the class.
        """
        if self.target is not None:
            return torch.tensor([*self.target, END], device=logits.device)
        if self.chosen_class is not None:
            return torch.tensor([self.chosen_class], device=logits.device)
        tokens = self.source.tokens[0]  # type: ignore[union-attr]
        return torch.where(tokens == MASK, logits.argmax(dim=-1), tokens)


def repeat_source(source: Source, times: int) -> Source:
    """One source as several equal rows."""
    if isinstance(source, PaddedTokens):
        tokens, is_real = (part.repeat(times, 1) for part in (source.tokens, source.is_real))
        return PaddedTokens(tokens, is_real, source.lengths * times)
    if isinstance(source, Images):
        return Images(source.pixels.repeat(times, 1, 1, 1))
    return ImageFeatures(source.features.repeat(times, 1, 1, 1))
