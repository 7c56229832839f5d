"""The logits of an imported model and of the original in the transformers library, over the original ids."""

from typing import Any

import torch
from torch import Tensor

from regard.batch import encode_source_rows
from regard.bundle import Bundle
from regard.config import EncoderOnlyConfig, TransformerConfig
from regard.interop.foreign import owners_of
from regard.interop.sentencepiece_rewriting import read_original_ids
from regard.special_tokens import BEGIN, END
from regard.tokenization.tokenizer import HuggingFaceTokenizer, Tokenizer


def original_ids(tokenizer: Tokenizer) -> list[int]:
    """The id of each token in the original program."""
    if isinstance(tokenizer, HuggingFaceTokenizer):
        return tokenizer.original_ids
    return read_original_ids(tokenizer.to_bytes()) or []


def plain_tokens(tokenizer: Tokenizer, text: str) -> list[int]:
    """The tokens of a text without BEGIN."""
    row = tokenizer.encode(text)
    return row[1:] if row[:1] == [BEGIN] else row


def expected_logits(theirs: Any, bundle: Bundle, text: str) -> Tensor:
    """Of the original; with an encoder and a decoder, the text is source and target."""
    source, target = bundle.tokenizers.source, bundle.tokenizers.target
    given, made = original_ids(source), original_ids(target)
    ids = [made[token] for token in plain_tokens(target, text)]
    if isinstance(bundle.config.model, TransformerConfig):
        inputs = [*(given[token] for token in plain_tokens(source, text)), given[END]]
        found = theirs(torch.tensor([inputs]), decoder_input_ids=torch.tensor([[made[BEGIN], *ids]])).logits
    else:
        end = [made[END]] * isinstance(bundle.config.model, EncoderOnlyConfig)
        found = theirs(torch.tensor([[made[BEGIN], *ids, *end]])).logits
    logits: Tensor = found
    return logits


def own_logits(bundle: Bundle, text: str) -> Tensor:
    """Of the import: over the classes, or at each position over the original ids."""
    model: Any = bundle.model
    row = [BEGIN, *plain_tokens(bundle.tokenizers.target, text)]
    if isinstance(bundle.config.model, EncoderOnlyConfig):
        found: Tensor = model(encode_source_rows([row]))
        if bundle.config.model.classes:
            return found
    else:
        is_pair = isinstance(bundle.config.model, TransformerConfig)
        memory = model.encode(encode_source_rows([plain_tokens(bundle.tokenizers.source, text) if is_pair else []]))
        found = model.decode(torch.tensor([row]), memory, model.init_state(memory)).logits
    owners = owners_of(original_ids(bundle.tokenizers.target))
    return found[..., [owners[identity] for identity in range(len(owners))]]
