"""Connections: an answer goes out in one piece, and headers are bounded in bytes however they come."""

import asyncio
import socket
from typing import Any

import pytest
from benchmarks.http_load import TRANSLATE, Client, posted

from regard.serve.connections import HEADER_BYTES, JoinedWrites
from tests.serve.owned import Own

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n"


class Wire(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    def write(self, data: Any) -> None:
        self.written.append(data)

    def close(self) -> None:
        self.written.append(b"(closed)")


def written(*steps: Any) -> list[bytes]:
    """What reaches the wire; a step is bytes to write, None for a turn of the loop, or "close"."""

    async def run() -> list[bytes]:
        wire = Wire()
        joined = JoinedWrites(wire, asyncio.get_running_loop())
        for step in steps:
            match step:
                case None:
                    await asyncio.sleep(0)
                case "close":
                    joined.close()
                case _:
                    joined.write(step)
        return wire.written

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((HEAD, b"body"), [HEAD + b"body"]),
        ((HEAD, b"body", None, None), [HEAD + b"body"]),
        ((HEAD, None), [HEAD]),
        ((HEAD, None, b"event", b"event"), [HEAD, b"event", b"event"]),
        ((HEAD, "close"), [HEAD, b"(closed)"]),
        ((HEAD, HEAD, b"body"), [HEAD + HEAD, b"body"]),
        ((b"body",), [b"body"]),
    ],
)
def test_a_head_goes_out_with_what_follows_it_or_by_itself_a_turn_later(steps: Any, expected: list[bytes]) -> None:
    assert written(*steps) == expected


def test_pipelined_requests_are_answered_in_their_order(own: Own) -> None:
    texts = ["one red cat", "", "two dogs"]
    requests = b"".join(b"".join(posted(TRANSLATE, {"texts": [text], "model": "there"})) for text in texts)

    async def ask() -> list[str]:
        client = Client(own.server.port)
        await client.send(requests)
        answers = [await client.receive() for _ in texts]
        client.close()
        return [answer.json["translations"][0][0]["text"] for answer in answers]

    alone = [own.post("translate", texts=[text], model="there").json() for text in texts]
    assert asyncio.run(ask()) == [one["translations"][0][0]["text"] for one in alone]


@pytest.mark.parametrize("piece", [1_000, 100_000])
def test_a_header_that_does_not_end_is_refused_at_its_bound(own: Own, piece: int) -> None:
    with socket.create_connection(("127.0.0.1", own.server.port), timeout=30) as connection:
        connection.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
        sent, answer, is_reset = 0, b"", False
        connection.setblocking(False)
        while not answer and sent < 100 * HEADER_BYTES:
            try:
                sent += connection.send(b"x" * piece)
                answer = connection.recv(1000)
            except BlockingIOError:
                continue
            except ConnectionError:  # bytes that came after the close: the system may throw the answer away with them
                is_reset = True
                break
    assert is_reset or answer.startswith(b"HTTP/1.1 431 ")
