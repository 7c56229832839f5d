"""`Classifier`: batches equal single inputs, traces are those of the decision, and a saved model is the same."""

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

import regard
from regard.bundle import load_bundle
from regard.errors import RegardError
from regard.inference.classifier import Classifier
from tests.support.shared_results import build_once
from tests.support.small_labels import make_classifiers

TEXTS = ["가 와 나", "나 가", "나 와 네 가", "가 나"]
TEXT_MODELS = ("encoder", "rnn")


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_once(tmp_path_factory, "labels", make_classifiers)[0]


@pytest.fixture(scope="module", params=TEXT_MODELS)
def reader(request: pytest.FixtureRequest, labelled: Path) -> Classifier:
    return regard.load(labelled / request.param, task="classification")


def test_order_of_two_words_is_learnt(reader: Classifier) -> None:
    assert [one.label for one in reader.classify(TEXTS)] == ["forward", "backward", "backward", "forward"]


def test_batch_equals_single_texts(reader: Classifier) -> None:
    for text, together in zip(TEXTS, reader.classify(TEXTS), strict=True):
        [alone] = reader.classify([text])
        assert alone.probabilities == pytest.approx(together.probabilities, abs=1e-6)
        assert sum(alone.probabilities.values()) == pytest.approx(1)
        assert next(iter(alone.probabilities)) == alone.label


def test_trace_has_the_class_as_its_target(reader: Classifier) -> None:
    [found] = reader.classify(TEXTS[:1], trace=True)
    trace = found.trace
    assert trace is not None
    assert trace.target.pieces == trace.predicted.pieces == ["forward"]
    assert trace.source.words == ["가", "와", "나", "</s>"]
    assert np.exp(trace.log_probabilities[0]) == pytest.approx(found.probability, abs=1e-6)
    for layer in range(len(trace.layers)):
        rows, columns = trace.labels(layer)
        assert trace.weights(layer).shape == (len(rows), len(columns))
    importance = trace.head_importance()
    assert importance.log_probability == pytest.approx(trace.log_probabilities[0], abs=1e-5)


def test_hidden_word_changes_the_probabilities(reader: Classifier) -> None:
    [before] = reader.classify(["가 와 나"])
    with regard.intervene(reader, "hide.source.1"):
        [after] = reader.classify(["가 와 나"])
    assert abs(after.probabilities["forward"] - before.probabilities["forward"]) > 1e-4
    assert reader.classify(["가 와 나"]) == [before]


def test_last_block_of_the_lens_is_the_prediction(labelled: Path) -> None:
    trace = regard.load(labelled / "encoder").trace("가 나")
    name, candidates = trace.logit_lens(0)[-1]
    assert name == "encoder.blocks.1"
    assert candidates[0].piece == "forward"


def test_saved_classifier_is_the_same(reader: Classifier, tmp_path: Path) -> None:
    reader.save(tmp_path / "copy")
    copy = regard.load(tmp_path / "copy")
    assert isinstance(copy, Classifier)
    assert copy.labels == ["backward", "forward"]
    assert copy.classify(TEXTS) == reader.classify(TEXTS)


def test_images_are_classified_and_traced(labelled: Path) -> None:
    seer = regard.load(labelled / "images", task="classification")
    images = sorted((labelled / "bars" / "test").rglob("*.png"))
    found = seer.classify(images)
    assert sum(one.label == path.parent.name for one, path in zip(found, images, strict=True)) >= 7
    [alone] = seer.classify(images[:1])
    assert alone.probabilities == pytest.approx(found[0].probabilities, abs=1e-5)
    trace = seer.trace(images[0])
    assert [layer.role for layer in trace.layers] == ["image-self", "image-cross"]
    [(label, weights)] = regard.word_image_maps(trace)
    assert label == found[0].label
    assert weights.shape == (4, 4)
    assert weights.sum() == pytest.approx(1, abs=1e-5)


def test_what_cannot_be_classified_is_refused(reader: Classifier, labelled: Path, tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="text 2 of 2 is blank"):
        reader.classify(["가", " "])
    with pytest.raises(RegardError, match=r"Write \[text\]"):
        reader.classify("가")
    seer = regard.load(labelled / "images", task="classification")
    (tmp_path / "broken.png").write_bytes(b"\x89PNG broken")
    with pytest.raises(RegardError, match=r"broken\.png is not a readable image"):
        seer.classify([tmp_path / "broken.png"])
    with pytest.raises(RegardError, match="is a model for classification, not for translation"):
        regard.load(labelled / "rnn", task="translation")


@pytest.mark.parametrize(
    "labels",
    [["a"], ["a", "b", "c"], ["a", "a"], ["a", ""], ["a", "b\nc"], ["a", " b"]],
    ids=["fewer", "more", "equal", "blank", "two lines", "space"],
)
def test_labels_name_every_class_once(labelled: Path, labels: list[str]) -> None:
    bundle = load_bundle(labelled / "rnn" / "model")
    data = msgspec.structs.replace(bundle.config.data, labels=labels)
    with pytest.raises(RegardError, match=r"data\.labels of the model"):
        Classifier(replace(bundle, config=msgspec.structs.replace(bundle.config, data=data)))


def test_long_text_is_truncated_and_marked(labelled: Path) -> None:
    reader = regard.load(labelled / "encoder", task="classification")
    [found] = reader.classify(["가 " * 2000])
    assert found.is_truncated
    assert torch.isfinite(torch.tensor(found.probability))
