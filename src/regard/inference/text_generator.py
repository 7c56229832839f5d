"""`TextGenerator`: a decoder-only model continues texts, and scores them by log-likelihood."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Unpack

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.batch import Batch, encode_source_rows
from regard.bundle import Bundle
from regard.config import DecodeOptions, DecoderOnlyConfig, DecodingConfig
from regard.decoding.loop import generate
from regard.decoding.loop import stream as stream_tokens
from regard.errors import RegardError
from regard.inference.interface import BundlePipeline, GeneratedText, check_texts, require_single_output
from regard.metrics.text import TokenLikelihoods
from regard.tracing.trace import MAX_TRACE_TOKENS, TokenSequence, Trace, trace_source

BATCH_TEXTS = 32  # continued at once, divided by the hypotheses of each
LIKELIHOOD_BATCH_ROWS = 64


class TextGenerator(BundlePipeline):
    """A decoder-only model that continues texts."""

    task = "text-generation"

    def __init__(self, bundle: Bundle, *, directory: Path | None = None) -> None:
        if not isinstance(bundle.config.model, DecoderOnlyConfig):
            kind = type(bundle.config.model).__struct_config__.tag
            raise RegardError(f"model.kind is {kind!r}, which does not continue texts. Give a decoder-only model.")
        super().__init__(bundle, directory=directory)

    def generate(self, texts: Sequence[str], **options: Unpack[DecodeOptions]) -> list[GeneratedText]:
        """The best continuation of each text, from its beginning; options are those of the decoding section.

        An empty text starts a new one.
        """
        require_single_output("continuation", "text", options)
        return [outputs[0] for outputs in self.nbest(texts, **options)]

    def nbest(self, texts: Sequence[str], **options: Unpack[DecodeOptions]) -> list[list[GeneratedText]]:
        """The `nbest` best continuations of each text, the best first."""
        return list(self.iter_texts(texts, self.decoding_config(**options)))

    def iter_texts(self, texts: Sequence[str], config: DecodingConfig | None = None) -> Iterator[list[GeneratedText]]:
        """The continuations of each text in turn, batch by batch."""
        rows, config = [self._encode(text) for text in check_texts(texts)], config or self.decoding_config()
        at_once = max(1, BATCH_TEXTS // config.num_hypotheses)
        for start in range(0, len(rows), at_once):
            prefixes = rows[start : start + at_once]
            source = encode_source_rows([[] for _ in prefixes], device=self.device)
            for own in generate(self.bundle.model, source, config, prefixes=prefixes):  # type: ignore[arg-type]
                yield [GeneratedText.from_hypothesis(one, self.tokenizers.target) for one in own]

    def stream(self, text: str, **options: Unpack[DecodeOptions]) -> Iterator[str]:
        """One text as it grows."""
        source = encode_source_rows([[]], device=self.device)
        config, prefixes = self.decoding_config(**options), [self._encode(text)]
        for (tokens,) in stream_tokens(self.bundle.model, source, config, prefixes=prefixes):  # type: ignore[arg-type]
            yield self.tokenizers.target.decode(tokens)

    def log_likelihoods(self, texts: Sequence[str]) -> Iterator[TokenLikelihoods]:
        """The log-likelihood of each text: each token given those before it."""
        rows = [self._encode(text) for text in check_texts(texts)]
        return causal_log_likelihoods(self.bundle.model, rows, device=self.device)

    def trace(self, text: str) -> Trace:
        """Everything that the model computes for this text."""
        row, bound = self.tokenizers.target.encode(text), min(self.max_source_tokens, MAX_TRACE_TOKENS)
        if not 0 < len(row) <= bound:
            raise RegardError(f"the text has {len(row)} tokens; a trace of this model holds 1 to {bound}.")
        source = encode_source_rows([[]], device=self.device)
        return trace_source(self.bundle, source, TokenSequence.from_pieces([]), row)

    def decoding_config(self, **options: Unpack[DecodeOptions]) -> DecodingConfig:
        """The model's own decoding section with some options changed; only `max_length_extra` limits the length."""
        return self.config.decoding.with_options(**({"max_length_ratio": 0.0} | options))

    def _encode(self, text: str) -> list[int]:
        return self.tokenizers.target.encode(text)[: self.max_source_tokens]


@torch.inference_mode()
def causal_log_likelihoods(
    model: Any, rows: Sequence[list[int]], *, device: torch.device
) -> Iterator[TokenLikelihoods]:
    """Of each row: its tokens and END, each given those before it."""
    for start in range(0, len(rows), LIKELIHOOD_BATCH_ROWS):
        part = rows[start : start + LIKELIHOOD_BATCH_ROWS]
        batch = Batch.from_pairs([[] for _ in part], part, device=device)
        memory = model.encode(batch.source)
        assert batch.inputs is not None  # noqa: S101  (for the type checker)
        decoded = model.decode(batch.inputs.tokens, memory, model.init_state(memory))
        log_probabilities, is_top = token_log_likelihoods(decoded.logits, batch.outputs.tokens)
        for row, length in enumerate(batch.outputs.lengths):
            total, correct = log_probabilities[row, :length].sum(), is_top[row, :length].sum()
            yield TokenLikelihoods(float(total), length, int(correct))


def token_log_likelihoods(
    logits: Float[Tensor, "... V"], tokens: Int[Tensor, "..."]
) -> tuple[Float[Tensor, "..."], Tensor]:
    """The log-probability of each token, and whether it is the most probable one."""
    log_probabilities = logits.log_softmax(dim=-1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    return log_probabilities, logits.argmax(dim=-1) == tokens
