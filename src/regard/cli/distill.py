"""`regard distill`: train a small student on the translations of teachers."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from regard.cli.console import echo, progress_bar
from regard.cli.inputs import base_codes, languages_of
from regard.cli.options import PATH, json_option
from regard.cli.train import run_training
from regard.config import CaptionerConfig, Config
from regard.errors import RegardError
from regard.files import CONFIG_FILE, MODEL, MODEL_VERSION, find_model_directory, read_manifest

CORPUS_FOLDER, EXPORT_FOLDER = "distilled", "ctranslate2-int8"


@click.command(
    name="distill",
    epilog="""\b
Example:
  regard distill runs/a/model,runs/b/model --source train.en --recipe multi30k-student --run runs/student""",
)
@click.argument("teachers", metavar="TEACHER[,TEACHER]")
@click.option("--source", type=PATH, required=True, help="Sentences for the teachers to translate (.gz too).")
@click.option("--recipe", type=PATH, required=True, help="Recipe of the student; its data.train is not used.")
@click.option("--run", type=PATH, required=True, help="Directory of the student's run.")
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="SECTION.KEY=VALUE",
    help="Override an option of the recipe; repeatable.",
)
@click.option(
    "--beam", "beam_size", type=click.IntRange(1, 1024), help="The teachers' beam size. [default: the first teacher's]"
)
@click.option("--resume", is_flag=True, help="Continue with the existing translations and the latest checkpoint.")
@click.option("--export/--no-export", "is_exported", default=True, help="Write the int8 export with its shortlist.")
@json_option
def command(
    teachers: str,
    source: Path,
    recipe: Path,
    run: Path,
    overrides: tuple[str, ...],
    beam_size: int | None,
    resume: bool,
    is_exported: bool,
    as_json: bool,
) -> None:
    """Train a small, fast student on the teachers' translations of the source; several teachers are an ensemble.

    The run's directory gets distilled/ (the corpus), all that `regard train` writes, and ctranslate2-int8/ for the
    ctranslate2 engine, with a shortlist of target tokens. Finished translations are kept, so that a stopped run can
    continue.
    """

    from regard.training.distillation import SOURCE_FILE, TARGET_FILE
    from regard.training.plan import TrainOptions, make_plan
    from regard.training.recipes import find_recipe

    paths = [Path(one.strip()) for one in teachers.split(",") if one.strip()]
    files = run / CORPUS_FOLDER / SOURCE_FILE, run / CORPUS_FOLDER / TARGET_FILE
    data = f"data.train={[str(path) for path in files]}"
    options = TrainOptions(
        find_recipe(recipe), overrides=(*overrides, data), run=run, resume=resume and (run / CONFIG_FILE).exists()
    )
    student = make_plan(options, has_training_files=False).config  # its errors come before the teachers' long work
    _check_student(paths, source, student)
    if is_exported:
        from regard.interop.ctranslate2 import is_installed, unsupported_features

        reasons = unsupported_features(student) if is_installed() else ["CTranslate2 is not installed"]
        if reasons:
            echo(f"the student will not be exported: {'; '.join(reasons)}", to_error=True)
            is_exported = False
    _translate(paths, source, run, beam_size)
    run_training(options, as_json=as_json)
    if is_exported:
        _export(run, files)


def _check_student(teachers: list[Path], source: Path, student: Config) -> None:
    from regard.data.pair_readers import check_monolingual

    check_monolingual(source)
    if not teachers:
        raise RegardError("no teacher was given. Give the directory of a model, or several separated by commas.")
    if isinstance(student.model, CaptionerConfig):
        raise RegardError("the student describes images, but its teachers translate. Give the recipe of a translator.")
    for teacher in teachers:
        read_manifest(find_model_directory(teacher), MODEL, MODEL_VERSION)
        own, languages = languages_of(teacher), student.data.languages
        if own and languages and base_codes(own) != base_codes(languages):
            raise RegardError(
                f"{teacher} translates {' to '.join(own)}, but the student's data.languages are {languages}. "
                f"Give another teacher, or --set 'data.languages={json.dumps(own)}'."
            )


def _translate(teachers: list[Path], source: Path, run: Path, beam_size: int | None) -> None:
    """Write the teachers' translations, and print how many lines were kept."""

    from regard.data.text_lines import read_lines
    from regard.training.distillation import translate_with_teachers

    is_blank = [not line.strip() for line in read_lines(source)]  # bad text is an error before the long work
    if not is_blank:
        raise RegardError(f"{source} is empty. Give sentences for the teachers to translate.")
    lines, blank = len(is_blank), sum(is_blank)
    directories = [find_model_directory(teacher) for teacher in teachers]
    with progress_bar("translating", lines) as progress:
        _, target = translate_with_teachers(
            directories, source, run / CORPUS_FOLDER, beam_size=beam_size, progress=progress
        )
    kept = sum(1 for _ in read_lines(target))
    if kept == 0:
        raise RegardError(
            f"of {lines:,} lines ({blank:,} blank) the teacher translated none: its output was empty or did not end, "
            "or the lines were too long. Try it with `regard translate`, or give sentences of its source language."
        )
    reasons = {f"{blank:,} blank": blank}
    unfinished = lines - blank - kept
    reasons[f"{unfinished:,} without a complete translation (empty, without an end, or too long)"] = unfinished
    dropped = ", ".join(reason for reason, count in reasons.items() if count)
    echo(f"kept {kept:,} of {lines:,} lines" + (f"; dropped: {dropped}" if dropped else ""), to_error=True)


def _export(run: Path, files: tuple[Path, Path]) -> None:
    """Export the student for the ctranslate2 engine."""

    from regard.bundle import load_bundle
    from regard.cli.export import print_export_difference
    from regard.data.text_lines import read_lines
    from regard.interop.ctranslate2 import export_ctranslate2, learn_shortlist

    bundle = load_bundle(run / "model")
    both = bundle.tokenizers
    pairs = zip(read_lines(files[0]), read_lines(files[1]), strict=True)
    shortlist = learn_shortlist(((both.source.encode(own), both.target.encode(other)) for own, other in pairs), both)
    export_ctranslate2(bundle, run / EXPORT_FOLDER, quantization="int8", shortlist=shortlist)
    print_export_difference(run / "model", run / EXPORT_FOLDER)
    echo(f"For speed: regard translate {shlex.quote(str(run / EXPORT_FOLDER))}", to_error=True)
