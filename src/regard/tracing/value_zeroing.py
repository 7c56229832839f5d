"""Value zeroing: how far the output of a layer moves without the value of a key (Mohebbi et al., 2023)."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cosine_similarity

from regard.attention.hooks import Edit, Place, Site, apply_edits
from regard.layers.image_encoders import GridSelfAttention, flatten_grid
from regard.tracing.interventions import captured_values
from regard.tracing.pass_input import PassInput


@torch.inference_mode()
def value_zeroing(passed: PassInput, name: str, keys: int) -> NDArray[np.float32]:
    """For each query and key of an attention, how far the output moves (1 - cosine) without the value of the key.

    The output is that of the attention's block, in a convolutional network with the residual connection, or the input
    of the output layer for an RNN. Rows sum to one.
    """
    attention = passed.model.get_submodule(name)
    block: Any = passed.model.get_submodule(name.partition(".self_attention")[0].partition(".cross_attention")[0])
    site: Site = "residual" if isinstance(block, GridSelfAttention) else "block"
    size = passed.rows_per_batch

    def outputs(removed: list[int]) -> Tensor:
        """The outputs (rows, queries, W) without the value of one key in each row; -1 removes none."""
        edits = [(attention, "weights", _remove_keys(removed))]
        with apply_edits(edits), captured_values([(block, site)]) as captured:  # type: ignore[arg-type]
            decoded = passed.run(range(len(removed)))
        [output] = captured.get((id(block), site), [decoded.hidden])
        vectors = flatten_grid(output) if isinstance(block, GridSelfAttention) else output
        return vectors.cpu().double()  # MPS has no float64

    with passed.interventions():
        base = outputs([-1])
        batches = [list(range(start, min(start + size, keys))) for start in range(0, keys, size)]
        changed = torch.cat([outputs(batch) for batch in batches])
    distances = (1 - cosine_similarity(changed, base, dim=-1)).clamp(min=0).T  # (queries, keys)
    total = distances.sum(dim=-1, keepdim=True)
    return (distances / total.masked_fill(total == 0, 1.0)).float().numpy()


def _remove_keys(removed: list[int]) -> Edit:
    """A weight of zero without renormalising is a value of zero."""

    def edit(weights: Tensor, place: Place) -> Tensor:  # noqa: ARG001
        weights = weights.clone()
        for row, key in enumerate(removed):
            if key >= 0:
                weights[row, ..., key] = 0.0
        return weights

    return edit
