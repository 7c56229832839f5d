"""The interface of models: encode, init_state and decode; and the role of each attention, by its module name.

Memory is fixed once the source is encoded; state changes with every step. Both are frozen dataclasses whose tensors
have the batch as their first axis, so that selecting rows (of a beam, or the unfinished ones) is one function for all.

Self- and cross-attention are roles of the same class, so they are names of attributes, and only `role_of` reads them.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.batch import ImageFeatures, Images, PaddedTokens
from regard.interventions import AttentionRole as AttentionRole
from regard.interventions import Side
from regard.layers.embedding import OutputProjection

Source = PaddedTokens | Images | ImageFeatures
Memory = Any  # each model has its own frozen dataclass
State = Any
BatchTree = TypeVar("BatchTree")


@dataclass(frozen=True)
class DecoderOutput:
    """The hidden state after each new token, the output layer to apply to it, and the next state."""

    hidden: Float[Tensor, "B T W"]
    projection: OutputProjection
    state: State
    auxiliary_loss: Float[Tensor, " B"] | None = None  # added to the loss of each row in training

    @property
    def logits(self) -> Float[Tensor, "B T V"]:
        """Logits over the vocabulary after each new token; to compute some of the rows only, use `projection`."""
        return self.projection(self.hidden)


@runtime_checkable
class GenerativeModel(Protocol):
    """A model that generates a sequence, token by token, from a source."""

    max_positions: int | None  # for tokens and BEGIN or END; None: no limit

    def encode(self, source: Source) -> Memory:
        """Everything that decoding needs of the source."""

    def init_state(self, memory: Memory) -> State:
        """The state before the first token."""

    def decode(self, tokens: Int[Tensor, "B T"], memory: Memory, state: State) -> DecoderOutput:
        """Predict the next token after each new token: a whole target in training, one token at a time in a search.

        Tokens and state may have several rows for each row of the memory, side by side: hypotheses about one source.
        """


@runtime_checkable
class OnePassModel(Protocol):
    """A model that predicts everything at once: a masked language model, or a classifier."""

    max_positions: int | None  # one of them is for END; None: no limit

    def predict(self, source: Any) -> DecoderOutput:
        """Predict the token at each position of the source, or its class at one position; there is no next state."""


def select_rows(tree: BatchTree, rows: Int[Tensor, " R"]) -> BatchTree:
    """A memory or state for the given rows of the batch, in the given order; rows may repeat."""
    selected: Any
    if isinstance(tree, Tensor):
        selected = tree.index_select(0, rows)
    elif hasattr(tree, "select_rows"):
        selected = tree.select_rows(rows)
    elif isinstance(tree, tuple):
        selected = tuple(select_rows(part, rows) for part in tree)
    elif dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        fields = dataclasses.fields(tree)
        selected = type(tree)(**{field.name: select_rows(getattr(tree, field.name), rows) for field in fields})
    else:
        selected = tree  # numbers, and None: the same for every row
    return selected  # type: ignore[no-any-return]


def repeat_rows(tree: BatchTree, times: int, *, batch: int, device: torch.device) -> BatchTree:
    """Every row repeated, the copies side by side."""
    return tree if times == 1 else select_rows(tree, torch.arange(batch, device=device).repeat_interleave(times))


# --- the role of each attention --------------------------------------------------------------------------------------

QuerySide = Side
KeySide = Side
CROSS_ATTENTION = "cross_attention"
_SIDES: dict[AttentionRole, tuple[QuerySide, KeySide]] = {
    "encoder-self": ("source", "source"),
    "decoder-self": ("target", "target"),
    "cross": ("target", "source"),
    "image-cross": ("target", "image"),
    "image-self": ("image", "image"),
}
_SELF_ATTENTION_ROLES: dict[str, AttentionRole] = {
    "encoder": "encoder-self",
    "decoder": "decoder-self",
    "image_decoder": "decoder-self",
    "image_encoder": "image-self",
}
_EMBEDDING_OF_STACK = {
    "encoder": ("source_embedding", "embedding"),
    "decoder": ("target_embedding", "embedding"),
    "image_decoder": ("embedding",),
}


def embedding_of_stack(stack: str) -> tuple[str, ...]:
    """The possible names of the embedding whose output enters this stack; an image encoder has none."""
    return _EMBEDDING_OF_STACK.get(stack, ())


def role_of(name: str) -> AttentionRole:
    """The role of the attention with this module name, such as "cross" for `decoder.blocks.1.cross_attention`."""
    parts = name.split(".")
    if CROSS_ATTENTION in parts:
        return "image-cross" if parts[0] in ("image_decoder", "image_pooling") else "cross"
    if "image_attention" in parts:
        return "image-cross"
    if "self_attention" in parts and parts[0] in _SELF_ATTENTION_ROLES:
        return _SELF_ATTENTION_ROLES[parts[0]]
    raise ValueError(
        f"{name!r} is not the name of an attention with a role; name it {CROSS_ATTENTION} or image_attention, or "
        f"self_attention inside one of {', '.join(_SELF_ATTENTION_ROLES)}"
    )


def query_and_key_side(role: AttentionRole) -> tuple[QuerySide, KeySide]:
    """The sequences that the queries and the keys of an attention with this role come from."""
    return _SIDES[role]
