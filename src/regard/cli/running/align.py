"""Running `regard align`."""

import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.bundle import Bundle
from regard.cli.running.models import base_codes, languages_of, load_model
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
    when: str
    best: bool
    dev_source: Path | None
    dev_target: Path | None
    dev_gold: Path | None
    reverse: Path | None
    symmetry: Symmetry


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
    gold = _read_gold(wish.gold, wish.gold_base)
    found = _read_hypothesis(wish.hypothesis) if wish.hypothesis else _from_models(wish, gold)
    score = None if gold is None else _score(found.links, gold)
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
    if wish.hypothesis and (wish.model or not wish.gold):
        raise RegardError("--hypothesis takes the place of a model, and needs --gold to be scored against.")
    if not wish.hypothesis and not (wish.model and wish.source and wish.target):
        raise RegardError("a model, --source and --target are needed; or --hypothesis and --gold, to score a file.")
    developing = [wish.dev_source, wish.dev_target, wish.dev_gold]
    if any(developing) and not (all(developing) and wish.best):
        raise RegardError("--dev-source, --dev-target and --dev-gold go together, with --best.")
    if wish.best and not (wish.dev_gold or wish.gold):
        raise RegardError("--best chooses by links that people made. Give --gold, or --dev-source, -target and -gold.")
    if wish.best and (wish.layer or wish.head):
        raise RegardError("--best chooses layer and head itself. Leave out --layer and --head, or --best.")


def _check_directions(wish: Wish) -> None:
    own, other = (languages_of(model) if model else [] for model in (wish.model, wish.reverse))
    if own and other and base_codes(own) != base_codes(other)[::-1]:
        raise RegardError(
            f"{wish.model} translates {' to '.join(own)}, and {wish.reverse} {' to '.join(other)}. "
            f"--reverse takes a model of the other direction: give one from {own[-1]} to {own[0]}."
        )


def _from_models(wish: Wish, gold: list[Alignment] | None) -> Found:
    _check_directions(wish)
    texts = _read_texts(wish.source, wish.target, gold)
    developing = texts
    if wish.dev_gold:
        developing = _read_texts(wish.dev_source, wish.dev_target, _read_gold(wish.dev_gold, wish.gold_base))
    forward, how = _links(wish, wish.model, texts, developing)
    if wish.reverse is None:
        return Found(forward, [how])
    backward, how_back = _links(wish, wish.reverse, texts.swapped(), developing.swapped())
    joined = [symmetrise(own, _swap(other), wish.symmetry) for own, other in zip(forward, backward, strict=True)]
    return Found(joined, [how, f"{how_back} (reverse)", f"joined by {wish.symmetry}"])


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


def _read_texts(source: Path | None, target: Path | None, gold: list[Alignment] | None) -> Texts:
    pairs = list(read_pairs([str(source), str(target)]))
    if gold is not None and len(gold) != len(pairs):
        raise RegardError(
            f"there are {len(pairs)} sentence pairs and {len(gold)} lines of gold links. Give one for each."
        )
    return Texts([pair.source for pair in pairs], [pair.target for pair in pairs], gold)


def _read_gold(path: Path | None, base: int) -> list[Alignment] | None:
    return None if path is None else parse_alignments(read_lines(path), one_based=base == 1, origin=str(path))


def _read_hypothesis(path: Path) -> Found:
    return Found([one.possible for one in parse_alignments(read_lines(path), origin=str(path))], [])


def _score(links: list[Links], gold: list[Alignment]) -> AlignmentScore:
    return alignment_error(links, [one.sure for one in gold], [one.possible for one in gold])


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
        ["links by people, sure", f"{score.sure:,}"],
        ["links by people, all", f"{score.possible:,}"],
    ]
