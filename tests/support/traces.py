"""Traces of small models with random weights, over words that the caller may choose."""

from functools import cache

import numpy as np

from regard.bundle import Bundle, new_bundle
from regard.config import Config
from regard.inference.captioner import Captioner
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair
from regard.tracing.trace import Trace, trace_texts
from tests.support.small_images import TRANSFORMER as CAPTIONER
from tests.support.small_models import CATALOGUE, randomise

TRANSFORMER = "transformer-pre-attention-sinusoidal"
ROTARY = "transformer-pre-attention-rotary-untied"
ADDITIVE = "attending-additive-previous"
GENERAL = "attending-general-feeding"
LEARNED = "transformer-post-attention-learned"
TEXT, TARGET = "AI changes the world", "AI가 세상을 바꾼다"
CAPTION = "a red star"


@cache
def bundle_of(name: str, words: str = f"{TEXT} {TARGET}") -> Bundle:
    """A model whose vocabulary is these words."""
    tokenizer = Tokenizer.train([words], model_type="word", vocab_size=64)
    bundle = new_bundle(Config(model=CATALOGUE[name]), TokenizerPair(tokenizer, tokenizer))
    randomise(bundle.model, seed=7).eval()
    return bundle


@cache
def trace_of(name: str, text: str = TEXT, target: str = TARGET) -> Trace:
    """The trace of a model that is made to say the target."""
    return trace_texts(bundle_of(name, f"{text} {target}"), text, target)


@cache
def caption_trace() -> Trace:
    """The trace of a Transformer captioner with random weights, of a random picture."""
    tokenizer = Tokenizer.train([CAPTION], model_type="word", vocab_size=64)
    bundle = new_bundle(Config.from_dict({"model": CAPTIONER}, origin="here"), TokenizerPair(tokenizer, tokenizer))
    randomise(bundle.model, seed=3).eval()
    captioner = Captioner(bundle)
    square = np.random.default_rng(0).integers(
        0, 256, (3, captioner.image_encoder.image_size, captioner.image_encoder.image_size), np.uint8
    )
    return captioner.trace(square, tokenizer.encode(CAPTION))
