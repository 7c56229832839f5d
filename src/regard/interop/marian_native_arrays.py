"""Models of Marian itself, such as Firefox's translators: the names of their arrays, and what never varies in them.

Marian's Transformer begins its output with a vector of zeros, has its own sinusoids (sines before cosines) and a layer
norm with an epsilon of 1e-6. Its decoders have self-attention or, in Firefox, an SSRU. The ids of the sentencepiece
model are the rows of the tables.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from regard.config import TransformerConfig
from regard.interop.marian_files import Array

NORM_EPSILON = 1e-6
ACTIVATIONS = {"relu": "relu", "swish": "silu"}  # its GELU is another approximation than ours
# Dropout, addition, norm after each sub-layer. With the norm before it, Marian normalises queries, not keys and values.
POST_NORM = {"transformer-preprocess": "", "transformer-postprocess": "dan", "transformer-postprocess-top": ""}


class Name(NamedTuple):
    """One tensor of ours, and its array in Marian, which is the transpose of a matrix."""

    ours: str
    theirs: str

    def to_ours(self, array: Array) -> Tensor:
        tensor = torch.from_numpy(array)
        return tensor.flatten() if self.is_vector else tensor.T.contiguous()

    def to_theirs(self, tensor: Tensor) -> Array:
        return (tensor.unsqueeze(0) if self.is_vector else tensor.T).contiguous().numpy()

    @property
    def is_vector(self) -> bool:
        return self.ours.endswith("bias") or "norm." in self.ours


def array_names(model: TransformerConfig) -> Iterator[Name]:
    """All tensors inside the blocks."""
    is_ssru = model.decoder_autoregression == "ssru"
    for side in ("encoder", "decoder"):
        for index in range(getattr(model, side).layers):
            own, their = f"{side}.blocks.{index}", f"{side}_l{index + 1}"
            if side == "decoder" and is_ssru:
                yield Name(f"{own}.self_attention.forget.weight", f"{their}_rnn_Wf")
                yield Name(f"{own}.self_attention.forget.bias", f"{their}_rnn_bf")
                yield Name(f"{own}.self_attention.candidate.weight", f"{their}_rnn_W")
                yield from _norm(f"{own}.self_attention_residual.norm", f"{their}_rnn_ffn")
            else:
                yield from _attention(f"{own}.self_attention.attention", f"{their}_self")
                yield from _norm(f"{own}.self_attention_residual.norm", f"{their}_self_Wo")
            if side == "decoder":
                yield from _attention(f"{own}.cross_attention", f"{their}_context")
                yield from _norm(f"{own}.cross_attention_residual.norm", f"{their}_context_Wo")
            for number in (1, 2):
                yield Name(f"{own}.feed_forward.fc{number}.weight", f"{their}_ffn_W{number}")
                yield Name(f"{own}.feed_forward.fc{number}.bias", f"{their}_ffn_b{number}")
            yield from _norm(f"{own}.feed_forward_residual.norm", f"{their}_ffn_ffn")


def _attention(ours: str, theirs: str) -> Iterator[Name]:
    for part in ("query", "key", "value", "output"):
        yield Name(f"{ours}.{part}.weight", f"{theirs}_W{part[0]}")
        yield Name(f"{ours}.{part}.bias", f"{theirs}_b{part[0]}")


def _norm(ours: str, theirs: str) -> Iterator[Name]:
    yield Name(f"{ours}.weight", f"{theirs}_ln_scale")
    yield Name(f"{ours}.bias", f"{theirs}_ln_bias")


def table_of(side: str, arrays: dict[str, Array]) -> Array:
    """The embeddings of a side, which may be one table for both."""
    return arrays["Wemb"] if "Wemb" in arrays else arrays[f"{side}_Wemb"]
