"""A separate process that reads a pickle of tensors from standard input and writes safetensors to standard output.

The only module that loads a pickle: `weights_only=True` admits nothing but tensors, and the process holds no data of
the user.
"""

import sys
from io import BytesIO

import torch
from safetensors.torch import save


def main() -> None:
    """Convert standard input."""
    tensors = torch.load(BytesIO(sys.stdin.buffer.read()), map_location="cpu", weights_only=True)
    sys.stdout.buffer.write(save({name: tensor.contiguous() for name, tensor in tensors.items()}))


if __name__ == "__main__":
    main()
