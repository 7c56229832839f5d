"""A separate process that reads a pickle of tensors from standard input and writes safetensors to standard output.

The only module that loads a pickle: `weights_only=True` admits nothing but tensors, and the process holds no data of
the user. A pickle can describe more numbers than it has, by repeating them or by compression; those are refused.
"""

import sys
import zipfile
from io import BytesIO
from typing import Any

import torch
from safetensors.torch import save

MAX_GROWTH = 4  # tensors that share their numbers, such as tied embeddings, are written once each


def main() -> int:
    """Convert standard input; the last line of standard error is the reason of a failure."""
    content = sys.stdin.buffer.read()
    try:
        check_archive(content)
        tensors = check_tensors(torch.load(BytesIO(content), map_location="cpu", weights_only=True), len(content))
    except Exception as error:
        print(type(error).__name__ + ":", str(error).partition("\n")[0], file=sys.stderr)
        return 1
    sys.stdout.buffer.write(save({name: tensor.clone().contiguous() for name, tensor in tensors.items()}))
    return 0


def check_archive(content: bytes) -> None:
    """Refuse compressed members: torch.save writes none, and reading them can need many times the file's size."""
    if content.startswith(b"PK"):
        with zipfile.ZipFile(BytesIO(content)) as archive:
            if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
                raise ValueError("it is compressed, which torch.save never does")


def check_tensors(tensors: Any, size: int) -> dict[str, torch.Tensor]:
    """The tensors, if they are dense ones by name that have no more numbers than a file of this size can have."""
    if not isinstance(tensors, dict) or not all(isinstance(name, str) for name in tensors):
        raise ValueError("it holds no tensors by name")
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor) or tensor.layout != torch.strided or tensor.device.type != "cpu":
            raise ValueError(f"{name} is not a dense tensor")
        if tensor.is_quantized or tensor.is_complex():
            raise ValueError(f"{name} has numbers of type {tensor.dtype}")
        if tensor.numel() * tensor.element_size() > size:
            raise ValueError(f"{name} has more numbers than the file")
    if sum(tensor.numel() * tensor.element_size() for tensor in tensors.values()) > MAX_GROWTH * size:
        raise ValueError("the tensors have many times the numbers of the file")
    return tensors


if __name__ == "__main__":
    sys.exit(main())
