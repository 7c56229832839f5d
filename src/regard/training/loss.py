"""Label-smoothed cross-entropy over the real tokens, without holding the logits of a whole batch.

The output layer is by far the widest. Its rows are worked off in pieces: each piece's gradient is computed while its
logits are at hand, so that they are written once and not kept for a backward pass. Under autocast the products are in
its precision, as those of all layers are; the softmax between them, and the sums over pieces, stay in float32.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from regard.layers.embedding import Output

ROWS_AT_ONCE = 512


def smoothed_loss(
    hidden: Float[Tensor, "N W"], output: Output, targets: Int[Tensor, " N"], *, smoothing: float
) -> Float[Tensor, ""]:
    """The summed cross-entropy of the targets, a share of which is spread evenly over the vocabulary."""
    if not torch.is_grad_enabled() or torch.compiler.is_compiling():  # a compiler would unroll the pieces, and again
        logits = output(hidden).float()  # for every other number of rows
        return functional.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
    kind = hidden.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else output.weight.dtype
    loss: Tensor = _PiecewiseLoss.apply(hidden, output.weight, output.bias, targets, smoothing, dtype)  # type: ignore[no-untyped-call]
    return loss


class _PiecewiseLoss(torch.autograd.Function):
    """The loss and its gradients in one pass over the rows."""

    @staticmethod
    def forward(
        context: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        smoothing: float,
        dtype: torch.dtype,
    ) -> Tensor:
        loss = weight.new_zeros(())
        hidden_gradient, weight_gradient = torch.empty_like(hidden, dtype=dtype), torch.zeros_like(weight)
        bias_gradient = None if bias is None else torch.zeros_like(bias)
        room = weight.new_empty(min(len(hidden), ROWS_AT_ONCE), len(weight))  # one for all pieces: no fresh pages
        hidden, weight = hidden.to(dtype), weight.to(dtype)
        narrow = room if dtype == room.dtype else torch.empty_like(room, dtype=dtype)  # what products write and read
        for start in range(0, len(hidden), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            logits, rounded = room[: len(targets[rows])], narrow[: len(targets[rows])]
            _project(hidden[rows], weight, bias, product=rounded, out=logits)
            loss += _into_gradient(logits, targets[rows], smoothing)
            if bias_gradient is not None:
                bias_gradient += logits.sum(dim=0)
            gradient = rounded.copy_(logits)
            torch.mm(gradient, weight, out=hidden_gradient[rows])
            _add_product(weight_gradient, gradient.t(), hidden[rows])
        context.save_for_backward(hidden_gradient, weight_gradient, bias_gradient)
        return loss

    @staticmethod
    def backward(context: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        hidden, weight, bias = context.saved_tensors
        return hidden * scale, weight * scale, None if bias is None else bias * scale, None, None, None


def _project(hidden: Tensor, weight: Tensor, bias: Tensor | None, *, product: Tensor, out: Tensor) -> None:
    """Logits into `out`, which is the product's own room where both are of one precision."""
    if product.dtype == out.dtype and bias is not None:
        torch.addmm(bias, hidden, weight.t(), out=out)
        return
    out.copy_(torch.mm(hidden, weight.t(), out=product))
    if bias is not None:
        out += bias


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Into the total, which may be of a higher precision than its factors."""
    if left.dtype == total.dtype:
        total.addmm_(left, right)
    else:
        total += left @ right


def _into_gradient(logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"], smoothing: float) -> Float[Tensor, ""]:
    """The summed loss; the logits are turned into its gradient, softmax minus the smoothed target, where they lie."""
    share = smoothing / logits.shape[1]
    wanted = (1 - smoothing) * logits.gather(1, targets[:, None]).sum() + share * logits.sum()
    highest = logits.amax(dim=1)
    torch.softmax(logits, dim=1, out=logits)
    normaliser = highest - logits.amax(dim=1).log()  # the highest logit less its log-probability
    logits.sub_(share)
    logits.scatter_add_(1, targets[:, None], logits.new_full((len(targets), 1), smoothing - 1))
    return normaliser.sum() - wanted
