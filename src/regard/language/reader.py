"""A text with blanks in, the words that may stand there out: what an encoder-only model reads from both sides."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from regard.batch import source_of
from regard.bundle import Bundle, load_bundle
from regard.config import EncoderOnlyConfig
from regard.errors import RegardError
from regard.language.blanks import BLANK, with_blanks
from regard.language.worth import known_by_reader
from regard.manifest import model_directory
from regard.metrics.language import Known
from regard.symbols import END, MASK, RESERVED
from regard.tokens import spelled
from regard.translation.likeliest import output_numbers
from regard.translation.lines import checked_texts, readable
from regard.translation.trace import LONGEST_TRACE, Side, Trace, learned_positions
from regard.translation.watched import watching

GUESSES = 5


@dataclass(frozen=True)
class Guess:
    """A piece that may stand in a blank."""

    piece: str
    probability: float


@dataclass(frozen=True)
class Filled:
    """A text with its blanks filled, and for each of them what might have stood there, the likeliest first."""

    text: str
    blanks: list[list[Guess]]
    tokens: list[int]


class Reader:
    """A loaded encoder-only model with its vocabulary."""

    def __init__(self, bundle: Bundle) -> None:
        config = bundle.config.model
        if not isinstance(config, EncoderOnlyConfig) or config.classes:
            kind = type(config).__struct_config__.tag
            raise RegardError(f"model.kind is {kind!r}, which fills no blanks. Give an encoder-only model.")
        self.bundle = bundle
        self.device = next(bundle.model.parameters()).device

    @property
    def longest(self) -> int:
        """How many tokens of a text are read; a longer one is cut there."""
        return readable(self.bundle.model.longest)  # type: ignore[arg-type]

    def fill(self, texts: Sequence[str], *, guesses: int = GUESSES) -> list[Filled]:
        """Each text with its blanks (`___`) filled, the surest first, so that the others may lean on it."""
        return [self._filled(text, guesses) for text in checked_texts(texts)]

    def blanks(self, text: str) -> int:
        """How many blanks the text has."""
        return self.row(text).count(MASK)

    def known(self, texts: Sequence[str]) -> Iterator[Known]:
        """How well the model knows each text: each token named from all the others."""
        rows = [self.bundle.tokenizers.target.encode(text)[: self.longest] for text in checked_texts(texts)]
        return known_by_reader(self.bundle.model, rows, device=self.device)

    def trace(self, text: str) -> Trace:
        """All that the model computes as it reads this text, blanks and all."""
        row = self.row(text, most=LONGEST_TRACE)
        with torch.inference_mode(), watching(self.bundle.model) as seen:
            decoded = self.bundle.model.read(source_of([row], device=self.device))  # type: ignore[operator]
        tokenizer = self.bundle.tokenizers.target
        side = Side.of([*tokenizer.pieces(row), "</s>"])
        standing = [None if token == MASK else token for token in [*row, END]]
        return Trace(
            source=side,
            target=Side.of([]),
            text=_shown(side),
            log_probabilities=[],
            layers=seen.layers,
            numbers=seen.numbers,
            blocks=seen.blocks,
            spoken=output_numbers(decoded, standing, "source", tokenizer.pieces),
            learned_positions=learned_positions(self.bundle),
        )

    def row(self, text: str, *, most: int | None = None) -> list[int]:
        """The text's tokens, MASK for each blank; a text without any, or one that is too long, is refused."""
        row = with_blanks(text, self.bundle.tokenizers.target)
        bound = min(self.longest, most or self.longest)
        if not 0 < len(row) <= bound:
            raise RegardError(f"the text has {len(row)} tokens; 1 to {bound} can be read here. Give another.")
        return row

    def _filled(self, text: str, guesses: int) -> Filled:
        row = self.row(text)
        blanks = [place for place, token in enumerate(row) if token == MASK]
        if not blanks:
            raise RegardError(f"{text!r} has no blank. Write {BLANK} where a word is missing.")
        found: dict[int, list[Guess]] = {}
        while left := [place for place in blanks if place not in found]:
            probabilities = self._probabilities(row, left)
            surest = int(probabilities.amax(dim=1).argmax())
            row[left[surest]] = int(probabilities[surest].argmax())
            found[left[surest]] = self._guesses(probabilities[surest], guesses)
        return Filled(self.bundle.tokenizers.target.decode(row), [found[place] for place in blanks], row)

    @torch.inference_mode()
    def _probabilities(self, row: list[int], places: list[int]) -> Float[Tensor, "blanks V"]:
        """What may stand at these places; reserved tokens may not."""
        decoded = self.bundle.model.read(source_of([row], device=self.device))  # type: ignore[operator]
        logits: Tensor = decoded.output(decoded.hidden[0, places])
        logits[:, : len(RESERVED)] = float("-inf")
        return logits.softmax(dim=-1)

    def _guesses(self, probabilities: Float[Tensor, " V"], count: int) -> list[Guess]:
        best = probabilities.topk(min(count, len(probabilities)))
        pieces = self.bundle.tokenizers.target.pieces(best.indices.tolist())
        return [Guess(spelled([piece]), value) for piece, value in zip(pieces, best.values.tolist(), strict=True)]


def _shown(side: Side) -> str:
    return " ".join(BLANK if word == "<mask>" else word for word in side.spelled[:-1])


def load_reader(directory: Path | str, *, device: str = "cpu") -> Reader:
    """The encoder-only model in a bundle's or a run's directory, ready to fill blanks."""
    return Reader(load_bundle(model_directory(Path(directory)), device=device))
