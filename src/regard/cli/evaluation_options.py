"""The options that `regard evaluate` and `regard compare` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.console import warn
from regard.cli.inputs import languages_of
from regard.cli.options import (
    beam_option,
    captions_option,
    engine_option,
    json_option,
    labels_option,
    lowercase_option,
    pairs_option,
    plot_option,
    quantization_option,
    reference_option,
    resamples_option,
    skip_language_check_option,
    source_option,
    split_option,
    tokenize_option,
)

if TYPE_CHECKING:
    from regard.inference.interface import EngineName
    from regard.interop.ctranslate2 import Quantization


@dataclass(frozen=True)
class EvaluationOptions:
    """The options that `regard evaluate` and `regard compare` share."""

    source: Path | None
    reference: Path | None
    pairs: Path | None
    skip_language_check: bool
    captions: Path | None
    labels: Path | None
    split: str | None
    beam_size: int | None
    engine: EngineName | None
    quantization: Quantization | None
    tokenize: str | None
    lowercase: bool
    resamples: int
    plot: Path | None
    as_json: bool

    @property
    def files(self) -> list[Path]:
        """The files of translations: one of pairs, or a source and a reference; none if no option names them."""
        if self.pairs is not None and (self.source or self.reference):
            raise click.UsageError("--pairs has sources and references. Remove --source and --reference, or --pairs.")
        if (self.source is None) != (self.reference is None):
            raise click.UsageError("Give --source and --reference together, or --pairs.")
        return [self.pairs] if self.pairs else [self.source, self.reference] if self.source and self.reference else []

    @property
    def for_translators(self) -> dict[str, object]:
        """The options that only translators have, by name."""
        return {name: getattr(self, name) for name in ("engine", "quantization", "tokenize", "lowercase", "plot")}

    def scoring(self, models: Sequence[Path], references: Sequence[str]) -> ScoringOptions:
        """How the translations of all models are generated and scored."""
        tokenize = choose_tokenization(self.tokenize, models, references)
        return ScoringOptions(self.beam_size, tokenize, self.lowercase, self.resamples)


def evaluation_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of `EvaluationOptions` to a command."""
    data = [source_option, reference_option, pairs_option, skip_language_check_option]
    data += [captions_option, labels_option, split_option]
    search = [beam_option, engine_option, quantization_option]
    scoring = [tokenize_option, lowercase_option, resamples_option]
    output = [plot_option("quality by sentence length"), json_option]
    for option in reversed([*data, *search, *scoring, *output]):
        command = option(command)
    return command


@dataclass(frozen=True)
class ScoringOptions:
    """How translations are generated and scored."""

    beam_size: int | None
    tokenize: str
    lowercase: bool
    resamples: int


def choose_tokenization(tokenize: str | None, models: Sequence[Path], references: Sequence[str]) -> str:
    """The tokenizer of BLEU for all models: the given one, or by target language, or by the references' script."""

    from regard.inference.evaluation import common_tokenization
    from regard.metrics.text import language_by_script, tokenization_note

    if tokenize is not None:
        return tokenize
    targets = {code: str(model) for model in models for code in languages_of(model)[-1:]}
    chosen = common_tokenization(targets, references)
    language = next(iter(targets), None) or language_by_script(references)
    if not targets and language:
        warn(
            f"no model names its languages; BLEU is tokenised for {language} ({chosen}), by the script of the reference"
        )
    if note := tokenization_note(language, chosen):
        warn(note)
    return chosen
