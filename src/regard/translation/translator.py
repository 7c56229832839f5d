"""A loaded model used on text: it translates with whichever engine, and can be looked into as it does."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from regard.batch import source_of
from regard.bundle import Bundle, load_bundle
from regard.decoding.loop import stream as stream_tokens
from regard.errors import RegardError
from regard.manifest import EXPORT, kind_of, model_directory
from regard.translation.alignment import Alignment, align_tokens
from regard.translation.engines import Engine
from regard.translation.lines import LineTranslator, Translation, decoding_with
from regard.translation.torch_engine import BATCH_TOKENS, TorchEngine
from regard.translation.trace import trace_pair

__all__ = ["BATCH_TOKENS", "Translation", "Translator", "decoding_with", "load"]


class Translator(LineTranslator):
    """A loaded model with its vocabularies; the engine is torch unless another one of the same model is given."""

    def __init__(self, bundle: Bundle, *, engine: Engine | None = None) -> None:
        parameters = sum(parameter.numel() for parameter in bundle.model.parameters())
        engine = engine or TorchEngine(bundle.model)
        super().__init__(bundle.config, bundle.tokenizers, engine, parameters=parameters)
        self.bundle = bundle
        self.device = next(bundle.model.parameters()).device

    def translate(  # type: ignore[override]  # no decoding option is called trace
        self, texts: Sequence[str], *, align: bool = False, trace: bool = False, **options: object
    ) -> list[Translation]:
        """The best translation of each text; options are those of the decoding section, such as beam=1.

        Each can carry the alignment of its words, and the trace of all that the model computed in saying it.
        """
        best = super().translate(texts, align=align, **options)
        return [self._traced(text, output) for text, output in zip(texts, best, strict=True)] if trace else best

    def stream(self, text: str, **options: object) -> Iterator[str]:
        """The translation of one text as it grows; that of a text without words is empty, and no model is asked."""
        config, row = self.settings(**options), self.tokenizers.source.encode(text)[: self.longest]
        if not row:
            yield ""
            return
        source = source_of([row], device=self.device)
        for (tokens,) in stream_tokens(self.bundle.model, source, config):  # type: ignore[arg-type]
            yield self.tokenizers.target.decode(tokens)

    def aligned(self, pairs: Sequence[tuple[list[int], list[int]]]) -> Iterator[Alignment]:
        """The alignments of pairs of token rows, read off the attention between them."""
        return align_tokens(self.bundle, pairs)

    def _traced(self, text: str, output: Translation) -> Translation:
        source = self.tokenizers.source.encode(text)[: self.longest]
        return replace(output, trace=trace_pair(self.bundle, source, output.tokens)) if source else output


def load(directory: Path | str, *, device: str = "cpu") -> Translator:
    """The model in a bundle's or a run's directory, ready to translate."""
    place = model_directory(Path(directory))
    if kind_of(place) == EXPORT:
        raise RegardError(
            f"{place} is an export for {EXPORT}. Give the model it was made from, or in Python open the export with "
            "regard.load_export."
        )
    return Translator(load_bundle(place, device=device))
