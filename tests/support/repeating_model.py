"""A model without weights: it says as many words as its source has, and notes how many rows each step was asked for."""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.batch import PaddedTokens
from regard.layers.embedding import OutputProjection
from regard.models.interface import DecoderOutput
from regard.special_tokens import END

VOCABULARY = 11
WORD, RIVAL = 7, 5


@dataclass(frozen=True)
class Lines:
    """How many words each row has to say."""

    words: Tensor  # (B)


@dataclass(frozen=True)
class GeneratedWords:
    """How many words each row has generated."""

    words: Tensor  # (B)


class RepeatingModel:
    """Says WORD as often as its source has words and then END; RIVAL is always the second likeliest.

    With a `patience` its END comes that many words late.
    """

    def __init__(self, *, patience: int = 0, max_positions: int | None = None) -> None:
        self.patience = patience
        self.max_positions = max_positions
        self.rows: list[int] = []

    def encode(self, source: PaddedTokens) -> Lines:
        return Lines(torch.tensor(source.lengths) - 1 + self.patience)  # a source has END at its end

    def init_state(self, memory: Lines) -> GeneratedWords:
        return GeneratedWords(torch.zeros_like(memory.words) - 1)  # BEGIN is not a word

    def decode(self, tokens: Tensor, memory: Lines, state: GeneratedWords) -> DecoderOutput:
        assert len(tokens) == len(state.words)
        words = memory.words.repeat_interleave(len(tokens) // len(memory.words))
        self.rows.append(len(tokens))
        output = state.words[:, None] + torch.arange(1, tokens.shape[1] + 1)
        likeliest = torch.where(output < words[:, None], WORD, END)
        logits = torch.zeros(*tokens.shape, VOCABULARY)
        logits[..., RIVAL] = 1.0
        logits = logits.scatter(-1, likeliest[..., None], 2.0)
        return DecoderOutput(logits, OutputProjection(torch.eye(VOCABULARY), None), GeneratedWords(output[:, -1]))
