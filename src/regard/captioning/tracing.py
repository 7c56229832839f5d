"""Where a captioner looked: the trace of a picture, and its maps as grids, word by word."""

import numpy as np
from numpy.typing import NDArray

from regard.attention.recording import record_attention
from regard.batch import Grid, Pictures
from regard.bundle import Bundle
from regard.decoding.rescoring import read_again
from regard.errors import RegardError
from regard.models.uses import use_of
from regard.translation.attention_maps import Maps
from regard.translation.trace import LONGEST_TRACE, Side, Trace, trace_source


def trace_picture(bundle: Bundle, source: Pictures | Grid, tokens: list[int]) -> Trace:
    """The trace of a model that is made to say the tokens of one picture; its source's pieces are the places."""
    if len(tokens) > LONGEST_TRACE:
        raise RegardError(f"the caption has {len(tokens)} tokens; a trace holds at most {LONGEST_TRACE}.")
    return trace_source(bundle, source, places_of(bundle), tokens)


def places_of(bundle: Bundle) -> Side:
    """The places of the eye's grid, row by row, each a word by itself: `2,3` is the third place of the second row."""
    side = bundle.config.model.eye.side  # type: ignore[union-attr]
    names = [f"{row},{column}" for row in range(1, side + 1) for column in range(1, side + 1)]
    return Side(pieces=names, words=[[index] for index in range(len(names))], spelled=names)


def grid_maps(trace: Trace, layer: int | None = None, head: int | None = None) -> NDArray[np.float32]:
    """Where the model looked as it said each token and `</s>`: (tokens, rows, columns), each map with a sum of one.

    None is the mean: over all layers that look at the picture, over all heads of a layer.
    """
    layers = trace.of_use("picture")
    if not layers:
        raise RegardError("this model has no attention over its picture: one without attention looks nowhere.")
    if layer is not None and not 0 <= layer < len(layers):
        raise RegardError(f"there is no layer {layer}; {len(layers)} look at the picture, counted from 0.")
    weights = trace.mean("picture", head) if layer is None else trace.weights(layers[layer], head)
    side = round(weights.shape[-1] ** 0.5)
    return weights.reshape(len(weights), side, side)


def word_maps(trace: Trace, layer: int | None = None, head: int | None = None) -> list[tuple[str, NDArray[np.float32]]]:
    """Each word of the caption with where the model looked as it said it: the mean over the word's tokens."""
    return _by_word(trace.target, grid_maps(trace, layer, head))


def said_so_far(bundle: Bundle, source: Pictures | Grid, tokens: list[int]) -> list[tuple[str, NDArray[np.float32]]]:
    """Each word of a caption that still grows, with its map: the mean head of the last layer that looks at the picture.

    Without the rest of a trace, so that it can be had after each token; of a model without attention there is none.
    """
    layers = [weights for name, weights in picture_maps(bundle, source, tokens).items() if use_of(name) == "picture"]
    if not layers:
        return []
    target = Side.of(["<s>", *bundle.tokenizers.target.pieces(tokens)])
    mean, side = layers[-1].mean(axis=0), bundle.config.model.eye.side  # type: ignore[union-attr]
    maps = mean.reshape(len(mean), side, side)
    return _by_word(target, maps)


def picture_maps(bundle: Bundle, source: Pictures | Grid, tokens: list[int]) -> Maps:
    """Every layer's weights (heads, queries, keys) as the model says the tokens of one picture."""
    with record_attention(bundle.model) as recording:
        read_again(bundle.model, source, [tokens], sentences=[0])  # type: ignore[arg-type]
    return {name: kept["weights"][0].float().cpu().numpy() for name, kept in recording.layers.items()}


def _by_word(target: Side, maps: NDArray[np.float32]) -> list[tuple[str, NDArray[np.float32]]]:
    groups = zip(target.spelled[1:], target.words[1:], strict=True)  # the first word is `<s>`
    return [(word, maps[[piece - 1 for piece in pieces]].mean(axis=0)) for word, pieces in groups]
