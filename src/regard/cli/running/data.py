"""Running `regard data world sentences` and `regard data world scenes`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.cli.running.telling import tell
from regard.data.worlds import scenes, sentences
from regard.data.worlds.readme import FINISHED, UNFINISHED, is_of_world
from regard.data.worlds.scenes.corpus import README as SCENES_README
from regard.data.worlds.sentences.corpus import README as SENTENCES_README
from regard.errors import RegardError

SPLITS = ("train", "valid", "test")
SENTENCES = [f"{split}.{kind}" for split in SPLITS for kind in ("en", "ko", "align")]
SCENES = ["captions.txt", "boxes.jsonl", "images", *(f"{split}.txt" for split in SPLITS)]


def run_sentences(out: Path, counts: dict[str, int], *, seed: int) -> None:
    """Write the world, but never over a file that is not of an earlier one."""
    _refuse_files_of_others(out, SENTENCES, SENTENCES_README)
    written = sentences.write_world(out, seed=seed, **counts)
    tell(f"{out}: " + ", ".join(f"{count:,} {name}" for name, count in written.items()) + " pairs (.en, .ko, .align)")


def run_scenes(out: Path, wish: dict[str, Any]) -> None:
    """Write the world, but never over a file that is not of an earlier one."""
    _refuse_files_of_others(out, SCENES, SCENES_README)
    written = scenes.write_world(out, scenes.Wish(**wish))
    tell(f"{out}: " + ", ".join(f"{count:,} {name}" for name, count in written.items()) + " pictures with captions")


def _refuse_files_of_others(out: Path, names: Sequence[str], readme: str) -> None:
    there = [str(out / name) for name in [*names, FINISHED, UNFINISHED] if (out / name).exists()]
    if there and not is_of_world(out, readme):
        raise RegardError(f"{there[0]} exists, and is not of a generated world. Choose another directory with --out.")
