"""The one decode loop: encode, then one token after another until every sentence has ended.

It knows no model by name and carries no attention: to see what a finished output looked at, score it again under
`record_attention` (rescoring.py). Streaming is the same loop, watched step by step.
"""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.config import DecodingConfig
from regard.decoding.choosers import LogProbabilities, make_chooser
from regard.decoding.coverage import with_coverage
from regard.decoding.hypothesis import Hypothesis, longest_output
from regard.decoding.search import Search
from regard.errors import RegardError
from regard.models.interface import Decoded, Generator, Source, repeat_rows
from regard.symbols import BEGIN, END, MASK, PADDING

NEVER_SAID = [PADDING, BEGIN, MASK]
Prefixes = Sequence[Sequence[int]]


def generate(
    model: Generator,
    source: Source,
    config: DecodingConfig,
    *,
    prefixes: Prefixes | None = None,
    scores: bool = True,
) -> list[list[Hypothesis]]:
    """For each sentence its `nbest` best outputs, the best first; with prefixes, outputs that begin with them.

    Where nobody wants scores, those of a greedy search are NaN.
    """
    *_, search = steps(model, source, config, prefixes=prefixes, scores=scores)
    return outputs_of(search, model, source, config)


def outputs_of(search: Search, model: Generator, source: Source, config: DecodingConfig) -> list[list[Hypothesis]]:
    """The `nbest` best outputs of each sentence of a search that is over."""
    ended = with_coverage(model, source, search.ended, config.coverage) if config.coverage else search.ended
    return [sorted(one, key=lambda hypothesis: -hypothesis.score)[: config.nbest] for one in ended]


def stream(
    model: Generator, source: Source, config: DecodingConfig, *, prefixes: Prefixes | None = None
) -> Iterator[list[list[int]]]:
    """After each step the best output of each sentence so far; with a beam, a later step may change earlier tokens."""
    if config.coverage:
        raise RegardError("a coverage penalty is known only at the end; to stream, set decoding.coverage to 0")
    for search in steps(model, source, config, prefixes=prefixes):
        yield search.best()


def steps(
    model: Generator,
    source: Source,
    config: DecodingConfig,
    *,
    prefixes: Prefixes | None = None,
    scores: bool = True,
) -> Iterator[Search]:
    """The search after each token."""
    choose = make_chooser(config)
    is_scored = scores or config.beam > 1 or config.sample  # else the largest logit is all that is needed
    search, likely = _set_out(model, source, config, prefixes, is_scored)
    while True:
        choice = choose(_allow(likely, search, prefixes), search.scores)
        _refuse_nan(choice.scores)
        search.advance(choice, search.state)
        yield search
        if not search.is_going:
            return
        likely = _predict(model, search)


@torch.inference_mode()
def _set_out(
    model: Generator, source: Source, config: DecodingConfig, prefixes: Prefixes | None, is_scored: bool
) -> tuple[Search, Float[Tensor, "N V"]]:
    """Encode the source, read BEGIN and what all prefixes have a token for, and say what may follow."""
    if any(END in row for row in prefixes or []):
        raise RegardError(f"a prefix holds END ({END}), and nothing can follow END. Take it off the prefix.")
    memory = model.encode(source)
    limits = _limits(source, config, prefixes, model.longest)
    width = config.width
    shared = min(map(len, prefixes)) if prefixes else 0
    given = [[BEGIN, *row[:shared]] for row in prefixes or [[]] * len(limits)]
    tokens = torch.tensor(given, device=source.device)
    decoded = model.decode(tokens, memory, model.start(memory))
    penalty = config.length_penalty if is_scored else None
    search = Search(memory, limits, width=width, length_penalty=penalty, device=tokens.device)
    scores = _said(decoded, tokens)[:, None].repeat(1, width)
    if not config.sample:
        scores[:, 1:] = float("-inf")  # all hypotheses are the same yet: only the first may be extended
    repeated = repeat_rows(decoded.state, width, batch=len(limits), device=tokens.device)
    search.begin(tokens[:, 1:], scores, repeated)
    return search, _likely(decoded, is_scored).repeat_interleave(width, dim=0)


@torch.inference_mode()
def _predict(model: Generator, search: Search) -> Float[Tensor, "N V"]:
    """What may follow the newest token of each hypothesis."""
    decoded = model.decode(search.newest, search.memory, search.state)
    search.state = decoded.state
    return _likely(decoded, search.is_scored)


def _said(decoded: Decoded, tokens: Int[Tensor, "B T"]) -> Float[Tensor, " B"]:
    """The log-probability of the tokens that were given after BEGIN."""
    log_probabilities = _log_probabilities(decoded.output(decoded.hidden[:, :-1]))
    return log_probabilities.gather(-1, tokens[:, 1:, None]).squeeze(-1).sum(dim=1)


def _likely(decoded: Decoded, is_scored: bool) -> Float[Tensor, "N V"]:
    """What may follow the last token: log-probabilities, or where no score is wanted the logits, which rank alike."""
    logits = decoded.output(decoded.hidden[:, -1])
    return _log_probabilities(logits) if is_scored else logits


def _log_probabilities(logits: Float[Tensor, "... V"]) -> Float[Tensor, "... V"]:
    log_probabilities = logits.log_softmax(dim=-1)
    _refuse_nan(log_probabilities[..., 0])  # one NaN or Inf among its logits makes the whole of a row NaN
    return log_probabilities


def _refuse_nan(values: Tensor) -> None:
    if (values.isnan() | values.isposinf()).any():
        raise RegardError("the model's probabilities are not numbers: its weights hold NaN or Inf. Load others.")


@torch.inference_mode()
def _allow(log_probabilities: Float[Tensor, "N V"], search: Search, prefixes: Prefixes | None) -> LogProbabilities:
    """-inf for what is never said and, while a sentence's prefix lasts, for all but the prefix's next token."""
    allowed = log_probabilities.clone() if prefixes else log_probabilities
    allowed[:, NEVER_SAID] = float("-inf")
    position = search.tokens.shape[2]
    for row, sentence in enumerate(search.sentences.tolist() if prefixes else []):
        if position < len(prefixes[sentence]):  # type: ignore[index]
            own, forced = slice(row * search.width, (row + 1) * search.width), prefixes[sentence][position]  # type: ignore[index]
            allowed[own] = float("-inf")
            allowed[own, forced] = log_probabilities[own, forced]
    return allowed.view(-1, search.width, allowed.shape[-1])


def _limits(source: Source, config: DecodingConfig, prefixes: Prefixes | None, longest: int | None) -> list[int]:
    """How many tokens each output may have: a bound of its own for each sentence, whatever it is batched with."""
    given = [len(row) for row in prefixes] if prefixes is not None else [0] * len(source.lengths)
    if len(given) != len(source.lengths):
        raise RegardError(f"there are {len(given)} prefixes for {len(source.lengths)} sentences; give as many of each.")
    pairs = zip(given, source.lengths, strict=True)
    return [longest_output(length, config, prefix=prefix, longest=longest) for prefix, length in pairs]
