import json

import pytest

from regard.cli.running.watching import JsonWatcher, LiveWatcher, PlainWatcher, Watcher, describe
from regard.training.journal import AnyEvent, Began, Ended, Probed, Progressed, Saved, Skipped, Validated

SAMPLE = ("[red]cat[/red]", "고양이", "하나 " * 200)
EVENTS: list[AnyEvent] = [
    Began(
        step=0,
        pairs=1200,
        parameters=34567,
        device="cpu",
        threads=2,
        precision="bfloat16",
        real_share=0.9,
        notes=["going on"],
    ),
    Probed(step=0, file="probes/step-00000000"),
    Progressed(step=5, loss=3.25, rate=5e-4, tokens_per_second=12345.6, seconds=3.0, epoch=0),
    Skipped(step=6, loss=float("nan"), in_a_row=2),
    Validated(step=10, loss=2.5, bleu=12.34, chrf=45.67, is_best=True, samples=[SAMPLE]),
    Saved(step=10, directory="checkpoints/step-00000010"),
    Ended(step=10, reason="all steps were taken", model="runs/x/model", seconds=61.2),
]


def watch(watcher: Watcher) -> None:
    watcher.note("a note")
    watcher.preparing("tokenising", 1200)
    for event in EVENTS:
        watcher.see(event)
    watcher.close()


def test_plain_lines_tell_every_event(capsys: pytest.CaptureFixture[str]) -> None:
    watch(PlainWatcher(10))
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


def test_the_live_display_tells_what_people_wait_for(capsys: pytest.CaptureFixture[str]) -> None:
    watch(LiveWatcher(10))
    out = capsys.readouterr().out
    for words in ("a note", "BLEU 12.3", "[red]cat[/red]", "2 in a row", "10/10", "loss 3.250", "12,346 tokens/s"):
        assert words in out


def test_json_lines_are_the_events_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    watch(JsonWatcher())
    out, err = capsys.readouterr()
    assert [json.loads(line)["step"] for line in out.splitlines()] == [event.step for event in EVENTS]
    assert "a note" in err


def test_a_model_that_goes_on_for_ever_is_cut() -> None:
    assert max(len(line) for line in describe(EVENTS[4], 10).splitlines()) < 130
