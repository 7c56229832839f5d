r"""A penalty for what was left unsaid: source words that no output word looked at (Wu et al., 2016).

    coverage = sum_i log(min(sum_t a_ti, 1))

The loop carries no attention, so the penalty is put on finished hypotheses, from one teacher-forced pass over them.
"""

from dataclasses import replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention.recording import record_attention
from regard.batch import Padded
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.rescoring import read_again
from regard.errors import RegardError
from regard.models.interface import Generator, Source
from regard.models.uses import CROSS


def with_coverage(
    model: Generator, source: Source, ended: list[list[Hypothesis]], strength: float
) -> list[list[Hypothesis]]:
    """The same hypotheses, each score lowered by what it left uncovered."""
    if not isinstance(model, nn.Module) or not isinstance(source, Padded):
        raise RegardError("a coverage penalty is for models that translate text; set decoding.coverage to 0")
    flat = [(sentence, hypothesis) for sentence, own in enumerate(ended) for hypothesis in own]
    sentences = [sentence for sentence, _ in flat]
    with record_attention(model, named=CROSS) as recording:
        read_again(model, source, [hypothesis.tokens for _, hypothesis in flat], sentences=sentences)
    maps = [layer["weights"] for layer in recording.layers.values()]
    if not maps:
        raise RegardError(
            "this model has no attention over its source to measure coverage by; set decoding.coverage to 0"
        )
    weights = torch.stack([layer.mean(dim=1) for layer in maps]).mean(dim=0)
    lengths = torch.tensor([len(hypothesis.tokens) + hypothesis.is_ended for _, hypothesis in flat])
    is_said = (torch.arange(weights.shape[1]) < lengths[:, None]).to(weights.device)
    covered = coverage(weights, is_said, source.is_real[sentences])
    result: list[list[Hypothesis]] = [[] for _ in ended]
    for (sentence, hypothesis), value in zip(flat, covered.tolist(), strict=True):
        result[sentence].append(replace(hypothesis, score=hypothesis.score + strength * value))
    return result


def coverage(
    weights: Float[Tensor, "R T S"], is_said: Bool[Tensor, "R T"], is_real: Bool[Tensor, "R S"]
) -> Float[Tensor, " R"]:
    """sum_i log(min(sum_t a_ti, 1)) over the real source positions: zero when every one was looked at in full."""
    looked_at = (weights * is_said.unsqueeze(-1)).sum(dim=1).clamp(min=1e-9, max=1.0)
    return (looked_at.log() * is_real).sum(dim=1)
