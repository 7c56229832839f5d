"""The recorded numbers of each Transformer block, as trees with the field names of `BlockArithmetic`."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from regard.layers.embedding import PositionedEmbedding
from regard.layers.transformer_block import (
    ACTIVATIONS,
    FeedForward,
    Residual,
    SelfAttention,
    TransformerBlock,
    TransformerStack,
)
from regard.models.encoder_only import EncoderOnlyModel, MaskedTokenHead
from regard.models.interface import embedding_of_stack
from regard.tracing.activations import Activations, linear_arrays, to_array
from regard.tracing.arithmetic import BlockArrays, PerPosition, SublayerKind

NORMS = (nn.LayerNorm, nn.RMSNorm)
SUBLAYER_NAMES = ("self_attention", "cross_attention", "feed_forward")
_ACTIVATION_NAMES = {kind: name for name, kind in ACTIVATIONS.items()}
ActivationsByName = dict[str, Activations]
Tree = dict[str, Any]  # numbers by name; at its leaves PerPosition, arrays, plain values


def block_modules(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """The modules whose inputs and outputs must be recorded."""
    inside = (TransformerBlock, FeedForward, MaskedTokenHead)  # and their children
    for name, module in model.named_modules():
        is_child = isinstance(model.get_submodule(name.rpartition(".")[0]), inside)
        if is_child or isinstance(module, (TransformerBlock, PositionedEmbedding, *NORMS)):
            yield name, module


def block_arrays(model: nn.Module, activations: ActivationsByName, attentions: list[str]) -> list[BlockArrays]:
    """The numbers of every block that ran; `attentions` are the names of the trace's layers."""
    stacks = [(name, stack) for name, stack in model.named_modules() if isinstance(stack, TransformerStack)]
    return [
        _BlockCapture(model, activations, attentions).block(name, stack, number)
        for name, stack in stacks
        for number in range(len(stack.blocks))
        if activations[f"{name}.blocks.{number}"].output_parts
    ]


class _BlockCapture:
    """Takes the numbers of a stack's blocks from the recorded activations."""

    def __init__(self, model: nn.Module, activations: ActivationsByName, attentions: list[str]) -> None:
        self.model, self.activations, self.attentions = model, activations, attentions

    def block(self, stack_name: str, stack: TransformerStack, number: int) -> BlockArrays:
        name, is_last = f"{stack_name}.blocks.{number}", number == len(stack.blocks) - 1
        has_last_norm = is_last and isinstance(stack.norm, NORMS)
        block: TransformerBlock = stack.blocks[number]  # type: ignore[assignment]
        tree = {
            "number": number,
            "is_last": is_last,
            "previous_block": self._attention(f"{stack_name}.blocks.{number - 1}"),
            "next_block": self._attention(f"{stack_name}.blocks.{number + 1}"),
            "embedding": self._embedding(stack_name) if number == 0 else None,
            "sublayers": self._sublayers(name, block),
            "feed_forward": self._feed_forward(f"{name}.feed_forward", block.feed_forward),
            "last_norm": self._norm(f"{stack_name}.norm") if has_last_norm else None,
            "head": self._head()
            if is_last and isinstance(getattr(self.model, "head", None), MaskedTokenHead)
            else None,
        }
        fc1, fc2 = linear_arrays(block.feed_forward.fc1), linear_arrays(block.feed_forward.fc2)
        return BlockArrays(name=name, is_last=is_last, tree=tree, fc1=fc1, fc2=fc2)

    def _sublayers(self, name: str, block: TransformerBlock) -> list[Tree]:
        """The input of each is the output of the one before; with pre-norm, the last output is that of the block."""
        children = [child for child in SUBLAYER_NAMES if getattr(block, child) is not None]
        residuals: list[Residual] = [getattr(block, f"{child}_residual") for child in children]
        norms = [self._norm(f"{name}.{child}_residual.norm") for child in children]
        inputs = [self._input(name)]
        if residuals[0].is_pre:
            inputs += [norm["x"] for norm in norms[1:]]
            sums = [*inputs[1:], self._output(name)]
        else:
            inputs += [norm["output"] for norm in norms[:-1]]
            sums = [norm["x"] for norm in norms]
        return [
            {
                "kind": _sublayer_kind(getattr(block, child)),
                "attention": self._attention(f"{name}.{child}"),
                "x": inputs[index],
                "pre_norm": norms[index] if residuals[index].is_pre else None,
                "output": PerPosition(self._output(f"{name}.{child}").array.reshape(inputs[index].array.shape)),
                "residual_sum": sums[index],
                "post_norm": None if residuals[index].is_pre else norms[index],
            }
            for index, child in enumerate(children)
        ]

    def _feed_forward(self, name: str, network: FeedForward) -> Tree:
        return {
            "activation": _ACTIVATION_NAMES[type(network.activation)],
            "x": self._input(f"{name}.fc1"),
            "fc1_output": self._output(f"{name}.fc1"),
            "activated": self._output(f"{name}.activation"),
            "fc3_output": None if network.fc3 is None else self._output(f"{name}.fc3"),
            "output": self._output(f"{name}.fc2"),
        }

    def _embedding(self, stack: str) -> Tree | None:
        """The input of the stack's first block, where that is tokens."""
        name = next((one for one in embedding_of_stack(stack) if hasattr(self.model, one)), None)
        if name is None:
            return None
        embedding: PositionedEmbedding = getattr(self.model, name)
        tokens = self.activations[name].inputs[0]
        encoding = embedding.positions.encoding(torch.arange(len(tokens)))
        return {
            "token": PerPosition(to_array(embedding.tokens.vectors(tokens))),
            "scale": embedding.tokens.scale,
            "position": None if encoding is None else PerPosition(to_array(encoding)),
            "output": self._output(name),
            "norm": self._norm("norm") if isinstance(self.model, EncoderOnlyModel) else None,
        }

    def _head(self) -> Tree:
        head: Any = self.model.head
        return {
            "activation": _ACTIVATION_NAMES[type(head.activation)],
            "dense_output": self._output("head.transform"),
            "norm": self._norm("head.norm"),
        }

    def _norm(self, name: str) -> Tree:
        norm: Any = self.model.get_submodule(name)
        is_centered = isinstance(norm, nn.LayerNorm)
        return {
            "x": self._input(name),
            "gain": to_array(norm.weight),
            "bias": to_array(norm.bias if is_centered else torch.zeros_like(norm.weight)),
            "epsilon": norm.eps,
            "is_centered": is_centered,
            "output": self._output(name),
        }

    def _input(self, name: str) -> PerPosition:
        return PerPosition(to_array(self.activations[name].inputs[0]))

    def _output(self, name: str) -> PerPosition:
        return PerPosition(to_array(self.activations[name].outputs[0]))

    def _attention(self, within: str) -> int | None:
        """The index of the trace's first layer with this name, or inside it."""
        indices = (index for index, name in enumerate(self.attentions) if f"{name}.".startswith(f"{within}."))
        return next(indices, None)


def _sublayer_kind(part: nn.Module) -> SublayerKind:
    if isinstance(part, FeedForward):
        return "feed-forward"
    if isinstance(part, SelfAttention):
        return "self-attention"
    return "cross-attention" if hasattr(part, "key") else "recurrence"
