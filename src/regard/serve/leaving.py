"""Work for a client that may leave: when it does, the work is cancelled, and its place in the queue is free at once."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import Request

from regard.serve.refusals import ClientLeftError

Result = TypeVar("Result")


async def unless_client_leaves(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """The work's result; call it when the request's body has been read."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_departure(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientLeftError
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()


async def _departure(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
