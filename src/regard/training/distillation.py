"""Sequence-level distillation (Kim and Rush, 2016): translations of a teacher or an ensemble as a student's corpus.

The corpus is written in parts, so that a stopped run can continue.
"""

import shutil
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path

from regard.bundle import Bundle, load_bundle
from regard.config import decode_options
from regard.data.text_lines import read_lines
from regard.decoding.ensemble import Ensemble
from regard.errors import RegardError
from regard.files import atomic_file, weights_digest
from regard.inference.open import load
from regard.inference.torch_engine import TorchEngine
from regard.inference.translator import Translator

PART_LINES = 4096
SOURCE_FILE, TARGET_FILE = "train.source", "train.target"
LineProgress = Callable[[int], object]


def translate_with_teachers(
    teachers: Sequence[Path],
    source: Path,
    directory: Path,
    *,
    beam_size: int | None = None,
    progress: LineProgress = int,
) -> tuple[Path, Path]:
    """Write the source sentences and their translations by the teachers, line by line, into two files.

    Blank sentences, truncated sentences and unfinished translations are left out.
    """
    finished = directory / SOURCE_FILE, directory / TARGET_FILE
    fingerprint = _fingerprint(teachers, source, beam_size)
    parts = directory / f"parts-{fingerprint}"
    if (directory / "fingerprint.txt").exists() and (directory / "fingerprint.txt").read_text() == fingerprint:
        return finished
    translator = open_teachers(teachers)
    lines, number = read_lines(source), 0
    while part := list(islice(lines, PART_LINES)):
        _write_part(parts / f"{number:06d}", part, translator, beam_size)
        progress(len(part))
        number += 1
    for column, final in enumerate(finished):
        with atomic_file(final) as file:
            for path in sorted(parts.iterdir()):
                file.writelines(f"{line.split(chr(9))[column]}\n".encode() for line in read_lines(path))
    with atomic_file(directory / "fingerprint.txt") as file:
        file.write(fingerprint.encode())
    shutil.rmtree(parts, ignore_errors=True)
    return finished


def open_teachers(teachers: Sequence[Path]) -> Translator:
    """One teacher with its fastest exact engine; several as an ensemble, which torch decodes."""
    if len(teachers) == 1:
        return load(teachers[0], task="translation", with_weights=False)
    bundles = [load_bundle(teacher) for teacher in teachers]
    first = bundles[0]
    others = [str(path) for path, own in zip(teachers, bundles, strict=True) if own.tokenizers != first.tokenizers]
    if others:
        raise RegardError(
            f"{', '.join(others)} and {teachers[0]} have different vocabularies, but an ensemble needs one vocabulary. "
            "Train the teachers on one corpus, or give one teacher."
        )
    model = Ensemble([bundle.model for bundle in bundles]).eval()
    return Translator(Bundle(first.config, first.tokenizers, model), engine=TorchEngine(model))


def _write_part(part: Path, lines: list[str], translator: Translator, beam_size: int | None) -> None:
    if part.exists():
        return
    part.parent.mkdir(parents=True, exist_ok=True)
    sources = [" ".join(line.split()) for line in lines]
    config = translator.decoding_config(**decode_options(nbest=1, beam_size=beam_size))
    with atomic_file(part) as file:
        for source, [best] in zip(sources, translator.translate_lines(sources, config, scores=False), strict=True):
            if source and best.text and best.is_finished and not best.is_truncated:
                file.write(f"{source}\t{best.text}\n".encode())


def _fingerprint(teachers: Sequence[Path], source: Path, beam_size: int | None) -> str:
    """A hash of source, teachers and beam size: with another one the corpus is made again."""
    weights = [weights_digest(teacher) for teacher in teachers]
    digest = sha256(f"{beam_size} {' '.join(weights)} ".encode())
    with source.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()[:16]
