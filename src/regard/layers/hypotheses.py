"""Several hypotheses about one source: rows of tokens side by side, for which the memory has one row."""

from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.key_values import KeyValues
from regard.attention.recording import recording_of


def together(layer: nn.Module, asking: Float[Tensor, "N Q W"], key_values: KeyValues) -> Float[Tensor, "B R W"]:
    """What an attention layer is asked: the queries of all hypotheses of a source as so many queries of its one row."""
    rows = len(key_values.key)
    if len(asking) != rows and recording_of(layer) is not None:
        raise ValueError(
            "a recording cannot tell hypotheses apart; to see what a finished output looked at, rescore it"
        )
    return asking.reshape(rows, -1, asking.shape[-1])


def beside(embedded: Float[Tensor, "N T E"], context: Float[Tensor, "B C"]) -> Float[Tensor, "N T C"]:
    """Its source's context for every token."""
    rows, length, _ = embedded.shape
    return context[:, None, None].expand(-1, rows // len(context), length, -1).reshape(rows, length, -1)
