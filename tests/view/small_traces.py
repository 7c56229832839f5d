"""Traces of small models with random weights, over words that the caller may choose."""

from functools import cache

from regard.bundle import Bundle, new_bundle
from regard.config import Config
from regard.tokens import Tokenizer, Tokenizers
from regard.translation.trace import Trace, trace_texts
from tests.laws.small_models import CATALOGUE, randomise

TRANSFORMER = "transformer-pre-attention-sinusoidal"
ROTARY = "transformer-pre-attention-rotary-untied"
ADDITIVE = "attending-additive-previous"
GENERAL = "attending-general-feeding"
TEXT, TARGET = "AI changes the world", "AI가 세상을 바꾼다"


@cache
def bundle_of(name: str, words: str = f"{TEXT} {TARGET}") -> Bundle:
    """A model whose vocabulary is these words."""
    tokenizer = Tokenizer.train([words], kind="word", size=64)
    bundle = new_bundle(Config(model=CATALOGUE[name]), Tokenizers(tokenizer, tokenizer))
    randomise(bundle.model, seed=7).eval()
    return bundle


@cache
def trace_of(name: str, text: str = TEXT, target: str = TARGET) -> Trace:
    """The trace of a model that is made to say the target."""
    return trace_texts(bundle_of(name, f"{text} {target}"), text, target)
