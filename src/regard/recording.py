"""`regard.record_attention`: the heart's recording, which tells people when a model has nothing to record."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from regard.attention import recording as heart

NOTHING_OF_OURS = (
    "nothing was recorded: this model has none of regard's attention layers, which report what they compute. Build it "
    "with regard.MultiHeadAttention or regard.Attention; or take the weights that its own layers return (torch's "
    "nn.MultiheadAttention: need_weights=True, average_attn_weights=False) to regard.view.draw(weights, rows, columns)."
)


@contextmanager
def record_attention(model: nn.Module, *, details: bool = False, named: str = "") -> Iterator[heart.Recording]:
    """Record the attention layers inside `model`, those with `named` in their names, while the block runs."""
    with heart.record_attention(model, details=details, named=named) as recording:
        yield recording
    if _is_foreign(model):
        warnings.warn(NOTHING_OF_OURS, stacklevel=3)


def _is_foreign(model: nn.Module) -> bool:
    """Whether nothing in a model is ours: one of ours without attention is known to have none."""
    return not any(type(module).__module__.partition(".")[0] == "regard" for module in model.modules())
