"""`MaskFiller`: an encoder-only model predicts masked tokens, and scores texts by pseudo-log-likelihood."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention.hooks import active_edits
from regard.batch import encode_source_rows
from regard.bundle import Bundle
from regard.config import EncoderOnlyConfig
from regard.errors import RegardError
from regard.inference.interface import BundlePipeline, check_texts
from regard.inference.text_generator import LIKELIHOOD_BATCH_ROWS, token_log_likelihoods
from regard.metrics.text import TokenLikelihoods
from regard.special_tokens import BEGIN, END, MASK, RESERVED
from regard.struct_decoding import shorten
from regard.tokenization.text import WORD_MARK, join_pieces
from regard.tokenization.tokenizer import Tokenizer
from regard.tracing.capture import capture
from regard.tracing.output_layer import output_arrays
from regard.tracing.pass_input import PassInput
from regard.tracing.trace import MAX_TRACE_TOKENS, TokenSequence, Trace, position_table

MASK_TEXT = "___"
DEFAULT_TOP_K = 5

_MASK_PATTERN = re.compile(r"_{2,}|<mask>")


@dataclass(frozen=True)
class TokenPrediction:
    """A token for a mask, and its probability."""

    token: str
    probability: float


@dataclass(frozen=True)
class FilledText:
    """A text with its masks filled, and the predictions for each mask, the most probable first."""

    text: str
    predictions: list[list[TokenPrediction]]
    tokens: list[int]


class MaskFiller(BundlePipeline):
    """An encoder-only model that predicts masked tokens."""

    task = "fill-mask"

    def __init__(self, bundle: Bundle, *, directory: Path | None = None) -> None:
        config = bundle.config.model
        if not isinstance(config, EncoderOnlyConfig) or config.classes:
            kind = type(config).__struct_config__.tag
            raise RegardError(f"model.kind is {kind!r}, which does not fill masks. Give an encoder-only model.")
        super().__init__(bundle, directory=directory)

    def fill(self, texts: Sequence[str], *, top_k: int = DEFAULT_TOP_K) -> list[FilledText]:
        """Each text with its masks (`___`) filled; the most certain first, so that the others can depend on it."""
        self._require_head()
        return [self._fill(text, top_k) for text in check_texts(texts)]

    def mask_count(self, text: str) -> int:
        """How many masks the text has."""
        return self.encode(text).count(MASK)

    def log_likelihoods(self, texts: Sequence[str]) -> Iterator[TokenLikelihoods]:
        """The pseudo-log-likelihood of each text: each token given all others."""
        self._require_head()
        rows = [self.tokenizers.target.encode(text)[: self.max_source_tokens] for text in check_texts(texts)]
        return masked_log_likelihoods(self.bundle.model, rows, device=self.device)

    def trace(self, text: str) -> Trace:
        """Everything that the model computes for this text with its masks."""
        row, tokenizer = self.encode(text, max_tokens=MAX_TRACE_TOKENS), self.tokenizers.target
        padded = encode_source_rows([row], device=self.device)
        with torch.inference_mode(), capture(self.bundle.model) as captured:
            decoded = self.bundle.model.predict(padded)  # type: ignore[operator]
        source = TokenSequence.from_pieces([*tokenizer.pieces(row), "</s>"])
        chosen = [None if token == MASK else token for token in [*row, END]]
        prediction = output_arrays(decoded, chosen, "source", tokenizer.pieces) if self.has_masked_head else None
        return Trace(
            source=source,
            target=TokenSequence.from_pieces([]),
            text=" ".join(MASK_TEXT if word == "<mask>" else word for word in source.words[:-1] if word != "<s>"),
            log_probabilities=[],
            layers=captured.layers,
            arrays=captured.arrays,
            blocks=captured.blocks,
            prediction=prediction,
            position_table=position_table(self.bundle),
            passed=PassInput(self.bundle.model, padded, None, active_edits()),
        )

    def encode(self, text: str, *, max_tokens: int | None = None) -> list[int]:
        """The text's tokens, MASK for each mask; an empty text, or one that is too long, is an error."""
        row = encode_masked(text, self.tokenizers.target)
        bound = min(self.max_source_tokens, max_tokens or self.max_source_tokens)
        if not 0 < len(row) <= bound:
            raise RegardError(f"the text has {len(row)} tokens; the model reads 1 to {bound} here. Give another text.")
        return row

    @property
    def has_masked_head(self) -> bool:
        """Whether the model predicts tokens; one for sentence vectors does not."""
        return bool(self.config.model.masked_head)  # type: ignore[union-attr]

    def _require_head(self) -> None:
        if not self.has_masked_head:
            raise RegardError(
                "this model has no masked-token head, so it predicts no tokens: it was trained for sentence vectors. "
                "Its attention can be shown; to fill masks, give a model with a head, such as BertForMaskedLM."
            )

    def _fill(self, text: str, top_k: int) -> FilledText:
        row = self.encode(text)
        masks = [index for index, token in enumerate(row) if token == MASK]
        if not masks:
            raise RegardError(f"{shorten(text)} has no mask. Write {MASK_TEXT} where a word is missing.")
        predictions: dict[int, list[TokenPrediction]] = {}
        while left := [index for index in masks if index not in predictions]:
            probabilities = self._probabilities(row, left)
            surest = int(probabilities.amax(dim=1).argmax())
            best = probabilities[surest].topk(min(top_k, probabilities.shape[1]))
            row[left[surest]] = int(probabilities[surest].argmax())
            pieces = self.tokenizers.target.pieces(best.indices.tolist())
            predictions[left[surest]] = [
                TokenPrediction(join_pieces([piece]), value)
                for piece, value in zip(pieces, best.values.tolist(), strict=True)
            ]
        return FilledText(self.tokenizers.target.decode(row), [predictions[index] for index in masks], row)

    @torch.inference_mode()
    def _probabilities(self, row: list[int], indices: list[int]) -> Float[Tensor, "masks V"]:
        """Over the vocabulary at each of these positions; reserved tokens have none."""
        decoded = self.bundle.model.predict(encode_source_rows([row], device=self.device))  # type: ignore[operator]
        logits: Tensor = decoded.projection(decoded.hidden[0, indices])
        logits[:, : len(RESERVED)] = float("-inf")
        return logits.softmax(dim=-1)


def encode_masked(text: str, tokenizer: Tokenizer) -> list[int]:
    """The ids of a text with MASK for each mask: two or more underscores, or `<mask>`."""
    first, *others = _MASK_PATTERN.split(text)
    if tokenizer.mask_text is not None:
        return tokenizer.encode(tokenizer.mask_text.join([first, *others]))
    row = tokenizer.encode(first)
    for part in others:
        after = tokenizer.encode(part)
        if after and not part[0].isspace():  # as a full stop: it does not start a word
            bare = tokenizer.pieces(after[:1])[0].removeprefix(WORD_MARK)
            if not bare:
                after = after[1:]
            elif bare in tokenizer.vocabulary:
                after[0] = tokenizer.vocabulary.index(bare)
        row += [MASK, *after]
    return row


@torch.inference_mode()
def masked_log_likelihoods(
    model: Any, rows: Sequence[list[int]], *, device: torch.device
) -> Iterator[TokenLikelihoods]:
    """Of each row: its tokens, each given all others, masked one at a time: Salazar et al., 2020."""
    for row in rows:
        log_probability, correct = 0.0, 0
        first = int(row[:1] == [BEGIN])  # an imported model begins with a token that it need not predict
        for start in range(first, len(row), LIKELIHOOD_BATCH_ROWS):
            indices = range(start, min(start + LIKELIHOOD_BATCH_ROWS, len(row)))
            masked = [[*row[:index], MASK, *row[index + 1 :]] for index in indices]
            decoded = model.predict(encode_source_rows(masked, device=device))
            logits = decoded.projection(decoded.hidden[range(len(indices)), list(indices)])
            tokens = torch.tensor([row[index] for index in indices]).to(device)
            log_probabilities, is_top = token_log_likelihoods(logits, tokens)
            log_probability += float(log_probabilities.sum())
            correct += int(is_top.sum())
        yield TokenLikelihoods(log_probability, len(row) - first, correct)
