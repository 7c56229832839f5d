"""Running `regard distill`."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from regard.bundle import KIND, VERSION, WEIGHTS, load_bundle
from regard.cli.running.models import model_directory
from regard.cli.running.recipes import Wish, refuse_to_overwrite
from regard.cli.running.telling import bar, tell
from regard.cli.running.train import run_training
from regard.data.readers.lines import read_lines
from regard.errors import RegardError
from regard.export.ctranslate2 import export_ctranslate2, reasons_against
from regard.export.shortlist import learn_shortlist
from regard.manifest import read_manifest
from regard.training.distillation import distil

CORPUS, EXPORT = "distilled", "export-int8"


@dataclass(frozen=True)
class Lesson:
    """Who teaches, and what is translated how."""

    teachers: list[Path]
    source: Path
    beam: int | None


def run_distillation(
    lesson: Lesson,
    run: Path,
    *,
    recipe: Path,
    settings: tuple[str, ...],
    resume: bool,
    is_exported: bool,
    as_json: bool,
) -> None:
    """Let the teachers translate, train the student on it, and export it with its shortlist."""
    if not lesson.teachers:
        raise RegardError("no teacher was named. Give the directory of a model, or several with commas between them.")
    refuse_to_overwrite(run, resume)
    files = _translate(lesson, run)
    has_begun = (run / "config.toml").exists()
    data = f"data.train={[str(path) for path in files]}"
    wish = Wish(recipe, None, settings=(*settings, data), run=run, resume=resume and has_begun)
    run_training(wish, as_json=as_json)
    if is_exported:
        _export(run, files)


def _translate(lesson: Lesson, run: Path) -> tuple[Path, Path]:
    total = sum(1 for _ in read_lines(lesson.source))  # finds bad text before work is done
    teachers = [model_directory(teacher) for teacher in lesson.teachers]
    tell(f"{len(teachers)} teacher(s) translate {total:,} lines", to_error=True)
    with bar("translating", total) as progress:
        return distil(teachers, lesson.source, run / CORPUS, beam=lesson.beam, progress=progress)


def _export(run: Path, files: tuple[Path, Path]) -> None:
    """The student for the ctranslate2 engine, where it can hold it."""
    bundle = load_bundle(run / "model")
    if reasons := reasons_against(bundle.config):
        tell(f"no export: {'; '.join(reasons)}", to_error=True)
        return
    both = bundle.tokenizers
    pairs = zip(read_lines(files[0]), read_lines(files[1]), strict=True)
    shortlist = learn_shortlist(((both.source.encode(own), both.target.encode(other)) for own, other in pairs), both)
    weights = read_manifest(run / "model", KIND, VERSION).files[WEIGHTS]
    export_ctranslate2(bundle, run / EXPORT, quantization="int8", weights=weights, shortlist=shortlist)
    tell(f"For speed: regard translate {shlex.quote(str(run / EXPORT))}", to_error=True)
