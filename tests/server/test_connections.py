"""Connections: pipelined requests keep their order, and headers are bounded in bytes."""

import asyncio
import socket

import pytest
from benchmarks.http_load import TRANSLATE, Client, posted

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
