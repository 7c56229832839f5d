"""Threads that would wait for each other: small work has one thread, and waiting threads sleep soon."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch
from torch import nn

from regard.batch import encode_source_rows
from regard.config import DecodingConfig, TransformerConfig, TransformerStackConfig
from regard.cpu_speedups import SMALL_WORK, MicrobatchThreads, threads_for, torch_threads
from regard.decoding.loop import generate
from regard.process import SPIN_COUNT
from tests.support.random_translators import random_translator

STACK = TransformerStackConfig(layers=1, width=24, heads=2, ffn_width=20)


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    with torch_threads(2):
        yield


@pytest.mark.parametrize(("work", "threads"), [(0, 1), (SMALL_WORK - 1, 1), (SMALL_WORK, 2)])
def test_small_work_has_one_thread(work: int, threads: int) -> None:
    with threads_for(work):
        assert torch.get_num_threads() == threads
    assert torch.get_num_threads() == 2


def test_small_model_decodes_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = random_translator(TransformerConfig(encoder=STACK, decoder=STACK))
    seen: list[int] = []
    decode = bundle.model.decode
    monkeypatch.setattr(bundle.model, "decode", lambda *given: seen.append(torch.get_num_threads()) or decode(*given))
    source = encode_source_rows([[7, 8, 9]])
    generate(bundle.model, source, DecodingConfig(beam_size=2))
    assert set(seen) == {1}
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(("width", "size", "threads"), [(8, 2, 1), (8, 1, 2), (3000, 2, 2)])
def test_small_update_waits_for_no_thread(width: int, size: int, threads: int) -> None:
    microbatches = MicrobatchThreads(size, nn.Linear(width, width))
    with microbatches.update_threads():
        assert torch.get_num_threads() == threads
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, str(SPIN_COUNT)), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "None")],
)
def test_spinning_is_bounded_unless_the_user_chose(given: dict[str, str], expected: str) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    program = "import os, regard; print(os.environ.get('GOMP_SPINCOUNT'))"
    ended = subprocess.run(
        [sys.executable, "-c", program], env=kept | given, capture_output=True, text=True, check=True, timeout=300
    )
    assert ended.stdout.strip() == expected
