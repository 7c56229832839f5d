"""A run from the first step to the bundle: what it writes, how it goes on, and what it does with bad numbers."""

import hashlib
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from regard.bundle import load_bundle, tensors_of
from regard.errors import RegardError
from regard.training import trainer as trainer_module
from regard.training.checkpoint import checkpoints, load_checkpoint
from regard.training.journal import Began, Ended, Journal, Probed, Progressed, Saved, Skipped, Validated
from regard.training.loop import Interrupted, train
from tests.training.small_run import TRANSFORMER, corpus_of, run_to_the_end, small_config, with_training, write_pairs

ATTENDING = {
    "kind": "rnn-attention",
    "embedding": 8,
    "encoder": {"width": 12},
    "decoder": {"width": 12},
}


def weights_hash(run: Path) -> str:
    last = load_checkpoint(checkpoints(run / "checkpoints")[-1])
    digest = hashlib.sha256()
    for part in (last.weights, last.optimiser, last.average):
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
    assert kinds[0] is Began
    assert kinds[-1] is Ended
    assert {Progressed, Validated, Probed, Saved} <= set(kinds)
    assert Journal(data / "run" / "journal.jsonl").read() == events
    assert [path.name for path in checkpoints(data / "run" / "checkpoints")] == [
        "step-00000004",
        "step-00000008",
        "step-00000012",
    ]
    bundle = load_bundle(data / "run" / "model")
    assert all(tensor.isfinite().all() for tensor in tensors_of(bundle.model).values())


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
@pytest.mark.parametrize(("stop_after", "threads"), [(1, 1), (5, 1), (8, 1), (5, 2)])
def test_a_stopped_run_goes_on_to_the_same_bits(data: Path, stop_after: int, threads: int) -> None:
    sampled = small_config(data, accumulate=2, moving_average=0.9, average=2, threads=threads)
    run_to_the_end(sampled, data / "whole")
    corpus = corpus_of(sampled, data / "parts")
    steps_seen = []

    def stop_signal() -> int | None:
        steps_seen.append(len(steps_seen))
        return 15 if len(steps_seen) == stop_after else None

    with pytest.raises(Interrupted):
        list(train(sampled, data / "parts", corpus, stop_signal=stop_signal))
    assert checkpoints(data / "parts" / "checkpoints")[-1].name == f"step-{stop_after:08d}"
    events = run_to_the_end(sampled, data / "parts", resume=True)
    assert any(f"going on from step {stop_after}" in note for note in events[0].notes)
    assert weights_hash(data / "parts") == weights_hash(data / "whole")
    bundles = [(data / name / "model" / "weights.safetensors").read_bytes() for name in ("whole", "parts")]
    assert bundles[0] == bundles[1]


def test_a_damaged_checkpoint_is_passed_over_and_named(data: Path) -> None:
    config = small_config(data)
    run_to_the_end(config, data / "run")
    newest = checkpoints(data / "run" / "checkpoints")[-1] / "weights.safetensors"
    content = bytearray(newest.read_bytes())
    content[-1] ^= 1
    newest.write_bytes(content)
    events = run_to_the_end(config, data / "run", resume=True)
    assert any(str(newest) in note for note in events[0].notes)
    assert events[0].step == 8


def test_where_every_checkpoint_is_damaged_nothing_is_begun_anew(data: Path) -> None:
    config = small_config(data)
    run_to_the_end(config, data / "run")
    saved = checkpoints(data / "run" / "checkpoints")
    for directory in saved:
        (directory / "weights.safetensors").write_bytes(b"x")
    model = (data / "run" / "model" / "weights.safetensors").read_bytes()
    with pytest.raises(RegardError, match=r"(?s)no checkpoint of .* can be read.*step-00000004.*begin another run"):
        run_to_the_end(config, data / "run", resume=True)
    assert (data / "run" / "model" / "weights.safetensors").read_bytes() == model


def test_a_loss_that_is_not_finite_is_skipped_and_counted_and_then_ends_the_run(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_loss = trainer_module.batch_loss
    monkeypatch.setattr(trainer_module, "batch_loss", lambda *a, **k: real_loss(*a, **k) * float("nan"))
    config = small_config(data)
    seen: list[object] = []
    events = train(config, data / "run", corpus_of(config, data / "run"))
    with pytest.raises(RegardError, match="5 steps in a row"):
        seen.extend(events)
    skipped = [event for event in seen if isinstance(event, Skipped)]
    assert [event.in_a_row for event in skipped] == [1, 2, 3, 4]
    assert Journal(data / "run" / "journal.jsonl").read() == seen  # so the run can be taken up again
    saved = load_checkpoint(checkpoints(data / "run" / "checkpoints")[-1])
    assert all(tensor.isfinite().all() for tensor in saved.weights.values())


def test_training_stops_early_when_nothing_gets_better(data: Path) -> None:
    config = small_config(data, steps=500, validate_every=2, patience=2, learning_rate=1e-9, metric="bleu")
    events = run_to_the_end(config, data / "run")
    assert events[-1].step < 20


def test_of_models_that_score_alike_the_one_that_has_learnt_longer_is_kept(data: Path) -> None:
    config = small_config(data, steps=6, validate_every=2, learning_rate=1e-9, average=1)
    events = run_to_the_end(config, data / "run")
    validated = [event for event in events if isinstance(event, Validated)]
    assert len({event.bleu for event in validated}) == 1
    assert [event.is_best for event in validated] == [True, True, True]
    assert load_checkpoint(checkpoints(data / "run" / "checkpoints")[-1]).progress.best_step == 6


def test_what_differs_from_the_earlier_sitting_is_named(data: Path) -> None:
    config = small_config(data)
    run_to_the_end(config, data / "run")
    more_threads = with_training(config, threads=2, steps=13)
    events = run_to_the_end(more_threads, data / "run", resume=True)
    torch.set_num_threads(1)
    assert any("threads was 1 and is now 2" in note for note in events[0].notes)


def test_the_journal_forgets_what_came_after_the_checkpoint(data: Path) -> None:
    config = small_config(data)
    run_to_the_end(config, data / "run")
    newest = checkpoints(data / "run" / "checkpoints")[-1]
    for path in newest.iterdir():
        path.unlink()
    newest.rmdir()
    run_to_the_end(config, data / "run", resume=True)
    saved = [event.step for event in Journal(data / "run" / "journal.jsonl").read() if isinstance(event, Saved)]
    assert saved == [4, 8, 12]


def test_sentences_that_the_model_will_have_no_positions_for_are_told_before_training(data: Path) -> None:
    model = {**TRANSFORMER, "positions": "learned", "maximum_length": 7}  # a sentence has up to seven words, and END
    with pytest.raises(RegardError, match=r"has 7 tokens, .* Set data.maximum_length=6, or model.maximum_length=8"):
        corpus_of(small_config(data, model=model), data / "run")
    run_to_the_end(small_config(data, model={**model, "maximum_length": 8}), data / "run")


def test_a_long_sentence_to_validate_on_is_cut_where_the_positions_end(data: Path) -> None:
    (data / "valid.src").write_text("ba " * 30 + "\n")
    (data / "valid.trg").write_text("be " * 30 + "\n")
    model = {**TRANSFORMER, "positions": "learned", "maximum_length": 8}
    events = run_to_the_end(small_config(data, model=model), data / "run")
    assert all(math.isfinite(event.loss) for event in events if isinstance(event, Validated))


def test_an_epoch_begins_anew_when_its_batches_are_others(data: Path) -> None:
    config = small_config(data, steps=3, checkpoint_every=3)
    run_to_the_end(config, data / "run")
    events = run_to_the_end(with_training(config, batch_tokens=60, steps=5), data / "run", resume=True)
    assert any("batch_tokens was 120 and is now 60" in note for note in events[0].notes)
    assert any("epoch 1 begins anew" in note for note in events[0].notes)
    progress = load_checkpoint(checkpoints(data / "run" / "checkpoints")[-1]).progress
    assert (progress.step, progress.epoch, progress.cursor) == (5, 0, 2)


def test_a_moving_average_that_is_begun_later_begins_with_the_weights_of_then(data: Path) -> None:
    config = small_config(data, steps=12)
    run_to_the_end(config, data / "run")
    before = load_checkpoint(checkpoints(data / "run" / "checkpoints")[-1]).weights
    events = run_to_the_end(with_training(config, moving_average=0.5, steps=13), data / "run", resume=True)
    assert any("the moving average begins here" in note for note in events[0].notes)
    after = load_checkpoint(checkpoints(data / "run" / "checkpoints")[-1])
    for name, average in after.average.items():
        assert_close(average, (before[name] + after.weights[name]) / 2)
