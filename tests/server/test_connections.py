"""Connections: pipelined requests keep their order, and headers are bounded in bytes."""

import asyncio
import signal
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from benchmarks import serving
from benchmarks.http_load import TRANSLATE, Client, head_of, posted, with_descriptors
from benchmarks.http_load import serving as served

from regard.server.lifecycle import MAX_HEADER_BYTES
from tests.support.own_api_server import OwnApiServer


def test_pipelined_requests_keep_their_order(own_api: OwnApiServer) -> None:
    texts = ["one red cat", "", "two dogs"]
    requests = b"".join(b"".join(posted(TRANSLATE, {"texts": [text], "model": "there"})) for text in texts)

    async def ask() -> list[str]:
        client = Client(own_api.server.port)
        await client.send(requests)
        answers = [await client.receive() for _ in texts]
        client.close()
        return [answer.json["translations"][0][0]["text"] for answer in answers]

    alone = [own_api.post("translate", texts=[text], model="there").json() for text in texts]
    assert asyncio.run(ask()) == [one["translations"][0][0]["text"] for one in alone]


def test_largest_announced_body_is_too_large(own_api: OwnApiServer) -> None:
    async def ask() -> int:
        async with Client(own_api.server.port) as client:
            await client.send(head_of(TRANSLATE, f"Content-Length: {2**63 - 1}"))
            return (await client.receive()).status

    assert asyncio.run(ask()) == 413


@pytest.mark.parametrize("piece", [1_000, 100_000])
def test_endless_header_is_refused_at_the_bound(own_api: OwnApiServer, piece: int) -> None:
    with socket.create_connection(("127.0.0.1", own_api.server.port), timeout=30) as connection:
        connection.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
        sent, answer, is_reset = 0, b"", False
        connection.setblocking(False)
        while not answer and sent < 100 * MAX_HEADER_BYTES:
            try:
                sent += connection.send(b"x" * piece)
                answer = connection.recv(1000)
            except BlockingIOError:
                continue
            except ConnectionError:  # bytes that came after the close: the system may throw the answer away with them
                is_reset = True
                break
    assert is_reset or answer.startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(("number", "descriptors"), [(100, 200), (250, 200)])
def test_clients_that_never_read_are_closed(tmp_path: Path, number: int, descriptors: int) -> None:
    setup = "from regard.server import lifecycle; lifecycle.WRITE_TIMEOUT = 3"
    program = with_descriptors(descriptors, setup)
    with served([], tmp_path / "log", "--limit", "rate=0", wait=False, program=program) as server:
        result = asyncio.run(serving.never_reading(serving.Load(server, lambda _: ""), number))
    assert result["descriptors_freed_after"] < 60
    assert result["livez_max_ms"] < 10_000  # on a busy machine; benchmarks.serving prints it
    assert result["tracebacks"] == 0


def test_stalled_server_does_not_blame_the_client(tmp_path: Path) -> None:
    """As while a library of hundreds of megabytes is loaded, or while a laptop sleeps."""
    program = (
        "-c",
        "from regard.server import lifecycle; lifecycle.HEADER_TIMEOUT = 3; from regard.cli import main; main()",
    )
    with served([], tmp_path / "log", wait=False, program=program) as server, ExitStack() as opened:
        clients = [
            opened.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60)) for _ in range(20)
        ]
        time.sleep(0.3)
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(4)
        server.process.send_signal(signal.SIGCONT)
        time.sleep(0.2)
        for client in clients:  # all before the first response, which waits until the APIs are imported
            client.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for client in clients:
            assert client.recv(100).startswith(b"HTTP/1.1 200 ")


def test_idle_connections_make_room_for_new_ones(tmp_path: Path) -> None:
    async def connect() -> list[int]:
        idle = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(300)]
        statuses = []
        for _ in range(5):
            async with Client(server.port) as client:
                statuses.append((await client.get("/livez")).status)
        for _, writer in idle:
            writer.transport.abort()
        return statuses

    with served([], tmp_path / "log", wait=False, program=with_descriptors(200)) as server:
        assert asyncio.run(connect()) == [200] * 5
    assert "raceback" not in server.log.read_text()


UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"


def test_wish_for_http2_is_ignored_with_its_body(own_api: OwnApiServer) -> None:
    """As Java's client and `curl --http2` send it; the body must not become the next request."""
    head, body = posted(TRANSLATE, {"texts": ["one red cat"], "model": "there"})
    wishing = head.replace(b"\r\n\r\n", b"\r\n" + UPGRADE + b"\r\n")
    smuggled = b"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n".ljust(len(body))

    async def statuses(*parts: bytes) -> list[int]:
        async with Client(own_api.server.port) as client:
            for part in parts:
                await client.send(part)
                await asyncio.sleep(0.05)
            return [(await client.receive()).status for _ in range(3)]

    probe = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n" + UPGRADE + b"\r\n"
    assert asyncio.run(statuses(wishing + body + probe + probe)) == [200] * 3
    assert (
        asyncio.run(statuses(wishing[:100], wishing[100:-2], wishing[-2:] + body[:9], body[9:] + probe * 2))
        == [200] * 3
    )
    assert asyncio.run(statuses(wishing, smuggled, probe * 2)) == [400, 200, 200]


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        ("http://localhost/api/v1/models", "localhost", 200),
        ("http://evil.example/api/v1/models", "localhost", 400),
        ("http://localhost/api/v1/models", "evil.example", 400),
        ("http://evil.example/api/v1/models", "evil.example", 421),
        ("http://localhost@evil.example/api/v1/models", "localhost", 400),
    ],
)
def test_absolute_target_names_the_same_host(own_api: OwnApiServer, target: str, host: str, status: int) -> None:
    async def ask() -> int:
        async with Client(own_api.server.port) as client:
            await client.send(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            return (await client.receive()).status

    assert asyncio.run(ask()) == status


@pytest.mark.parametrize("piece", [b"X-Trailer: a\r\n", b"x"])
def test_endless_trailers_are_refused_at_the_bound(own_api: OwnApiServer, piece: bytes) -> None:
    with socket.create_connection(("127.0.0.1", own_api.server.port), timeout=30) as connection:
        connection.sendall(head_of(TRANSLATE, "Transfer-Encoding: chunked") + b"2\r\n{}\r\n0\r\n")
        sent = 0
        with suppress(ConnectionError):
            while sent < 100 * MAX_HEADER_BYTES:
                connection.sendall(piece * (10_000 // len(piece)))
                sent += 10_000
    assert sent < 100 * MAX_HEADER_BYTES


@pytest.mark.parametrize("requests", [b"", b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_blank_lines_do_not_hold_a_connection(tmp_path: Path, requests: bytes) -> None:
    program = (
        "-c",
        "from regard.server import lifecycle; lifecycle.HEADER_TIMEOUT = 1; from regard.cli import main; main()",
    )
    with (
        served([], tmp_path / "log", wait=False, program=program) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection,
    ):
        connection.sendall(requests)
        while requests and not connection.recv(10_000).endswith(b"alive\n"):
            pass
        connection.sendall(b"\r\n")
        assert connection.recv(10_000) == b""
