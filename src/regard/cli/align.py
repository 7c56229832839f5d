"""`regard align`: align the words of sentence pairs by attention, and score alignments against gold links."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from regard.cli.console import echo, print_json, print_table, warn
from regard.cli.gold_links import ONE_BASED_WARNING, GoldLinks, ParallelTexts, seem_one_based, swap_links
from regard.cli.inputs import base_codes, check_direction, check_outputs, languages_of, load_torch_model
from regard.cli.options import PATH, gold_index_base_option, json_option, none_for_standard_output
from regard.errors import RegardError
from regard.files import atomic_file

if TYPE_CHECKING:
    from regard.metrics.alignment import AlignmentScore, Links, Symmetrization
    from regard.tracing.alignment import Measure

MEASURES = ["weights", "norms", "value-zeroing", "contributions"]
SYMMETRIZATIONS: list[Symmetrization] = ["intersection", "union", "grow-diag-final-and"]
SCORING_OPTIONS = ("hypothesis", "gold", "gold_index_base")  # the options of scoring a file of links
ALL_HEADS_OPTIONS = ("model", "source", "target", "gold", "gold_index_base", "all_heads", "measure")


@click.command(
    name="align",
    epilog="""\b
Examples:
  regard align runs/x/model --source test.en --target test.ko --gold test.align --best-head
  regard align --hypothesis found.align --gold gold.align --gold-index-base 1""",
)
@click.argument("model", type=PATH, required=False)
@click.option("--source", type=PATH, help="Source sentences, one per line.")
@click.option("--target", type=PATH, help="Their translations, line by line.")
@click.option("--gold", type=PATH, help="Gold links in Pharaoh format (1-2 is sure, 1p2 is possible).")
@gold_index_base_option
@click.option("--hypothesis", type=PATH, help="Instead of a model: a file of links to score, counted from 0.")
@click.option("--layer", type=click.IntRange(1), help="Layer to use, counted from 1. [default: the mean of all]")
@click.option("--head", type=click.IntRange(1), help="Head to use, counted from 1. [default: the mean of all]")
@click.option(
    "--at",
    type=click.Choice(["output", "input"]),
    help="Attention of the decoder step whose output, or whose input, is the target word. [default: output]",
)
@click.option(
    "--measure",
    type=click.Choice(MEASURES),
    help="What links words: attention weights, the norms of the vectors that are read, how far the output moves "
    "without them, or their contributions through all layers. [default: weights]",
)
@click.option(
    "--best-head", is_flag=True, help="Choose layer, head and decoder step by the AER on --dev-*, or else on --gold."
)
@click.option(
    "--all-heads", is_flag=True, help="Instead of links: the AER of each layer, head and decoder step, best first."
)
@click.option("--dev-source", type=PATH, help="With --best-head: source sentences to choose the head on.")
@click.option("--dev-target", type=PATH, help="Their translations.")
@click.option("--dev-gold", type=PATH, help="Their gold links.")
@click.option("--reverse", type=PATH, help="A model of the opposite direction; the links of both are combined.")
@click.option(
    "--symmetrization",
    type=click.Choice(SYMMETRIZATIONS),
    help=f"How the links of both directions are combined. [default: {SYMMETRIZATIONS[-1]}]",
)
@click.option(
    "--output", type=PATH, callback=none_for_standard_output, help="File for the links. [default: standard output]"
)
@json_option
def command(output: Path | None, as_json: bool, **given: Any) -> None:
    """Link the words of each sentence pair by MODEL's attention, in Pharaoh format, counted from 0.

    With --gold, precision, recall and the alignment error rate (AER) are printed too.
    """

    from regard.data.text_lines import read_lines
    from regard.metrics.alignment import GoldAlignment, format_alignment, parse_alignments

    options = AlignOptions(**given)
    _check_options(options, output)
    files = [options.source, options.target, options.gold, options.hypothesis]
    check_outputs({"--output": output}, [*files, options.dev_source, options.dev_target, options.dev_gold])
    gold = GoldLinks.read(options.gold, options.gold_index_base) if options.gold else None
    if options.all_heads:
        _print_all_heads(options, gold, as_json=as_json)
        return
    selections: list[str] = []
    if options.hypothesis:
        alignments = parse_alignments(read_lines(options.hypothesis), origin=str(options.hypothesis))
        links = [one.possible for one in alignments]
    else:
        links, selections = _align_with_models(options, gold)
    score = None if gold is None else _score_links(options, links, gold)
    lines = [format_alignment(GoldAlignment(sure=own, possible=own)) for own in links]
    is_printed = not (as_json or output or options.hypothesis)
    if output or is_printed:
        with atomic_file(output) if output else nullcontext(sys.stdout.buffer) as file:
            file.writelines(f"{line}\n".encode() for line in lines)
    if as_json:
        record = {"pairs": len(links), "selections": selections, "score": score}
        print_json(record if output or options.hypothesis else record | {"links": lines})
        return
    for selection in selections:
        echo(selection, to_error=is_printed)
    if score is not None:
        errors = {"precision": score.precision, "recall": score.recall, "AER": score.aer}
        counts = {"links found": score.links, "gold links, sure": score.sure, "gold links, all": score.possible}
        rows = [[name, f"{value:.4f}"] for name, value in errors.items()]
        rows += [[name, f"{count:,}"] for name, count in counts.items()]
        print_table(["against gold", ""], rows, to_error=is_printed)


@dataclass(frozen=True, kw_only=True)
class AlignOptions:
    """The options of the command but for its output."""

    model: Path | None
    source: Path | None
    target: Path | None
    gold: Path | None
    gold_index_base: int
    hypothesis: Path | None
    layer: int | None  # counted from 1, as are heads
    head: int | None
    at: Literal["output", "input"] | None
    measure: Measure | None
    best_head: bool
    all_heads: bool
    dev_source: Path | None
    dev_target: Path | None
    dev_gold: Path | None
    reverse: Path | None
    symmetrization: Symmetrization | None

    def given_besides(self, names: Sequence[str]) -> str:
        """The options that were given, without those named."""
        given = [name for name, value in vars(self).items() if value and name not in names]
        return ", ".join(f"--{name.replace('_', '-')}" for name in given)


def _check_options(options: AlignOptions, output: Path | None) -> None:
    """An error if the options contradict each other or are incomplete, before anything is read."""
    for_model, for_one_head = options.given_besides(SCORING_OPTIONS), options.given_besides(ALL_HEADS_OPTIONS)
    is_model_given = options.model and options.source and options.target
    has_position = options.layer or options.head or options.at
    dev = [options.dev_source, options.dev_target, options.dev_gold]
    rules: list[tuple[object, str]] = [
        (
            options.hypothesis and (options.model or not options.gold),
            "--hypothesis replaces the model, and needs --gold to be scored against.",
        ),
        (
            options.hypothesis and for_model,
            f"--hypothesis is a file of links, but {for_model} is for a model. Remove it, or give a model instead.",
        ),
        (
            not options.hypothesis and not is_model_given,
            "give a model, --source and --target; or --hypothesis and --gold to score a file of links.",
        ),
        (
            options.all_heads and not options.gold,
            "--all-heads prints the error of each head against gold links. Give --gold.",
        ),
        (
            options.all_heads and for_one_head,
            f"--all-heads scores every layer, head and decoder step of one model. Remove {for_one_head}.",
        ),
        (
            options.all_heads and output,
            "--all-heads prints errors and writes no links. Remove --output or --all-heads.",
        ),
        (
            any(dev) and not (all(dev) and options.best_head),
            "--dev-source, --dev-target and --dev-gold need each other and --best-head. Give all four.",
        ),
        (
            options.best_head and not (options.dev_gold or options.gold),
            "--best-head needs gold links. Give --gold, or --dev-source, --dev-target and --dev-gold.",
        ),
        (
            options.best_head and has_position,
            "--best-head chooses layer, head and decoder step. Remove --layer, --head and --at, or --best-head.",
        ),
        (
            options.symmetrization and not options.reverse,
            f"--symmetrization {options.symmetrization} combines the links of two models. Give the other model with "
            "--reverse, or remove it.",
        ),
    ]
    if problem := next((message for is_broken, message in rules if is_broken), ""):
        raise RegardError(problem)


def _check_directions(options: AlignOptions) -> None:
    """An error if models and files are of another direction, as far as their names tell."""
    own, other = (languages_of(model) if model else [] for model in (options.model, options.reverse))
    if own and other and base_codes(own) != base_codes(other)[::-1]:
        raise RegardError(
            f"{options.model} translates {' to '.join(own)}, and {options.reverse} {' to '.join(other)}. "
            f"--reverse needs a model of the opposite direction. Give one from {own[-1]} to {own[0]}."
        )
    models = [options.model] if options.model else []
    if options.source and options.target:
        check_direction(models, options.source, options.target, ("--source", "--target"))
    if options.dev_source and options.dev_target:
        check_direction(models, options.dev_source, options.dev_target, ("--dev-source", "--dev-target"))


# --- alignments of models


def _align_with_models(options: AlignOptions, gold: GoldLinks | None) -> tuple[list[Links], list[str]]:
    """The links of every pair, and which attention they come from."""

    from regard.metrics.alignment import symmetrize

    _check_directions(options)
    texts = dev = ParallelTexts.read(options.source, options.target, gold)
    if options.dev_gold:
        dev_gold = GoldLinks.read(options.dev_gold, options.gold_index_base)
        dev = ParallelTexts.read(options.dev_source, options.dev_target, dev_gold)
    forward, selection = _align_direction(options, options.model, texts, dev)
    if options.reverse is None:
        return forward, [selection]
    backward, reverse_selection = _align_direction(options, options.reverse, texts.swapped(), dev.swapped())
    symmetrization = options.symmetrization or SYMMETRIZATIONS[-1]
    combined = [
        symmetrize(own, swap_links(other), symmetrization) for own, other in zip(forward, backward, strict=True)
    ]
    return combined, [selection, f"{reverse_selection} (reverse)", f"combined by {symmetrization}"]


def _align_direction(
    options: AlignOptions, model: Path | None, texts: ParallelTexts, dev: ParallelTexts
) -> tuple[list[Links], str]:
    from regard.tokenization.text import WORD
    from regard.tracing.alignment import HeadSelection, align, best_head

    assert model is not None  # noqa: S101  (checked with the options)
    bundle = load_torch_model(model)
    if options.best_head:
        best = best_head(bundle, dev.sources, dev.targets, dev.gold or [], options.measure or "weights")
        where = "the development set" if options.dev_gold else "the gold links themselves"
        selection, description = best.selection, f"best by {where}: {best} (AER {best.aer:.4f} there)"
    else:  # options count from 1, selections from 0
        layer, head = (None if number is None else number - 1 for number in (options.layer, options.head))
        selection = HeadSelection(layer, head, options.at or "output", options.measure or "weights")
        description = f"attention: {selection}"
    alignments = align(bundle, texts.sources, texts.targets, selection)
    for number, (alignment, source, target) in enumerate(zip(alignments, texts.sources, texts.targets, strict=True), 1):
        lengths = len(WORD.findall(source)), len(WORD.findall(target))
        if len(alignment.source_words) < lengths[0] or len(alignment.target_words) < lengths[1]:
            limit = f"more than {bundle.max_source_tokens} tokens on a side"
            warn(f"pair {number} has {limit}; only its beginning was aligned")
    return [alignment.links for alignment in alignments], description


def _print_all_heads(options: AlignOptions, gold: GoldLinks | None, *, as_json: bool) -> None:
    """Print every head with its error, instead of links."""
    from regard.tracing.alignment import NO_CROSS_ATTENTION, score_heads

    assert options.model is not None  # noqa: S101  (checked with the options)
    assert gold is not None  # noqa: S101  (checked with the options)
    _check_directions(options)
    texts = ParallelTexts.read(options.source, options.target, gold)
    bundle = load_torch_model(options.model)
    heads = score_heads(bundle, texts.sources, texts.targets, gold.alignments, options.measure or "weights")
    if not heads:
        raise RegardError(f"{options.model}: {NO_CROSS_ATTENTION}")
    gold.warn_about_index_base()
    if as_json:
        print_json({"pairs": len(texts.sources), "heads": heads})
        return
    rows = []
    for one in heads:
        every = "all" if one.measure == "contributions" else "mean"
        numbers = [every if number is None else str(number) for number in (one.layer, one.head)]
        rows.append([*numbers, one.at, *(f"{figure:.4f}" for figure in (one.aer, one.precision, one.recall))])
    print_table(["layer", "head", "decoder step", "AER", "precision", "recall"], rows)


# --- scoring


def _score_links(options: AlignOptions, links: list[Links], gold: GoldLinks) -> AlignmentScore:
    """The score; a warning if one of the files seems to count from 1 and the other from 0."""

    from regard.metrics.alignment import alignment_error_rate

    if not seem_one_based(links):
        gold.warn_about_index_base()
    elif options.hypothesis and not seem_one_based(gold.links):
        warn(
            f"{options.hypothesis}: {ONE_BASED_WARNING}. If so, the AER is wrong: subtract 1 from each of its indices."
        )
    return alignment_error_rate(links, [one.sure for one in gold.alignments], gold.links)
