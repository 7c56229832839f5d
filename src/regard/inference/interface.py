"""What all pipelines share: the engine protocol, generated text, properties of a model, and checks of the input.

Nothing here imports torch, so that an exported model starts without it.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Protocol, Self, TypeVar, Unpack

from regard.config import Config, DecodeOptions, DecodingConfig
from regard.config import Task as Task
from regard.decoding.hypothesis import Hypothesis
from regard.errors import RegardError
from regard.files import model_name
from regard.struct_decoding import shorten
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair

if TYPE_CHECKING:
    from regard.bundle import Bundle

StrPath = str | PathLike[str]
EngineName = Literal["torch", "ctranslate2", "auto"]
Progress = Callable[[int], object]  # is called with the number of items that are done since the last call
TokenRows = Sequence[list[int]]  # token ids, without END
Item = TypeVar("Item")


# --- engines ---------------------------------------------------------------------------------------------------------


class DecodedRows(NamedTuple):
    """Some of the rows, by their indices, and the hypotheses of each, the best first."""

    indices: list[int]
    hypotheses: list[list[Hypothesis]]


class Engine(Protocol):
    """Decodes token rows: for the same rows and options every engine gives the same text."""

    name: str
    description: str  # for people: the name, the quantization, or the reason for this engine
    max_positions: int | None  # of a row with its END; None: unlimited
    is_asynchronous: bool  # True: it works in the background after `decode` returns, so submit early

    def decode(self, rows: TokenRows, config: DecodingConfig, *, scores: bool = True) -> Iterator[DecodedRows]:
        """The `nbest` best hypotheses of each row, a batch at a time, in any order; no row is empty.

        Without `scores` they may be NaN, because a greedy search does not need them. An engine may yield empty
        batches in between, so that the caller can stop.
        """


def batches_by_length(rows: TokenRows, budget: int) -> Iterator[list[int]]:
    """Indices of rows of similar length, longest first, as many together as the budget of padded tokens allows."""
    batch: list[int] = []
    for index in sorted(range(len(rows)), key=lambda index: -len(rows[index])):
        longest = len(rows[batch[0]]) + 1 if batch else 0
        if batch and longest * (len(batch) + 1) > budget:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


# --- pipelines -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GeneratedText:
    """One output of a model."""

    text: str
    score: float
    log_probability: float
    tokens: list[int]
    is_finished: bool = True  # False: it reached the length limit before END

    @property
    def confidence(self) -> float:
        """The geometric mean of the tokens' probabilities, END included: from 0 to 1, for texts of any length."""
        return math.exp(self.log_probability / (len(self.tokens) + 1))

    @classmethod
    def from_hypothesis(cls, hypothesis: Hypothesis, tokenizer: Tokenizer) -> Self:
        """A finished hypothesis as text."""
        return cls(
            text=tokenizer.decode(hypothesis.tokens),
            score=hypothesis.score,
            log_probability=hypothesis.log_probability,
            tokens=hypothesis.tokens,
            is_finished=hypothesis.is_finished,
        )


class LoadedModel(Protocol):
    """The properties that a bundle and an export share."""

    @property
    def config(self) -> Config: ...
    @property
    def tokenizers(self) -> TokenizerPair: ...
    @property
    def num_parameters(self) -> int: ...


class ModelPipeline:
    """A loaded model with its config and vocabularies."""

    task: ClassVar[Task]

    def __init__(self, model: LoadedModel, *, directory: Path | None = None) -> None:
        self.config = model.config
        self.tokenizers = model.tokenizers
        self.num_parameters = model.num_parameters
        self.directory = directory  # that it was loaded from; None: it was built in memory

    @property
    def languages(self) -> tuple[str, str]:
        """The codes of source and target; empty where the recipe does not name them, as for an image."""
        return self.config.data.language_pair

    @property
    def name(self) -> str:
        """A short name for tables: that of the run, or of the directory."""
        return "" if self.directory is None else model_name(self.directory)

    @property
    def disk_bytes(self) -> int:
        """The size of the model's files; 0 if it was built in memory."""
        files = () if self.directory is None else self.directory.iterdir()
        return sum(file.stat().st_size for file in files if file.is_file())

    def decoding_config(self, **options: Unpack[DecodeOptions]) -> DecodingConfig:
        """The model's own decoding section with some options changed."""
        return self.config.decoding.with_options(**options)


class BundlePipeline(ModelPipeline):
    """A pipeline that runs the torch model of a bundle."""

    def __init__(self, bundle: "Bundle", *, directory: Path | None = None) -> None:
        super().__init__(bundle, directory=directory)
        self.bundle = bundle
        self.device = next(bundle.model.parameters()).device

    @property
    def max_source_tokens(self) -> int:
        """How many tokens of a text the model reads; a longer text is truncated."""
        return self.bundle.max_source_tokens

    def save(self, path: StrPath) -> None:
        """Write the model as a bundle, which `regard.load` opens."""
        from regard.bundle import save_bundle

        save_bundle(Path(path), self.bundle)


# --- checks of the input ---------------------------------------------------------------------------------------------


def check_list(inputs: Iterable[Item], noun: str) -> list[Item]:
    """The inputs as a list; a single one is an error."""
    is_one = isinstance(inputs, str | bytes | Path)
    if is_one or not isinstance(inputs, Iterable):
        given = f"one {noun}" if is_one else f"an object of type {type(inputs).__name__}"
        raise RegardError(f"expected a list of {noun}s, and got {given}. Write [{noun}].")
    return list(inputs)


def check_texts(texts: Iterable[str]) -> list[str]:
    """The texts as a list; one string, or an item that is not a string, is an error."""
    checked = check_list(texts, "text")
    for number, text in enumerate(checked, start=1):
        if not isinstance(text, str):
            raise RegardError(
                f"text {number} of {len(checked)} is {shorten(text)}, of type {type(text).__name__}. "
                "Give text (str); an empty one stays empty."
            )
    return checked


def require_single_output(output: str, given: str, options: Mapping[str, object]) -> None:
    """Refuse `nbest` in a method that returns one output of each, and would drop the others."""
    wanted = options.get("nbest", 1)
    if wanted != 1:
        raise RegardError(
            f"nbest is {wanted!r}, but this method returns only the best {output} of each {given}. "
            f"For several, call .nbest([...], nbest={wanted!r})."
        )
