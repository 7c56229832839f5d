"""Wrong arguments of the public Python functions are errors in words: what was given, and what to give."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import regard
from regard.errors import RegardError

TAKES_TEXTS = {
    "world-en-ko": "translate",
    "world-decoder-only": "generate",
    "world-encoder-only": "fill",
    "world-classifier": "classify",
}


@cache
def opened(name: str) -> Any:
    return regard.load(name)


@pytest.mark.parametrize("name", TAKES_TEXTS)
@pytest.mark.parametrize("given", ["one text", b"bytes", None, 3])
def test_one_text_in_place_of_a_list(name: str, given: Any) -> None:
    with pytest.raises(RegardError, match="expected a list of texts, and got"):
        getattr(opened(name), TAKES_TEXTS[name])(given)


@pytest.mark.parametrize("given", ["a.png", None, Image.new("RGB", (64, 64))])
def test_one_image_in_place_of_a_list(given: Any) -> None:
    with pytest.raises(RegardError, match="expected a list of images, and got"):
        opened("scenes").caption(given)


@pytest.mark.parametrize("method", ["stream", "unknown_words", "trace"])
def test_a_list_in_place_of_one_text(method: str) -> None:
    for given in (["AI changes the world"], None):
        with pytest.raises(RegardError, match="Give text"):
            getattr(opened("world-en-ko"), method)(given)


def test_a_generator_is_read_once() -> None:
    assert opened("world-en-ko").translate((text for text in ["AI"]), trace=True)[0].trace is not None
    assert opened("world-classifier").classify((text for text in ["The nurse"]), trace=True)[0].trace is not None


@pytest.mark.parametrize("given", ["training.steps=3", {"training.steps": 3}, [3]])
def test_overrides_that_are_no_list_of_texts(given: Any, tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"the overrides are .*Give a list such as"):
        next(iter(regard.train("world-transformer", run=tmp_path / "run", overrides=given)))


def test_unknown_device_is_named() -> None:
    with pytest.raises(RegardError, match="the device 'gpu' cannot be used"):
        regard.load("world-classifier", device="gpu")


def test_something_else_in_place_of_a_model() -> None:
    for model in (opened("world-en-ko"), None):
        with pytest.raises(RegardError, match="takes a torch module"), regard.record_attention(model):
            pass
    with pytest.raises(RegardError, match="takes an opened model"), regard.intervene("en-fr", "hide.source.1"):
        pass
