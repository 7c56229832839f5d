"""Running `regard data world sentences`."""

from pathlib import Path

from regard.cli.running.telling import tell
from regard.data.worlds.sentences import write_world
from regard.data.worlds.sentences.corpus import README
from regard.errors import RegardError


def run_sentences(out: Path, counts: dict[str, int], *, seed: int) -> None:
    """Write the world, but never over a file that is not of an earlier one."""
    _refuse_files_of_others(out)
    written = write_world(out, seed=seed, **counts)
    tell(f"{out}: " + ", ".join(f"{count:,} {name}" for name, count in written.items()) + " pairs (.en, .ko, .align)")


def _refuse_files_of_others(out: Path) -> None:
    readme = out / "README.txt"
    opening = README.partition("{")[0].encode()
    if readme.is_file() and readme.read_bytes().startswith(opening):
        return
    names = [f"{split}.{kind}" for split in ("train", "valid", "test") for kind in ("en", "ko", "align")]
    there = [str(out / name) for name in [*names, readme.name] if (out / name).exists()]
    if there:
        raise RegardError(f"{there[0]} exists, and is not of a generated world. Choose another directory with --out.")
