"""What passes the blocks of a Transformer in a watched pass, as the numbers of each of them."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from regard.layers.blocks import AddNorm, Block, BlockStack
from regard.layers.embedding import PlacedEmbedding
from regard.layers.feed_forward import ACTIVATIONS, FeedForward
from regard.layers.mixers import AttentionMixer
from regard.layers.positions import Learned, Positions, Sinusoidal, sinusoidal
from regard.models.encoder_only import EncoderOnlyModel, MaskedTokenHead
from regard.models.uses import embedding_names
from regard.translation.around import (
    BlockNumbers,
    Embedding,
    FeedForwardNumbers,
    HeadNumbers,
    Norm,
    SubLayer,
    SubLayerKind,
)
from regard.translation.arrays import Array, as_array, as_linear
from regard.translation.passing import Passed

SUB_LAYERS = ("self_attention", "cross_attention", "feed_forward")
_NAMES = {kind: name for name, kind in ACTIVATIONS.items()}
Passing = dict[str, Passed]


def block_parts(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """All that has to be watched for the blocks' numbers."""
    inside = (Block, FeedForward, MaskedTokenHead)  # and their children
    for name, module in model.named_modules():
        is_child = isinstance(model.get_submodule(name.rpartition(".")[0]), inside)
        if is_child or isinstance(module, (Block, PlacedEmbedding, nn.LayerNorm)):
            yield name, module


def block_numbers(model: nn.Module, passed: Passing, attentions: list[str]) -> list[BlockNumbers]:
    """The numbers of every block that ran; `attentions` are the names of the trace's layers."""
    stacks = [(name, stack) for name, stack in model.named_modules() if isinstance(stack, BlockStack)]
    return [
        _StackReader(model, passed, attentions).block(name, stack, number)
        for name, stack in stacks
        for number in range(len(stack.blocks))
        if passed[f"{name}.blocks.{number}"].outputs
    ]


class _StackReader:
    """Reads the numbers of a stack's blocks out of what passed."""

    def __init__(self, model: nn.Module, passed: Passing, attentions: list[str]) -> None:
        self.model, self.passed, self.attentions = model, passed, attentions

    def block(self, stack_name: str, stack: BlockStack, number: int) -> BlockNumbers:
        name, is_last = f"{stack_name}.blocks.{number}", number == len(stack.blocks) - 1
        has_last_norm = is_last and isinstance(stack.norm, nn.LayerNorm)
        return BlockNumbers(
            name=name,
            number=number,
            is_last=is_last,
            below=self._attention(f"{stack_name}.blocks.{number - 1}"),
            above=self._attention(f"{stack_name}.blocks.{number + 1}"),
            embedding=self._embedding(stack_name) if number == 0 else None,
            sub_layers=self._sub_layers(name, stack.blocks[number]),  # type: ignore[arg-type]
            feed_forward=self._feed_forward(f"{name}.feed_forward", stack.blocks[number].feed_forward),  # type: ignore[arg-type]
            last_norm=self._norm(f"{stack_name}.norm") if has_last_norm else None,
            head=self._head() if is_last and isinstance(self.model, EncoderOnlyModel) else None,
        )

    def _sub_layers(self, name: str, block: Block) -> list[SubLayer]:
        """Each of them begins where the one before has ended; with pre-norm, the last ends where the block does."""
        children = [child for child in SUB_LAYERS if getattr(block, child) is not None]
        arounds: list[AddNorm] = [getattr(block, f"around_{child}") for child in children]
        norms = [self._norm(f"{name}.around_{child}.norm") for child in children]
        end = as_array(self.passed[name].left[0])
        begins = [as_array(self.passed[name].entered[0])]
        if arounds[0].is_pre:
            begins += [norm.x for norm in norms[1:]]
            sums = [*begins[1:], end]
        else:
            begins += [norm.output for norm in norms[:-1]]
            sums = [norm.x for norm in norms]
        return [
            SubLayer(
                kind=_kind(getattr(block, child)),
                attention=self._attention(f"{name}.{child}"),
                x=begins[index],
                pre_norm=norms[index] if arounds[index].is_pre else None,
                found=self._left(f"{name}.{child}").reshape(begins[index].shape),
                added=sums[index],
                post_norm=None if arounds[index].is_pre else norms[index],
            )
            for index, child in enumerate(children)
        ]

    def _feed_forward(self, name: str, network: FeedForward) -> FeedForwardNumbers:
        return FeedForwardNumbers(
            activation=_NAMES[type(network.activation)],
            x=as_array(self.passed[f"{name}.widen"].entered[0]),
            inner=self._left(f"{name}.widen"),
            activated=self._left(f"{name}.activation"),
            output=self._left(f"{name}.narrow"),
            widen=as_linear(network.widen),
            narrow=as_linear(network.narrow),
        )

    def _embedding(self, stack: str) -> Embedding | None:
        """What enters the stack's first block, where that is tokens."""
        name = next((one for one in embedding_names(stack) if hasattr(self.model, one)), None)
        if name is None:
            return None
        placed: PlacedEmbedding = getattr(self.model, name)
        tokens = self.passed[name].entered[0]
        has_norm = isinstance(self.model, EncoderOnlyModel)
        return Embedding(
            token=as_array(placed.tokens.weight[tokens]),
            scale=placed.tokens.scale,
            position=_position(placed.positions, len(tokens)),
            output=self._left(name),
            norm=self._norm("norm") if has_norm else None,
        )

    def _head(self) -> HeadNumbers:
        head: Any = self.model.head
        return HeadNumbers(
            activation=_NAMES[type(head.activation)],
            inner=self._left("head.transform"),
            norm=self._norm("head.norm"),
        )

    def _norm(self, name: str) -> Norm:
        norm: Any = self.model.get_submodule(name)
        x = as_array(self.passed[name].entered[0])
        gain, bias = as_array(norm.weight), as_array(norm.bias)
        return Norm(x=x, gain=gain, bias=bias, epsilon=norm.eps, output=self._left(name))

    def _left(self, name: str) -> Array:
        return as_array(self.passed[name].left[0])

    def _attention(self, within: str) -> int | None:
        """The trace's first layer with such a name, or below it."""
        found = (index for index, name in enumerate(self.attentions) if f"{name}.".startswith(f"{within}."))
        return next(found, None)


def _kind(part: nn.Module) -> SubLayerKind:
    if isinstance(part, FeedForward):
        return "feed-forward"
    if isinstance(part, AttentionMixer):
        return "self-attention"
    return "cross-attention" if hasattr(part, "key") else "recurrence"


def _position(positions: Positions, length: int) -> Array | None:
    """What is added to the tokens to tell where they stand."""
    if isinstance(positions, Sinusoidal):
        return as_array(sinusoidal(torch.arange(length), positions.width, layout=positions.layout))
    return as_array(positions.weight[:length]) if isinstance(positions, Learned) else None
