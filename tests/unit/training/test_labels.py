"""Training on labels: exact resume, scores of a validation, and data that does not fit."""

from pathlib import Path

import msgspec
import pytest

from regard.config import Config
from regard.errors import RegardError
from regard.training.events import Validated
from regard.training.plan_checks import check_files, check_metric, with_labels
from tests.support.small_labels import (
    ENCODER,
    IMAGES,
    LEARNING,
    RNN,
    label_config,
    write_labelled_images,
    write_labelled_texts,
)
from tests.support.small_run import corpus_of, run_to_the_end, with_training


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("examples")
    write_labelled_texts(directory)
    write_labelled_images(directory)
    return directory


@pytest.mark.parametrize("model", [ENCODER | {"dropout": 0.2}, RNN, IMAGES], ids=["encoder", "rnn", "images"])
def test_resumed_run_equals_an_uninterrupted_one(examples: Path, tmp_path: Path, model: dict[str, object]) -> None:
    config = label_config(examples, model, steps=8, validate_every=4)
    run_to_the_end(config, tmp_path / "whole")
    run_to_the_end(with_training(config, steps=4), tmp_path / "parts")
    run_to_the_end(config, tmp_path / "parts", resume=True)
    whole, parts = (tmp_path / name / "model" / "model.safetensors" for name in ("whole", "parts"))
    assert whole.read_bytes() == parts.read_bytes()


def test_validation_measures_accuracy_and_macro_f1(examples: Path, tmp_path: Path) -> None:
    events = run_to_the_end(label_config(examples, ENCODER, **LEARNING), tmp_path / "run")
    last = [event for event in events if isinstance(event, Validated)][-1]
    assert last.accuracy == 100
    assert last.macro_f1 == 100
    assert last.bleu is None
    assert {label for _, label, _ in last.samples} <= {"backward", "forward"}


def test_counts_are_described_before_training(examples: Path, tmp_path: Path) -> None:
    described = corpus_of(label_config(examples, RNN), tmp_path / "texts").describe()
    assert "2 classes: backward 48 (50%), forward 48 (50%)" in described
    described = corpus_of(label_config(examples, IMAGES), tmp_path / "images").describe()
    assert "held out of them to validate on" in described
    assert "2 classes: " in described


def test_texts_are_held_out_without_validation_files(examples: Path, tmp_path: Path) -> None:
    config = label_config(examples, RNN)
    config = msgspec.structs.replace(config, data=msgspec.structs.replace(config.data, valid=[]))
    corpus = corpus_of(config, tmp_path / "run")
    assert len(corpus.lengths[0]) < 96
    assert (tmp_path / "run" / "held-out.jsonl").is_file()


def test_labels_and_classes_must_agree(examples: Path, tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"model\.classes is 3, but there are 2 labels"):
        label_config(examples, ENCODER | {"classes": 3})
    config = label_config(examples, RNN)
    assert config.data.labels == ["backward", "forward"]
    assert with_labels(config) == config
    (tmp_path / "valid.tsv").write_text("가 나\tforward\n나 가\tsideways\n", encoding="utf-8")
    other = msgspec.structs.replace(config.data, valid=[str(tmp_path / "valid.tsv")])
    with pytest.raises(RegardError, match=r"valid\.tsv:2: the label 'sideways' is not one of the 2 labels"):
        check_files(msgspec.structs.replace(config, data=other), None, has_training_files=True)


def test_metric_of_another_task_is_refused(examples: Path) -> None:
    with pytest.raises(RegardError, match="'bleu', which is not measured for classification"):
        check_metric(with_training(label_config(examples, RNN), validation_metric="bleu"))
    with pytest.raises(RegardError, match="'accuracy', which is not measured for translation"):
        check_metric(with_training(Config(), validation_metric="accuracy"))
