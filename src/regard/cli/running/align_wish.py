"""What was asked of `regard align`, and whether it goes together."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.cli.running.directions import check_direction
from regard.cli.running.models import base_codes, languages_of
from regard.errors import RegardError
from regard.metrics import Symmetry

FOR_SCORING = ("hypothesis", "gold", "gold_base")  # all other options are for finding links
FOR_EVERY = ("model", "source", "target", "gold", "gold_base", "every")


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
    every: bool
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


def check_wish(wish: Wish, output: Path | None) -> None:
    """Refuse what does not go together, or says too little; asked before anything is read."""
    if wish.hypothesis:
        _check_scoring(wish)
    else:
        _check_finding(wish)
    if wish.every and output:
        raise RegardError("--every tells errors, and writes no links. Leave out --output, or --every.")


def _check_scoring(wish: Wish) -> None:
    if wish.model or not wish.gold:
        raise RegardError("--hypothesis takes the place of a model, and needs --gold to be scored against.")
    given = [_option(name) for name, value in vars(wish).items() if value and name not in FOR_SCORING]
    if given:
        raise RegardError(
            f"--hypothesis has its links already, and a model is needed for {', '.join(given)}. "
            "Leave these out, or give a model in the place of --hypothesis."
        )


def _check_finding(wish: Wish) -> None:
    if not (wish.model and wish.source and wish.target):
        raise RegardError("a model, --source and --target are needed; or --hypothesis and --gold, to score a file.")
    if wish.every:
        _check_every(wish)
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


def _check_every(wish: Wish) -> None:
    if not wish.gold:
        raise RegardError("--every tells the error of each reading against links that people made. Give --gold.")
    given = [_option(name) for name, value in vars(wish).items() if value and name not in FOR_EVERY]
    if given:
        raise RegardError(f"--every reads every layer, head and moment of one model. Leave out {', '.join(given)}.")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def check_directions(wish: Wish) -> None:
    """Refuse models and files of other directions than they are asked for, as far as their names tell."""
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
