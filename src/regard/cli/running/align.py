"""Running `regard align`."""

import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from regard.bundle import Bundle
from regard.cli.running.align_gold import Gold, seem_counted_from_one
from regard.cli.running.directions import check_direction
from regard.cli.running.models import base_codes, languages_of, load_model
from regard.cli.running.outputs import check_outputs
from regard.cli.running.telling import tell, tell_json, tell_table, warn
from regard.data import read_lines, read_pairs
from regard.errors import RegardError
from regard.metrics import (
    Alignment,
    AlignmentScore,
    Links,
    Symmetry,
    alignment_error,
    format_alignment,
    parse_alignments,
    symmetrise,
)
from regard.staged import staged_file
from regard.translation.alignment import Reading, align_texts, best_reading
from regard.translation.lines import readable

USUAL_SYMMETRY: Symmetry = "grow-diag-final-and"
FOR_SCORING = ("hypothesis", "gold", "gold_base")  # all other options are for finding links


@dataclass(frozen=True, kw_only=True)
class Wish:
    """All that the user gave."""

    model: Path | None
    source: Path | None
    target: Path | None
    gold: Path | None
    gold_base: int
    hypothesis: Path | None
    layer: int | None  # counted from 1, as heads are
    head: int | None
    when: Literal["said", "read"] | None
    best: bool
    dev_source: Path | None
    dev_target: Path | None
    dev_gold: Path | None
    reverse: Path | None
    symmetry: Symmetry | None

    @property
    def files(self) -> list[Path | None]:
        """All that is read besides models."""
        developing = [self.dev_source, self.dev_target, self.dev_gold]
        return [self.source, self.target, self.gold, self.hypothesis, *developing]


@dataclass(frozen=True)
class Texts:
    """Sentence pairs, with the links that people made where they are known."""

    sources: list[str]
    targets: list[str]
    gold: list[Alignment] | None

    def swapped(self) -> "Texts":
        """The same in the other direction."""
        gold = None if self.gold is None else [Alignment(_swap(one.sure), _swap(one.possible)) for one in self.gold]
        return Texts(self.targets, self.sources, gold)


@dataclass(frozen=True)
class Found:
    """The links of every pair, and how they were read off."""

    links: list[Links]
    readings: list[str]


def run_alignment(wish: Wish, *, output: Path | None, as_json: bool) -> None:
    """Find or read links, write them, and score them if there is gold."""
    _check(wish)
    check_outputs({"--output": output}, wish.files)
    gold = Gold.read(wish.gold, wish.gold_base) if wish.gold else None
    found = _read_hypothesis(wish.hypothesis) if wish.hypothesis else _from_models(wish, gold)
    score = None if gold is None else _score(wish, found.links, gold)
    lines = [format_alignment(Alignment(sure=links, possible=links)) for links in found.links]
    is_printed = not (as_json or output or wish.hypothesis)
    if output or is_printed:
        with staged_file(output) if output else nullcontext(sys.stdout.buffer) as file:
            file.writelines(f"{line}\n".encode() for line in lines)
    if as_json:
        tell_json(_record(found, None if output or wish.hypothesis else lines, score))
        return
    for reading in found.readings:
        tell(reading, to_error=is_printed)
    if score is not None:
        tell_table(["against gold", ""], _rows(score), to_error=is_printed)


def _check(wish: Wish) -> None:
    if wish.hypothesis:
        _check_scoring(wish)
    else:
        _check_finding(wish)


def _check_scoring(wish: Wish) -> None:
    if wish.model or not wish.gold:
        raise RegardError("--hypothesis takes the place of a model, and needs --gold to be scored against.")
    given = [f"--{name.replace('_', '-')}" for name, value in vars(wish).items() if value and name not in FOR_SCORING]
    if given:
        raise RegardError(
            f"--hypothesis has its links already, and a model is needed for {', '.join(given)}. "
            "Leave these out, or give a model in the place of --hypothesis."
        )


def _check_finding(wish: Wish) -> None:
    if not (wish.model and wish.source and wish.target):
        raise RegardError("a model, --source and --target are needed; or --hypothesis and --gold, to score a file.")
    developing = [wish.dev_source, wish.dev_target, wish.dev_gold]
    if any(developing) and not (all(developing) and wish.best):
        raise RegardError("--dev-source, --dev-target and --dev-gold go together, with --best.")
    if wish.best and not (wish.dev_gold or wish.gold):
        raise RegardError("--best chooses by links that people made. Give --gold, or --dev-source, -target and -gold.")
    if wish.best and (wish.layer or wish.head or wish.when):
        raise RegardError(
            "--best chooses layer, head and moment itself. Leave out --layer, --head and --when, or --best."
        )
    if wish.symmetry and not wish.reverse:
        raise RegardError(
            f"--symmetry {wish.symmetry} joins the links of two models. Give the other with --reverse, or leave it out."
        )


def _check_directions(wish: Wish) -> None:
    own, other = (languages_of(model) if model else [] for model in (wish.model, wish.reverse))
    if own and other and base_codes(own) != base_codes(other)[::-1]:
        raise RegardError(
            f"{wish.model} translates {' to '.join(own)}, and {wish.reverse} {' to '.join(other)}. "
            f"--reverse takes a model of the other direction: give one from {own[-1]} to {own[0]}."
        )
    models = [wish.model] if wish.model else []
    if wish.source and wish.target:
        check_direction(models, wish.source, wish.target, ("--source", "--target"))
    if wish.dev_source and wish.dev_target:
        check_direction(models, wish.dev_source, wish.dev_target, ("--dev-source", "--dev-target"))


def _from_models(wish: Wish, gold: Gold | None) -> Found:
    _check_directions(wish)
    texts = _read_texts(wish.source, wish.target, gold)
    developing = texts
    if wish.dev_gold:
        developing = _read_texts(wish.dev_source, wish.dev_target, Gold.read(wish.dev_gold, wish.gold_base))
    forward, how = _links(wish, wish.model, texts, developing)
    if wish.reverse is None:
        return Found(forward, [how])
    backward, how_back = _links(wish, wish.reverse, texts.swapped(), developing.swapped())
    symmetry = wish.symmetry or USUAL_SYMMETRY
    joined = [symmetrise(own, _swap(other), symmetry) for own, other in zip(forward, backward, strict=True)]
    return Found(joined, [how, f"{how_back} (reverse)", f"joined by {symmetry}"])


def _links(wish: Wish, model: Path | None, texts: Texts, developing: Texts) -> tuple[list[Links], str]:
    assert model is not None  # noqa: S101  (checked with the wish)
    bundle = load_model(model).bundle
    reading, how = _reading(wish, bundle, developing)
    longest = readable(bundle.model.longest)  # type: ignore[arg-type]
    alignments = align_texts(bundle, texts.sources, texts.targets, reading)
    for number, (alignment, source, target) in enumerate(zip(alignments, texts.sources, texts.targets, strict=True), 1):
        if len(alignment.source_words) < len(source.split()) or len(alignment.target_words) < len(target.split()):
            warn(f"pair {number} has more than {longest} tokens on a side; only its beginning was aligned")
    return [alignment.links for alignment in alignments], how


def _reading(wish: Wish, bundle: Bundle, developing: Texts) -> tuple[Reading, str]:
    """The map to read, and words for it; numbers are counted from 1 outside and from 0 inside."""
    if not wish.best:
        layer, head = (None if number is None else number - 1 for number in (wish.layer, wish.head))
        reading = Reading(layer, head, wish.when == "read")
        return reading, f"read from: {reading}"
    reading, score = best_reading(bundle, developing.sources, developing.targets, developing.gold or [])
    where = "the development set" if wish.dev_gold else "the gold links themselves"
    return reading, f"best by {where}: {reading} (AER {score.error:.4f} there)"


def _read_texts(source: Path | None, target: Path | None, gold: Gold | None) -> Texts:
    pairs = list(read_pairs([str(source), str(target)]))
    if gold is not None:
        gold.check(pairs)
    alignments = None if gold is None else gold.alignments
    return Texts([pair.source for pair in pairs], [pair.target for pair in pairs], alignments)


def _read_hypothesis(path: Path) -> Found:
    return Found([one.possible for one in parse_alignments(read_lines(path), origin=str(path))], [])


def _score(wish: Wish, links: list[Links], gold: Gold) -> AlignmentScore:
    _warn_of_counting(wish, seem_counted_from_one(links), seem_counted_from_one(gold.links))
    return alignment_error(links, [one.sure for one in gold.alignments], gold.links)


def _warn_of_counting(wish: Wish, found_from_one: bool, gold_from_one: bool) -> None:
    """Say so where one of the files seems to be counted otherwise than it was read; both would agree again."""
    doubt = "no link has a word 0, so that it seems to be counted from 1, and it was read as counted from 0"
    if gold_from_one and not found_from_one and wish.gold_base == 0:
        warn(f"{wish.gold}: {doubt}. If so, the error is false: add --gold-base 1.")
    if found_from_one and not gold_from_one and wish.hypothesis:
        warn(f"{wish.hypothesis}: {doubt}. If so, the error is false: take 1 from each of its numbers.")


def _swap(links: Links) -> Links:
    return frozenset((target, source) for source, target in links)


def _record(found: Found, lines: list[str] | None, score: AlignmentScore | None) -> dict[str, Any]:
    record: dict[str, Any] = {"pairs": len(found.links), "readings": found.readings, "score": score}
    return record if lines is None else record | {"links": lines}


def _rows(score: AlignmentScore) -> list[list[str]]:
    return [
        ["precision", f"{score.precision:.4f}"],
        ["recall", f"{score.recall:.4f}"],
        ["AER", f"{score.error:.4f}"],
        ["links found", f"{score.links:,}"],
        ["gold links, sure", f"{score.sure:,}"],
        ["gold links, all", f"{score.possible:,}"],
    ]
