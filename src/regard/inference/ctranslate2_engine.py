"""The engine of exported models: CTranslate2, one worker of one thread for each core; nothing here imports torch.

Its search is the one of our decode loop (docs/decisions/0003): twice the beam's width of candidates, finished
hypotheses set aside, the score divided by length to a power, END counted. It has one length limit for a whole batch.
So a batch gets the largest limit, and a sentence that reached its own limit is decoded again with that one.
"""

import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from regard.config import DecodingConfig
from regard.decoding.hypothesis import Hypothesis
from regard.errors import RegardError
from regard.inference.interface import DecodedRows, TokenRows, batches_by_length
from regard.interop.ctranslate2 import SHORTLIST_FILE, ExportedModel, require_installed
from regard.process import usable_cores
from regard.special_tokens import END

BATCH_TOKENS = 1024  # source tokens at once, over the beam's width; larger batches leave a worker idle at the end
MIN_LENGTH_PENALTY = 1e-9  # a length penalty of exactly 0 makes CTranslate2 stop before it has `nbest` good hypotheses


class CTranslate2Engine:
    """An exported model in memory."""

    name = "ctranslate2"
    is_asynchronous = True

    def __init__(self, export: ExportedModel) -> None:
        self.description = f"ctranslate2, {export.info.quantization}"
        self.max_positions: int | None = export.info.max_positions
        self._translator = _load_translator(export.files)
        self._source_pieces = export.tokenizers.source.vocabulary
        self._target_ids = {piece: identity for identity, piece in enumerate(export.tokenizers.target.vocabulary)}
        self._has_shortlist = SHORTLIST_FILE in export.files

    def decode(self, rows: TokenRows, config: DecodingConfig, *, scores: bool = True) -> Iterator[DecodedRows]:
        """The `nbest` best hypotheses of each row; all batches are submitted at once and yielded as they end."""
        if unsupported := unsupported_options(config):
            raise RegardError(f"the ctranslate2 engine cannot do this: {'; '.join(unsupported)}. Use the torch engine.")
        batches = list(batches_by_length(rows, BATCH_TOKENS // config.beam_size or 1))
        submitted = [(indices, self._submit([rows[index] for index in indices], config, scores)) for indices in batches]
        return (
            DecodedRows(indices, self._collect([rows[index] for index in indices], pending, config, scores))
            for indices, pending in submitted
        )

    def _submit(self, rows: TokenRows, config: DecodingConfig, scores: bool) -> list[Any]:
        """Start the search for all rows, with the length limit of the longest."""
        return self._translator.translate_batch(  # type: ignore[no-any-return]
            [[self._source_pieces[identity] for identity in row] for row in rows],
            asynchronous=True,
            beam_size=config.beam_size,
            num_hypotheses=config.beam_size,  # all, so that a search that reached a row's own limit can be found
            length_penalty=config.length_penalty or MIN_LENGTH_PENALTY,
            max_input_length=0,
            max_decoding_length=self._length_limit(rows, config),
            min_decoding_length=0,
            return_end_token=True,
            return_scores=scores,
            use_vmap=self._has_shortlist,
        )

    def _collect(
        self, rows: TokenRows, pending: list[Any], config: DecodingConfig, scores: bool
    ) -> list[list[Hypothesis]]:
        outputs, common = [], self._length_limit(rows, config)
        for row, result in zip(rows, pending, strict=True):
            own, limit = self._hypotheses(result.result(), config), self._length_limit([row], config)
            if limit < common and any(len(one.tokens) + one.is_finished >= limit for one in own):
                [again] = self._submit([row], config, scores)
                own = self._hypotheses(again.result(), config)
            outputs.append(own[: config.nbest])
        return outputs

    def _hypotheses(self, result: Any, config: DecodingConfig) -> list[Hypothesis]:
        hypotheses = []
        for pieces, score in zip(result.hypotheses, result.scores or [math.nan] * len(result.hypotheses), strict=True):
            tokens = [self._target_ids[piece] for piece in pieces]
            log_probability = score * len(tokens) ** config.length_penalty
            is_finished = tokens[-1:] == [END]
            hypotheses.append(Hypothesis(tokens[:-1] if is_finished else tokens, score, log_probability, is_finished))
        return hypotheses

    def _length_limit(self, rows: TokenRows, config: DecodingConfig) -> int:
        longest = max(map(len, rows)) + 1  # END is a token of the source too
        return config.max_output_tokens(longest, max_positions=self.max_positions)


def unsupported_options(config: DecodingConfig) -> list[str]:
    """The decoding options that this engine does not have."""
    return ["decoding.do_sample is true: it draws other numbers than torch"] if config.do_sample else []


def _load_translator(files: dict[str, bytes]) -> Any:
    """Load in a thread that ends: CTranslate2 sets OpenMP's thread count, which torch in our own thread would use."""
    require_installed()
    import ctranslate2

    allowed = os.environ.get("OMP_NUM_THREADS", "")  # torch obeys it, too
    workers = min(usable_cores(), int(allowed)) if allowed.isdecimal() and int(allowed) else usable_cores()
    options = {"device": "cpu", "inter_threads": workers, "intra_threads": 1, "files": files}
    try:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(ctranslate2.Translator, "export", **options).result()
    except (RuntimeError, ValueError) as error:
        raise RegardError(f"CTranslate2 cannot load this export: {error}. Export the model again.") from None
