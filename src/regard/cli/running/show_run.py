"""Running `regard show --run`: a run's training as one page, to be kept or handed in."""

from pathlib import Path

import msgspec

from regard.cli.running.telling import tell
from regard.errors import RegardError
from regard.serve.finding import JOURNAL
from regard.serve.refusals import Refusal
from regard.serve.runs import Run
from regard.view.caption_record import picture_uri
from regard.view.files import write_file
from regard.view.page_file import html_file
from regard.view.run_page import RunStory, SavedProbes, run_page_data


def run_show_run(run: Path, out: Path | None, *, others: list[str]) -> None:
    """Write the page; `others` are what was given besides."""
    if others:
        raise RegardError(f"--run shows a whole run, and {', '.join(others)} was given too. Leave that away.")
    if out is None or out.suffix.lower() != ".html":
        raise RegardError("a run is shown as a page. Name it with --out, as in --out training.html.")
    if not (run / JOURNAL).is_file():
        raise RegardError(
            f"{run} has no {JOURNAL}, so no training began there. Give a run's directory, such as runs/NAME."
        )
    story = _story(Run(run.resolve().name, run))
    data = run_page_data(story)
    write_file(out, html_file(data, title=f"{story.record['name']} · regard").encode())
    tell(f"{out} shows: the training of {story.record['name']}{_trimmed(data['run']['left_out'])}", to_error=True)


def _story(run: Run) -> RunStory:
    return RunStory(
        record=msgspec.to_builtins(run.record(None)),
        events=run.events(0).events,
        steps=_readable_steps(run),
        saved_at=lambda step: _saved(run, step),
        pictures=_pictures(run),
    )


def _pictures(run: Run) -> list[tuple[str, str]]:
    """What the probes look at; none where a file cannot be read any more, and the maps stand there without them."""
    try:
        return [(name, picture_uri(run.picture(probe))) for probe, name in enumerate(run.pictures().pictures)]
    except Refusal:
        return []


def _readable_steps(run: Run) -> list[int]:
    """The steps that the journal tells of and whose maps are there: a resumed run may have forgotten some."""
    told = {event["step"] for event in run.events(0).events if event.get("event") == "probe"}
    return [step for step in run.probes(None).steps if step in told] if told else []


def _saved(run: Run, step: int) -> SavedProbes:
    try:
        probes, maps = run.probes(step), run.all_maps(step)
    except Refusal as refusal:
        raise RegardError(f"the probes of step {step} of {run.directory} cannot be shown: {refusal}") from None
    return SavedProbes(msgspec.to_builtins(probes), maps)


def _trimmed(left_out: dict[str, int] | None) -> str:
    if left_out is None:
        return ""
    told = "{steps} of {of_steps} steps, {probes} of {of_probes} probes, weights rounded".format(**left_out)
    return f" ({told}, to keep the file small)"
