"""A captioner's run, from a folder of pictures to the bundle: what it writes, and that it goes on exactly."""

import unicodedata
import weakref
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from regard.bundle import load_bundle, new_bundle
from regard.data.batch_order import EpochPosition
from regard.data.captions import CaptionedImage
from regard.data.image_flips import draw_flip
from regard.errors import RegardError
from regard.inference.captioner import Captioner
from regard.training import objective as objective_module
from regard.training import validation as validation_module
from regard.training.checkpoint import list_checkpoints, load_checkpoint
from regard.training.corpora import prepare_corpus, rank_batches
from regard.training.events import StepSkipped, Validated
from regard.training.image_dataset import ImageDataset
from regard.training.loop import TrainingInterrupted, train
from regard.training.validation import closest_chrf
from tests.support.small_images import ATTENDING, RECURRENT, TRANSFORMER, picture_config, write_scenes
from tests.support.small_run import corpus_of, run_to_the_end, with_tokens
from tests.unit.training.test_loop import weights_hash

FROZEN = ATTENDING | {"image_encoder": {"kind": "efficientnet-lite0", "image_size": 32, "weights": "somewhere"}}


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_scenes(tmp_path_factory.mktemp("world"))


@pytest.mark.parametrize("model", [ATTENDING, RECURRENT, TRANSFORMER], ids=lambda model: model["kind"])
def test_run_ends_with_a_captioning_model(scenes: Path, tmp_path: Path, model: dict[str, Any]) -> None:
    events = run_to_the_end(picture_config(scenes, model=model), tmp_path)
    validated = [event for event in events if isinstance(event, Validated)]
    assert [event.cider is not None for event in validated] == [True, True]
    assert validated[0].samples[0][0] == "00000.png"
    captioner = Captioner(load_bundle(tmp_path / "model"))
    assert captioner.bundle.languages == ("", "en")
    pictures = sorted((scenes / "images" / "test").iterdir())
    assert len(captioner.caption(pictures)) == 4
    assert len(list((tmp_path / "probes").iterdir())) == 3


def test_captioner_attention_is_saved_between_validations(scenes: Path, tmp_path: Path) -> None:
    run_to_the_end(picture_config(scenes, steps=30, validate_every=30), tmp_path)
    assert sorted(path.name[-2:] for path in (tmp_path / "probes").iterdir()) == ["00", "25", "30"]


def test_words_missing_from_the_vocabulary_give_warning(scenes: Path, tmp_path: Path) -> None:
    config = picture_config(scenes)
    assert "unknown" not in corpus_of(config, tmp_path / "all").describe()
    result = corpus_of(with_tokens(config, vocab_size=16), tmp_path / "few").describe()
    assert "% of the training tokens are unknown to the vocabulary: the model reads and writes ⁇" in result


def test_both_normalisations_of_a_caption_score_equal() -> None:
    composed, apart = (unicodedata.normalize(form, "빨간 원이 왼쪽에 있다") for form in ("NFC", "NFD"))
    assert closest_chrf([composed], [["별", apart]]) == pytest.approx(100)
    assert closest_chrf([apart], [["별", composed]]) == pytest.approx(100)


def test_stopped_run_resumes_as_if_uninterrupted(scenes: Path, tmp_path: Path) -> None:
    config = picture_config(scenes, ema_decay=0.9)
    run_to_the_end(config, tmp_path / "whole")
    signals = iter([None, None, 15])
    with pytest.raises(TrainingInterrupted):
        list(train(config, tmp_path / "run", corpus_of(config, tmp_path / "run"), stop_signal=lambda: next(signals)))
    run_to_the_end(config, tmp_path / "run", resume=True)
    assert weights_hash(tmp_path / "run") == weights_hash(tmp_path / "whole")


def test_skipped_step_leaves_encoder_statistics_unchanged(
    scenes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_loss, calls = objective_module.compute_loss, iter(range(10**6))

    def loss_with_one_bad_pixel(model: Any, batch: Any, **options: Any) -> torch.Tensor:
        if next(calls) == 1:
            batch.source.pixels[0, 0, 0, 0] = float("nan")
        return real_loss(model, batch, **options)

    monkeypatch.setattr(objective_module, "compute_loss", loss_with_one_bad_pixel)
    events = run_to_the_end(picture_config(scenes), tmp_path)
    assert [event.step for event in events if isinstance(event, StepSkipped)] == [2]
    saved = load_checkpoint(list_checkpoints(tmp_path / "checkpoints")[-1])
    assert any("running_mean" in name for name in saved.weights)
    assert all(tensor.isfinite().all() for tensor in saved.weights.values())


def test_long_validation_captions_are_cut_at_positions(tmp_path: Path) -> None:
    scenes = write_scenes(tmp_path / "world")
    names = (scenes / "valid.txt").read_text().split()
    lines = (scenes / "captions.txt").read_text().splitlines()
    longer = [line + " and so on" * 9 if line.split("\t")[0] in names else line for line in lines]
    (scenes / "captions.txt").write_text("".join(f"{line}\n" for line in longer))
    model = {**TRANSFORMER, "positions": "learned", "max_position_embeddings": 16}
    events = run_to_the_end(picture_config(scenes, model=model, steps=2), tmp_path / "run")
    assert any(isinstance(event, Validated) for event in events)


def test_validation_holds_one_image_batch_at_a_time(
    scenes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[weakref.ref[torch.Tensor]] = []
    held, take = [], ImageDataset.source

    def watched(gallery: ImageDataset, pictures: Sequence[int]) -> Any:
        held.append(sum(one() is not None for one in taken))
        found = take(gallery, pictures)
        taken.append(weakref.ref(found.pixels))  # type: ignore[union-attr]
        return found

    monkeypatch.setattr(ImageDataset, "source", watched)
    monkeypatch.setattr(validation_module, "VALIDATION_BATCH_ROWS", 1)
    config = picture_config(scenes)
    corpus = corpus_of(config, tmp_path)
    corpus.validate(new_bundle(config, corpus.tokenizers))
    assert len(held) == 12  # six pictures described, and then scored
    assert max(held) <= 1


def test_wrong_probe_is_reported_before_preparation(scenes: Path, tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"nosuch\.png cannot be read"):
        corpus_of(picture_config(scenes, probes=[str(scenes / "nosuch.png")]), tmp_path / "run")
    assert list((tmp_path / "run").iterdir()) == []


def test_vocabulary_and_images_are_prepared_once(scenes: Path, tmp_path: Path) -> None:
    config, result = picture_config(scenes), []
    first = prepare_corpus(config, tmp_path, progress=lambda stage, count: result.append((stage, count)))
    assert result[-1] == ("training the vocabulary", 0)
    assert ("preparing the images of train", 24) in result
    result.clear()
    again = prepare_corpus(config, tmp_path, progress=lambda stage, count: result.append((stage, count)))
    assert result == [("preparing the images of valid", 6), ("preparing the images of train", 24)]  # all are there
    assert again.fingerprint == first.fingerprint
    assert again.tokenizers == first.tokenizers
    assert again.tokenizers.source is again.tokenizers.target


def test_images_vary_between_epochs_and_only_there(scenes: Path, tmp_path: Path) -> None:
    config = picture_config(scenes)
    corpus = corpus_of(config, tmp_path)
    first, again, later = (corpus.rows([3, 5], config, epoch)[0].pixels for epoch in (0, 0, 1))  # type: ignore[union-attr]
    assert torch.equal(first, again)
    assert not torch.equal(first, later)
    plain = msgspec.structs.replace(config, data=msgspec.structs.replace(config.data, flip_images=False))
    assert torch.equal(corpus.rows([3], plain, 0)[0].pixels, corpus.rows([3], plain, 1)[0].pixels)  # type: ignore[union-attr]


def test_every_caption_is_used_once_an_epoch(scenes: Path, tmp_path: Path) -> None:
    config = picture_config(scenes)
    corpus = corpus_of(config, tmp_path)
    seen = []
    for drawn in rank_batches(corpus, config, EpochPosition(), device="cpu"):
        if drawn.epoch > 0:
            break
        seen += [tuple(row[1:]) for row in drawn.parts[0].inputs.tokens.tolist()]
    cut = [corpus.rows([index], config, 0)[1][0] for index in range(24)]
    assert sorted(tuple(token for token in row if token) for row in seen) == sorted(map(tuple, cut))


def test_caption_lengths_mix_when_the_encoder_trains(scenes: Path, tmp_path: Path) -> None:
    config = picture_config(scenes)
    corpus = corpus_of(config, tmp_path)
    true = [len(corpus.rows([index], config, 0)[1][0]) for index in range(24)]
    drawn = list(islice(rank_batches(corpus, config, EpochPosition(), device="cpu"), 4))
    spreads = [max(one.parts[0].outputs.lengths) - min(one.parts[0].outputs.lengths) for one in drawn]
    assert len(set(true)) > 3
    assert min(spreads) >= 2  # sorted by length, a batch of 24 captions' few would hold nearly equal ones


def test_resampled_caption_stays_within_its_limit(scenes: Path, tmp_path: Path) -> None:
    config = with_tokens(picture_config(scenes), model_type="unigram", vocab_size=100, sampling_rate=0.9)
    corpus = corpus_of(config, tmp_path)
    longest = int(corpus.lengths[1].max())
    bounded = msgspec.structs.replace(config, data=msgspec.structs.replace(config.data, max_tokens=longest))
    assert max(map(len, corpus.rows(range(24), config, 0)[1])) > longest
    assert max(map(len, corpus.rows(range(24), bounded, 0)[1])) <= longest
    assert corpus.rows(range(24), bounded, 0)[1] != corpus.rows(range(24), bounded, 1)[1]


def test_set_without_short_captions_is_reported(scenes: Path, tmp_path: Path) -> None:
    config = picture_config(scenes)
    config = msgspec.structs.replace(config, data=msgspec.structs.replace(config.data, max_tokens=2))
    with pytest.raises(RegardError, match="no caption of at most 2 tokens"):
        corpus_of(config, tmp_path)


def test_dropped_or_too_long_captions_are_reported(scenes: Path, tmp_path: Path) -> None:
    config = picture_config(scenes)
    lengths = corpus_of(config, tmp_path).lengths[1]
    longest, beyond = int(lengths.max()), int((lengths > 7).sum())  # with END, 8 tokens may be generated
    assert 0 < beyond < 24
    result = corpus_of(config, tmp_path).describe()
    assert "24 images with 24 captions; one vocabulary" in result
    assert f"warning: {beyond} of the captions are longer than 7 tokens" in result
    assert f"--set decoding.max_length_extra={longest + 1}" in result
    data = msgspec.structs.replace(config.data, max_tokens=7)
    result = corpus_of(msgspec.structs.replace(config, data=data), tmp_path).describe()
    kept = 24 - beyond
    assert f"24 images with {kept} captions; dropped {beyond} blank or longer than data.max_tokens" in result
    assert "warning" not in result


# --- a frozen encoder ------------------------------------------------------------------------------------------------


def test_frozen_encoder_without_weights_is_refused(scenes: Path, tmp_path: Path) -> None:
    unweighted = FROZEN | {"image_encoder": FROZEN["image_encoder"] | {"weights": ""}}  # type: ignore[operator]
    with pytest.raises(RegardError, match="regard import efficientnet-lite0"):
        corpus_of(picture_config(scenes, model=unweighted), tmp_path)


def test_frozen_encoder_computes_each_image_once(scenes: Path, tmp_path: Path, weights: Path) -> None:
    model = FROZEN | {"image_encoder": FROZEN["image_encoder"] | {"weights": str(weights)}}  # type: ignore[operator]
    config = picture_config(scenes, model=model, steps=4)
    run_to_the_end(config, tmp_path)
    assert sorted(path.name for path in (tmp_path / "images").iterdir()) == ["train", "train-flipped", "valid"]
    first = load_checkpoint(list_checkpoints(tmp_path / "checkpoints")[-1]).weights
    bundle = load_bundle(tmp_path / "model")
    published = dict(bundle.model.named_parameters())["image_encoder.network._conv_stem.weight"]
    assert torch.equal(first["image_encoder.network._conv_stem.weight"], published)
    captioner = Captioner(bundle)  # the bundle includes the encoder: the directory of the weights is no longer needed
    corpus = corpus_of(config, tmp_path)
    seen = corpus.valid.source([0]).features  # type: ignore[attr-defined]
    own = bundle.model.image_encoder(captioner.to_batch([corpus.valid.captioned[0].image]))  # type: ignore[attr-defined,operator]
    torch.testing.assert_close(seen, own, atol=2e-2, rtol=2e-2)  # stored in half precision


def test_flipped_features_replace_those_of_half_the_images() -> None:
    plain, mirrored = (np.full((2, 1, 1, 1), value, np.float16) for value in (1, 2))
    one = CaptionedImage(Path("a"), ["a dog"])
    sided = CaptionedImage(Path("b"), ["a dog on the left"])
    gallery = ImageDataset([one, sided], plain, mirrored, has_features=True)  # type: ignore[arg-type]
    flips = [draw_flip(0, 0, index) for index in range(40)]
    shown = gallery.source([0] * 40, flips).features.flatten().tolist()  # type: ignore[union-attr]
    assert 8 < shown.count(2.0) < 32
    assert set(gallery.source([1] * 40, flips).features.flatten().tolist()) == {1.0}  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights of the right shapes, as `regard import` would write them."""
    from safetensors.torch import save

    from regard.bundle import named_tensors
    from regard.files import write_manifest
    from regard.interop.efficientnet import PRETRAINED_KIND, PRETRAINED_VERSION, PRETRAINED_WEIGHTS_FILE
    from regard.layers.efficientnet import EfficientNetLite0

    directory = tmp_path_factory.mktemp("weights")
    (directory / PRETRAINED_WEIGHTS_FILE).write_bytes(
        save(named_tensors(EfficientNetLite0()) | {"_fc.bias": torch.zeros(3)})
    )
    write_manifest(directory, PRETRAINED_KIND, PRETRAINED_VERSION)
    return directory
