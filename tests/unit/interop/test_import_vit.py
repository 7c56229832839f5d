"""An imported ViTForImageClassification gives the logits of transformers, and exports to the same tensors."""

import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file

import regard
from regard.batch import Images
from regard.config import CNNConfig, ImageClassifierConfig, TransformerCaptionerConfig, VisionTransformerConfig
from regard.errors import RegardError
from regard.inference.classifier import Classifier
from regard.interop.import_model import detect, write_model
from regard.interop.vit import export_vit
from tests.support.foreign_models import write_vit


def imported(tmp_path: Path, seed: int) -> tuple[Any, Classifier]:
    theirs = write_vit(tmp_path / "theirs", seed)
    write_model(detect(tmp_path / "theirs").load(), tmp_path / "model")
    classifier = regard.load(tmp_path / "model")
    assert isinstance(classifier, Classifier)
    return theirs, classifier


def pictures(size: int, seed: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.random.default_rng(seed).integers(0, 256, (3, 3, size, size), np.uint8)


@pytest.mark.parametrize("seed", range(6))
@torch.inference_mode()
def test_logits_and_tensors_equal_those_of_transformers(seed: int, tmp_path: Path) -> None:
    theirs, classifier = imported(tmp_path, seed)
    processor = json.loads((tmp_path / "theirs/preprocessor_config.json").read_text())
    given = pictures(theirs.config.image_size, seed)
    mean, std = (torch.tensor(processor[name]).view(3, 1, 1) for name in ("image_mean", "image_std"))
    expected = theirs((torch.from_numpy(given).float() / 255 - mean) / std).logits
    model: Any = classifier.bundle.model
    torch.testing.assert_close(model(Images.from_array(given)), expected, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(model(Images.from_array(given[1:2])), expected[1:2], atol=1e-4, rtol=1e-4)
    labels = [theirs.config.id2label[int(row.argmax())] for row in expected]
    assert [one.label for one in classifier.classify(list(given))] == labels
    assert export_vit(classifier.bundle, tmp_path / "back") == type(theirs).__name__
    before, after = (load_file(tmp_path / folder / "model.safetensors") for folder in ("theirs", "back"))
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    again = type(theirs).from_pretrained(tmp_path / "back")
    assert again.config.id2label == theirs.config.id2label
    restored = json.loads((tmp_path / "back/preprocessor_config.json").read_text())
    assert restored["image_mean"] == pytest.approx(processor["image_mean"])
    assert restored["image_std"] == pytest.approx(processor["image_std"])


def test_trace_names_the_class_token(tmp_path: Path) -> None:
    theirs, classifier = imported(tmp_path, 1)
    [picture, *_] = pictures(theirs.config.image_size, 1)
    trace, cells = classifier.trace(picture), (theirs.config.image_size // theirs.config.patch_size) ** 2
    assert trace.source.pieces[:2] == ["[CLS]", "1,1"]
    assert len(trace.layers) == theirs.config.num_hidden_layers
    assert trace.weights(0).shape == (cells + 1, cells + 1)
    weights = classifier.decision_weights(trace)
    assert weights is not None
    assert weights.shape == (cells,)
    assert weights.sum() == pytest.approx(1.0, abs=1e-6)
    with regard.intervene(classifier, "image-self.*.*=zero"):
        assert classifier.trace(picture).log_probabilities != trace.log_probabilities


def test_model_without_class_head_says_what_to_do(tmp_path: Path) -> None:
    theirs = write_vit(tmp_path / "theirs", 0)
    transformers.ViTModel(theirs.config).save_pretrained(tmp_path / "theirs")
    with pytest.raises(RegardError, match=r"no class head.*ViTForImageClassification.*Train a head"):
        detect(tmp_path / "theirs").load()


def test_images_of_another_size_are_refused(tmp_path: Path) -> None:
    theirs, classifier = imported(tmp_path, 0)
    model: Any = classifier.bundle.model
    larger = pictures(theirs.config.image_size + theirs.config.patch_size, 0)
    with pytest.raises(RegardError, match="learned positions for"):
        model(Images.from_array(larger))


@pytest.mark.parametrize("pooling", ["mean", "attention"])
def test_class_token_and_first_pooling_need_each_other(pooling: Any) -> None:
    encoder = VisionTransformerConfig(class_token=True)
    with pytest.raises(ValueError, match="set both or neither"):
        ImageClassifierConfig(image_encoder=encoder, pooling=pooling)
    with pytest.raises(ValueError, match="set both or neither"):
        ImageClassifierConfig(image_encoder=CNNConfig(), pooling="first")
    with pytest.raises(ValueError, match="a captioner reads the cells"):
        TransformerCaptionerConfig(image_encoder=encoder)


def test_pixels_are_normalised_as_the_processor_says(tmp_path: Path) -> None:
    write_vit(tmp_path / "theirs", 0)
    path, chance = tmp_path / "theirs/preprocessor_config.json", Random(0)
    for changes, mean, std in (
        ({"do_normalize": False}, [0.0] * 3, [255.0] * 3),
        (
            {"do_rescale": False, "image_mean": [9.0, 8.0, 7.0], "image_std": [1, 2, 3]},
            [9.0, 8.0, 7.0],
            [1.0, 2.0, 3.0],
        ),
        ({"image_std": [chance.random()] * 2}, None, None),
        ({"image_std": [0.5, 0.5, 0.0]}, None, None),
    ):
        before = path.read_text()
        path.write_text(json.dumps(json.loads(before) | changes))
        if mean is None:
            with pytest.raises(RegardError, match="std"):
                detect(tmp_path / "theirs").load()
        else:
            encoder: Any = detect(tmp_path / "theirs").load().config.model.image_encoder  # type: ignore[union-attr]
            assert (encoder.pixel_mean, encoder.pixel_std) == (pytest.approx(mean), pytest.approx(std))
        path.write_text(before)
