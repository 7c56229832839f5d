"""Where a model attends in an image: the trace, its maps as grids, word by word, and the pointing game by head."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.attention.hooks import record_attention
from regard.batch import ImageFeatures, Images
from regard.bundle import Bundle
from regard.decoding.loop import forced_decode
from regard.errors import RegardError
from regard.metrics.pointing_game import PointingScore, Rectangle, pointing_game
from regard.models.interface import role_of
from regard.tokenization.text import group_into_words
from regard.tracing.alignment import HeadSelection, all_selections, select_weights
from regard.tracing.capture import LayerWeights
from regard.tracing.trace import MAX_TRACE_TOKENS, TokenSequence, Trace, trace_source

WordMaps = list[tuple[str, NDArray[np.float32]]]  # each word with its map (rows, columns)


# --- traces ----------------------------------------------------------------------------------------------------------


def trace_image(bundle: Bundle, source: Images | ImageFeatures, tokens: list[int]) -> Trace:
    """The trace of a caption, given as tokens, of one image; the source's pieces are the cells of the grid."""
    if len(tokens) > MAX_TRACE_TOKENS:
        raise RegardError(f"the caption has {len(tokens)} tokens; a trace holds at most {MAX_TRACE_TOKENS}.")
    return trace_source(bundle, source, grid_cells(bundle), tokens)


def grid_cells(bundle: Bundle) -> TokenSequence:
    """The cells of the image encoder's grid, row by row: `2,3` is the third cell of the second row.

    Before them, if the encoder has one, its class token.
    """
    side, encoder = _grid_size(bundle), bundle.config.model.image_encoder  # type: ignore[union-attr]
    names = ["[CLS]"] if getattr(encoder, "class_token", False) else []
    names += [f"{row},{column}" for row in range(1, side + 1) for column in range(1, side + 1)]
    return TokenSequence(pieces=names, word_pieces=[[index] for index in range(len(names))], words=names)


def image_maps(trace: Trace, layer: int | None = None, head: int | None = None) -> NDArray[np.float32]:
    """The attention to the image for each token and `</s>`: (tokens, rows, columns), each map with a sum of one.

    None is the mean: over all layers that attend to the image, over all heads of a layer.
    """
    layers = trace.layers_with_role("image-cross")
    if not layers:
        raise RegardError("this model has no attention to its image, so it has no maps.")
    if layer is not None and not 0 <= layer < len(layers):
        raise RegardError(f"there is no layer {layer}; {len(layers)} attend to the image, counted from 0.")
    weights = trace.mean("image-cross", head) if layer is None else trace.weights(layers[layer], head)
    side = round(weights.shape[-1] ** 0.5)
    return weights.reshape(len(weights), side, side)


def word_image_maps(trace: Trace, layer: int | None = None, head: int | None = None) -> WordMaps:
    """Each word of the caption with its attention to the image: the mean over the word's tokens; or the class."""
    if trace.is_class:
        return list(zip(trace.target.words, image_maps(trace, layer, head), strict=True))
    return _merge_by_word(trace.target, image_maps(trace, layer, head))


def partial_word_maps(bundle: Bundle, source: Images | ImageFeatures, tokens: list[int]) -> WordMaps:
    """Each word of an unfinished caption with its map: the mean head of the last layer that attends to the image.

    Cheaper than a trace, so that it can be computed after each token; empty for a model without attention.
    """
    layers = _image_layers(bundle, source, tokens)
    if not layers:
        return []
    target, side = TokenSequence.from_pieces(["<s>", *bundle.tokenizers.target.pieces(tokens)]), _grid_size(bundle)
    mean = layers[-1].mean(axis=0)
    return _merge_by_word(target, mean.reshape(len(mean), side, side))


def image_attention(bundle: Bundle, source: Images | ImageFeatures, tokens: list[int]) -> LayerWeights:
    """Every layer's weights (heads, queries, keys) for the tokens of a caption of one image."""
    with record_attention(bundle.model) as recording:
        forced_decode(bundle.model, source, [tokens], sentences=[0])  # type: ignore[arg-type]
    return {name: kept["weights"][0].float().cpu().numpy() for name, kept in recording.layers.items()}


def _image_layers(bundle: Bundle, source: Images | ImageFeatures, tokens: list[int]) -> list[NDArray[np.float32]]:
    weights = image_attention(bundle, source, tokens)
    return [own for name, own in weights.items() if role_of(name) == "image-cross"]


def _merge_by_word(target: TokenSequence, maps: NDArray[np.float32]) -> WordMaps:
    groups = zip(target.words[1:], target.word_pieces[1:], strict=True)  # the first word is `<s>`
    return [(word, maps[[piece - 1 for piece in pieces]].mean(axis=0)) for word, pieces in groups]


def _grid_size(bundle: Bundle) -> int:
    return bundle.config.model.image_encoder.grid_size  # type: ignore[union-attr]


# --- the pointing game -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BoxedCaption:
    """An image, (3, size, size), its gold caption word by word, and the boxes of the objects that each word names."""

    image: NDArray[np.uint8]
    words: list[str]
    boxes: Sequence[Sequence[Rectangle]]


@dataclass(frozen=True)
class HeadPointing:
    """How well one selection points."""

    selection: HeadSelection
    score: PointingScore


def score_pointing(bundle: Bundle, captions: Iterable[BoxedCaption]) -> list[HeadPointing]:
    """Every selection of layer, head and decoder step for the maps of gold captions, the most accurate peaks first.

    The list is empty without captions, and for a model without attention.
    """
    maps: dict[HeadSelection, list[NDArray[np.float32]]] = defaultdict(list)
    boxes: list[Sequence[Rectangle]] = []
    for caption in captions:
        for selection, own in _maps_by_selection(bundle, caption).items():
            maps[selection] += own
        boxes += caption.boxes
    scores = [HeadPointing(selection, pointing_game(own, boxes)) for selection, own in maps.items()]
    return sorted(scores, key=lambda one: -one.score.peak)


def _maps_by_selection(bundle: Bundle, caption: BoxedCaption) -> dict[HeadSelection, list[NDArray[np.float32]]]:
    """The map of each word of a gold caption, by every selection."""
    text, side = " ".join(caption.words), _grid_size(bundle)
    tokens = bundle.tokenizers.target.encode(text)
    groups = group_into_words(bundle.tokenizers.target.pieces(tokens))
    if len(groups) != len(caption.words):
        raise RegardError(
            f"the caption {text!r} has {len(caption.words)} words, but this model tokenises it into {len(groups)}. "
            "Pointing needs a vocabulary whose words are those between spaces."
        )
    source = Images.from_array(caption.image[None]).to(next(bundle.model.parameters()).device)
    layers, by_selection = _image_layers(bundle, source, tokens), {}
    for selection in all_selections([len(one) for one in layers]):
        weights = select_weights(layers, selection)
        maps = weights.reshape(len(weights), side, side)
        first = 1 if selection.at == "input" else 0  # query 0 reads `<s>` and outputs the first token
        by_selection[selection] = [maps[[piece + first for piece in pieces]].mean(axis=0) for pieces in groups]
    return by_selection
