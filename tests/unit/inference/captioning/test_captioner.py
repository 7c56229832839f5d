from pathlib import Path

import numpy as np
import pytest

from regard.errors import RegardError
from regard.inference.captioner import Captioner
from regard.inference.open import load
from regard.inference.translator import Translator
from tests.support.small_run import run_to_the_end, small_config, write_pairs

EVERY = ["attending", "recurrent", "transformer"]


@pytest.mark.parametrize("kind", EVERY)
def test_image_is_captioned_the_same_alone_and_batched(
    captioners: dict[str, Captioner], pictures: list[Path], kind: str
) -> None:
    captioner = captioners[kind]
    together = captioner.caption(pictures)
    assert [captioner.caption([picture])[0].tokens for picture in pictures] == [one.tokens for one in together]
    assert captioner.caption([pictures[0].read_bytes()])[0] == captioner.caption([str(pictures[0])])[0]


def test_best_captions_come_first_in_requested_number(captioners: dict[str, Captioner], pictures: list[Path]) -> None:
    for own in captioners["attending"].nbest(pictures, beam_size=3, nbest=3):
        assert len(own) == 3
        assert [one.score for one in own] == sorted((one.score for one in own), reverse=True)


def test_several_captions_are_refused_for_single_image_call(
    captioners: dict[str, Captioner], pictures: list[Path]
) -> None:
    with pytest.raises(RegardError, match=r"nbest is 3, but .* call \.nbest"):
        captioners["attending"].caption(pictures, beam_size=3, nbest=3)


def test_requested_samples_are_drawn_at_any_beam(captioners: dict[str, Captioner], pictures: list[Path]) -> None:
    captioner, batches = captioners["attending"], []
    config = captioner.decoding_config(do_sample=True, nbest=16, beam_size=2)
    outputs = list(captioner.iter_captions(pictures, config, progress=batches.append))
    assert [len(own) for own in outputs] == [16] * 4
    assert batches == [
        2,
        2,
    ]  # sixteen hypotheses of each picture: as many rows as of sixteen pictures with a beam of two


def test_caption_at_its_length_limit_is_marked(captioners: dict[str, Captioner], pictures: list[Path]) -> None:
    for own in captioners["attending"].nbest(pictures, beam_size=4, nbest=4, max_length_extra=3):
        assert [one.is_finished for one in own] == [len(one.tokens) < 3 for one in own]
        assert not all(one.is_finished for one in own)


def test_a_caption_grows_as_it_is_streamed(captioners: dict[str, Captioner], pictures: list[Path]) -> None:
    captioner = captioners["transformer"]
    *_, last = captioner.stream(pictures[0], beam_size=1)
    assert last == captioner.caption([pictures[0]], beam_size=1)[0].text


def test_file_that_is_not_an_image_is_named(captioners: dict[str, Captioner], tmp_path: Path) -> None:
    (tmp_path / "notes.jpg").write_text("words")
    with pytest.raises(RegardError, match=r"notes\.jpg"):
        captioners["attending"].caption([tmp_path / "notes.jpg"])
    with pytest.raises(RegardError, match="a list of images"):
        captioners["attending"].caption(tmp_path / "notes.jpg")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given", [np.zeros((3, 9, 9), np.uint8), np.zeros((64, 64, 3), np.uint8), np.zeros((3, 64, 64), np.float32), 7]
)
def test_array_that_is_not_square_image_is_refused(captioners: dict[str, Captioner], given: object) -> None:
    captioner = next(iter(captioners.values()))
    with pytest.raises(RegardError, match="array"):
        captioner.caption([given])  # type: ignore[list-item]


def test_captioner_is_distinguished_from_a_translator(
    captioners: dict[str, Captioner], runs: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(RegardError, match="which does not translate"):
        Translator(captioners["attending"].bundle)
    write_pairs(tmp_path)
    run_to_the_end(small_config(tmp_path, steps=1, validate_every=1, checkpoint_every=1), tmp_path / "run")
    with pytest.raises(RegardError, match="is a model for translation, not for image-to-text"):
        load(tmp_path / "run" / "model", task="image-to-text")
    assert load(runs["recurrent"] / "model", task="image-to-text").image_encoder.image_size == 16
