"""A corpus in a teacher's own words: what one model, or several as one, make of source sentences, for a student.

Sequence-level distillation (Kim and Rush, 2016). It is written part by part, so that a run that was stopped goes on.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path

from regard.bundle import KIND, VERSION, WEIGHTS, Bundle, load_bundle
from regard.data.readers.lines import read_lines
from regard.decoding.ensemble import Ensemble
from regard.errors import RegardError
from regard.export.opening import open_translator
from regard.manifest import read_manifest
from regard.staged import staged_file
from regard.translation.lines import LineTranslator
from regard.translation.torch_engine import TorchEngine
from regard.translation.translator import Translator

PART_LINES = 4096
SOURCE, TARGET = "train.source", "train.target"
Progress = Callable[[int], object]


def distil(
    teachers: Sequence[Path], source: Path, directory: Path, *, beam: int | None = None, progress: Progress = int
) -> tuple[Path, Path]:
    """The source sentences that have words, and the teachers' translations of them, line by line, in two files.

    A sentence that was not read to its end, or whose translation did not come to one, is left out.
    """
    finished = directory / SOURCE, directory / TARGET
    mark = _mark(teachers, source, beam)
    parts = directory / f"parts-{mark}"
    if (directory / "mark").exists() and (directory / "mark").read_text() == mark:
        return finished
    translator = teacher_of(teachers)
    for number, lines in enumerate(_parts(source)):
        _write_part(parts / f"{number:06d}", lines, translator, beam)
        progress(len(lines))
    for place, final in enumerate(finished):
        with staged_file(final) as file:
            for part in sorted(parts.iterdir()):
                texts = part.read_text(encoding="utf-8").splitlines()
                file.writelines(f"{line.split(chr(9))[place]}\n".encode() for line in texts)
    with staged_file(directory / "mark") as file:
        file.write(mark.encode())
    shutil.rmtree(parts, ignore_errors=True)
    return finished


def teacher_of(teachers: Sequence[Path]) -> LineTranslator:
    """One teacher with its fastest exact engine; several as an ensemble, which torch decodes."""
    if len(teachers) == 1:
        return open_translator(teachers[0], engine="auto", quantization="float32").translator
    bundles = [load_bundle(teacher) for teacher in teachers]
    first = bundles[0]
    others = [str(path) for path, own in zip(teachers, bundles, strict=True) if own.tokenizers != first.tokenizers]
    if others:
        raise RegardError(
            f"{', '.join(others)} and {teachers[0]} have other vocabularies. Teachers that speak as one need the same; "
            "train them on one corpus with one seed for the vocabulary, or give one teacher."
        )
    model = Ensemble([bundle.model for bundle in bundles]).eval()
    return Translator(Bundle(first.config, first.tokenizers, model), engine=TorchEngine(model))


def _write_part(part: Path, lines: list[str], translator: LineTranslator, beam: int | None) -> None:
    if part.exists():
        return
    part.parent.mkdir(parents=True, exist_ok=True)
    sources = [" ".join(line.split()) for line in lines]
    config = translator.settings(nbest=1, **({} if beam is None else {"beam": beam}))
    with staged_file(part) as file:
        for source, [best] in zip(sources, translator.lines(sources, config, scores=False), strict=True):
            if source and best.text and best.is_ended and not best.is_cut:
                file.write(f"{source}\t{best.text}\n".encode())


def _parts(source: Path) -> Iterator[list[str]]:
    lines = read_lines(source)
    while part := list(islice(lines, PART_LINES)):
        yield part


def _mark(teachers: Sequence[Path], source: Path, beam: int | None) -> str:
    """A name for this source in these teachers' words: another source or teacher begins anew."""
    weights = [read_manifest(teacher, KIND, VERSION).files.get(WEIGHTS, "") for teacher in teachers]
    digest = sha256(f"{beam} {' '.join(weights)} ".encode())
    with source.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()[:16]
