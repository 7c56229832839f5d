"""The server under load: throughput, overload, SIGTERM, memory, mixed-up answers, disconnects and hostile clients.

    .venv/bin/python -m benchmarks.serving MODEL                       # everything, at full size: about half an hour
    .venv/bin/python -m benchmarks.serving MODEL --only overload       # one part
    .venv/bin/python -m benchmarks.serving MODEL --scale 0.01          # everything, a hundredth of the size
    .venv/bin/python -m benchmarks.serving MODEL --engine auto         # with another engine than torch

Each part prints one JSON line. The client runs on the same machine and takes its share of the cores.
"""

import argparse
import asyncio
import json
import random
import signal
import socket
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.http_load import (
    PROGRAM,
    TRANSLATE,
    Answer,
    Client,
    Sender,
    Served,
    at_share,
    head_of,
    posted,
    serving,
    with_descriptors,
)

from regard.worlds.sentences import sentence_pairs

LONGEST = 12  # words of a sentence
ROUNDS = 3  # of what is compared with something else, each round both
Result = dict[str, Any]
TEXTS = 100  # of a request whose client disconnects
GONE = (ConnectionError, asyncio.IncompleteReadError, OSError)


@dataclass(frozen=True)
class Load:
    """A server, and the sentences to send."""

    server: Served
    sentence: Callable[[random.Random], str]

    def client(self) -> Client:
        """A new client of the server."""
        return Client(self.server.port)


def world_sentence(chance: random.Random) -> str:
    """A sentence of the world that regard generates."""
    return chance.choice(_sentences())


@cache
def _sentences() -> list[str]:
    texts = (pair.source for pair in sentence_pairs(seed=7))
    return list(islice((text for text in texts if len(text.split()) <= LONGEST), 5000))


# --- point 3: throughput and overload --------------------------------------------------------------------------------


async def closed_loop(load: Load, clients: int, seconds: float) -> list[Answer]:
    """Answers to clients that each send the next request when they have the last answer."""
    answers: list[Answer] = []
    until = time.monotonic() + seconds

    async def one(number: int) -> None:
        chance = random.Random(number)
        async with load.client() as client:
            while time.monotonic() < until:
                answers.append(await client.translate(load.sentence(chance)))

    await asyncio.gather(*(one(number) for number in range(clients)))
    return answers


async def open_loop(load: Load, rate: float, seconds: float) -> list[Answer]:
    """Answers to requests that come at a rate, whether or not earlier ones have been answered."""
    loop, chance = asyncio.get_running_loop(), random.Random(0)
    requests = [b"".join(posted(TRANSLATE, {"texts": [load.sentence(chance)]})) for _ in range(1000)]
    senders, answers = [await _sender(load.server) for _ in range(64)], []
    idle, begun, number = deque(senders), time.monotonic(), 0
    while (due := begun + number / rate) < begun + seconds:
        if (early := due - time.monotonic()) > 0:
            await asyncio.sleep(early)
        sender = idle.popleft() if idle else await _sender(load.server)
        sender.ask(
            requests[number % len(requests)], lambda answer, own=sender: (answers.append(answer), idle.append(own))
        )
        number += 1
    until = loop.time() + 30
    while len(answers) < number and loop.time() < until:
        await asyncio.sleep(0.05)
    while idle:
        idle.pop().close()
    return answers + [Answer(0, {}, b"", 30.0)] * (number - len(answers))


async def _sender(server: Served) -> Sender:
    _, sender = await asyncio.get_running_loop().create_connection(Sender, "127.0.0.1", server.port)
    return sender


async def liveness(load: Load, seconds: float) -> list[float]:
    """The times of /livez, requested twenty times per second."""
    times: list[float] = []
    until = time.monotonic() + seconds
    async with load.client() as client:
        while time.monotonic() < until:
            answer = await client.get("/livez")
            assert answer.status == 200
            times.append(answer.seconds)
            await asyncio.sleep(0.05)
    return times


async def rate_of(load: Load, clients: int, seconds: float) -> float:
    """Answers per second to this many clients."""
    return len(await closed_loop(load, clients, seconds)) / seconds


async def throughput(load: Load, seconds: float) -> Result:
    """Sixteen clients against one, interleaved, so that other load affects both."""
    await closed_loop(load, 16, 1.0)
    rounds = [(await rate_of(load, 1, seconds), await rate_of(load, 16, seconds)) for _ in range(ROUNDS)]
    ratios = [together / alone for alone, together in rounds]
    return {
        "one_client": median(alone for alone, _ in rounds),
        "sixteen_clients": median(together for _, together in rounds),
        "ratio": median(ratios),
        "ratios": ratios,
        "bar": 4.0,
    }


async def overload(load: Load, seconds: float) -> Result:
    """Five times as many requests as the server can answer, interleaved with as many as it can."""
    await closed_loop(load, 16, 1.0)
    rounds = [await _overloaded(load, seconds) for _ in range(ROUNDS)]
    statuses = sum((Counter(one["statuses"]) for one in rounds), Counter[int]())
    shares = [one["goodput"] / one["peak"] for one in rounds]
    names = ("peak", "offered", "goodput", "client_cores", "answered_p99_ms", "refused_p99_ms", "livez_p99_ms")
    return {
        **{name: median(one[name] for one in rounds) for name in names},
        "goodput_share": median(shares),
        "goodput_shares": shares,
        "statuses": dict(statuses),
        "bar": {"goodput_share": 0.9, "refused_p99_ms": 50, "livez_p99_ms": 100},
    }


async def _overloaded(load: Load, seconds: float) -> Result:
    peak = max([await rate_of(load, clients, seconds) for clients in (16, 32, 64)])
    before = time.process_time()
    answers, alive = await asyncio.gather(open_loop(load, 5 * peak, seconds), liveness(load, seconds))
    good = [one for one in answers if one.status == 200]
    refused = [one for one in answers if one.status in (429, 503)]
    return {
        "peak": peak,
        "offered": len(answers) / seconds,
        "goodput": len(good) / seconds,
        "client_cores": (time.process_time() - before) / seconds,
        "statuses": Counter(one.status for one in answers),
        "answered_p99_ms": 1000 * at_share([one.seconds for one in good], 0.99),
        "refused_p99_ms": 1000 * at_share([one.seconds for one in refused], 0.99),
        "livez_p99_ms": 1000 * at_share(alive, 0.99),
    }


# --- point 4: SIGTERM, memory, mixed answers -------------------------------------------------------------------------


async def sigterm(load: Load, clients: int, signals: Sequence[int] = (signal.SIGTERM,)) -> Result:
    """Signals while clients send. A request is lost if the server accepted it and never answered."""
    outcomes: Counter[str] = Counter()
    answered: set[str] = set()

    async def one(number: int) -> None:
        chance = random.Random(number)
        async with load.client() as client:
            with suppress(*GONE):
                while True:
                    answer = await client.translate(load.sentence(chance))
                    outcomes[str(answer.status)] += 1
                    answered.add(answer.headers["x-request-id"])

    async def stop() -> float:
        while outcomes.total() < clients:
            await asyncio.sleep(0.01)
        return await asyncio.to_thread(load.server.terminate, *signals)

    seconds, *_ = await asyncio.gather(stop(), *(one(number) for number in range(clients)))
    log = [json.loads(line) for line in load.server.log.read_text().splitlines()]
    accepted = {line["request"] for line in log if line["message"] == "request" and line["status"] == 200}
    lost = len(accepted - answered) + sum(line.get("unanswered", 0) for line in log)
    code = load.server.process.returncode
    return {
        "outcomes": dict(outcomes),
        "lost": lost,
        "seconds": seconds,
        "code": code,
        "tracebacks": load.server.log.read_text().lower().count("traceback"),
        "bar": {"lost": 0, "seconds": 10},
    }


async def memory(load: Load, requests: int) -> Result:
    """The memory after many requests, against the memory after a thousand."""
    await _many(load, 1000)
    before = load.server.memory
    await _many(load, requests)
    return {"requests": requests, "grown_megabytes": (load.server.memory - before) / 2**20, "bar": 30}


async def _many(load: Load, number: int) -> None:
    left = iter(range(number))

    async def one(seed: int) -> None:
        chance = random.Random(seed)
        async with load.client() as client:
            for _ in left:
                answer = await client.translate(load.sentence(chance), align=chance.random() < 0.2)
                assert answer.status == 200, answer

    await asyncio.gather(*(one(seed) for seed in range(32)))


async def canaries(load: Load, requests: int) -> Result:
    """Requests of many clients in parallel; each answer must equal the answer to the same text alone."""
    chance = random.Random(1)
    texts = list(dict.fromkeys(load.sentence(chance) for _ in range(min(500, requests))))
    async with load.client() as client:
        expected = {text: _said(await client.translate(text))[0] for text in texts}
    left, mixed = iter(range(requests)), 0

    async def one(seed: int) -> None:
        nonlocal mixed
        own = random.Random(seed)
        async with load.client() as client:
            for _ in left:
                chosen = own.sample(texts, k=own.randint(1, 3))
                mixed += _said(await client.translate(*chosen)) != [expected[text] for text in chosen]

    await asyncio.gather(*(one(seed) for seed in range(32)))
    return {"requests": requests, "texts": len(texts), "outputs": len({*expected.values()}), "mixed": mixed, "bar": 0}


def _said(answer: Answer) -> list[str]:
    return [outputs[0]["text"] for outputs in answer.json["translations"]]


# --- point 5: clients that leave, and clients that mean ill ----------------------------------------------------------


async def disconnects(load: Load, number: int) -> Result:
    """Clients that disconnect: their places in the queue become free immediately.

    Each request has so many texts that sending is faster than translating. A fast server may still answer some of
    them before the disconnect, so those are counted too.
    """
    server, highest = load.server, 0.0
    before = _endings(server)
    for start in range(0, number, 50):
        clients = [load.client() for _ in range(min(50, number - start))]
        chance = random.Random(start)
        for client in clients:
            await client.send(
                *posted(TRANSLATE, {"texts": [load.sentence(chance) for _ in range(TEXTS)], "beam_size": 10})
            )
        highest = max(highest, await asyncio.to_thread(server.figure, "regard_queue_length"))
        for client in clients:
            client.close()
    begun = time.monotonic()
    while server.figure("regard_queue_length"):
        await asyncio.sleep(0.01)
    freed = time.monotonic() - begun
    while (ended := _endings(server) - before).total() < number and time.monotonic() < begun + 120:
        await asyncio.sleep(0.01)  # a batch that was running may end a moment after the queue is empty
    result = {"disconnects": number, "ended": ended, "most_waiting": highest, "freed_seconds": freed}
    return result | await _then(load)


def _endings(server: Served) -> Counter[str]:
    answered = server.figure("regard_requests_total", route=TRANSLATE, status="200")
    return Counter({"left": int(server.figure("regard_client_disconnects_total")), "answered": int(answered)})


async def gigabyte(load: Load, seconds: float) -> Result:
    """A body of a gigabyte, announced and in pieces, again and again: refused before it has been sent."""
    before, sent = load.server.memory, {}
    living = asyncio.ensure_future(liveness(load, seconds))
    while not living.done():
        for name, framing in (("announced", f"Content-Length: {2**30}"), ("in_pieces", "Transfer-Encoding: chunked")):
            sent[name] = await _pour(load.server, head_of(TRANSLATE, framing), is_chunked="chunked" in framing)
    alive = 1000 * at_share(living.result(), 0.99)
    grown = (load.server.memory - before) / 2**20
    return {"sent_bytes": sent, "grown_megabytes": grown, "livez_p99_ms": alive} | await _then(load)


async def _pour(server: Served, head: bytes, *, is_chunked: bool) -> int:
    piece = b"x" * 65536
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(head)
    sent = 0
    with suppress(*GONE):
        while sent < 2**30 and not reader.at_eof():
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if is_chunked else piece)
            await writer.drain()
            sent += len(piece)
            await asyncio.sleep(0)
    writer.transport.abort()
    return sent


async def slow_clients(load: Load, number: int) -> Result:
    """Clients that stop in the middle of a request: others are answered, and the slow ones are disconnected."""
    head, body = posted(TRANSLATE, {"texts": ["the cat sees the king"]})
    halves = [head + body[:5], head[:20]]
    slow = [load.client() for _ in range(number)]
    for place, client in enumerate(slow):
        await client.send(halves[place % 2])
    result = await _then(load)
    endings = Counter([await _ending(client) for client in slow])
    return {"slow": number, "endings": dict(endings)} | result


async def _ending(client: Client) -> str:
    try:
        async with asyncio.timeout(60):
            return str((await client.receive()).status)
    except TimeoutError:
        return "held"
    except GONE:
        return "closed"
    finally:
        client.close()


async def never_reading(load: Load, number: int) -> Result:
    """Clients that request much and read nothing: liveness meanwhile, and the time until their descriptors are free."""
    before = load.server.descriptors
    clients = [await _never_reading_client(load.server) for _ in range(number)]
    connected_at, lives = time.monotonic(), []
    while len(lives) < 20 or (load.server.descriptors > before + 10 and time.monotonic() < connected_at + 120):
        started_at = time.monotonic()
        async with asyncio.timeout(60), load.client() as probe:  # a new connection each time
            await probe.get("/livez")
        lives.append(time.monotonic() - started_at)
        await asyncio.sleep(0.1)
    released = time.monotonic() - connected_at
    for client in clients:
        client.close()
    lines = load.server.log.read_text().splitlines()
    return {
        "clients": number,
        "livez_max_ms": 1000 * max(lives, default=0.0),
        "descriptors_freed_after": released,
        "log_lines": len(lines),
        "tracebacks": sum("raceback" in line for line in lines),
    }


async def _never_reading_client(server: Served) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)
    loop = asyncio.get_running_loop()
    with suppress(*GONE):
        await loop.sock_connect(client, ("127.0.0.1", server.port))
        await loop.sock_sendall(client, b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 60)
    return client


async def many_headers(load: Load) -> Result:
    """Ten thousand headers, and one header that is too long."""
    headers = {
        "many": "".join(f"X-{number}: 1\r\n" for number in range(10_000)),
        "long": f"X-Long: {'x' * 10_000_000}\r\n",
    }
    statuses = {}
    for name, lines in headers.items():
        client = load.client()
        with suppress(*GONE):
            await client.send(f"GET /api/v1/models HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode())
        statuses[name] = await _ending(client)
    return {"statuses": statuses} | await _then(load)


async def _then(load: Load) -> Result:
    """The answers to other clients meanwhile or afterwards."""
    async with load.client() as client:
        answers = [await client.translate(load.sentence(random.Random(number))) for number in range(5)]
    return {"then_statuses": [one.status for one in answers], "then_ms": 1000 * max(one.seconds for one in answers)}


@dataclass(frozen=True)
class Part:
    """A measurement: its function, limits, repetitions and full size."""

    run: Callable[..., Coroutine[Any, Any, Result]]
    size: float | None = None
    limits: tuple[str, ...] = ()
    times: int = 1
    program: tuple[str, ...] = PROGRAM


PATIENT = ("max_wait_seconds=1e6", "max_queue=1000000", "deadline=600", "body_timeout=3")
PARTS = {
    "throughput": Part(throughput, 10.0),
    "overload": Part(overload, 8.0, ("max_wait_seconds=1",)),
    "sigterm": Part(sigterm, 24, times=20),
    "memory": Part(memory, 20_000, PATIENT),
    "canaries": Part(canaries, 10_000, PATIENT),
    "disconnects": Part(disconnects, 1000, PATIENT),
    "gigabyte": Part(gigabyte, 10.0),
    "slow_clients": Part(slow_clients, 200, PATIENT),
    "never_reading": Part(never_reading, 250, program=with_descriptors(200)),
    "many_headers": Part(many_headers),
}


def measured(part: Part, models: list[Path], scale: float, engine: str = "torch") -> Result:
    """The result of one part, on a server of its own."""
    options = [option for limit in ("rate=0", *part.limits) for option in ("--limit", limit)]
    options += ["--engine", engine]
    size = [] if part.size is None else [max(type(part.size)(8), type(part.size)(part.size * scale))]
    _sentences()  # made now, not while time is taken
    with (
        tempfile.TemporaryDirectory() as directory,
        serving(models, Path(directory) / "log", *options, program=part.program) as server,
    ):
        return asyncio.run(part.run(Load(server, world_sentence), *size))


def main() -> None:
    """Run the selected parts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--engine", default="torch")
    arguments = parser.parse_args()
    for name in arguments.only or PARTS:
        for _ in range(max(1, round(PARTS[name].times * arguments.scale))):
            result = measured(PARTS[name], arguments.models, arguments.scale, arguments.engine)
            print(json.dumps({"part": name} | result), flush=True)


if __name__ == "__main__":
    main()
