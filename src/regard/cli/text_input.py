"""The texts that a command reads: from the command line, or from a file."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from regard.errors import RegardError

TEXTS_PER_BATCH = 256


def text_batches(texts: Sequence[str], source: Path | None) -> Iterator[list[str]]:
    """The texts of the command line, or those of a file, in batches."""
    from regard.data.pair_readers import check_monolingual
    from regard.data.text_lines import read_lines

    if bool(texts) == (source is not None):
        raise RegardError("give texts in quotation marks, or --input with a file of texts; - is standard input.")
    if source is None:
        yield list(texts)
        return
    check_monolingual(source)
    lines = read_lines(source)
    while batch := list(islice(lines, TEXTS_PER_BATCH)):
        yield batch
