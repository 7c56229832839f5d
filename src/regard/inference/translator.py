"""`Translator`: texts in, translations out, with any engine.

Nothing here imports torch before it is needed, so that an exported model starts without it.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from regard.config import DecodeOptions, DecodingConfig, max_source_tokens, task_of
from regard.errors import RegardError
from regard.files import copy_model
from regard.inference.ctranslate2_engine import CTranslate2Engine, unsupported_options
from regard.inference.interface import (
    DecodedRows,
    Engine,
    GeneratedText,
    ModelPipeline,
    Progress,
    StrPath,
    check_texts,
    require_single_output,
)
from regard.interop.ctranslate2 import ExportedModel
from regard.tokenization.text import close_sentence
from regard.tracing.alignment import HeadSelection, WordAlignment, align_token_pairs

if TYPE_CHECKING:
    from regard.bundle import Bundle
    from regard.tracing.trace import Trace

CHUNK_LINES = 2048  # lines that are sorted by length together: many to pad little, few to give the first result soon


@dataclass(frozen=True)
class Translation(GeneratedText):
    """One translation of one line."""

    is_truncated: bool = False  # the source is longer than the model can read; only its beginning was translated
    alignment: WordAlignment | None = None
    trace: "Trace | None" = None  # None also for a line without words, which no model translates


@dataclass(frozen=True)
class _LineChunk:
    """Lines that were submitted to the engine."""

    rows: list[list[int]]
    is_truncated: list[bool]
    indices: list[int]  # of the lines that have words
    decoded: Iterator[DecodedRows]


class Translator(ModelPipeline):
    """A model that translates: a bundle, which any engine can decode, or an export, which has no attention to read."""

    task = "translation"

    def __init__(
        self, model: "Bundle | ExportedModel", *, engine: Engine | None = None, directory: Path | None = None
    ) -> None:
        if task_of(model.config.model) != "translation":
            kind = type(model.config.model).__struct_config__.tag
            raise RegardError(f"model.kind is {kind!r}, which does not translate. Open it with regard.load.")
        super().__init__(model, directory=directory)
        self.bundle = None if isinstance(model, ExportedModel) else model
        self.engine: Engine
        if engine is not None:
            self.engine = engine
        elif isinstance(model, ExportedModel):
            self.engine = CTranslate2Engine(model)
        else:
            from regard.inference.torch_engine import TorchEngine

            self.engine = TorchEngine(model.model)

    @property
    def max_source_tokens(self) -> int:
        """How many tokens of a line the model reads; a longer line is truncated."""
        return max_source_tokens(self.engine.max_positions)

    def translate(
        self, texts: Sequence[str], *, align: bool = False, trace: bool = False, **options: Unpack[DecodeOptions]
    ) -> list[Translation]:
        """The best translation of each text; options are those of the decoding section, such as beam_size=1.

        Each can have the alignment of its words, and the trace of everything that the model computed for it.
        """
        require_single_output("translation", "text", options)
        texts = check_texts(texts)
        best = [outputs[0] for outputs in self.nbest(texts, align=align, **options)]
        if not trace:
            return best

        from regard.tracing.trace import trace_pair

        bundle = self.require_bundle("traces")
        return [
            replace(output, trace=trace_pair(bundle, source, output.tokens)) if source else output
            for source, output in zip(map(self.encode, texts), best, strict=True)
        ]

    def nbest(
        self, texts: Sequence[str], *, align: bool = False, **options: Unpack[DecodeOptions]
    ) -> list[list[Translation]]:
        """The `nbest` best translations of each text, the best first."""
        return list(self.translate_lines(check_texts(texts), self.decoding_config(**options), align=align))

    def translate_lines(
        self,
        texts: Iterable[str],
        config: DecodingConfig | None = None,
        *,
        align: bool | HeadSelection = False,
        scores: bool = True,
        progress: Progress | None = None,
    ) -> Iterator[list[Translation]]:
        """Translations in the order of the texts, a chunk of lines at a time, so that a file of any size fits.

        Without `scores`, which may then be NaN, a greedy search is faster.
        """
        selection = HeadSelection() if align is True else align or None
        if selection is not None:
            self.require_bundle("alignments")
        remaining, config = iter(texts), config or self.config.decoding
        engine = self._active_engine(config)
        pending: deque[_LineChunk] = deque()
        while lines := list(islice(remaining, CHUNK_LINES)):
            encoded = [self.encode_source(line) for line in lines]
            rows = [row[: self.max_source_tokens] for row in encoded]
            indices = [index for index, row in enumerate(rows) if row]
            decoded = engine.decode([rows[index] for index in indices], config, scores=scores)
            is_truncated = [len(row) > self.max_source_tokens for row in encoded]
            pending.append(_LineChunk(rows, is_truncated, indices, decoded))
            if not engine.is_asynchronous or len(pending) > 1:
                yield from self._collect(pending.popleft(), selection, progress or int)
        for chunk in pending:
            yield from self._collect(chunk, selection, progress or int)

    def stream(self, text: str, **options: Unpack[DecodeOptions]) -> Iterator[str]:
        """The translation of one text as it grows; that of a text without words is empty."""
        bundle, config, row = self.require_bundle("streaming"), self.decoding_config(**options), self.encode(text)
        if not row:
            return iter([""])

        from regard.batch import encode_source_rows
        from regard.decoding.loop import stream

        source = encode_source_rows([row], device=next(bundle.model.parameters()).device)
        steps = stream(bundle.model, source, config)  # type: ignore[arg-type]
        return (self.tokenizers.target.decode(tokens) for (tokens,) in steps)

    def align(
        self, sources: Sequence[str], targets: Sequence[str], *, selection: HeadSelection | None = None
    ) -> list[WordAlignment]:
        """The word alignment of each pair of sentences, from the attention between them."""
        from regard.tracing.alignment import align

        return align(self.require_bundle("alignments"), sources, targets, selection)

    def trace(self, source: str, target: str | None = None, **options: Unpack[DecodeOptions]) -> "Trace":
        """Everything that the model computes for this target; without one, for its best translation."""
        from regard.tracing.trace import trace_pair

        bundle = self.require_bundle("traces")
        tokens = self.translate([source], **options)[0].tokens if target is None else None
        return trace_pair(
            bundle,
            self.encode(source),
            self.tokenizers.target.encode(target or "") if tokens is None else tokens,
            text=source,
        )

    def unknown_words(self, text: str) -> list[str]:
        """The words of a text that the model does not know, each once."""
        return (self.bundle or self.tokenizers.source).unknown_words(*check_texts([text]))

    def save(self, path: StrPath) -> None:
        """Write the model as a bundle (an export as an export), which `regard.load` opens."""
        if self.bundle is not None:
            from regard.bundle import save_bundle

            save_bundle(Path(path), self.bundle)
        elif self.directory is not None:
            copy_model(self.directory, Path(path))

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, as many as the model reads."""
        return self.encode_source(*check_texts([text]))[: self.max_source_tokens]

    def encode_source(self, text: str) -> list[int]:
        """All tokens of a text."""
        return self.tokenizers.source.encode(close_sentence(text, self.config.data.closing_mark))

    def require_bundle(self, purpose: str) -> "Bundle":
        """The torch model; an error if only the export was loaded. `purpose` is a plural noun."""
        if self.bundle is None:
            raise RegardError(
                f"this model was opened for the ctranslate2 engine without its weights, and {purpose} need them. "
                "Open the model that the export was made from."
            )
        return self.bundle

    def _active_engine(self, config: DecodingConfig) -> Engine:
        """The engine; torch for options that it does not have, and while `intervene` is active."""
        if self.bundle is None or self.engine.name != "ctranslate2":
            return self.engine
        from regard.attention.hooks import active_edits
        from regard.inference.torch_engine import TorchEngine

        is_enough = active_edits() is None and not unsupported_options(config)
        return self.engine if is_enough else TorchEngine(self.bundle.model)

    def _collect(
        self, chunk: _LineChunk, selection: HeadSelection | None, progress: Progress
    ) -> Iterator[list[Translation]]:
        # A line without words has an empty translation: a model would invent one.
        empty = Translation("", 0.0, 0.0, [], alignment=None if selection is None else WordAlignment.empty())
        outputs = [[empty] for _ in chunk.rows]
        progress(chunk.rows.count([]))
        for decoded in chunk.decoded:
            indices = [chunk.indices[index] for index in decoded.indices]
            translated = [
                [Translation.from_hypothesis(one, self.tokenizers.target) for one in own] for own in decoded.hypotheses
            ]
            if selection is not None and indices:
                rows = [chunk.rows[index] for index in indices]
                pairs = [(row, one.tokens) for row, own in zip(rows, translated, strict=True) for one in own]
                alignments = iter(align_token_pairs(self.require_bundle("alignments"), pairs, selection))
                translated = [[replace(one, alignment=next(alignments)) for one in own] for own in translated]
            for index, own in zip(indices, translated, strict=True):
                outputs[index] = [replace(one, is_truncated=True) for one in own] if chunk.is_truncated[index] else own
            progress(len(indices))
        yield from outputs
