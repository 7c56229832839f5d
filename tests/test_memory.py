"""What a process frees it keeps: large tensors are made again and again without a fault of a page."""

import subprocess
import sys

import pytest

MAKING = """
import resource, torch
from regard.memory import keep_freed_memory
{asking}
torch.set_num_threads(1)
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
torch.ones(1 << 24)
before = faults()
for _ in range(4):
    torch.ones(1 << 24)
print(faults() - before)
"""


def faults(asking: str) -> int:
    """Of four tensors of 64 megabytes, made one after the other."""
    run = subprocess.run(
        [sys.executable, "-c", MAKING.format(asking=asking)], capture_output=True, text=True, check=True
    )
    return int(run.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no glibc to ask")
def test_large_blocks_are_used_again() -> None:
    assert faults("assert keep_freed_memory()") < 100 < faults("")
