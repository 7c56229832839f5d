"""What each attention of a model is used for, read off the name that it has inside the model.

Self- and cross-attention are uses, so they name attributes, not classes; this is the one place that reads those names.
"""

from typing import Literal

Use = Literal["encoder-self", "decoder-self", "cross", "picture", "picture-self"]
QuerySide = Literal["source", "target", "picture"]
KeySide = Literal["source", "target", "picture"]

_SIDES: dict[Use, tuple[QuerySide, KeySide]] = {
    "encoder-self": ("source", "source"),
    "decoder-self": ("target", "target"),
    "cross": ("target", "source"),
    "picture": ("target", "picture"),
    "picture-self": ("picture", "picture"),
}
CROSS = "cross_attention"
_SELF: dict[str, Use] = {
    "encoder": "encoder-self",
    "decoder": "decoder-self",
    "picture_decoder": "decoder-self",
    "eye": "picture-self",
}
_EMBEDDINGS = {
    "encoder": ("source_embedding", "embedding"),
    "decoder": ("target_embedding", "embedding"),
    "picture_decoder": ("embedding",),
}


def embedding_names(stack: str) -> tuple[str, ...]:
    """What the module may be called whose tokens enter this stack of blocks; a picture's patches enter none."""
    return _EMBEDDINGS.get(stack, ())


def use_of(name: str) -> Use:
    """What the attention of this module name is used for, such as "cross" for `decoder.blocks.1.cross_attention`."""
    parts = name.split(".")
    if CROSS in parts:
        return "picture" if parts[0] == "picture_decoder" else "cross"
    if "picture_attention" in parts:
        return "picture"
    if "self_attention" in parts and parts[0] in _SELF:
        return _SELF[parts[0]]
    raise ValueError(
        f"{name!r} does not say what it is used for; name an attention {CROSS} or picture_attention, or "
        f"self_attention inside one of {', '.join(_SELF)}"
    )


def sides_of(use: Use) -> tuple[QuerySide, KeySide]:
    """Whose tokens ask in an attention of this use, and whose are looked at."""
    return _SIDES[use]
