"""What tests of the page ask: the server's API without the page, and functions of the page's modules by themselves."""

import json
import time
from collections.abc import Callable
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
from numpy.typing import NDArray


def answer(server: str, path: str, body: object = None) -> Any:
    """What the API answers to a GET, or to a POST of a body."""
    given = None if body is None else json.dumps(body).encode()
    request = Request(f"{server}api/v1/{path}", data=given, headers={"Content-Type": "application/json"})  # noqa: S310
    with urlopen(request, timeout=60) as result:  # noqa: S310
        return json.load(result)


def translation(server: str, text: str, model: str = "transformer") -> str:
    """What a model says of a text."""
    output: str = answer(server, "translate", {"model": model, "texts": [text]})["translations"][0][0]["text"]
    return output


def floats(server: str, path: str) -> NDArray[np.float32]:
    """A map that the API answers."""
    with urlopen(f"{server}api/v1/{path}", timeout=60) as result:  # noqa: S310
        shape = [int(length) for length in result.headers["X-Regard-Shape"].split(",")]
        return np.frombuffer(result.read(), dtype="<f4").reshape(shape)


def settled(page: Any, read: Callable[[], Any], wanted: object) -> Any:
    """What is read once it is as wanted, or after a minute: drawing takes as long as the machine is busy."""
    deadline = time.monotonic() + 60
    while (found := read()) != wanted and time.monotonic() < deadline:
        page.wait_for_timeout(50)
    return found


def evaluated(page: Any, module: str, expression: str, *given: object) -> Any:
    """An expression over a module's exports (`m`) and what is given (`g`), computed by the browser."""
    script = f"async ([module, g]) => {{ const m = await import(module); return {expression}; }}"
    return page.evaluate(script, [f"/page/{module}", list(given)])
