"""A process of its own: a pickle of tensors comes in on standard input, safetensors go out on standard output.

The only module that loads a pickle. torch is told to make tensors and nothing else of it, and whatever it does
happens in a process that has nothing to lose.
"""

import sys
from io import BytesIO

import torch
from safetensors.torch import save


def main() -> None:
    """Convert what stands on standard input."""
    tensors = torch.load(BytesIO(sys.stdin.buffer.read()), map_location="cpu", weights_only=True)
    sys.stdout.buffer.write(save({name: tensor.contiguous() for name, tensor in tensors.items()}))


if __name__ == "__main__":
    main()
