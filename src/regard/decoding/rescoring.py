"""A finished output scored again in one teacher-forced pass: what it is worth and, when recorded, what it looked at."""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.batch import Rows, shifted
from regard.models.interface import Decoded, Generator, Source, select_rows


@torch.inference_mode()
def read_again(model: Generator, source: Source, targets: Rows, *, sentences: list[int]) -> Decoded:
    """Every target read in one pass, for those who record: no word is scored; `sentences` says whose each one is."""
    memory = select_rows(model.encode(source), torch.tensor(sentences, device=source.device))
    inputs, _ = shifted(targets, device=source.device)
    return model.decode(inputs.tokens, memory, model.start(memory))


@torch.inference_mode()
def rescore(model: Generator, source: Source, targets: Rows, *, sentences: list[int]) -> Float[Tensor, "R T"]:
    """Log-probability of each target's tokens and END, zero for padding; `sentences` says whose target each one is."""
    return worth_of(read_again(model, source, targets, sentences=sentences), targets)


@torch.inference_mode()
def worth_of(decoded: Decoded, targets: Rows) -> Float[Tensor, "R T"]:
    """The same of targets that were read already."""
    logits = decoded.logits
    _, outputs = shifted(targets, device=logits.device)
    said = logits.log_softmax(dim=-1).gather(-1, outputs.tokens.unsqueeze(-1)).squeeze(-1)
    return said * outputs.is_real
