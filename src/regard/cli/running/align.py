"""Running `regard align`."""

import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.bundle import Bundle
from regard.cli.running.align_gold import DOUBT, Gold, seem_counted_from_one
from regard.cli.running.align_readings import every_reading
from regard.cli.running.align_wish import Wish, check_directions, check_wish
from regard.cli.running.models import load_model
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
from regard.translation.alignment import NO_CROSS_ATTENTION, Reading, align_texts, best_reading
from regard.translation.lines import readable

USUAL_SYMMETRY: Symmetry = "grow-diag-final-and"


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
    check_wish(wish, output)
    check_outputs({"--output": output}, wish.files)
    gold = Gold.read(wish.gold, wish.gold_base) if wish.gold else None
    if wish.every:
        _tell_every(wish, gold, as_json=as_json)
        return
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


def _from_models(wish: Wish, gold: Gold | None) -> Found:
    check_directions(wish)
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


def _tell_every(wish: Wish, gold: Gold | None, *, as_json: bool) -> None:
    """Every reading with its error, instead of links."""
    assert wish.model is not None  # noqa: S101  (checked with the wish)
    assert gold is not None  # noqa: S101  (checked with the wish)
    check_directions(wish)
    texts = _read_texts(wish.source, wish.target, gold)
    readings = every_reading(wish.model, texts.sources, texts.targets, gold.alignments)
    if not readings:
        raise RegardError(f"{wish.model}: {NO_CROSS_ATTENTION}")
    gold.warn_of_counting()
    if as_json:
        tell_json({"pairs": len(texts.sources), "every": readings})
        return
    tell_table(
        ["layer", "head", "tokens as they are", "AER", "precision", "recall"],
        [[*one.cells, *(f"{figure:.4f}" for figure in (one.error, one.precision, one.recall))] for one in readings],
    )


def _read_texts(source: Path | None, target: Path | None, gold: Gold | None) -> Texts:
    pairs = list(read_pairs([str(source), str(target)]))
    if gold is not None:
        gold.check(pairs)
    alignments = None if gold is None else gold.alignments
    return Texts([pair.source for pair in pairs], [pair.target for pair in pairs], alignments)


def _read_hypothesis(path: Path) -> Found:
    return Found([one.possible for one in parse_alignments(read_lines(path), origin=str(path))], [])


def _score(wish: Wish, links: list[Links], gold: Gold) -> AlignmentScore:
    _warn_of_counting(wish, gold, seem_counted_from_one(links))
    return alignment_error(links, [one.sure for one in gold.alignments], gold.links)


def _warn_of_counting(wish: Wish, gold: Gold, found_from_one: bool) -> None:
    """Say so where one of the files seems to be counted otherwise than it was read; both would agree again."""
    if not found_from_one:
        gold.warn_of_counting()
    elif wish.hypothesis and not seem_counted_from_one(gold.links):
        warn(f"{wish.hypothesis}: {DOUBT}. If so, the error is false: take 1 from each of its numbers.")


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
