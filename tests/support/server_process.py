"""`regard serve` in a process of its own: every wait has a deadline, and a server that does not stop is killed."""

import re
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.support.commands import command, environment

START_SECONDS = 120  # until all models are loaded, on a machine with other things to do
STOP_SECONDS = 30  # between SIGTERM and SIGKILL


@contextmanager
def running_server(log: Path, *arguments: object, unready: Collection[str] = (), key: str = "") -> Iterator[str]:
    """Run `regard serve` on a free port and yield its address; all models but the unready ones are loaded.

    The log is a file of this server alone: the address is read from it.
    """
    keys = ["--api-key", key] if key else []
    words = command("serve", *arguments, *keys, "--port", "0", "--limit", "rate=0")
    with log.open("w") as output:
        process = subprocess.Popen(words, stdout=output, stderr=output, env=environment())
    try:
        start = _Start(log, process)
        address = start.address()
        start.wait_until_loaded(address, unready, key)
        yield address
    finally:
        stop(process)


def stop(process: "subprocess.Popen[bytes]") -> None:
    """Send SIGTERM, and SIGKILL where that does not end the process; a server that has to be killed is an error."""
    process.terminate()
    try:
        process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=STOP_SECONDS)
        raise


@dataclass
class _Start:
    log: Path
    process: "subprocess.Popen[bytes]"
    deadline: float = field(default_factory=lambda: time.monotonic() + START_SECONDS)

    def address(self) -> str:
        while not (found := re.search(r"^regard: (http\S+)$", self.log.read_text(), re.MULTILINE)):
            self._pause()
        return found[1]

    def wait_until_loaded(self, address: str, unready: Collection[str], key: str) -> None:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        while True:
            try:
                answer = httpx.get(f"{address}api/v1/models", headers=headers, timeout=60)
            except httpx.TransportError as error:
                time.sleep(1)  # a server that is ending writes the reason first
                raise AssertionError(f"{error!r}, exit code {self.process.poll()}: {self.log.read_text()}") from error
            if all(model["is_ready"] or model["name"] in unready for model in answer.json()["models"]):
                return
            self._pause()

    def _pause(self) -> None:
        assert self.process.poll() is None, f"the server has ended: {self.log.read_text()}"
        assert time.monotonic() < self.deadline, f"the server is not ready: {self.log.read_text()}"
        time.sleep(0.1)
