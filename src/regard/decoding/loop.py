"""The one decode loop: encode, then one token after another until every sentence has ended.

It works with every model and carries no attention: to see the attention of a finished output, rescore it under
`record_attention`. Streaming is the same loop, step by step. `rescore` computes the score of an output in one pass.
"""

from collections.abc import Iterator, Sequence
from math import inf
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.attention.hooks import active_edits, batch_rows
from regard.batch import PaddedTokens, TokenRows, shift_right
from regard.config import DecodeOptions, DecodingConfig
from regard.cpu_speedups import parameter_count, threads_for
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.search import BeamSearch
from regard.decoding.selection import LogProbabilities, make_selector
from regard.errors import RegardError
from regard.models.interface import DecoderOutput, GenerativeModel, Source, repeat_rows, select_rows
from regard.special_tokens import BEGIN, END, MASK, PADDING

SUPPRESSED_TOKENS = [PADDING, BEGIN, MASK]
Prefixes = Sequence[Sequence[int]]


def generate(
    model: GenerativeModel,
    source: Source,
    config: DecodingConfig,
    *,
    prefixes: Prefixes | None = None,
    scores: bool = True,
) -> list[list[Hypothesis]]:
    """The `nbest` best outputs of each sentence, the best first; with prefixes, outputs that begin with them.

    With scores=False, the scores of a greedy search are NaN.
    """
    *_, search = decode_steps(model, source, config, prefixes=prefixes, scores=scores)
    return best_hypotheses(search, config)


def best_hypotheses(search: BeamSearch, config: DecodingConfig) -> list[list[Hypothesis]]:
    """The `nbest` best outputs of each sentence of a finished search."""
    return [sorted(one, key=lambda hypothesis: -hypothesis.score)[: config.nbest] for one in search.finished]


def stream(
    model: GenerativeModel, source: Source, config: DecodingConfig, *, prefixes: Prefixes | None = None
) -> Iterator[list[list[int]]]:
    """After each step the best output of each sentence so far; with a beam, a later step may change earlier tokens."""
    for search in decode_steps(model, source, config, prefixes=prefixes):
        yield search.best_so_far()


def decode_steps(
    model: GenerativeModel,
    source: Source,
    config: DecodingConfig,
    *,
    prefixes: Prefixes | None = None,
    scores: bool = True,
) -> Iterator[BeamSearch]:
    """The search after each token."""
    config, prefixes = _with_interventions(config, prefixes, rows=len(source.lengths))
    select = make_selector(config)
    parameters = parameter_count(model)
    is_scored = scores or config.beam_size > 1 or config.do_sample  # else the largest logit is all that is needed
    with threads_for(parameters * source.tokens.numel() if isinstance(source, PaddedTokens) else inf):
        search, next_scores = _prefill(model, source, config, prefixes, is_scored)
    while True:
        with threads_for(parameters * len(next_scores)):
            candidates = select(_mask_logits(next_scores, search, prefixes), search.scores)
            _check_finite(candidates.scores)
            search.step(candidates, search.state)
        yield search
        if not search.is_running:
            return
        with threads_for(parameters * len(next_scores)), torch.inference_mode(), batch_rows(search.sentences):
            decoded = model.decode(search.last_tokens, search.memory, search.state)
            search.state = decoded.state
            next_scores = _next_token_scores(decoded, search.is_scored)


def _with_interventions(
    config: DecodingConfig, prefixes: Prefixes | None, *, rows: int
) -> tuple[DecodingConfig, Prefixes | None]:
    """The config and the prefixes with the temperature, the top-k and the forced prefix of `intervene`."""
    edits = active_edits()
    if edits is None or not edits.decoding:
        return config, prefixes
    options = {name: value for name, value in edits.decoding.items() if name != "prefix"}
    if options:
        config = config.with_options(**cast(DecodeOptions, {"do_sample": True} | options))
    forced = edits.decoding.get("prefix", [])
    return config, [[*row, *forced] for row in prefixes or [[]] * rows] if forced else prefixes


@torch.inference_mode()
def _prefill(
    model: GenerativeModel, source: Source, config: DecodingConfig, prefixes: Prefixes | None, is_scored: bool
) -> tuple[BeamSearch, Float[Tensor, "N V"]]:
    """Encode the source, decode BEGIN and the tokens that all prefixes have, and score the next token."""
    if any(END in row for row in prefixes or []):
        raise RegardError(f"a prefix holds END ({END}), and nothing can follow END. Remove it from the prefix.")
    memory = model.encode(source)
    max_lengths = _max_lengths(source, config, prefixes, model.max_positions)
    width = config.num_hypotheses
    shared = min(map(len, prefixes)) if prefixes else 0
    start_rows = [[BEGIN, *row[:shared]] for row in prefixes or [[]] * len(max_lengths)]
    tokens = torch.tensor(start_rows, device=source.device)
    decoded = model.decode(tokens, memory, model.init_state(memory))
    penalty = config.length_penalty if is_scored else None
    search = BeamSearch(memory, max_lengths, width=width, length_penalty=penalty, device=tokens.device)
    scores = _prefix_score(decoded, tokens)[:, None].repeat(1, width)
    if not config.do_sample:
        scores[:, 1:] = float("-inf")  # all hypotheses are still the same: only the first may be extended
    repeated = repeat_rows(decoded.state, width, batch=len(max_lengths), device=tokens.device)
    search.start(tokens[:, 1:], scores, repeated)
    return search, _next_token_scores(decoded, is_scored).repeat_interleave(width, dim=0)


def _prefix_score(decoded: DecoderOutput, tokens: Int[Tensor, "B T"]) -> Float[Tensor, " B"]:
    """The log-probability of the given tokens after BEGIN."""
    log_probabilities = _log_probabilities(decoded.projection(decoded.hidden[:, :-1]))
    return log_probabilities.gather(-1, tokens[:, 1:, None]).squeeze(-1).sum(dim=1)


def _next_token_scores(decoded: DecoderOutput, is_scored: bool) -> Float[Tensor, "N V"]:
    """Log-probabilities of the next token, or, without scores, the logits, which have the same order."""
    logits = decoded.projection(decoded.hidden[:, -1])
    return _log_probabilities(logits) if is_scored else logits


def _log_probabilities(logits: Float[Tensor, "... V"]) -> Float[Tensor, "... V"]:
    log_probabilities = logits.log_softmax(dim=-1)
    _check_finite(log_probabilities[..., 0])  # one NaN or Inf among the logits makes the whole row NaN
    return log_probabilities


def _check_finite(values: Tensor) -> None:
    if (values.isnan() | values.isposinf()).any():
        if active_edits() is not None:
            raise RegardError("with these interventions the model's probabilities are not finite. Remove one of them.")
        raise RegardError(
            "the model's probabilities are not finite: its weights contain NaN or Inf. Load another checkpoint."
        )


@torch.inference_mode()
def _mask_logits(
    log_probabilities: Float[Tensor, "N V"], search: BeamSearch, prefixes: Prefixes | None
) -> LogProbabilities:
    """-inf for suppressed tokens and, within the prefix of a sentence, for all but its next token."""
    allowed = log_probabilities.clone() if prefixes else log_probabilities
    allowed[:, SUPPRESSED_TOKENS] = float("-inf")
    position = search.tokens.shape[2]
    for row, sentence in enumerate(search.sentences.tolist() if prefixes else []):
        if position < len(prefixes[sentence]):  # type: ignore[index]
            own, forced = slice(row * search.width, (row + 1) * search.width), prefixes[sentence][position]  # type: ignore[index]
            allowed[own] = float("-inf")
            allowed[own, forced] = log_probabilities[own, forced]
    return allowed.view(-1, search.width, allowed.shape[-1])


def _max_lengths(
    source: Source, config: DecodingConfig, prefixes: Prefixes | None, max_positions: int | None
) -> list[int]:
    """The maximum length of each output; it does not depend on the other sentences of the batch."""
    start_rows = [len(row) for row in prefixes] if prefixes is not None else [0] * len(source.lengths)
    if len(start_rows) != len(source.lengths):
        raise RegardError(
            f"there are {len(start_rows)} prefixes for {len(source.lengths)} sentences; give as many of each."
        )
    pairs = zip(start_rows, source.lengths, strict=True)
    return [config.max_output_tokens(length, prefix=prefix, max_positions=max_positions) for prefix, length in pairs]


@torch.inference_mode()
def forced_decode(model: GenerativeModel, source: Source, targets: TokenRows, *, sentences: list[int]) -> DecoderOutput:
    """Decode every target in one pass, for recordings; `sentences` gives the source of each target."""
    rows = torch.tensor(sentences, device=source.device)
    memory = select_rows(model.encode(source), rows)
    inputs, _ = shift_right(targets, device=source.device)
    with batch_rows(rows, torch.tensor(inputs.lengths, device=source.device)):
        return model.decode(inputs.tokens, memory, model.init_state(memory))


@torch.inference_mode()
def rescore(
    model: GenerativeModel, source: Source, targets: TokenRows, *, sentences: list[int]
) -> Float[Tensor, "R T"]:
    """The log-probabilities of each target's tokens and END, zero for padding; `sentences` gives their sources."""
    return token_log_probabilities(forced_decode(model, source, targets, sentences=sentences), targets)


@torch.inference_mode()
def token_log_probabilities(decoded: DecoderOutput, targets: TokenRows) -> Float[Tensor, "R T"]:
    """The same for targets that are decoded already."""
    logits = decoded.logits
    _, outputs = shift_right(targets, device=logits.device)
    log_probabilities = logits.log_softmax(dim=-1).gather(-1, outputs.tokens.unsqueeze(-1)).squeeze(-1)
    return log_probabilities * outputs.is_real
