r"""Transformer blocks: self-attention or SSRU, cross-attention and feed-forward, each with residual and norm.

    post-norm (as published)   x = norm(x + f(x))
    pre-norm                   x = x + f(norm(x)),  and one norm after the last block

    self-attention   attend(x W_Q, x W_K, x W_V)                                                    Vaswani et al., 2017
    SSRU             f_t = sigmoid(W_f x_t + b),  c_t = f_t c_{t-1} + (1 - f_t) W x_t,  relu(c_t)    Kim et al., 2019

Self-attention and SSRU take the cache of earlier positions and return it with the new ones, so a block treats them
alike. An encoder block has self-attention and feed-forward; a decoder block has cross-attention between them.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention.attend_with_score import PositionBias, Visible
from regard.attention.hooks import edit
from regard.attention.key_value_cache import KeyValues, fold_beams
from regard.attention.multi_head import MultiHeadAttention, RotaryFunction
from regard.attention.visibility import causal
from regard.config import TransformerStackConfig, TransformerStyle
from regard.cpu_speedups import Dropout
from regard.layers.positions import PositionEncoding


class TanhGELU(nn.GELU):
    """GELU with the normal distribution approximated by tanh, as in GPT-2."""

    def __init__(self) -> None:
        super().__init__(approximate="tanh")


ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "gelu_tanh": TanhGELU, "silu": nn.SiLU}
BlockCache = KeyValues | Float[Tensor, "B W"]
BiasFunction = Callable[[Tensor, int], PositionBias]  # of the positions of the queries (Q) and the number of keys


class FeedForward(nn.Module):
    """W_2 f(W_1 x) or, gated, W_2 (f(W_1 x) * W_3 x), for each position (Shazeer, 2020)."""

    def __init__(
        self, width: int, inner_width: int, *, activation: str = "relu", is_gated: bool = False, bias: bool = True
    ) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, inner_width, bias)
        self.activation = ACTIVATIONS[activation]()
        self.fc2 = nn.Linear(inner_width, width, bias)
        self.fc3 = nn.Linear(width, inner_width, bias) if is_gated else None

    def forward(self, x: Float[Tensor, "B T W"]) -> Float[Tensor, "B T W"]:
        inner: Tensor = self.activation(self.fc1(x))
        output: Tensor = self.fc2(inner if self.fc3 is None else inner * self.fc3(x))
        return output


class SelfAttention(nn.Module):
    """Self-attention over earlier and new positions; the cache holds the keys and values of earlier ones."""

    name: ClassVar[str] = "self-attention"

    def __init__(self, sizes: TransformerStackConfig, options: "BlockOptions", layer: int = 0) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(
            sizes.width,
            sizes.self_attention_heads[layer] if sizes.self_attention_heads else sizes.heads,
            head_width=sizes.width_per_head,
            key_value_heads=sizes.key_value_heads,
            bias=options.linear_bias,
            dropout=options.attention_dropout,
            scaled=options.scale_scores,
            rotate=options.rotate,
        )

    def forward(
        self,
        x: Float[Tensor, "B T W"],
        cache: BlockCache | None,
        visible: Visible,
        positions: Int[Tensor, " T"],
        position_bias: PositionBias = None,
    ) -> tuple[Float[Tensor, "B T W"], BlockCache]:
        new = self.attention.key_values(x, positions)
        key_values = cache.extend(new) if isinstance(cache, KeyValues) else new
        return self.attention(x, key_values, visible, positions=positions, position_bias=position_bias), key_values


class SSRU(nn.Module):
    """The simpler simple recurrent unit: a step costs the same for every length; the cache is one vector."""

    name: ClassVar[str] = "ssru"

    def __init__(self, sizes: TransformerStackConfig, options: "BlockOptions", layer: int = 0) -> None:  # noqa: ARG002
        super().__init__()
        self.forget = nn.Linear(sizes.width, sizes.width)
        self.candidate = nn.Linear(sizes.width, sizes.width, bias=False)

    def forward(
        self,
        x: Float[Tensor, "B T W"],
        cache: BlockCache | None,
        visible: Visible,  # noqa: ARG002  (recurrence is causal)
        positions: Int[Tensor, " T"],  # noqa: ARG002
        position_bias: PositionBias = None,  # noqa: ARG002
    ) -> tuple[Float[Tensor, "B T W"], BlockCache]:
        forget = torch.sigmoid(self.forget(x))
        gated_input = (1 - forget) * self.candidate(x)
        cell = cache if isinstance(cache, Tensor) else torch.zeros_like(gated_input[:, 0])
        cells = []
        for step in range(x.shape[1]):
            cell = forget[:, step] * cell + gated_input[:, step]
            cells.append(cell)
        return torch.relu(torch.stack(cells, dim=1)), cell


SELF_ATTENTION_TYPES: dict[str, type[SelfAttention] | type[SSRU]] = {
    layer.name: layer for layer in (SelfAttention, SSRU)
}  # the choices of `decoder_autoregression`


@dataclass(frozen=True)
class BlockOptions:
    """What all blocks of a stack share besides their sizes."""

    norm: str = "post"
    norm_type: str = "layer_norm"
    norm_epsilon: float = 1e-5
    activation: str = "relu"
    gated_ffn: bool = False
    linear_bias: bool = True
    scale_scores: bool = True
    dropout: float = 0.0
    attention_dropout: float = 0.0
    autoregression: str = "self-attention"
    rotate: RotaryFunction | None = None
    position_bias: BiasFunction | None = None

    @classmethod
    def from_style(
        cls, style: TransformerStyle, positions: PositionEncoding, *, autoregression: str = "self-attention"
    ) -> "BlockOptions":
        """The options of a config, whose fields have the same names."""
        shared = {field.name for field in fields(cls)} - {"autoregression", "rotate", "position_bias"}
        return cls(
            **{name: getattr(style, name) for name in shared},
            autoregression=autoregression,
            rotate=positions.rotate,
            position_bias=positions.position_bias,
        )

    def make_norm(self, width: int) -> nn.LayerNorm | nn.RMSNorm:
        """A normalisation of one position: LayerNorm, or RMSNorm, which subtracts no mean and adds no bias."""
        return (nn.RMSNorm if self.norm_type == "rms_norm" else nn.LayerNorm)(width, self.norm_epsilon)


@dataclass(frozen=True)
class DecoderCache:
    """The cache of each block, and the number of positions in them."""

    caches: tuple[BlockCache | None, ...]
    length: int

    @classmethod
    def empty(cls, blocks: int) -> "DecoderCache":
        return cls((None,) * blocks, 0)


@dataclass(frozen=True)
class CrossAttentionMemory:
    """The keys and values of the memory for each block, and which of them are visible."""

    key_values: tuple[KeyValues, ...]
    visible: Visible


class Residual(nn.Module):
    """The residual connection and the normalisation around one sub-layer."""

    def __init__(self, width: int, options: BlockOptions) -> None:
        super().__init__()
        self.norm = options.make_norm(width)
        self.is_pre = options.norm == "pre"
        self.dropout = Dropout(options.dropout)

    def pre(self, x: Float[Tensor, "B T W"]) -> Float[Tensor, "B T W"]:
        """The input of the sub-layer."""
        return edit(self, "norm", self.norm(x), without=x) if self.is_pre else x

    def post(self, x: Float[Tensor, "B T W"], output: Float[Tensor, "B T W"]) -> Float[Tensor, "B T W"]:
        """x plus the output of the sub-layer; with post-norm, normalised."""
        dropped = self.dropout(output)
        residual_sum = edit(self, "residual", x + dropped, without=dropped)
        return residual_sum if self.is_pre else edit(self, "norm", self.norm(residual_sum), without=residual_sum)


class TransformerBlock(nn.Module):
    """Self-attention or SSRU, cross-attention if there is a memory, feed-forward."""

    def __init__(
        self, sizes: TransformerStackConfig, options: BlockOptions, *, memory_width: int | None = None, layer: int = 0
    ) -> None:
        super().__init__()
        width, bias = sizes.width, options.linear_bias
        self.self_attention = SELF_ATTENTION_TYPES[options.autoregression](sizes, options, layer)
        self.self_attention_residual = Residual(width, options)
        self.cross_attention: MultiHeadAttention | None = None
        if memory_width is not None:
            self.cross_attention = MultiHeadAttention(
                width,
                sizes.cross_attention_heads[layer] if sizes.cross_attention_heads else sizes.heads,
                head_width=sizes.width_per_head,
                key_value_heads=sizes.key_value_heads,
                key_width=memory_width,
                bias=bias,
                dropout=options.attention_dropout,
                scaled=options.scale_scores,
            )
            self.cross_attention_residual = Residual(width, options)
        self.feed_forward = FeedForward(
            width, sizes.ffn_width, activation=options.activation, is_gated=options.gated_ffn, bias=bias
        )
        self.feed_forward_residual = Residual(width, options)

    def forward(
        self,
        x: Float[Tensor, "B T W"],
        visible: Visible,
        positions: Int[Tensor, " T"],
        *,
        position_bias: PositionBias = None,
        cache: BlockCache | None = None,
        memory: tuple[KeyValues, Visible] | None = None,
    ) -> tuple[Float[Tensor, "B T W"], BlockCache]:
        output, cache = self.self_attention(
            self.self_attention_residual.pre(x), cache, visible, positions, position_bias
        )
        x = self.self_attention_residual.post(x, output)
        if self.cross_attention is not None:
            if memory is None:
                raise ValueError("this block has cross-attention and needs a memory; none was given")
            query = fold_beams(self.cross_attention, self.cross_attention_residual.pre(x), memory[0])
            output = self.cross_attention(query, *memory, positions=positions).view_as(x)
            x = self.cross_attention_residual.post(x, output)
        output = self.feed_forward(self.feed_forward_residual.pre(x))
        return self.feed_forward_residual.post(x, output), cache


class TransformerStack(nn.Module):
    """A stack of blocks; with pre-norm, a final normalisation."""

    def __init__(
        self, sizes: TransformerStackConfig, options: BlockOptions, *, memory_width: int | None = None
    ) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            TransformerBlock(sizes, options, memory_width=memory_width, layer=layer) for layer in range(sizes.layers)
        )
        self.norm = options.make_norm(sizes.width) if options.norm == "pre" else nn.Identity()
        self.position_bias = options.position_bias

    def project_memory(self, memory: Float[Tensor, "B S M"], visible: Visible) -> CrossAttentionMemory:
        """The keys and values of the memory for the cross-attention of every block, computed once."""
        key_values = tuple(block.cross_attention.key_values(memory) for block in self.blocks)  # type: ignore[union-attr,operator]
        return CrossAttentionMemory(key_values, visible)

    def forward(
        self,
        x: Float[Tensor, "B T W"],
        visible: Visible,
        positions: Int[Tensor, " T"],
        *,
        cache: DecoderCache | None = None,
        memory: CrossAttentionMemory | None = None,
    ) -> tuple[Float[Tensor, "B T W"], DecoderCache]:
        """x after the last block, and the cache with these positions added."""
        cache = cache or DecoderCache.empty(len(self.blocks))
        bias = None if self.position_bias is None else self.position_bias(positions, cache.length + x.shape[1])
        block_caches = []
        for index, block in enumerate(self.blocks):
            block_memory = None if memory is None else (memory.key_values[index], memory.visible)
            own = {"position_bias": bias, "cache": cache.caches[index], "memory": block_memory}
            output, block_cache = block(x, visible, positions, **own)
            x = edit(block, "block", output, positions, without=x)
            block_caches.append(block_cache)
        return edit(self, "norm", self.norm(x), without=x), DecoderCache(tuple(block_caches), cache.length + x.shape[1])


def causal_visibility(positions: Int[Tensor, " T"], keys: int) -> Visible:
    """The causal rule for the last positions of a sequence of `keys` tokens; to a single last one, all are visible."""
    if len(positions) == 1:
        return None
    if len(positions) == keys:
        return "causal"
    return causal(positions, torch.arange(keys, device=positions.device))


def init_xavier(model: nn.Module) -> None:
    """Xavier-uniform matrices and zero biases, the usual initialisation of a Transformer."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
