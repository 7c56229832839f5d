"""How good the models were found to be: what `regard compare --quality FILE` wrote, shown beside the models."""

from pathlib import Path
from typing import Literal

import msgspec

from regard.errors import RegardError
from regard.serve.refusals import Refusal

SHOWN = 50  # sentences of a bucket


class QualityScore(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of a model on the test set, with its interval."""

    name: str
    value: float
    low: float
    high: float
    signature: str


class LengthScore(msgspec.Struct, frozen=True, kw_only=True):
    """BLEU of the sentences whose source has `low` to `high` words."""

    low: int
    high: int
    count: int
    score: float


class AlignmentQuality(msgspec.Struct, frozen=True, kw_only=True):
    """The alignment error rate of the reading that errs least; layers and heads count from 1, null is their mean."""

    layer: int | None
    head: int | None
    when: Literal["said", "read"]
    error: float


class ModelQuality(msgspec.Struct, frozen=True, kw_only=True):
    """A model's figures; score and wiring are those of an RNN that attends."""

    model: str
    kind: str = ""
    score: str | None = None
    wiring: str | None = None
    scores: list[QualityScore]
    lengths: list[LengthScore]
    sentences_per_second: float
    parameters: int
    alignment: AlignmentQuality | None = None


class MeasuredModel(ModelQuality, frozen=True, kw_only=True):
    """A model's figures and what it said, as in the file."""

    outputs: list[str] = []


class QualityFile(msgspec.Struct, frozen=True, kw_only=True):
    """The file: the test set, and each model on it; without sentences where only figures were kept."""

    models: list[MeasuredModel]
    sources: list[str] = []
    references: list[str] = []


class TestSize(msgspec.Struct, frozen=True):
    """How large the test set is."""

    sentences: int


class QualityAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of all models on the same test set."""

    test: TestSize
    models: list[ModelQuality]


class ComparedSentence(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence of the test set, and what each model made of it."""

    source: str
    reference: str
    outputs: dict[str, str]


class ComparedSentences(msgspec.Struct, frozen=True):
    """Sentences of one range of lengths."""

    sentences: list[ComparedSentence]


class Quality:
    """What is known of the models' quality, if anything is; a file that is written later, or anew, is read then."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: QualityFile | None = None
        self._read_at = 0
        if path is not None and not path.parent.is_dir():
            raise RegardError(f"{path.parent} is not a directory. --quality takes a file of regard compare.")
        self._refreshed()

    def answer(self) -> QualityAnswer | None:
        """The figures; None where the models were not compared."""
        file = self._refreshed()
        if file is None:
            return None
        models = [
            ModelQuality(**{name: getattr(one, name) for name in ModelQuality.__struct_fields__}) for one in file.models
        ]
        count = len(file.sources) or sum(bucket.count for bucket in models[0].lengths)
        return QualityAnswer(test=TestSize(count), models=models)

    def sentences(self, bucket: int) -> ComparedSentences:
        """The first sentences of a range of lengths, counted from 0 as in the figures."""
        file = self._refreshed()
        if file is None:
            raise Refusal(404, "no_quality", "The models were not compared. Start the server with --quality FILE.")
        lengths = file.models[0].lengths
        if bucket >= len(lengths):
            raise Refusal(404, "no_bucket", f"There are {len(lengths)} ranges of lengths, counted from 0.")
        low, high = lengths[bucket].low, lengths[bucket].high
        members = [i for i, source in enumerate(file.sources) if low <= max(len(source.split()), 1) <= high]
        return ComparedSentences([_sentence(file, index) for index in members[:SHOWN]])

    def _refreshed(self) -> QualityFile | None:
        if self._path is None or not self._path.exists():
            return self._file
        written_at = self._path.stat().st_mtime_ns
        if written_at != self._read_at:
            self._file, self._read_at = _read(self._path), written_at
        return self._file


def _sentence(file: QualityFile, index: int) -> ComparedSentence:
    outputs = {one.model: one.outputs[index] for one in file.models if one.outputs}
    return ComparedSentence(source=file.sources[index], reference=file.references[index], outputs=outputs)


def _read(path: Path) -> QualityFile:
    try:
        file = msgspec.json.decode(path.read_bytes(), type=QualityFile)
    except OSError as error:
        raise RegardError(
            f"{path} cannot be read: {error.strerror}. --quality takes a file of regard compare."
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RegardError(f"{path} is not what regard compare --quality writes: {error}. Write it anew.") from None
    counts = {len(file.sources), len(file.references), *(len(one.outputs) for one in file.models if one.outputs)}
    if not file.models or len(counts) > 1:
        raise RegardError(f"{path} is incomplete: its models and sentences do not match. Write it anew.")
    return file
