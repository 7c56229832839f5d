"""What enters and leaves parts of a model while a block runs, seen by hooks that only the recording thread fills."""

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention.recording import Recording, recording_of


@dataclass
class Passed:
    """What entered and what left one part of a model; calls step by step are joined along the positions."""

    inputs: list[Tensor] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)

    @property
    def entered(self) -> Tensor:
        return torch.cat(self.inputs, dim=-2)

    @property
    def left(self) -> Tensor:
        return torch.cat(self.outputs, dim=-2)


def keep_passing(stack: ExitStack, parts: Iterable[tuple[str, nn.Module]], recording: Recording) -> dict[str, Passed]:
    """What passes each part, by its name, until the stack is left."""
    passing: dict[str, Passed] = {}
    for name, part in parts:
        passing[name] = Passed()
        stack.callback(part.register_forward_hook(_keeper(passing[name], recording)).remove)
    return passing


def _keeper(passed: Passed, recording: Recording) -> Any:
    def keep(module: nn.Module, given: tuple[Tensor, ...], output: Any) -> None:
        if recording_of(module) is recording:
            passed.inputs.append(given[0].detach())
            passed.outputs.append((output[0] if isinstance(output, tuple) else output).detach())

    return keep
