"""The vectors of every layer of a model for the words of a text: embeddings first, then the output of each layer.

A Transformer has a layer for each block; its vectors are those that enter the next block. An RNN has its hidden states;
an RNN with attention has the attentional state above them, which the output layer reads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.attention.hooks import Place, apply_edits
from regard.batch import PaddedTokens, encode_source_rows, shift_right
from regard.bundle import Bundle
from regard.errors import RegardError
from regard.layers.recurrent import CELLS, RecurrentLayers
from regard.models.decoder_only import DecoderOnlyModel
from regard.models.rnn_attention import AttentionRNNModel
from regard.tokenization.tokenizer import Tokenizer
from regard.tracing.model_parts import ModelParts

ProbedStack = Literal["encoder", "decoder"]
Pooling = Literal["mean", "first", "last"]
BATCH_SENTENCES = 32


@dataclass(frozen=True, eq=False)
class LayerVectors:
    """The vectors of a layer, one for each word of all sentences; NaN for a word that the model did not read."""

    name: str
    vectors: Float[Tensor, "N W"]


def probed_stacks(model: nn.Module) -> list[ProbedStack]:
    """The stacks of a model that read words, the first of them by default."""
    has_text_source = hasattr(model, "source_embedding") or hasattr(model, "embedding")
    stacks: list[ProbedStack] = []
    for name in ("encoder", "decoder"):
        has_layers = isinstance(getattr(model, name, None), RecurrentLayers) or name in ModelParts(model).stacks
        if has_layers and has_text_source and not hasattr(model, "image_encoder"):
            stacks.append(name)
    return stacks


@torch.no_grad()
def layer_vectors(
    bundle: Bundle,
    sentences: Sequence[Sequence[str]],
    *,
    stack: ProbedStack,
    sources: Sequence[str] = (),
    pooling: Pooling = "mean",
) -> list[LayerVectors]:
    """The vectors of every layer for every word; the decoder of a translator also needs the source of each sentence."""
    model: Any = bundle.model
    needs_sources = stack == "decoder" and not isinstance(model, DecoderOnlyModel)
    if needs_sources and len(sources) != len(sentences):
        raise RegardError(
            f"there are {len(sources)} sources for {len(sentences)} sentences. To read a sentence, the decoder of a "
            "translator needs its source (--source)."
        )
    device, longest = next(model.parameters()).device, bundle.max_source_tokens
    tokenizer = bundle.tokenizers.source if stack == "encoder" else bundle.tokenizers.target
    names: list[str] = []
    parts: list[list[Tensor]] = []
    for start in range(0, len(sentences), BATCH_SENTENCES):
        words = [tokenize_words(tokenizer, one) for one in sentences[start : start + BATCH_SENTENCES]]
        rows = [ids[:longest] for ids, _ in words]
        if stack == "encoder":
            layers = _encoder_layers(model, encode_source_rows(rows, device=device))
        else:
            texts = sources[start : start + BATCH_SENTENCES] if needs_sources else [""] * len(rows)
            source_rows = [bundle.tokenizers.source.encode(text)[:longest] if text else [] for text in texts]
            source = encode_source_rows(source_rows, device=device)
            layers = _decoder_layers(model, source, shift_right(rows, device=device)[0])
        names = [name for name, _ in layers]
        parts = parts or [[] for _ in layers]
        for part, (_, vectors) in zip(parts, layers, strict=True):
            first = 1 if stack == "decoder" else 0  # BEGIN is before the tokens of a decoder
            for row, (_, spans) in enumerate(words):
                part.append(_word_vectors(vectors[row, first:], spans, len(rows[row]), pooling))
    return [LayerVectors(name, torch.cat(part)) for name, part in zip(names, parts, strict=True)]


def tokenize_words(tokenizer: Tokenizer, words: Sequence[str]) -> tuple[list[int], list[range]]:
    """The ids of the words joined by spaces, and those of each word; no piece crosses a space."""
    ids = tokenizer.encode(" ".join(words))
    ends = [len(tokenizer.encode(" ".join(words[:count]))) for count in range(len(words) + 1)]
    return ids, [range(start, end) for start, end in pairwise(ends)]


def _word_vectors(
    tokens: Float[Tensor, "T W"], spans: Sequence[range], length: int, pooling: Pooling
) -> Float[Tensor, "words W"]:
    """One vector for each word, from those of its pieces; NaN for a word without pieces or beyond the limit."""
    vectors = tokens.new_full((len(spans), tokens.shape[1]), float("nan"))
    for word, span in enumerate(spans):
        if not len(span) or span.stop > length:
            continue
        pieces = tokens[span.start : span.stop]
        vectors[word] = pieces.mean(0) if pooling == "mean" else pieces[0 if pooling == "first" else -1]
    return vectors.cpu()


# --- the layers of one batch -----------------------------------------------------------------------------------------

NamedLayers = list[tuple[str, Float[Tensor, "B T W"]]]


def _encoder_layers(model: Any, source: PaddedTokens) -> NamedLayers:
    if not isinstance(model.encoder, RecurrentLayers):
        return _block_outputs(model, "encoder", lambda: model.encode(source))
    vectors = getattr(model, "source_embedding", None) or model.embedding
    layers: NamedLayers = [("embedding", vectors(source.tokens))]
    for number, layer in enumerate(single_layers(model.encoder.rnn), start=1):
        packed = pack_padded_sequence(layers[-1][1], torch.tensor(source.lengths), True, False)
        outputs, _ = pad_packed_sequence(layer(packed)[0], batch_first=True, total_length=source.tokens.shape[1])
        layers.append((f"layer {number}", outputs))
    return layers


def single_layers(rnn: nn.RNNBase) -> list[nn.RNNBase]:
    """Each layer of an RNN as an RNN of its own with the same weights; torch returns only the last layer's outputs."""
    layers: list[nn.RNNBase] = []
    for number in range(rnn.num_layers):
        own = {name: weight for name, weight in rnn.named_parameters() if f"_l{number}" in name.replace("_reverse", "")}
        inputs = own[f"weight_ih_l{number}"].shape[1]
        cell = CELLS[type(rnn).name]  # type: ignore[attr-defined]
        layer = cell(inputs, rnn.hidden_size, 1, batch_first=True, bidirectional=rnn.bidirectional)
        layer.load_state_dict({name.replace(f"_l{number}", "_l0"): weight for name, weight in own.items()})
        layers.append(layer.to(own[f"weight_ih_l{number}"]).eval())
    return layers


def _decoder_layers(model: Any, source: PaddedTokens, inputs: PaddedTokens) -> NamedLayers:
    memory = model.encode(source)
    if not isinstance(model.decoder, RecurrentLayers):
        return _block_outputs(model, "decoder", lambda: model.decode(inputs.tokens, memory, model.init_state(memory)))
    state, hidden, outputs = model.init_state(memory), [], []
    for token in torch.split(inputs.tokens, 1, dim=1):  # a state has all layers, the outputs the last
        decoded = model.decode(token, memory, state)
        state = decoded.state
        hidden.append(getattr(state, "recurrent", state).hidden)
        outputs.append(decoded.hidden)
    states = torch.stack(hidden, dim=1)  # (B, T, L, W)
    layers: NamedLayers = [("embedding", model.target_embedding(inputs.tokens))]
    layers += [(f"layer {number + 1}", states[:, :, number]) for number in range(states.shape[2])]
    if isinstance(model, AttentionRNNModel):
        layers.append(("attentional state", torch.cat(outputs, dim=1)))
    return layers


def _block_outputs(model: nn.Module, stack: ProbedStack, run: Any) -> NamedLayers:
    """The input of the first block of a Transformer stack, and the output of each block, while `run` is called."""
    captured: list[Tensor] = []

    def keep(value: Tensor, place: Place) -> Tensor:
        if not captured and place.without is not None:
            captured.append(place.without)
        captured.append(value)
        return value

    blocks = ModelParts(model).stacks[stack].blocks
    with apply_edits([(block, "block", keep) for block in blocks]):
        run()
    return [("embedding" if not number else f"layer {number}", one) for number, one in enumerate(captured)]
