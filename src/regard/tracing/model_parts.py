"""The parts of a model that an intervention can change: attentions, stacks, embeddings, residual connections, norms."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

from torch import nn

from regard.attention.attention_layer import AttentionLayer
from regard.attention.hooks import Site
from regard.attention.multi_head import MultiHeadAttention
from regard.interventions import AttentionRole, Side, StackName, SublayerName
from regard.layers.embedding import PositionedEmbedding
from regard.layers.image_encoders import GridProjection, GridSelfAttention, VisionTransformer
from regard.layers.positions import NoPositions, RelativePositions, RotaryPositions
from regard.layers.transformer_block import Residual, TransformerStack
from regard.models.encoder_only import EncoderOnlyModel
from regard.models.interface import role_of

Attention = MultiHeadAttention | AttentionLayer


@dataclass(frozen=True)
class AttentionPart:
    """An attention of a model, and its address."""

    name: str
    module: Attention
    role: AttentionRole
    layer: int  # within its role

    @property
    def heads(self) -> int:
        return self.module.heads if isinstance(self.module, MultiHeadAttention) else 1

    @property
    def stack(self) -> StackName | None:
        return stack_of(self.name)


class ModelParts:
    """The attentions, stacks, embeddings and positions of a model, by their addresses."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.modules = dict(model.named_modules())

    @cached_property
    def attentions(self) -> list[AttentionPart]:
        """Every attention, in the order of the modules."""
        parts: list[AttentionPart] = []
        for name, module in self.modules.items():
            if isinstance(module, MultiHeadAttention | AttentionLayer):
                role = role_of(name)
                parts.append(AttentionPart(name, module, role, sum(one.role == role for one in parts)))
        return parts

    @cached_property
    def stacks(self) -> dict[StackName, TransformerStack]:
        """The Transformer stacks."""
        stacks = {stack_of(name): one for name, one in self.modules.items() if isinstance(one, TransformerStack)}
        return {name: one for name, one in stacks.items() if name is not None}

    def sublayers(self, stack: StackName) -> list[SublayerName]:
        """The sub-layers of each block of a stack."""
        block = self.stacks[stack].blocks[0]
        return [
            kind for name, _ in block.named_children() if name.endswith("_residual") and (kind := sublayer_of(name))
        ]

    @cached_property
    def embeddings(self) -> dict[Side, nn.Module]:
        """The module whose tokens are those of each side: an embedding, or what makes the grid of an image."""
        model: Any = self.model
        own: Side = "source" if isinstance(model, EncoderOnlyModel) else "target"
        names: dict[str, Side] = {
            "source_embedding": "source",
            "target_embedding": "target",
            "embedding": own,
            "image_encoder": "image",
        }
        return {side: getattr(model, name) for name, side in names.items() if hasattr(model, name)}

    def positions(self) -> Iterator[tuple[StackName, nn.Module, Site]]:
        """Everything that adds positions or a bias for them, or rotates by them."""
        for side, embedding in self.embeddings.items():
            stack: StackName = "encoder" if side == "source" else "decoder"
            if not isinstance(embedding, PositionedEmbedding):
                continue
            if isinstance(embedding.positions, RelativePositions):
                for block in self.stacks[stack].blocks:
                    yield stack, block.self_attention.attention, "position_bias"  # type: ignore[union-attr,misc]
            elif not isinstance(embedding.positions, NoPositions | RotaryPositions):
                yield stack, embedding, "position"
        for name, module in self.modules.items():
            if isinstance(module, GridProjection | VisionTransformer):
                yield "image-encoder", module, "position"
            if isinstance(module, MultiHeadAttention) and module.rotate is not None:
                yield stack_of(name) or "encoder", module, "rotary"

    def residuals(self) -> Iterator[tuple[str, nn.Module]]:
        """The residual connections with their names."""
        return ((name, one) for name, one in self.modules.items() if isinstance(one, Residual | GridSelfAttention))

    def norms(self) -> Iterator[tuple[str, nn.Module]]:
        """Everything that normalises, with its name."""
        yield from self.residuals()
        for name, module in self.modules.items():
            if isinstance(module, TransformerStack) and not isinstance(module.norm, nn.Identity):
                yield name, module
        if isinstance(self.model, EncoderOnlyModel):
            yield "encoder", self.model

    @property
    def description(self) -> str:
        """What the model has, for an error message."""
        counts: dict[str, list[int]] = {}
        for one in self.attentions:
            counts.setdefault(one.role, []).append(one.heads)
        roles = [f"{role} attention with {_sizes(heads)} heads" for role, heads in counts.items()]
        stacks = [f"{len(stack.blocks)} {name} blocks" for name, stack in self.stacks.items()]
        return f"it has {', '.join([*roles, *stacks])}" if roles else "it has no attention"


def _sizes(heads: list[int]) -> str:
    """The heads of each layer, such as 2 x 4, or 2 + 4 after pruning."""
    return f"{len(heads)} x {heads[0]}" if len(set(heads)) == 1 else " + ".join(map(str, heads))


def stack_of(name: str) -> StackName | None:
    """The stack that a module is in, by its name; None outside of all stacks, as the attention of an RNN."""
    names: dict[str, StackName] = {"encoder": "encoder", "decoder": "decoder", "image_decoder": "decoder"}
    first = name.partition(".")[0]
    if first == "image_encoder":
        return "image-encoder"
    return names.get(first)


def sublayer_of(name: str) -> SublayerName | None:
    """The sub-layer of a module by its name inside a block, such as cross_attention_residual.norm."""
    kinds: dict[str, SublayerName] = {one.replace("-", "_"): one for one in get_args(SublayerName)}
    return kinds.get(name.partition(".")[0].removesuffix("_residual"))
