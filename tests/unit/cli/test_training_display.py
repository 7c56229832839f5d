import json

import pytest

from regard.cli.training_display import JsonDisplay, LiveDisplay, PlainDisplay, TrainingDisplay, describe_event
from regard.training.events import (
    CheckpointSaved,
    ProbesSaved,
    StepSkipped,
    StepsLogged,
    TrainingEnded,
    TrainingEvent,
    TrainingStarted,
    Validated,
)

SAMPLE = ("[red]cat[/red]", "고양이", "하나 " * 200)
EVENTS: list[TrainingEvent] = [
    TrainingStarted(
        step=0,
        examples=1200,
        parameters=34567,
        device="cpu",
        threads=2,
        precision="bfloat16",
        non_padding_fraction=0.9,
        notes=["going on"],
    ),
    ProbesSaved(step=0, path="probes/step-00000000"),
    StepsLogged(step=5, loss=3.25, learning_rate=5e-4, tokens_per_second=12345.6, seconds=3.0, epoch=0),
    StepSkipped(step=6, loss=float("nan"), consecutive=2),
    Validated(step=10, loss=2.5, bleu=12.34, chrf=45.67, is_best=True, samples=[SAMPLE]),
    CheckpointSaved(step=10, path="checkpoints/step-00000010"),
    TrainingEnded(step=10, reason="all steps were taken", model="runs/x/model", seconds=61.2),
]


def watch(watcher: TrainingDisplay) -> None:
    watcher.note("a note")
    watcher.preparing("tokenising", 1200)
    for event in EVENTS:
        watcher.on_event(event)
    watcher.close()


def test_plain_lines_report_every_event(capsys: pytest.CaptureFixture[str]) -> None:
    watch(PlainDisplay(10))
    out = capsys.readouterr().out
    assert out.count("\nstep ") == len(EVENTS)
    for words in (
        "a note",
        "tokenising: 1,200",
        "34,567 parameters",
        "2 thread(s), bfloat16",
        "going on",
        "12,346 tokens/s",
        "epoch 1",
    ):
        assert words in out
    for words in ("2 in a row", "BLEU 12.3", "the best so far", "[red]cat[/red]", "all steps were taken, after 61 s"):
        assert words in out


def test_live_display_shows_notes_scores_and_speed(capsys: pytest.CaptureFixture[str]) -> None:
    watch(LiveDisplay(10))
    out = capsys.readouterr().out
    for words in ("a note", "BLEU 12.3", "[red]cat[/red]", "2 in a row", "10/10", "loss 3.250", "12,346 tokens/s"):
        assert words in out


def test_json_lines_are_the_events_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    watch(JsonDisplay())
    out, err = capsys.readouterr()
    assert [json.loads(line)["step"] for line in out.splitlines()] == [event.step for event in EVENTS]
    assert "a note" in err


def test_endless_output_is_cut() -> None:
    assert max(len(line) for line in describe_event(EVENTS[4], 10).splitlines()) < 130
