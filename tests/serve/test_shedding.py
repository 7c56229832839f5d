"""A full queue refuses before a request is parsed; everything that is not plain goes the usual way."""

import asyncio
import json

import h11
import pytest

from regard.serve.batcher import Alone, Batcher
from regard.serve.lifecycle import Lifecycle
from regard.serve.limits import Limits
from regard.serve.metrics import Metrics
from regard.serve.models import Models
from regard.serve.safety import SECURITY_HEADERS, Keys
from regard.serve.service import Service
from regard.serve.shedding import QUEUED, Shedder

BODY = b'{"texts": ["one"]}'


def request(path: str = "/translate", *headers: str, body: bytes = BODY, length: int | None = None) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: x", *headers, f"Content-Length: {len(body) if length is None else length}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def answered(data: bytes, *, is_full: bool = True, is_draining: bool = False) -> bytes | None:
    async def ask() -> bytes | None:
        metrics = Metrics()
        batcher = Batcher(Limits(waiting_texts=0 if is_full else 10), metrics.decoded)
        lifecycle = Lifecycle(Service(Models([]), Limits(), Keys([]), batcher))
        lifecycle.service.is_draining = is_draining
        return Shedder(batcher, lifecycle, metrics).answer(data)

    return asyncio.run(ask())


@pytest.mark.parametrize("path", sorted(path.decode() for path in QUEUED))
def test_the_answer_is_a_whole_one_in_the_form_of_its_api(path: str) -> None:
    reader = h11.Connection(h11.CLIENT)
    reader.send(h11.Request(method="POST", target=path, headers=[("host", "x"), ("content-length", "0")]))
    reader.send(h11.EndOfMessage())
    reader.receive_data(answered(request(path)) or b"")
    head, data, end = (reader.next_event() for _ in range(3))
    assert isinstance(head, h11.Response)
    assert isinstance(data, h11.Data)
    assert isinstance(end, h11.EndOfMessage)
    headers = {name.decode(): value.decode() for name, value in head.headers}
    assert (head.status_code, headers["retry-after"], len(headers["x-request-id"])) == (429, "1", 16)
    assert headers.items() >= SECURITY_HEADERS.items()
    expected = {"error"} if path != "/v2/translate" else {"message"}
    assert set(json.loads(bytes(data.data))) == expected
    assert reader.trailing_data == (b"", False)


def test_where_there_is_room_or_an_end_in_sight_nothing_is_shed() -> None:
    assert answered(request(), is_full=False) is None
    assert answered(request(), is_draining=True) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"POST /translate HTTP/1.1\r\nHost: x\r\n",
        request(body=b"half", length=9),
        request() + b"POST /more",
        request("/detect"),
        request("/translate?q=a"),
        request("/translate", "Origin: http://friend.example"),
        request("/translate", "Connection: close"),
        request("/translate", "Expect: 100-continue"),
        request("/translate", "Transfer-Encoding: chunked"),
        request().replace(b"POST", b"GET"),
        request().replace(b"HTTP/1.1", b"HTTP/1.0"),
        request().replace(b"Content-Length", b"X-Length"),
    ],
)
def test_what_is_not_one_plain_request_goes_the_usual_way(data: bytes) -> None:
    assert answered(data) is None
    assert answered(request("/translate", "Connection: keep-alive")) is not None


def test_work_alone_does_not_change_what_is_known_of_the_speed() -> None:
    async def run() -> None:
        batcher = Batcher(Limits(), Metrics().decoded)
        before = batcher.speed
        assert await batcher.alone(lambda: "done", cost=1) == "done"
        assert batcher.speed == before
        assert Alone(lambda: None, 3).cost(None) == 3
        await batcher.close()

    asyncio.run(run())
