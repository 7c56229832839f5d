"""`regard compare`: measure several models on the same data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from regard.cli.console import echo, print_json, print_table, warn
from regard.cli.evaluation_options import EvaluationOptions, ScoringOptions, evaluation_options
from regard.cli.gold_links import GoldLinks
from regard.cli.inputs import check_outputs, distinct_names, load_torch_model, load_translator
from regard.cli.model_evaluation import (
    figures_of,
    format_score,
    format_word_range,
    measure_captioner,
    measure_classifier,
    measure_translator,
    warn_about_tokenized_text,
    write_length_plot,
)
from regard.cli.options import PATH, gold_index_base_option, reject_options
from regard.cli.test_sets import ImageTestSet, read_labelled_set, read_translation_set
from regard.files import EXPORT, directory_kind, find_model_directory

if TYPE_CHECKING:
    from regard.inference.evaluation import CaptionReport, ClassificationReport, TranslationReport
    from regard.metrics.text import Difference
    from regard.tracing.alignment import HeadAlignment

NO_VALUE = "–"  # the cell of a figure that a model does not have
SHOWN_CAPTION_SCORES = ("BLEU-4", "CIDEr-D")  # the two that papers compare; JSON has all


@click.command(
    name="compare",
    epilog="""\b
Examples:
  regard compare runs/x/model runs/y/model --source test.en --reference test.ko --gold test.align
  regard compare runs/scenes-attention/model runs/scenes-rnn/model --captions runs/scenes/data --split test
  regard compare runs/a/model runs/b/model --labels test.tsv""",
)
@click.argument("models", type=PATH, nargs=-1, required=True)
@evaluation_options
@click.option("--gold", type=PATH, help="Gold links between source and reference: add the AER of each best head.")
@gold_index_base_option
@click.option("--report", type=PATH, metavar="FILE", help="Write figures and translations for `regard serve`.")
def command(
    models: tuple[Path, ...], gold: Path | None, gold_index_base: int, report: Path | None, **given: Any
) -> None:
    """Measure MODELS on the same text: quality, quality by length, decoding speed, parameters, bytes on disk.

    With --gold, links in the format of `regard align`, the table has the alignment error rate of the best layer, head
    and decoder step of each model.

    Each model is compared with the first one: p is the probability that chance alone gives such a difference, by a
    paired bootstrap test.

    For captioners give --captions: BLEU-4, CIDEr-D, the exact matches and, if there are gold boxes beside the captions,
    how often the attention peaks inside the box.

    For classifiers give --labels: accuracy and macro F1. Each model is compared with the first one by McNemar's exact
    test on the examples where only one of the two is right.
    """
    options, own = EvaluationOptions(**given), {"gold": gold, "gold_index_base": gold_index_base, "report": report}
    match bool(options.files), options.captions, options.labels:
        case True, None, None:
            reject_options({"split": options.split}, "captioners", "--source")
            if gold_index_base and gold is None:
                raise click.UsageError("--gold-index-base needs --gold. Give the gold links, or remove it.")
            check_outputs({"--plot": options.plot, "--report": report}, [*options.files, gold])
            _compare_translators(models, options, gold, gold_index_base, report)
        case False, None, Path() as labels:
            unfit = own | {"split": options.split, "beam": options.beam_size} | options.for_translators
            reject_options(unfit, "other models", "--labels")
            _compare_classifiers(models, labels, resamples=options.resamples, as_json=options.as_json)
        case False, Path() as captions, None:
            reject_options(own | options.for_translators, "translators", "--captions")
            images = ImageTestSet.read(captions, options.split)
            figures = [measure_captioner(model, images, options) for model in models]
            named = zip(figures, distinct_names(models), strict=True)
            _print_image_comparison(
                [msgspec.structs.replace(one, model=name) for one, name in named], as_json=options.as_json
            )
        case _:
            raise click.UsageError(
                "Give --source and --reference, or --pairs, for translators; --captions for captioners; or --labels "
                "for classifiers."
            )


# --- translators


def _compare_translators(
    models: Sequence[Path], options: EvaluationOptions, gold: Path | None, index_base: int, report: Path | None
) -> None:
    from regard.inference.evaluation import EvaluationReport

    sources, references = read_translation_set(options, models)
    links = _read_gold_links(gold, index_base, sources, references)
    scoring = options.scoring(models, references)
    reports = []
    for model, name in zip(models, distinct_names(models), strict=True):
        translator = load_translator(model, options.engine, options.quantization)
        own = measure_translator(translator, sources, references, scoring)
        best = None if links is None else _best_head(model, sources, references, links)
        reports.append(msgspec.structs.replace(own, model=name, alignment=best))
    warn_about_tokenized_text(references, reports, scoring.tokenize)
    against = _compare_with_first(reports, references, scoring)
    try:  # files first, because the reader of standard output may be gone; the figures even if the disk is full
        if options.plot is not None:
            write_length_plot(options.plot, reports)
        if report is not None:
            EvaluationReport(models=reports, sources=sources, references=references).write(report)
    finally:
        _print_comparison(reports, against, has_gold=gold is not None, as_json=options.as_json)


def _read_gold_links(
    gold: Path | None, index_base: int, sources: Sequence[str], references: Sequence[str]
) -> GoldLinks | None:
    from regard.data.pair_readers.text import Pair

    if gold is None:
        return None
    links = GoldLinks.read(gold, index_base)
    pairs = zip(sources, references, strict=True)
    links.check([Pair(source, reference, line) for line, (source, reference) in enumerate(pairs, start=1)])
    links.warn_about_index_base()
    return links


def _best_head(model: Path, sources: list[str], references: list[str], gold: GoldLinks) -> HeadAlignment | None:
    """The head with the lowest error; None for an export and for a model without cross-attention."""
    from regard.tracing.alignment import score_heads

    if directory_kind(find_model_directory(model)) == EXPORT:
        warn(f"{model} is an export, which has no attention for alignments. Give the model that it was made from.")
        return None
    bundle = load_torch_model(model)
    return next(iter(score_heads(bundle, sources, references, gold.alignments)), None)


def _compare_with_first(
    reports: Sequence[TranslationReport], references: list[str], scoring: ScoringOptions
) -> list[list[Difference]]:
    """The differences of all models but the first; empty for one model, or without resampling.

    The models' own intervals do not show them: other sentences would move the scores of all models together.
    """

    from regard.metrics.text import differences

    if len(reports) == 1 or scoring.resamples == 1:
        return []
    return differences(
        [report.outputs for report in reports],
        references,
        tokenize=scoring.tokenize,  # type: ignore[arg-type]
        lowercase=scoring.lowercase,
        resamples=scoring.resamples,
    )


def _print_comparison(
    reports: list[TranslationReport], against: list[list[Difference]], *, has_gold: bool, as_json: bool
) -> None:
    if as_json:
        compared = [
            {"model": one.model, "against": reports[0].model, "scores": own}
            for one, own in zip(reports[1:], against, strict=False)
        ]
        print_json({"models": [figures_of(one) for one in reports], "differences": compared})
        return
    print_table(["", *(one.model for one in reports)], table_rows(reports, against, has_gold=has_gold))
    for signature in dict.fromkeys(f"{score.name:<6} {score.signature}" for one in reports for score in one.scores):
        echo(signature)


def table_rows(
    models: list[TranslationReport], against: list[list[Difference]], *, has_gold: bool = False
) -> list[list[str]]:
    """One row for each figure and one cell for each model: names are long, figures are many, models are few."""
    names = dict.fromkeys(score.name for one in models for score in one.scores)
    lengths = [
        [
            f"BLEU, {format_word_range(buckets[0])} words ({buckets[0].count:,})",
            *(f"{bucket.score:.1f}" for bucket in buckets),
        ]
        for buckets in zip(*(one.lengths for one in models), strict=True)
    ]
    compared = [
        [f"{own[0].name} against the first", "", *(f"{one.value:+.1f} (p = {one.p_value:.2g})" for one in own)]
        for own in zip(*against, strict=True)
    ]
    alignments = [
        ["alignment error", *(f"{one.alignment.aer:.4f}" if one.alignment else NO_VALUE for one in models)],
        ["attention", *(str(one.alignment) if one.alignment else NO_VALUE for one in models)],
    ]
    kinds = [f"{one.kind} ({one.score}, {one.query_state})" if one.query_state else one.kind for one in models]
    scores = [{score.name: format_score(score) for score in one.scores} for one in models]  # long outputs have no TER
    return [
        ["kind", *kinds],
        *([name, *(own.get(name, NO_VALUE) for own in scores)] for name in names),
        *compared,
        *lengths,
        *(alignments if has_gold else []),
        ["sentences/s", *(f"{one.sentences_per_second:,.1f}" for one in models)],
        ["tokens/s", *(f"{one.tokens_per_second:,.0f}" for one in models)],
        *_size_rows(models),
    ]


def _size_rows(models: Sequence[TranslationReport | CaptionReport | ClassificationReport]) -> list[list[str]]:
    return [
        ["parameters", *(f"{one.parameters:,}" for one in models)],
        ["bytes on disk", *(f"{one.disk_bytes:,}" for one in models)],
    ]


# --- captioners


def _print_image_comparison(reports: list[CaptionReport], *, as_json: bool) -> None:
    if as_json:
        print_json({"models": [figures_of(one) for one in reports]})
        return
    scores = zip(*([one for one in own.scores if one.name in SHOWN_CAPTION_SCORES] for own in reports), strict=True)
    best: list[Any] = [one.pointing[0] if one.pointing else None for one in reports]
    pointing = [
        ["peak in the box", *(f"{one.score.peak:.3f}" if one else NO_VALUE for one in best)],
        ["attention", *(str(one.selection) if one else NO_VALUE for one in best)],
    ]
    rows = [
        *([own[0].name, *map(format_score, own)] for own in scores),
        ["exact match", *(f"{100 * one.exact_match:.1f} %" for one in reports)],
        *(pointing if any(best) else []),
        ["images/s", *(f"{one.images_per_second:,.1f}" for one in reports)],
        *_size_rows(reports),
    ]
    print_table([f"{reports[0].images:,} images", *(one.model for one in reports)], rows)
    for score in reports[0].scores:
        if score.name in SHOWN_CAPTION_SCORES:
            echo(f"{score.name:<8} {score.signature}")


# --- classifiers


def _compare_classifiers(models: Sequence[Path], labels: Path, *, resamples: int, as_json: bool) -> None:
    from regard.inference.open import load
    from regard.metrics.classification import paired_test

    reports = [
        msgspec.structs.replace(measure_classifier(model, labels, resamples=resamples), model=name)
        for model, name in zip(models, distinct_names(models), strict=True)
    ]
    _, gold = read_labelled_set(labels, load(models[0], task="classification"))
    numbers = {label: number for number, label in enumerate(dict.fromkeys([*gold, *reports[0].outputs]))}

    def classes(outputs: Sequence[str]) -> list[int]:
        return [numbers.setdefault(label, len(numbers)) for label in outputs]

    first = classes(reports[0].outputs)
    tests = [paired_test(classes(gold), classes(one.outputs), first, resamples=resamples) for one in reports[1:]]
    if as_json:
        compared = [
            {"model": one.model, "against": reports[0].model, **msgspec.to_builtins(test)}
            for one, test in zip(reports[1:], tests, strict=True)
        ]
        print_json({"models": [figures_of(one) for one in reports], "differences": compared})
        return
    scores = zip(*(one.scores for one in reports), strict=True)
    against = [f"{one.difference:+.1f} [{one.low:+.1f}, {one.high:+.1f}]" for one in tests]
    disagreements = [f"{one.only_first:,} / {one.only_second:,}" for one in tests]
    rows = [
        *([own[0].name, *map(format_score, own)] for own in scores),
        *([["accuracy against the first", "", *against]] if tests else []),
        *([["only this one / only the first right", "", *disagreements]] if tests else []),
        *([["McNemar's p", "", *(f"{one.p_value:.2g}" for one in tests)]] if tests else []),
        ["examples/s", *(f"{one.examples_per_second:,.1f}" for one in reports)],
        *_size_rows(reports),
    ]
    print_table([f"{reports[0].examples:,} examples", *(one.model for one in reports)], rows)
