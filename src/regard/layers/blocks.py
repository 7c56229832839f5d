r"""Transformer blocks: sub-layers in a row, each with a residual connection and layer normalisation around it.

    post-norm (as published)   x = norm(x + f(x))
    pre-norm                   x = x + f(norm(x)),  and one norm after the last block

One block serves everywhere: an encoder's has self-attention and feed-forward, a decoder's has cross-attention between.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention.general import Visible
from regard.attention.key_values import KeyValues
from regard.attention.multi_head import MultiHeadAttention, Rotate
from regard.attention.visibility import causal
from regard.config import Stack
from regard.layers.dropout import Dropout
from regard.layers.feed_forward import FeedForward
from regard.layers.hypotheses import together
from regard.layers.mixers import AttentionMixer, Cache, RecurrentMixer


@dataclass(frozen=True)
class BlockStyle:
    """What all blocks of a stack have in common besides their sizes."""

    norm: str = "post"
    activation: str = "relu"
    mixer: str = "attention"
    dropout: float = 0.0
    attention_dropout: float = 0.0
    inner_dropout: float = 0.0
    rotate: Rotate | None = None


@dataclass(frozen=True)
class Past:
    """What a stack keeps of the positions it has seen: a cache for each block, and how many they were."""

    caches: tuple[Cache | None, ...]
    length: int

    @classmethod
    def empty(cls, blocks: int) -> "Past":
        return cls((None,) * blocks, 0)


@dataclass(frozen=True)
class Sight:
    """What cross-attention may look at: keys and values of the memory for each block, and which of them are visible."""

    key_values: tuple[KeyValues, ...]
    visible: Visible


class AddNorm(nn.Module):
    """The residual connection and the normalisation around one sub-layer."""

    def __init__(self, width: int, style: BlockStyle) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.is_pre = style.norm == "pre"
        self.dropout = Dropout(style.dropout)

    def enter(self, x: Float[Tensor, "B T W"]) -> Float[Tensor, "B T W"]:
        """What the sub-layer is given."""
        return self.norm(x) if self.is_pre else x

    def leave(self, x: Float[Tensor, "B T W"], found: Float[Tensor, "B T W"]) -> Float[Tensor, "B T W"]:
        """x with what the sub-layer found added to it."""
        added: Tensor = x + self.dropout(found)
        return added if self.is_pre else self.norm(added)


class Block(nn.Module):
    """Self-attention (or its recurrent stand-in), cross-attention where there is a memory, feed-forward."""

    def __init__(self, sizes: Stack, style: BlockStyle, *, memory_width: int | None = None) -> None:
        super().__init__()
        width, heads, dropout = sizes.width, sizes.heads, style.attention_dropout
        self.self_attention: AttentionMixer | RecurrentMixer
        if style.mixer == "attention":
            self.self_attention = AttentionMixer(width, heads, dropout=dropout, rotate=style.rotate)
        else:
            self.self_attention = RecurrentMixer(width)
        self.around_self_attention = AddNorm(width, style)
        self.cross_attention: MultiHeadAttention | None = None
        if memory_width is not None:
            self.cross_attention = MultiHeadAttention(width, heads, inputs=memory_width, dropout=dropout)
            self.around_cross_attention = AddNorm(width, style)
        self.feed_forward = FeedForward(width, sizes.inner, activation=style.activation, dropout=style.inner_dropout)
        self.around_feed_forward = AddNorm(width, style)

    def forward(
        self,
        x: Float[Tensor, "B T W"],
        visible: Visible,
        positions: Int[Tensor, " T"],
        *,
        cache: Cache | None = None,
        sight: tuple[KeyValues, Visible] | None = None,
    ) -> tuple[Float[Tensor, "B T W"], Cache]:
        found, cache = self.self_attention(self.around_self_attention.enter(x), cache, visible, positions)
        x = self.around_self_attention.leave(x, found)
        if self.cross_attention is not None:
            if sight is None:
                raise ValueError("this block has cross-attention, and was given nothing to look at")
            asking = together(self.cross_attention, self.around_cross_attention.enter(x), sight[0])
            x = self.around_cross_attention.leave(x, self.cross_attention(asking, *sight).view_as(x))
        found = self.feed_forward(self.around_feed_forward.enter(x))
        return self.around_feed_forward.leave(x, found), cache


class BlockStack(nn.Module):
    """Blocks one on top of the other; with pre-norm, a last normalisation above them."""

    def __init__(self, sizes: Stack, style: BlockStyle, *, memory_width: int | None = None) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(sizes, style, memory_width=memory_width) for _ in range(sizes.layers))
        self.norm = nn.LayerNorm(sizes.width) if style.norm == "pre" else nn.Identity()

    def look_at(self, memory: Float[Tensor, "B S M"], visible: Visible) -> Sight:
        """Keys and values of the memory for every block's cross-attention, computed once."""
        return Sight(tuple(block.cross_attention.key_values(memory) for block in self.blocks), visible)  # type: ignore[union-attr,operator]

    def forward(
        self,
        x: Float[Tensor, "B T W"],
        visible: Visible,
        positions: Int[Tensor, " T"],
        *,
        past: Past | None = None,
        sight: Sight | None = None,
    ) -> tuple[Float[Tensor, "B T W"], Past]:
        """x after every block, and the past with these positions in it."""
        past = past or Past.empty(len(self.blocks))
        caches = []
        for index, block in enumerate(self.blocks):
            seen = None if sight is None else (sight.key_values[index], sight.visible)
            x, cache = block(x, visible, positions, cache=past.caches[index], sight=seen)
            caches.append(cache)
        return self.norm(x), Past(tuple(caches), past.length + x.shape[1])


def causal_newest(positions: Int[Tensor, " T"], keys: int) -> Visible:
    """The causal rule for the newest positions of a sequence that is now `keys` long: a single newest one sees all."""
    if len(positions) == 1:
        return None
    if len(positions) == keys:
        return "causal"
    return causal(positions, torch.arange(keys, device=positions.device))


def initialise(model: nn.Module) -> None:
    """Matrices by Xavier's uniform rule and biases zero, as the Transformer is usually begun."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
