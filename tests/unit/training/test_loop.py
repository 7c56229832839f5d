"""A run from the first step to the bundle: what it writes, how it goes on, and what it does with bad numbers."""

import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import torch
from torch.testing import assert_close

from regard.bundle import load_bundle, named_tensors
from regard.config import SourceConfig
from regard.errors import RegardError
from regard.files import write_manifest
from regard.special_tokens import UNKNOWN
from regard.training import objective
from regard.training.checkpoint import list_checkpoints, load_checkpoint
from regard.training.events import (
    CheckpointSaved,
    EventLog,
    ProbesSaved,
    StepSkipped,
    StepsLogged,
    TrainingEnded,
    TrainingStarted,
    Validated,
)
from regard.training.loop import TrainingInterrupted, is_milestone, train
from regard.training.validation import ATTENTION_FILE, LABELS_FILE
from tests.support.small_run import (
    TRANSFORMER,
    corpus_of,
    run_to_the_end,
    small_config,
    with_tokens,
    with_training,
    write_pairs,
)

ATTENDING = {
    "kind": "rnn-attention",
    "embedding_width": 8,
    "encoder": {"width": 12},
    "decoder": {"width": 12},
}


def weights_hash(run: Path) -> str:
    last = load_checkpoint(list_checkpoints(run / "checkpoints")[-1])
    digest = hashlib.sha256()
    for part in (last.weights, last.optimizer, last.ema):
        for name in sorted(part):
            digest.update(name.encode() + part[name].numpy().tobytes())
    return digest.hexdigest()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_pairs(tmp_path)
    return tmp_path


@pytest.mark.parametrize("model", [None, ATTENDING], ids=["transformer", "attending"])
def test_a_run_writes_journal_checkpoints_probes_and_bundle(data: Path, model: dict[str, object] | None) -> None:
    events = run_to_the_end(small_config(data, model=model), data / "run")
    kinds = [type(event) for event in events]
    assert kinds[0] is TrainingStarted
    assert kinds[-1] is TrainingEnded
    assert {StepsLogged, Validated, ProbesSaved, CheckpointSaved} <= set(kinds)
    assert EventLog(data / "run" / "events.jsonl").read() == events
    assert [path.name for path in list_checkpoints(data / "run" / "checkpoints")] == [
        "step-00000004",
        "step-00000008",
        "step-00000012",
    ]
    bundle = load_bundle(data / "run" / "model")
    assert all(tensor.isfinite().all() for tensor in named_tensors(bundle.model).values())


def test_validation_skips_scores_that_nobody_reads(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sacrebleu.metrics.ter.TER.corpus_score", None)  # it takes seconds for a long line
    events = run_to_the_end(small_config(data, steps=6), data / "run")
    assert [event.step for event in events if isinstance(event, Validated)] == [6]


def test_the_model_learns(data: Path) -> None:
    config = small_config(data, steps=60, validate_every=60, checkpoint_every=60, learning_rate=0.01)
    events = run_to_the_end(config, data / "run")
    loss = [event.loss for event in events if isinstance(event, Validated)]
    assert loss[-1] < 2.9  # ln(25 pieces) = 3.2 is a model that knows nothing


@pytest.fixture
def one_thread_afterwards() -> Iterator[None]:
    yield
    torch.set_num_threads(1)


@pytest.mark.usefixtures("one_thread_afterwards")
@pytest.mark.parametrize(
    ("stop_after", "threads", "is_weighted"),
    [(1, 1, False), (5, 1, False), (8, 1, False), (5, 2, False), (1, 1, True), (9, 1, True)],
)
def test_stopped_run_resumes_bitwise(data: Path, stop_after: int, threads: int, is_weighted: bool) -> None:
    sampled = small_config(data, gradient_accumulation=2, ema_decay=0.9, average_checkpoints=2, threads=threads)
    if is_weighted:
        corpora = [
            SourceConfig(files=sampled.data.train, weight=0.3),
            SourceConfig(files=sampled.data.valid, weight=2.5),
        ]
        own = msgspec.structs.replace(sampled.data, train=[], sources=corpora)
        sampled = msgspec.structs.replace(sampled, data=own)
    run_to_the_end(sampled, data / "whole")
    corpus = corpus_of(sampled, data / "parts")
    steps_seen = []

    def stop_signal() -> int | None:
        steps_seen.append(len(steps_seen))
        return 15 if len(steps_seen) == stop_after else None

    with pytest.raises(TrainingInterrupted):
        list(train(sampled, data / "parts", corpus, stop_signal=stop_signal))
    assert list_checkpoints(data / "parts" / "checkpoints")[-1].name == f"step-{stop_after:08d}"
    events = run_to_the_end(sampled, data / "parts", resume=True)
    assert any(f"resuming from step {stop_after}" in note for note in events[0].notes)
    assert weights_hash(data / "parts") == weights_hash(data / "whole")
    bundles = [(data / name / "model" / "model.safetensors").read_bytes() for name in ("whole", "parts")]
    assert bundles[0] == bundles[1]


def test_attention_is_saved_often_early_and_rarely_later() -> None:
    steps = [step for step in range(10**6) if is_milestone(step)]
    assert steps[:10] == [0, 25, 50, 75, 100, 150, 200, 300, 400, 600]
    assert len(steps) < 40


@pytest.mark.parametrize("stop_after", [25, 30])
def test_saved_attention_is_unchanged_after_a_stop(data: Path, stop_after: int) -> None:
    config = small_config(data, steps=60, validate_every=40, checkpoint_every=40)
    events = run_to_the_end(config, data / "whole")
    assert [event.step for event in events if isinstance(event, ProbesSaved)] == [0, 25, 40, 50, 60]
    assert [event.step for event in events if isinstance(event, Validated)] == [40, 60]
    signals = iter([None] * (stop_after - 1) + [15])
    with pytest.raises(TrainingInterrupted):
        list(train(config, data / "parts", corpus_of(config, data / "parts"), stop_signal=lambda: next(signals)))
    run_to_the_end(config, data / "parts", resume=True)
    journals = [EventLog(data / name / "events.jsonl").read() for name in ("whole", "parts")]
    whole, parts = ([event for event in result if isinstance(event, ProbesSaved)] for result in journals)
    assert whole == parts
    for file in (Path(event.path) / name for event in whole for name in (LABELS_FILE, ATTENTION_FILE)):
        assert (data / "parts" / file).read_bytes() == (data / "whole" / file).read_bytes()


def test_a_damaged_checkpoint_is_passed_over_and_named(data: Path) -> None:
    config = small_config(data)
    run_to_the_end(config, data / "run")
    newest = list_checkpoints(data / "run" / "checkpoints")[-1] / "model.safetensors"
    content = bytearray(newest.read_bytes())
    content[-1] ^= 1
    newest.write_bytes(content)
    events = run_to_the_end(config, data / "run", resume=True)
    assert any(str(newest) in note for note in events[0].notes)
    assert events[0].step == 8


def test_all_checkpoints_damaged_starts_nothing_new(data: Path) -> None:
    config = small_config(data)
    run_to_the_end(config, data / "run")
    saved = list_checkpoints(data / "run" / "checkpoints")
    for directory in saved:
        (directory / "model.safetensors").write_bytes(b"x")
    model = (data / "run" / "model" / "model.safetensors").read_bytes()
    with pytest.raises(RegardError, match=r"(?s)no checkpoint of .* can be read.*step-00000004.*start another run"):
        run_to_the_end(config, data / "run", resume=True)
    assert (data / "run" / "model" / "model.safetensors").read_bytes() == model


def test_nonfinite_loss_is_skipped_counted_then_fatal(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_loss = objective.compute_loss
    monkeypatch.setattr(objective, "compute_loss", lambda *a, **k: real_loss(*a, **k) * float("nan"))
    config = small_config(data)
    seen: list[object] = []
    events = train(config, data / "run", corpus_of(config, data / "run"))
    with pytest.raises(RegardError, match="5 steps in a row"):
        seen.extend(events)
    skipped = [event for event in seen if isinstance(event, StepSkipped)]
    assert [event.consecutive for event in skipped] == [1, 2, 3, 4]
    assert EventLog(data / "run" / "events.jsonl").read() == seen  # so the run can be taken up again
    saved = load_checkpoint(list_checkpoints(data / "run" / "checkpoints")[-1])
    assert all(tensor.isfinite().all() for tensor in saved.weights.values())


def test_training_stops_early_when_nothing_gets_better(data: Path) -> None:
    config = small_config(
        data, steps=500, validate_every=2, early_stopping_patience=2, learning_rate=1e-9, validation_metric="bleu"
    )
    events = run_to_the_end(config, data / "run")
    assert events[-1].step < 20


def test_longer_trained_of_equal_models_is_kept(data: Path) -> None:
    config = small_config(data, steps=6, validate_every=2, learning_rate=1e-9, average_checkpoints=1)
    events = run_to_the_end(config, data / "run")
    validated = [event for event in events if isinstance(event, Validated)]
    assert len({event.bleu for event in validated}) == 1
    assert [event.is_best for event in validated] == [True, True, True]
    assert load_checkpoint(list_checkpoints(data / "run" / "checkpoints")[-1]).state.best_step == 6


def test_differences_from_the_earlier_session_are_named(data: Path) -> None:
    config = small_config(data)
    run_to_the_end(config, data / "run")
    more_threads = with_training(config, threads=2, steps=13)
    events = run_to_the_end(more_threads, data / "run", resume=True)
    torch.set_num_threads(1)
    assert any("threads was 1 and is now 2" in note for note in events[0].notes)


def test_events_after_the_checkpoint_are_removed(data: Path) -> None:
    config = small_config(data)
    run_to_the_end(config, data / "run")
    newest = list_checkpoints(data / "run" / "checkpoints")[-1]
    for path in newest.iterdir():
        path.unlink()
    newest.rmdir()
    run_to_the_end(config, data / "run", resume=True)
    saved = [
        event.step for event in EventLog(data / "run" / "events.jsonl").read() if isinstance(event, CheckpointSaved)
    ]
    assert saved == [4, 8, 12]


def test_sentences_beyond_positions_are_reported_before_training(data: Path) -> None:
    model = {
        **TRANSFORMER,
        "positions": "learned",
        "max_position_embeddings": 7,
    }  # a sentence has up to seven words, and END
    with pytest.raises(
        RegardError, match=r"has 7 tokens, .* Set data.max_tokens=6, or model.max_position_embeddings=8"
    ):
        corpus_of(small_config(data, model=model), data / "run")
    run_to_the_end(small_config(data, model={**model, "max_position_embeddings": 8}), data / "run")


def test_resampled_sentence_stays_within_positions(data: Path) -> None:
    config = with_tokens(small_config(data), model_type="unigram", vocab_size=60, sampling_rate=0.9)
    corpus = corpus_of(config, data / "run")
    stored = max(int(own.max()) for own in corpus.lengths)
    every = range(len(corpus.lengths[0]))
    unbounded = [row for epoch in range(3) for side in corpus.prepared.rows(every, config, epoch) for row in side]
    assert max(map(len, unbounded)) > stored  # so that without a bound the positions would not do
    model = {**TRANSFORMER, "positions": "learned", "max_position_embeddings": stored + 1}
    learnt = with_tokens(
        small_config(data, model=model, steps=8), model_type="unigram", vocab_size=60, sampling_rate=0.9
    )
    shorter = msgspec.structs.replace(config, data=msgspec.structs.replace(config.data, max_tokens=stored))
    for bounded in (learnt, shorter):
        rows = [row for epoch in range(3) for side in corpus.prepared.rows(every, bounded, epoch) for row in side]
        assert max(map(len, rows)) <= stored
        assert rows != [
            row for _ in range(3) for side in corpus.prepared.rows(every, small_config(data), 0) for row in side
        ]
    run_to_the_end(learnt, data / "run")


def test_long_validation_sentence_is_cut_at_positions(data: Path) -> None:
    (data / "valid.src").write_text("ba " * 30 + "\n")
    (data / "valid.trg").write_text("be " * 30 + "\n")
    model = {**TRANSFORMER, "positions": "learned", "max_position_embeddings": 8}
    events = run_to_the_end(small_config(data, model=model), data / "run")
    assert all(math.isfinite(event.loss) for event in events if isinstance(event, Validated))


def test_changed_files_are_reported(data: Path) -> None:
    run_to_the_end(small_config(data, steps=4), data / "run")
    for path in (data / "train.src", data / "train.trg", data / "valid.src", data / "valid.trg"):
        path.write_text(path.read_text() + "ba\n")
    [began, *_] = run_to_the_end(small_config(data, steps=5), data / "run", resume=True)
    assert isinstance(began, TrainingStarted)
    result = [note.partition(":")[0] for note in began.notes if "changed" in note]
    assert result == [
        "the training files, or the options that filter their pairs, have changed",
        "the validation data have changed",
        "epoch 1 starts over",
    ]
    assert not any(" was " in note for note in began.notes)


def test_epoch_restarts_when_its_batches_change(data: Path) -> None:
    config = small_config(data, steps=3, checkpoint_every=3)
    run_to_the_end(config, data / "run")
    events = run_to_the_end(with_training(config, batch_tokens=60, steps=5), data / "run", resume=True)
    assert any("batch_tokens was 120 and is now 60" in note for note in events[0].notes)
    assert any("epoch 1 starts over" in note for note in events[0].notes)
    progress = load_checkpoint(list_checkpoints(data / "run" / "checkpoints")[-1]).state
    assert (progress.step, progress.epoch, progress.cursor) == (5, 0, 2)


def test_moving_average_started_late_uses_current_weights(data: Path) -> None:
    config = small_config(data, steps=12)
    run_to_the_end(config, data / "run")
    before = load_checkpoint(list_checkpoints(data / "run" / "checkpoints")[-1]).weights
    events = run_to_the_end(with_training(config, ema_decay=0.5, steps=13), data / "run", resume=True)
    assert any("the moving average starts here" in note for note in events[0].notes)
    after = load_checkpoint(list_checkpoints(data / "run" / "checkpoints")[-1])
    for name, average in after.ema.items():
        assert_close(average, (before[name] + after.weights[name]) / 2)


def test_held_out_validation_pairs_persist_on_resume(data: Path) -> None:
    twice = [path.read_text() * 2 for path in (data / "train.src", data / "train.trg")]
    for path, text in zip((data / "train.src", data / "train.trg"), twice, strict=True):
        path.write_text(text)
    whole = with_training(small_config(data), steps=6)
    config = msgspec.structs.replace(whole, data=msgspec.structs.replace(whole.data, valid=[]))
    events = run_to_the_end(config, data / "run")
    [validated] = [event for event in events if isinstance(event, Validated)]
    began = events[0]
    assert isinstance(began, TrainingStarted)
    kept = [json.loads(line) for line in (data / "run" / "held-out.jsonl").read_text().splitlines()]
    assert [(source, reference) for source, reference, _ in validated.samples] == [tuple(one.values()) for one in kept]
    assert began.examples == 240 - 2 * len(kept)

    (data / "train.src").write_text(f"{twice[0]}ba be\n")
    (data / "train.trg").write_text(f"{twice[1]}be ba\n")
    resumed = run_to_the_end(with_training(config, steps=12), data / "run", resume=True)
    assert isinstance(resumed[0], TrainingStarted)
    assert resumed[0].examples == began.examples + 1
    assert not any("validation data have changed" in note for note in resumed[0].notes)
    described = corpus_of(config, data / "run").describe()
    assert described.endswith(f"{len(kept)} pairs are held out of the training files, in {data}/run/held-out.jsonl")


@pytest.mark.parametrize(("tokens", "is_warned"), [({"vocab_size": 16}, True), ({}, False)])
def test_words_missing_from_the_vocabulary_give_warning(data: Path, tokens: dict[str, object], is_warned: bool) -> None:
    corpus = corpus_of(with_tokens(small_config(data), **tokens), data / "run")
    words = [word for line in (data / "train.src").read_text().splitlines() for word in line.split()]
    unknown = sum(corpus.tokenizers.source.encode(word) == [UNKNOWN] for word in words) / len(words)
    warning = f"warning: {unknown:.0%} of the training tokens are unknown to the vocabulary"
    assert (warning in corpus.describe()) == is_warned
    assert ("unknown" in corpus.describe()) == is_warned == (unknown > 0.01)


def test_scores_of_another_metric_or_set_are_incomparable(data: Path) -> None:
    config = small_config(data, validation_metric="bleu", steps=6, validate_every=2, checkpoint_every=6)
    run_to_the_end(config, data / "run")
    other = with_training(config, validation_metric="loss", steps=8, checkpoint_every=8, early_stopping_patience=1)
    events = run_to_the_end(other, data / "run", resume=True)
    assert any("metric was bleu and is now loss: earlier scores cannot be compared" in one for one in events[0].notes)
    assert [event.is_best for event in events if isinstance(event, Validated)] == [True]
    assert load_checkpoint(list_checkpoints(data / "run" / "checkpoints")[-1]).state.best_metric < 0  # a loss, not BLEU
    (data / "valid.src").write_text("ba\n")
    (data / "valid.trg").write_text("be\n")
    later = with_training(other, steps=10, checkpoint_every=10, early_stopping_patience=0, learning_rate=1.0)
    events = run_to_the_end(later, data / "run", resume=True)
    assert any(note.startswith("the validation data have changed: ") for note in events[0].notes)
    assert [event.is_best for event in events if isinstance(event, Validated)] == [True]


def test_checkpoint_without_metric_keeps_its_best_score(data: Path) -> None:
    config = small_config(data, steps=6, checkpoint_every=6)
    run_to_the_end(config, data / "run")
    saved = list_checkpoints(data / "run" / "checkpoints")[-1]
    progress = msgspec.json.decode((saved / "trainer_state.json").read_bytes())
    for name in ("validation_metric", "valid"):
        del progress["environment"][name]
    (saved / "trainer_state.json").write_bytes(msgspec.json.encode(progress | {"best_metric": 99.0}))
    write_manifest(saved, "checkpoint", 1)
    events = run_to_the_end(with_training(config, steps=12), data / "run", resume=True)
    assert events[0].notes == ["resuming from step 6"]
    assert [event.is_best for event in events if isinstance(event, Validated)] == [False]
