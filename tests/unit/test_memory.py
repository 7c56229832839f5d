"""What a process frees it keeps: large tensors are made again and again with few faults of pages."""

import subprocess
import sys

import pytest

MAKING = """
import resource, torch
from regard.process import configure_malloc
{asking}
torch.set_num_threads(1)

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def make(times):
    for size in (1 << 22, 1 << 23, 1 << 24):
        for _ in range(times):
            torch.ones(size)

make(8)  # as a first step of training does
before = faults()
make(8)
print(faults() - before)
"""


def faults(asking: str) -> int:
    """Of tensors of 16 to 64 megabytes, made one after the other for the second time."""
    command = [sys.executable, "-c", MAKING.format(asking=asking)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no glibc to ask")
def test_large_blocks_are_used_again() -> None:
    assert faults("assert configure_malloc()") < faults("") / 2
