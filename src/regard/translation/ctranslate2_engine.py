"""The engine of exported models: CTranslate2, one worker of one thread for each core; nothing here imports torch.

It searches as our loop does (docs/decisions/0003): twice the beam's width of candidates, ended hypotheses put aside,
the score divided by length to a power, END counted. What it does not have is a length bound for each sentence of a
batch: a batch gets the largest, and a sentence whose search reached its own bound is decoded again with that one.
"""

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from regard.config import DecodingConfig
from regard.decoding.hypothesis import Hypothesis, longest_output
from regard.errors import RegardError
from regard.symbols import END
from regard.tokens import Tokenizers
from regard.translation.engines import Finished, Rows, batches_by_length, usable_cores

BATCH_TOKENS = 1024  # source tokens at once, over the beam's width; larger batches leave a worker idle at the end
NO_PENALTY = 1e-9  # a length penalty of exactly 0 makes CTranslate2 stop before it has `nbest` good hypotheses


class CTranslate2Engine:
    """A model in memory, from the files of an export, which have been checked."""

    name = "ctranslate2"
    is_ahead = True

    def __init__(self, files: dict[str, bytes], tokenizers: Tokenizers, *, longest: int, has_shortlist: bool) -> None:
        self._translator = _loaded(files)
        self._source_pieces = tokenizers.source.vocabulary
        self._target_ids = {piece: identity for identity, piece in enumerate(tokenizers.target.vocabulary)}
        self.longest: int | None = longest
        self._has_shortlist = has_shortlist

    def decode(self, rows: Rows, config: DecodingConfig, *, scores: bool = True) -> Iterator[Finished]:
        """The `nbest` best hypotheses of each row; all batches are begun at once, and told as they end."""
        refuse_unknown_options(config)
        batches = list(batches_by_length(rows, BATCH_TOKENS // config.beam or 1))
        begun = [(places, self._begin([rows[place] for place in places], config, scores)) for places in batches]
        return (
            Finished(places, self._finish([rows[place] for place in places], run, config, scores))
            for places, run in begun
        )

    def _begin(self, rows: Rows, config: DecodingConfig, scores: bool) -> list[Any]:
        """Ask for the best hypotheses of all rows, each of them as long as the longest may be."""
        return self._translator.translate_batch(  # type: ignore[no-any-return]
            [[self._source_pieces[identity] for identity in row] for row in rows],
            asynchronous=True,
            beam_size=config.beam,
            num_hypotheses=config.beam,  # all, so that it shows when a search reached a row's own bound
            length_penalty=config.length_penalty or NO_PENALTY,
            max_input_length=0,
            max_decoding_length=self._bound(rows, config),
            min_decoding_length=0,
            return_end_token=True,
            return_scores=scores,
            use_vmap=self._has_shortlist,
        )

    def _finish(self, rows: Rows, run: list[Any], config: DecodingConfig, scores: bool) -> list[list[Hypothesis]]:
        outputs, common = [], self._bound(rows, config)
        for row, pending in zip(rows, run, strict=True):
            own, bound = self._hypotheses(pending.result(), config), self._bound([row], config)
            if bound < common and any(len(one.tokens) + one.is_ended >= bound for one in own):
                [again] = self._begin([row], config, scores)
                own = self._hypotheses(again.result(), config)
            outputs.append(own[: config.nbest])
        return outputs

    def _hypotheses(self, result: Any, config: DecodingConfig) -> list[Hypothesis]:
        scores = result.scores or [math.nan] * len(result.hypotheses)
        return [
            self._hypothesis(pieces, score, config) for pieces, score in zip(result.hypotheses, scores, strict=True)
        ]

    def _hypothesis(self, pieces: Sequence[str], score: float, config: DecodingConfig) -> Hypothesis:
        tokens = list(map(self._target_ids.__getitem__, pieces))
        log_probability = score * len(tokens) ** config.length_penalty
        is_ended = tokens[-1:] == [END]
        return Hypothesis(tokens[:-1] if is_ended else tokens, score, log_probability, is_ended)

    def _bound(self, rows: Rows, config: DecodingConfig) -> int:
        longest = max(map(len, rows)) + 1  # END is a token of the source too
        return longest_output(longest, config, longest=self.longest)


def unknown_options(config: DecodingConfig) -> list[str]:
    """What of the decoding options this engine cannot do."""
    unknown = ["decoding.sample is true: it draws other numbers than torch"] if config.sample else []
    if config.coverage:
        unknown.append("decoding.coverage is not 0: it keeps no attention to measure coverage by")
    return unknown


def refuse_unknown_options(config: DecodingConfig) -> None:
    """One error for all that this engine cannot do."""
    if unknown := unknown_options(config):
        raise RegardError(f"the ctranslate2 engine cannot do this: {'; '.join(unknown)}. Use the torch engine.")


def is_installed() -> bool:
    """Whether there is a CTranslate2 to run."""
    from importlib.util import find_spec

    return find_spec("ctranslate2") is not None


def require_installed() -> None:
    """An error that says how to get it."""
    if not is_installed():
        raise RegardError("CTranslate2 is not installed. Install it with: pip install 'regard[ctranslate2]'")


def _loaded(files: dict[str, bytes]) -> Any:
    """In a thread that ends: CTranslate2 tells OpenMP how many threads it wants, and torch in our own would obey."""
    require_installed()
    import ctranslate2

    wanted = {"device": "cpu", "inter_threads": usable_cores(), "intra_threads": 1, "files": files}
    try:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(ctranslate2.Translator, "export", **wanted).result()
    except (RuntimeError, ValueError) as error:
        raise RegardError(f"CTranslate2 cannot load this export: {error}. Export the model again.") from None
