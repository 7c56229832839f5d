"""A server in a process of its own, and a small HTTP client that generates load."""

import asyncio
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

ADDRESS = re.compile(r"http://127\.0\.0\.1:([0-9]+)/")
PROGRAM = ("-m", "regard")
TRANSLATE = "/api/v1/translate"


@dataclass
class Served:
    """A running server."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def memory(self) -> int:
        """Bytes that the process holds."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    @property
    def descriptors(self) -> int:
        """How many files and sockets the process has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def figure(self, name: str, **labels: str) -> float:
        """A figure of /metrics, summed over the labels that are not given."""
        lines = [line for line in self._get("/metrics").splitlines() if re.match(rf"{name}(\{{| )", line)]
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        return sum(float(line.rpartition(" ")[2]) for line in lines if all(one in line for one in wanted))

    def is_ready(self) -> bool:
        """Whether /readyz answers that it is ready."""
        try:
            return self._get("/readyz") == "ready\n"
        except urllib.error.URLError:
            return False

    def _get(self, path: str) -> str:
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:  # noqa: S310  (our own server)
            text: str = answer.read().decode()
        return text

    def terminate(self, *signals: int) -> float:
        """Send SIGTERM or other signals, a moment apart; the seconds until the process has ended."""
        begun = time.monotonic()
        for number in signals or (signal.SIGTERM,):
            self.process.send_signal(number)
            time.sleep(0.3 if len(signals) > 1 else 0)
        self.process.wait(timeout=60)
        return time.monotonic() - begun


def with_descriptors(number: int, setup: str = "pass") -> tuple[str, ...]:
    """The program of a server that may have so many files and sockets open, after some more Python."""
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({number}, {number}));"
    return "-c", f"{limit} {setup}; from regard.cli import main; main()"


@contextmanager
def serving(
    models: Sequence[Path], log: Path, *options: str, wait: bool = True, program: Sequence[str] = PROGRAM
) -> Iterator[Served]:
    """`regard serve` on a free port, all of its models loaded; it is killed at the end if it has not ended by then."""
    command = [sys.executable, "-W", "error", *program, "serve", *map(str, models), "--port", "0", *options]
    with log.open("wb") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors)
    try:
        assert process.stdout is not None
        is_readable, _, _ = select.select([process.stdout], [], [], 120)
        found = ADDRESS.search(process.stdout.readline().decode()) if is_readable else None
        assert found, f"the server did not start: {log.read_text()}"
        server = Served(process, int(found[1]), log)
        deadline = time.monotonic() + 120
        while wait and server.figure("regard_ready_models") < len(models):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        yield server
    finally:
        process.kill()
        process.wait(timeout=60)
        process.stdout.close()  # type: ignore[union-attr]


@dataclass(frozen=True)
class Answer:
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes
    seconds: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Client:
    """One connection that is kept open, and opened again when the server closes it."""

    port: int
    reader: asyncio.StreamReader | None = None
    writer: asyncio.StreamWriter | None = field(default=None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        if self.writer is not None:
            self.writer.transport.abort()
        self.reader = self.writer = None

    async def send(self, head: bytes, body: bytes = b"") -> None:
        """Write a request, on a new connection if need be."""
        if self.writer is None or self.writer.is_closing():
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writer.write(head + body)
        await self.writer.drain()

    async def receive(self) -> Answer:
        """Read an answer."""
        assert self.reader is not None
        begun = time.monotonic()
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:-2])}
        body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("connection") == "close":
            self.close()
        return Answer(int(lines[0].split(" ")[1]), headers, body, time.monotonic() - begun)

    async def get(self, path: str) -> Answer:
        """The answer to a GET."""
        return await self._ask(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    async def translate(self, *texts: str, **options: object) -> Answer:
        """The answer of the own API."""
        return await self._ask(*posted(TRANSLATE, {"texts": texts, **options}))

    async def _ask(self, head: bytes, body: bytes = b"") -> Answer:
        begun = time.monotonic()
        await self.send(head, body)
        answer = await self.receive()
        return Answer(answer.status, answer.headers, answer.body, time.monotonic() - begun)


class Sender(asyncio.Protocol):
    """A connection for one request at a time that needs a tenth of the processor time of a `Client`."""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.received = b""

    def ask(self, request: bytes, callback: Callable[[Answer], object]) -> None:
        """Send a request and call back with its answer."""
        self.callback, self.begun, self.received = callback, time.monotonic(), b""
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self.received += data
        end = self.received.find(b"\r\n\r\n")
        length = re.search(rb"content-length: ([0-9]+)", self.received[: max(end, 0)])
        if length is not None and len(self.received) >= end + 4 + int(length[1]):
            self.callback(Answer(int(self.received[9:12]), {}, b"", time.monotonic() - self.begun))

    def close(self) -> None:
        """Hang up."""
        self.transport.abort()


def posted(path: str, value: object) -> tuple[bytes, bytes]:
    """The head and the body of a POST."""
    body = json.dumps(value).encode()
    return head_of(path, f"Content-Length: {len(body)}"), body


def head_of(path: str, *lines: str) -> bytes:
    """The head of a POST of JSON."""
    fields = ("Host: localhost", "Content-Type: application/json", *lines)
    return "\r\n".join([f"POST {path} HTTP/1.1", *fields, "", ""]).encode()


def at_share(values: Sequence[float], share: float) -> float:
    """The quantile of the values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
