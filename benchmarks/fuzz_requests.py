"""Requests that no client would send, against a running server, for two minutes; prints the number of cases.

    .venv/bin/python -m benchmarks.fuzz_requests MODEL
    .venv/bin/python -m benchmarks.fuzz_requests MODEL --seconds 10 --seed 7

A case is wrong if the response is not valid HTTP, has a status of 500 or another one that is not documented, is an
error that does not have the format of its API, or does not come within 30 seconds; if the log has a traceback; or if
the server does not respond to /livez afterwards. The exit code is then 1, and the wrong cases are printed.
"""

import argparse
import asyncio
import json
import math
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.http_load import Client, serving

from regard.server.errors import DeepLError, ErrorResponse, error_type

CLIENTS = 8
WAIT_SECONDS = 30.0
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"  # comes before the response if the client expects it
ALLOWED = {200, 202, 204, 304, 400, 401, 403, 404, 405, 408, 409, 413, 415, 421, 429, 431, 503}
NASTY = [
    None, True, -1, 0, 1e308, 2**63, 10**30, "", "\0", "\u2028", "\U0010ffff", "a" * 6000, "../../etc/passwd", "%s%n",
    "<b>", "</b>" * 50, "&#0;", "en", "ko", "auto", "null", "1", "-1", "NaN", [], {}, [[]], [None], ["a"] * 200,
    {"a": {"b": []}},
]  # fmt: skip
HEADERS = [
    "Content-Length: -1", "Content-Length: 1e3", "Content-Length: 99999999999999999999", "Transfer-Encoding: chunked",
    "Content-Type: application/x-www-form-urlencoded", "Content-Type: multipart/form-data; boundary=x",
    "Host: evil.example",
    "Content-Type: multipart/form-data", "Content-Type: text/plain", "Authorization: Bearer ", "X-Request-ID: a\tb",
    "Expect: 100-continue", "Upgrade: websocket", "Connection: upgrade", "Origin: null", "Range: bytes=9-1",
    "X-A: \xff",
]  # fmt: skip


def operations(document: dict[str, Any]) -> list[tuple[str, str, list[str]]]:
    """The method, the path and the fields of each operation."""
    schemas, found = document["components"]["schemas"], []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            names = [one["name"] for one in operation.get("parameters", []) if one["in"] == "query"]
            for content in operation.get("requestBody", {}).get("content", {}).values():
                schema = schemas.get(content["schema"].get("$ref", "").rpartition("/")[2], content["schema"])
                names += schema.get("properties", {})
            found.append((method.upper(), path, names))
    return found


def make_request(chance: random.Random, found: list[tuple[str, str, list[str]]]) -> bytes:
    """A request for one of the operations, with fields, headers, a method or bytes that are wrong."""
    method, path, names = chance.choice(found)
    path = re.sub(r"\{\w+\}", lambda _: chance.choice(["there", "0", "1" * 9, "%00", "%ff", "..", "x" * 500]), path)
    fields = {name: chance.choice(NASTY) for name in names if chance.random() < 0.7}
    fields |= {"text": "one red cat", "q": "one"} if chance.random() < 0.3 else {}
    body = json.dumps(fields).encode()
    if chance.random() < 0.2:
        body = "&".join(f"{name}={value}" for name, value in fields.items()).encode()
    if chance.random() < 0.2:
        path += "?" + "&".join(f"{name}={value}" for name, value in fields.items()).replace(" ", "+")
    if chance.random() < 0.1:
        method = chance.choice(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "FOO"])
    body = bytearray(body or b"x")
    for _ in range(chance.choice([0, 0, 0, 1, 5])):
        body[chance.randrange(len(body))] = chance.randrange(256)
    lines = ["Host: localhost", "Connection: close", "Content-Type: application/json"]
    lines += chance.sample(HEADERS, chance.choice([0, 0, 0, 1, 2]))
    if not any(line.startswith(("Content-Length", "Transfer")) for line in lines):
        lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode("latin-1", "replace")
    if chance.random() < 0.05:
        at = chance.randrange(len(head))
        head = head[:at] + chance.randbytes(3) + head[at + 3 :]
    return head + bytes(body)


def problem_of(request: bytes, response: bytes) -> str | None:
    """Why the response is wrong."""
    head, _, body = response.partition(b"\r\n\r\n")
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", head)
    if not response:
        return None  # the connection was closed, as it is for requests that are not HTTP
    if found is None:
        return "it is not HTTP"
    status, path = int(found[1]), request.split(b" ", 2)[1].split(b"?")[0].decode("latin-1")
    if status == 100:
        return problem_of(request, body)
    if status not in ALLOWED:
        return f"its status is {status}"
    if status < 400 or b"application/json" not in head or request.startswith(b"HEAD"):
        return None
    kind, error = error_type(path), json.loads(body)
    key = "message" if kind is DeepLError else "error"
    is_right = isinstance(error.get(key), dict if kind is ErrorResponse else str)
    return None if is_right else "the error has another format"


async def send(port: int, request: bytes) -> bytes:
    """The response to raw bytes: all of it, or what comes until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    response = b""
    try:
        writer.write(request)
        async with asyncio.timeout(WAIT_SECONDS):
            while piece := await reader.read(1 << 16):
                response += piece
                head, _, body = response.removeprefix(CONTINUE).partition(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head)
                if length is not None and (request.startswith(b"HEAD ") or len(body) >= int(length[1])):
                    break  # the connection may stay open
        return response
    except ConnectionError:
        return response
    finally:
        writer.transport.abort()


async def fuzz(
    port: int, seed: int, *, seconds: float = math.inf, cases: int = 10**9
) -> tuple[Counter[str], list[tuple[str, bytes]]]:
    """The responses by their status, and the wrong cases with the reasons."""
    async with Client(port) as client:
        found = operations((await client.get("/api/v1/openapi.json")).json)
    until, statuses, wrong = time.monotonic() + seconds, Counter[str](), []
    numbers: Iterator[int] = iter(range(cases))

    async def one() -> None:
        for number in numbers:
            if time.monotonic() > until:
                return
            request = make_request(random.Random(f"{seed}:{number}"), found)
            try:
                response = await send(port, request)
                problem = problem_of(request, response)
                statuses[response[9:12].decode("latin-1") or "closed"] += 1
            except TimeoutError:
                problem = f"no response within {WAIT_SECONDS:.0f} s"
            if problem is not None:
                wrong.append((problem, request))

    await asyncio.gather(*(one() for _ in range(CLIENTS)))
    async with Client(port) as client:
        if (await client.get("/livez")).status != 200:
            wrong.append(("the server is not alive", b""))
    return statuses, wrong


def main() -> None:
    """Fuzz a server of one's own, and print the number of cases."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "log"
        with serving(arguments.models, log, "--limit", "rate=0", "--limit", "body_timeout=2") as server:
            statuses, wrong = asyncio.run(fuzz(server.port, arguments.seed, seconds=arguments.seconds))
        wrong += [("a traceback", line.encode()) for line in log.read_text().splitlines() if "raceback" in line]
    print(json.dumps({"cases": statuses.total(), "statuses": dict(statuses.most_common()), "wrong": len(wrong)}))
    for problem, request in wrong[:20]:
        print(f"{problem}: {request[:1500]!r}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
