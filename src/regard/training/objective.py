"""The training objective: the loss of a batch, a label-smoothed cross-entropy over its non-padding target tokens.

The logits of a whole batch are never in memory. The output layer is by far the widest, so its rows are processed in
chunks: the gradient of a chunk is computed while its logits exist, and nothing is kept for a backward pass. Under
autocast the products have its precision; the softmax between them and the sums over chunks stay in float32.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from regard.batch import Batch
from regard.layers.embedding import OutputProjection
from regard.models.interface import DecoderOutput
from regard.special_tokens import BEGIN, MASK, PADDING, RESERVED

LOSS_CHUNK_ROWS = 512
MASK_SHARE, RANDOM_SHARE = 0.8, 0.1  # of the selected tokens; the rest stay, so that the model must check every token


class Objective(nn.Module):
    """The loss as a module over a batch, because FSDP2 wraps modules."""

    def __init__(self, model: nn.Module, smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.smoothing = smoothing

    def forward(self, batch: Batch) -> Tensor:
        return compute_loss(self.model, batch, smoothing=self.smoothing)


def compute_loss(model: Any, batch: Batch, *, smoothing: float) -> Tensor:
    """The summed loss over a batch's non-padding target tokens, and the model's auxiliary loss if it has one."""
    if batch.inputs is None:  # masked tokens are predicted at the positions of the source, a class at one position
        decoded: DecoderOutput = model.predict(batch.source)
    else:
        memory = model.encode(batch.source)
        decoded = model.decode(batch.inputs.tokens, memory, model.init_state(memory))
    is_real, targets = batch.outputs.is_real, batch.outputs.tokens
    loss = label_smoothed_cross_entropy(
        decoded.hidden[is_real], decoded.projection, targets[is_real], smoothing=smoothing
    )
    return loss if decoded.auxiliary_loss is None else loss + decoded.auxiliary_loss.sum()


def mask_tokens(
    row: Sequence[int], random: Random, *, mask_rate: float, vocabulary: int
) -> tuple[list[int], list[int]]:
    """The row with a share of its tokens masked, at least one, and the targets; PADDING everywhere else.

    Of the selected tokens most become MASK, some become any other token, and some stay: Devlin et al., 2019.
    """
    positions = [index for index, token in enumerate(row) if token != BEGIN]  # BERT's [CLS] is not masked
    count = max(1, round(mask_rate * len(positions)))
    inputs, targets = list(row), [PADDING] * len(row)
    for index in random.sample(positions, min(count, len(positions))):
        targets[index] = row[index]
        draw = random.random()
        if draw < MASK_SHARE:
            inputs[index] = MASK
        elif draw < MASK_SHARE + RANDOM_SHARE:
            inputs[index] = random.randrange(len(RESERVED), vocabulary)
    return inputs, targets


def label_smoothed_cross_entropy(
    hidden: Float[Tensor, "N W"], output: OutputProjection, targets: Int[Tensor, " N"], *, smoothing: float
) -> Float[Tensor, ""]:
    """The summed cross-entropy against the targets, smoothed by a uniform distribution over the vocabulary."""
    if not torch.is_grad_enabled():
        logits = output(hidden).float()
        return functional.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
    kind = hidden.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else output.weight.dtype
    loss: Tensor = _ChunkedCrossEntropy.apply(hidden, output.weight, output.bias, targets, smoothing, dtype)  # type: ignore[no-untyped-call]
    return loss


class _ChunkedCrossEntropy(torch.autograd.Function):
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
        _, has_trained_weight, has_trained_bias, *_ = context.needs_input_grad
        hidden_gradient = torch.empty_like(hidden, dtype=dtype)
        weight_gradient = torch.zeros_like(weight) if has_trained_weight else None
        bias_gradient = torch.zeros_like(bias) if bias is not None and has_trained_bias else None
        buffer = weight.new_empty(min(len(hidden), LOSS_CHUNK_ROWS), len(weight))  # reused: no new pages for a chunk
        hidden, weight = hidden.to(dtype), weight.to(dtype)
        product_buffer = buffer if dtype == buffer.dtype else torch.empty_like(buffer, dtype=dtype)
        for start in range(0, len(hidden), LOSS_CHUNK_ROWS):
            rows = slice(start, start + LOSS_CHUNK_ROWS)
            logits, rounded = buffer[: len(targets[rows])], product_buffer[: len(targets[rows])]
            _project_logits(hidden[rows], weight, bias, product=rounded, out=logits)
            loss += _logits_to_gradient_(logits, targets[rows], smoothing)
            if bias_gradient is not None:
                bias_gradient += logits.sum(dim=0)
            gradient = rounded.copy_(logits)
            torch.mm(gradient, weight, out=hidden_gradient[rows])
            if weight_gradient is not None:
                if gradient.dtype == weight_gradient.dtype:
                    weight_gradient.addmm_(gradient.t(), hidden[rows])
                else:  # the sum has a higher precision than its factors
                    weight_gradient += gradient.t() @ hidden[rows]
        context.save_for_backward(hidden_gradient, weight_gradient, bias_gradient)
        return loss

    @staticmethod
    def backward(context: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        gradients = (None if saved is None else saved * scale for saved in context.saved_tensors)
        return *gradients, None, None, None


def _project_logits(hidden: Tensor, weight: Tensor, bias: Tensor | None, *, product: Tensor, out: Tensor) -> None:
    """Logits into `out`, which is the buffer of the product if both have the same precision."""
    if product.dtype == out.dtype and bias is not None:
        torch.addmm(bias, hidden, weight.t(), out=out)
        return
    out.copy_(torch.mm(hidden, weight.t(), out=product))
    if bias is not None:
        out += bias


def _logits_to_gradient_(
    logits: Float[Tensor, "N V"], targets: Int[Tensor, " N"], smoothing: float
) -> Float[Tensor, ""]:
    """The summed loss; the logits become its gradient, softmax minus smoothed target, in place."""
    uniform = smoothing / logits.shape[1]
    target_logits = (1 - smoothing) * logits.gather(1, targets[:, None]).sum() + uniform * logits.sum()
    highest = logits.amax(dim=1)
    torch.softmax(logits, dim=1, out=logits)
    normaliser = highest - logits.amax(dim=1).log()  # the highest logit less its log-probability
    logits.sub_(uniform)
    logits.scatter_add_(1, targets[:, None], logits.new_full((len(targets), 1), smoothing - 1))
    return normaliser.sum() - target_logits
