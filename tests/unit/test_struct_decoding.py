"""Types that several threads decode for the first time at once: msgspec alone ends the process there."""

import subprocess
import sys

import pytest

FIRST_USE_IN_THREADS = """
import sys
from threading import Barrier, Thread
from regard.config import Config
from regard.struct_decoding import convert, decode_json

sys.setswitchinterval(1e-6)
barrier, results = Barrier(8), []

def decode():
    barrier.wait()
    results.append(convert({"model": {"kind": "rnn"}}, Config))
    results.append(decode_json(b'{"model": {"kind": "rnn"}}', Config))

threads = [Thread(target=decode) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(results) == 16 and all(result == results[0] for result in results)
"""


@pytest.mark.parametrize("attempt", range(10))  # with msgspec's own functions one attempt in five crashes
def test_first_use_of_a_type_in_threads(attempt: int) -> None:  # noqa: ARG001
    ended = subprocess.run([sys.executable, "-c", FIRST_USE_IN_THREADS], check=False, timeout=60)
    assert ended.returncode == 0
