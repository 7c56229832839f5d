"""Running `regard distill`."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

from regard.bundle import KIND, VERSION, load_bundle
from regard.cli.running.models import base_codes, languages_of
from regard.cli.running.places import CONFIG
from regard.cli.running.recipe_files import found_recipe
from regard.cli.running.recipes import Wish, plan
from regard.cli.running.telling import bar, tell
from regard.cli.running.train import run_training
from regard.config import CaptionerConfig, Config
from regard.data.readers import check_one_side
from regard.data.readers.lines import read_lines
from regard.errors import RegardError
from regard.export.ctranslate2 import export_ctranslate2, reasons_against
from regard.export.shortlist import learn_shortlist
from regard.manifest import model_directory, read_manifest
from regard.training.distillation import SOURCE, TARGET, distil
from regard.translation.ctranslate2_engine import is_installed

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
    data = f"data.train={[str(run / CORPUS / name) for name in (SOURCE, TARGET)]}"
    wish = Wish(
        found_recipe(recipe), None, settings=(*settings, data), run=run, resume=resume and (run / CONFIG).exists()
    )
    student = plan(wish, is_train_there=False).config  # what is wrong with it is told before the teachers' long work
    _check(lesson, student)
    has_export = is_exported and _can_be_exported(student)
    files = _translate(lesson, run)
    run_training(wish, as_json=as_json)
    if has_export:
        _export(run, files)


def _check(lesson: Lesson, student: Config) -> None:
    check_one_side(lesson.source)
    if not lesson.teachers:
        raise RegardError("no teacher was named. Give the directory of a model, or several with commas between them.")
    if isinstance(student.model, CaptionerConfig):
        raise RegardError(
            "the student describes pictures, and its teachers translate. Give the recipe of a translator."
        )
    for teacher in lesson.teachers:
        read_manifest(model_directory(teacher), KIND, VERSION)
        taught, learnt = languages_of(teacher), student.data.languages
        if taught and learnt and base_codes(taught) != base_codes(learnt):
            raise RegardError(
                f"{teacher} translates {' to '.join(taught)}, and the student's data.languages are {learnt}. "
                f"Give another teacher, or --set 'data.languages={json.dumps(taught)}'."
            )


def _can_be_exported(student: Config) -> bool:
    reasons = reasons_against(student) if is_installed() else ["CTranslate2 is not installed"]
    if reasons:
        tell(f"there will be no export of the student: {'; '.join(reasons)}", to_error=True)
    return not reasons


def _translate(lesson: Lesson, run: Path) -> tuple[Path, Path]:
    blank = [not line.strip() for line in read_lines(lesson.source)]  # finds bad text before work is done
    if not blank:
        raise RegardError(f"{lesson.source} is empty. Give sentences for the teachers to translate.")
    teachers = [model_directory(teacher) for teacher in lesson.teachers]
    tell(f"{len(teachers)} teacher(s) translate {len(blank):,} lines", to_error=True)
    with bar("translating", len(blank)) as progress:
        files = distil(teachers, lesson.source, run / CORPUS, beam=lesson.beam, progress=progress)
    _tell_kept(files[1], len(blank), sum(blank))
    return files


def _tell_kept(target: Path, lines: int, blank: int) -> None:
    """How many lines the student learns from, and why not from the others."""
    kept = sum(1 for _ in read_lines(target))
    unsaid = lines - blank - kept
    if kept == 0:
        raise RegardError(
            f"of {lines:,} lines ({blank:,} blank) the teacher translated none: it said nothing, found no end, or they "
            "were too long for it. Try it with `regard translate`, or give sentences of its source language."
        )
    no_use = "that the teacher said nothing to, or found no end for, or that are too long for it"
    reasons = [f"{blank:,} blank", f"{unsaid:,} {no_use}"]
    dropped = ", ".join(reason for reason, count in zip(reasons, (blank, unsaid), strict=True) if count)
    tell(f"kept {kept:,} of {lines:,} lines" + (f"; dropped: {dropped}" if dropped else ""), to_error=True)


def _export(run: Path, files: tuple[Path, Path]) -> None:
    """The student for the ctranslate2 engine."""
    bundle = load_bundle(run / "model")
    both = bundle.tokenizers
    pairs = zip(read_lines(files[0]), read_lines(files[1]), strict=True)
    shortlist = learn_shortlist(((both.source.encode(own), both.target.encode(other)) for own, other in pairs), both)
    export_ctranslate2(bundle, run / EXPORT, quantization="int8", shortlist=shortlist)
    tell(f"For speed: regard translate {shlex.quote(str(run / EXPORT))}", to_error=True)
