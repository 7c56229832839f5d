"""Fine-tuning: a run that starts from a saved model, with its vocabulary, and resumes exactly."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.batch import Batch
from regard.bundle import load_bundle, named_tensors
from regard.config import Config, EncoderOnlyConfig
from regard.data.pair_readers import read_pairs
from regard.errors import RegardError
from regard.files import weights_digest
from regard.interop.import_model import detect, write_model
from regard.models.factory import build_model
from regard.training.checkpoint import load_checkpoint
from regard.training.events import CheckpointSaved, TrainingStarted, Validated
from regard.training.fine_tuning import (
    START_FOLDER,
    copy_start_model,
    freeze_parameters,
    is_in_part,
    load_start_weights,
)
from regard.training.objective import compute_loss
from regard.training.validation import validate_pairs
from tests.support.foreign_models import LINES, write_family, write_marian
from tests.support.small_images import picture_config, write_scenes
from tests.support.small_language import READER, WRITER, language_config, write_texts
from tests.support.small_run import run_to_the_end, small_config, write_pairs

SHORT = {"steps": 4, "validate_every": 2, "checkpoint_every": 2, "threads": 1, "batch_tokens": 200}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs, and the run of a translator."""
    directory = tmp_path_factory.mktemp("pairs")
    write_pairs(directory)
    config = small_config(directory, steps=40, learning_rate=0.02, validate_every=40, checkpoint_every=40)
    run_to_the_end(config, directory / "base")
    return directory


def table(folder: Path, **training: Any) -> dict[str, Any]:
    """A recipe without a model: its data and training options."""
    files = {name: [str(folder / f"{name}.src"), str(folder / f"{name}.trg")] for name in ("train", "valid")}
    return {"data": files, "training": SHORT | training}


def valid_files(folder: Path) -> list[str]:
    return [str(folder / "valid.src"), str(folder / "valid.trg")]


def last_weights(run: Path) -> bytes:
    return (run / "checkpoints" / "step-00000004" / "model.safetensors").read_bytes()


def test_run_starts_with_the_models_weights(folder: Path, tmp_path: Path) -> None:
    events = list(regard.train(table(folder), start_from=folder / "base", run=tmp_path / "run"))
    start = events[0]
    assert isinstance(start, TrainingStarted)
    assert "none initialised" in start.notes[0]
    before = next(event for event in events if isinstance(event, Validated))
    model = folder / "base" / "model"
    assert before.step == 0
    assert before.loss == pytest.approx(validate_pairs(load_bundle(model), list(read_pairs(valid_files(folder)))).loss)
    saved = Config.load(tmp_path / "run" / "config.toml")
    assert saved.training.start_digest == weights_digest(model)
    assert saved.model == load_bundle(model).config.model
    assert (tmp_path / "run/tokenizer/source.spm").read_bytes() == (model / "source.spm").read_bytes()


def test_resume_is_exact_without_the_original(folder: Path, tmp_path: Path) -> None:
    original = tmp_path / "original"
    shutil.copytree(folder / "base" / "model", original)
    whole = regard.train(table(folder), start_from=original, run=tmp_path / "whole")
    list(whole)
    for event in regard.train(table(folder), start_from=original, run=tmp_path / "stopped"):
        if isinstance(event, CheckpointSaved):
            break
    shutil.rmtree(original)
    list(regard.train(table(folder), start_from=original, run=tmp_path / "stopped", resume=True))
    assert last_weights(tmp_path / "stopped") == last_weights(tmp_path / "whole")


def test_run_without_a_checkpoint_starts_again(folder: Path, tmp_path: Path) -> None:
    list(regard.train(table(folder), start_from=folder / "base", run=tmp_path / "whole"))
    next(regard.train(table(folder), start_from=folder / "base", run=tmp_path / "stopped"))
    list(regard.train({}, run=tmp_path / "stopped", resume=True))
    assert last_weights(tmp_path / "stopped") == last_weights(tmp_path / "whole")


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"model": {"encoder": {"width": 32}}}, "model.encoder.width is 32 and the model has 16"),
        ({"model": {"kind": "rnn"}}, "model.kind is 'rnn'"),
        ({"tokenizer": {"vocab_size": 99}}, "tokenizer.vocab_size is 99 and the model has 64"),
    ],
)
def test_another_architecture_is_refused(folder: Path, tmp_path: Path, section: dict[str, Any], message: str) -> None:
    with pytest.raises(RegardError, match=message):
        next(regard.train(table(folder) | section, start_from=folder / "base", run=tmp_path))


def test_dropout_may_change(folder: Path, tmp_path: Path) -> None:
    recipe = table(folder, steps=1) | {"model": {"dropout": 0.4}}
    list(regard.train(recipe, start_from=folder / "base", run=tmp_path))
    assert load_bundle(tmp_path / "model").config.model.dropout == 0.4  # type: ignore[union-attr]


def test_resuming_from_other_weights_is_refused(folder: Path, tmp_path: Path) -> None:
    list(regard.train(table(folder), start_from=folder / "base", run=tmp_path / "run"))
    with pytest.raises(RegardError, match="whose weights are not those of"):
        next(regard.train(table(folder), start_from=tmp_path / "run", run=tmp_path / "run", resume=True))
    list(regard.train(small_config(folder, steps=1), run=tmp_path / "scratch"))
    with pytest.raises(RegardError, match="started from random weights"):
        next(regard.train({}, start_from=folder / "base", run=tmp_path / "scratch", resume=True))


@pytest.mark.parametrize("model", [WRITER, READER], ids=lambda model: model["kind"])
def test_language_models_continue_on_new_text(tmp_path: Path, model: dict[str, Any]) -> None:
    write_texts(tmp_path)
    run_to_the_end(language_config(tmp_path, model), tmp_path / "base")
    recipe = {"data": {"train": [str(tmp_path / "train.ko")], "valid": [str(tmp_path / "valid.ko")]}}
    options = {"training": SHORT | {"steps": 40, "validate_every": 40, "learning_rate": 0.01}}
    events = list(regard.train(recipe | options, start_from=tmp_path / "base", run=tmp_path / "run"))
    first, last = (event for event in events if isinstance(event, Validated))
    assert last.loss < first.loss
    assert Config.load(tmp_path / "run" / "config.toml").data.languages == ["ko"]


def test_captioners_continue_on_new_images(tmp_path: Path) -> None:
    scenes = write_scenes(tmp_path)
    config = picture_config(scenes)
    run_to_the_end(config, tmp_path / "base")
    recipe = {"data": {"train": config.data.train, "valid": config.data.valid}, "training": SHORT}
    events = list(regard.train(recipe, start_from=tmp_path / "base", run=tmp_path / "run"))
    assert [event.step for event in events if isinstance(event, Validated)] == [0, 2, 4]


@pytest.mark.parametrize("name", ["marian", "bert", "gpt2", "llama"])
def test_imported_models_learn_new_data(tmp_path: Path, name: str) -> None:
    pytest.importorskip("tokenizers")
    is_translator = name == "marian"
    write_marian(tmp_path / "theirs") if is_translator else write_family(tmp_path / "theirs", name, seed=1)
    write_model(detect(tmp_path / "theirs").load(), tmp_path / "ours")
    # Four lines again and again, for validation too: other lines of random words have nothing that could be learnt.
    rows = [f"{line}\t{line}" if is_translator else line for line in LINES[:4] * 10]
    suffix = "tsv" if is_translator else "txt"
    for part, lines in (("train", rows[:30]), ("valid", rows[30:])):
        (tmp_path / f"{part}.{suffix}").write_text("".join(f"{line}\n" for line in lines))
    data = {part: [str(tmp_path / f"{part}.{suffix}")] for part in ("train", "valid")}
    training = SHORT | {"steps": 60, "validate_every": 60, "learning_rate": 0.01, "validation_metric": "loss"}
    recipe = {"data": data, "training": training}
    events = list(regard.train(recipe, start_from=tmp_path / "ours", run=tmp_path / "run"))
    first, last = (event for event in events if isinstance(event, Validated))
    assert last.loss < first.loss  # without luck: weights, vocabulary and order of the lines are always the same
    assert load_bundle(tmp_path / "run/model").tokenizers.target.vocabulary


def test_only_a_new_head_is_initialised(tmp_path: Path) -> None:
    write_texts(tmp_path)
    run_to_the_end(language_config(tmp_path, READER), tmp_path / "base")
    copy_start_model(tmp_path / "base/model", tmp_path, weights_digest(tmp_path / "base/model"))
    bundle = load_bundle(tmp_path / START_FOLDER)
    config = Config.from_dict({"model": READER | {"classes": 3}}).model
    assert isinstance(config, EncoderOnlyConfig)
    model = build_model(config, target_vocabulary=bundle.tokenizers.target.vocab_size)
    report = load_start_weights(model, config, tmp_path)
    assert report.initialised == ["head.dense.weight", "head.dense.bias", "head.output.weight", "head.output.bias"]
    assert all(name.startswith("head.") for name in report.unused)
    given, own = named_tensors(bundle.model), named_tensors(model)
    assert all(torch.equal(own[name], given[name]) for name in report.loaded)
    assert {*report.loaded, *report.initialised} == own.keys()


@pytest.mark.parametrize("part", ["embeddings", "encoder", "decoder.blocks.0"])
def test_frozen_parts_stay_bitwise_equal(folder: Path, tmp_path: Path, part: str) -> None:
    recipe = table(folder, freeze=[part], learning_rate=0.01, weight_decay=0.1, ema_decay=0.5)
    events = list(regard.train(recipe, start_from=folder / "base", run=tmp_path))
    before, after = (named_tensors(load_bundle(one).model) for one in (tmp_path / START_FOLDER, tmp_path / "model"))
    checkpoint = load_checkpoint(tmp_path / "checkpoints/step-00000004")
    frozen = {name for name in before if is_in_part(name, part)}
    assert {name for name in before if torch.equal(before[name], checkpoint.weights[name])} == frozen
    assert all(torch.equal(before[name], after[name]) for name in frozen)
    assert {key.rpartition("/")[0] for key in checkpoint.optimizer} == before.keys() - frozen
    start = events[0]
    assert isinstance(start, TrainingStarted)
    assert start.trained_parameters == sum(before[name].numel() for name in before.keys() - frozen)


def test_frozen_gradients_do_not_change_the_others(folder: Path) -> None:
    bundle = load_bundle(folder / "base/model")
    batch = Batch.from_pairs([[5, 6, 7]], [[7, 6]])
    gradients = []
    for parts in ([], ["embeddings"]):
        freeze_parameters(bundle.model, parts)
        bundle.model.zero_grad()
        compute_loss(bundle.model, batch, smoothing=0.1).backward()
        gradients.append({name: one.grad for name, one in bundle.model.named_parameters() if one.requires_grad})
    assert gradients[1]
    assert all(torch.equal(gradient, gradients[0][name]) for name, gradient in gradients[1].items())


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (["coder"], "names no parameter. Choose embeddings, or"),
        (["embeddings", "encoder", "decoder"], "nothing is left"),
    ],
)
def test_unusable_freeze_is_refused(folder: Path, parts: list[str], message: str) -> None:
    with pytest.raises(RegardError, match=message):
        freeze_parameters(load_bundle(folder / "base/model").model, parts)


def test_old_data_are_scored_beside_new(folder: Path, tmp_path: Path) -> None:
    recipe = table(folder)
    recipe["data"]["old_valid"] = [str(folder / "train.src"), str(folder / "train.trg")]
    events = list(regard.train(recipe, start_from=folder / "base", run=tmp_path))
    for event in (event for event in events if isinstance(event, Validated) and event.is_best):
        latest = event
    bundle = load_bundle(tmp_path / "model")
    assert latest.loss == pytest.approx(validate_pairs(bundle, list(read_pairs(valid_files(folder)))).loss)
    assert latest.old_loss == pytest.approx(validate_pairs(bundle, list(read_pairs(recipe["data"]["old_valid"]))).loss)
