"""`regard distill`: what can be asked."""

from pathlib import Path

import click

from regard.cli.options import PATH, json_option


@click.command(
    name="distill",
    epilog="""\b
Example:
  regard distill runs/a/model,runs/b/model --source train.en --recipe multi30k-student --run runs/student""",
)
@click.argument("teachers", metavar="TEACHER[,TEACHER]")
@click.option("--source", type=PATH, required=True, help="Sentences for the teachers to translate (.gz too).")
@click.option("--recipe", type=PATH, required=True, help="The student's recipe; its data.train is not read.")
@click.option("--run", type=PATH, required=True, help="Directory of the student's run.")
@click.option(
    "--set", "settings", multiple=True, metavar="SECTION.KEY=VALUE", help="Change an option of the recipe; repeatable."
)
@click.option("--beam", type=click.IntRange(1, 1024), help="The teachers' beam. [default: the first teacher's]")
@click.option(
    "--resume", is_flag=True, help="Go on: with the translations that are there, and from the newest checkpoint."
)
@click.option("--export/--no-export", "is_exported", default=True, help="Write the int8 export with its shortlist.")
@json_option
def command(
    teachers: str, source: Path, run: Path, beam: int | None, is_exported: bool, as_json: bool, **student: object
) -> None:
    """Train a small, fast student on a teacher's translations of the source; several teachers speak as one.

    The run's directory gets distilled/ (the corpus), all that `regard train` writes, and export-int8/ for the
    ctranslate2 engine, with a shortlist of target pieces. Translations that were made stay, so that a stopped run can
    be taken up.
    """
    from regard.cli.running.distill import Lesson, run_distillation

    lesson = Lesson([Path(one.strip()) for one in teachers.split(",") if one.strip()], source, beam)
    run_distillation(lesson, run, is_exported=is_exported, as_json=as_json, **student)  # type: ignore[arg-type]
