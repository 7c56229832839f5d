"""What `regard ablate` and `regard prune` share: the options of the heads, and the test set that measures them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.gold_links import GoldLinks, ParallelTexts
from regard.cli.inputs import check_direction
from regard.cli.options import PATH

if TYPE_CHECKING:
    from regard.inference.head_ablation import EvaluationSet

ROLES = ["encoder-self", "decoder-self", "cross"]
test_source_option = click.option("--source", type=PATH, required=True, help="Source sentences, one per line.")
test_reference_option = click.option("--reference", type=PATH, required=True, help="Their translations, line by line.")
role_option = click.option(
    "--role", "roles", type=click.Choice(ROLES), multiple=True, help="Only heads of this attention. [default: all]"
)


def read_evaluation_set(
    model: Path, source: Path, reference: Path, gold: Path | None, gold_index_base: int
) -> EvaluationSet:
    """The sentences of a test set, and their gold links if there are any."""
    from regard.inference.head_ablation import EvaluationSet

    check_direction([model], source, reference, ("--source", "--reference"))
    links = GoldLinks.read(gold, gold_index_base) if gold else None
    texts = ParallelTexts.read(source, reference, links)
    return EvaluationSet(texts.sources, texts.targets, texts.gold)
