"""Small random Transformers that generate like trained ones: they end; other tokens have no probability.

An engine of another program leaves out padding, BEGIN and MASK before the softmax, ours after it. A trained model gives
them nothing, so that it makes no difference; a random one would, and hide all others.
"""

from random import Random
from typing import Any

import torch

from regard.bundle import Bundle, new_bundle
from regard.config import Config, TransformerConfig, TransformerStackConfig
from regard.interop.marian import marian_base
from regard.special_tokens import BEGIN, END, MASK, PADDING
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair

WORDS = [first + second for first in "bdgklmnprst" for second in "aeiou"]
SOURCE = Tokenizer.train([" ".join(WORDS)], model_type="word", vocab_size=60)
TARGET = Tokenizer.train([" ".join(WORDS[:40])], model_type="word", vocab_size=45)


def texts(count: int, *, longest: int = 12) -> list[str]:
    """Sentences of one word and more."""
    chance = Random(1)
    return [" ".join(chance.choice(WORDS) for _ in range(chance.randint(1, longest))) for _ in range(count)]


def random_translator(config: TransformerConfig, *, seed: int = 3, tokenizers: TokenizerPair | None = None) -> Bundle:
    """A model with all its weights random."""
    if tokenizers is None:
        tokenizers = TokenizerPair(SOURCE, SOURCE if config.share_embeddings else TARGET)
    bundle = new_bundle(Config(model=config), tokenizers)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in bundle.model.named_parameters():
            parameter.normal_(0, _spread(name, parameter), generator=generator)
            if name.endswith("norm.weight"):
                parameter.add_(1.0)
        _weigh(bundle.model, {PADDING: -40.0, BEGIN: -40.0, MASK: -40.0, END: 2.0})
    bundle.model.eval()
    return bundle


STACK = TransformerStackConfig(layers=2, width=32, heads=4, ffn_width=40)
NATIVE = {"encoder": STACK, "decoder": STACK, "sinusoidal_base": marian_base(32), "zero_begin": True}
NATIVE |= {"norm_epsilon": 1e-6, "dropout": 0.0}
MARIAN_STYLES: dict[str, dict[str, Any]] = {  # what Marian's own format can hold
    "firefox": {"decoder_autoregression": "ssru", "share_embeddings": True, "output_bias": True},
    "ssru, two vocabularies": {"decoder_autoregression": "ssru", "activation": "silu"},
    "self-attention": {"share_embeddings": True},
    "own output": {"share_embeddings": True, "tie_word_embeddings": False},
    "own tables": {"tie_word_embeddings": False},
    "two vocabularies": {"activation": "silu"},
}


def marian_translator(style: str) -> Bundle:
    """A random model that Marian's own format can hold."""
    return random_translator(TransformerConfig(**(NATIVE | MARIAN_STYLES[style])))


def _spread(name: str, parameter: torch.Tensor) -> float:
    """So that the output depends on the source and changes from place to place."""
    if parameter.dim() < 2:
        return 0.1
    if "embedding" in name:
        return 0.25  # a tied output would say its input again
    gain = 4.0 if "cross_attention" in name else 1.5 if "attention" in name else 0.7
    return gain * parameter.shape[-1] ** -0.5


def _weigh(model: torch.nn.Module, logits: dict[int, float]) -> None:
    """Add to the logits of some tokens: one entry of the last hidden state is always 10, and only theirs answer it."""
    last: torch.nn.LayerNorm = (
        model.decoder.norm
        if isinstance(model.decoder.norm, torch.nn.LayerNorm)
        else model.decoder.blocks[-1].feed_forward_residual.norm
    )
    last.weight.mul_(4.0)
    last.weight[0], last.bias[0] = 0.0, 10.0
    output = model.target_embedding.tokens.weight if model.output is None else model.output.weight
    output[:, 0] = 0.0
    for token, logit in logits.items():
        output[token, 0] = logit / 10
