"""The page comes before the APIs: it needs no torch, whose import takes longer than the rest of the start."""

import asyncio
import subprocess
import sys

import httpx
from starlette.responses import PlainTextResponse

from regard.server.auth import SECURITY_HEADERS, HostPolicy
from regard.server.start import PageFirst

POLICY = HostPolicy.from_options("127.0.0.1")


def test_the_page_does_not_need_torch() -> None:
    code = "import sys, regard.cli.demo, regard.server.start; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def client(app: PageFirst, host: str = "127.0.0.1") -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"http://{host}")


def test_only_the_page_precedes_the_apis() -> None:
    async def visit() -> None:
        app = PageFirst(POLICY)
        async with client(app) as visitor, client(app, "evil.example") as other:
            page = await visitor.get("/")
            assert page.status_code == 200
            assert page.headers.items() >= SECURITY_HEADERS.items()
            waiting = [asyncio.ensure_future(one) for one in (visitor.get("/api/v1/models"), other.get("/"))]
            assert not any((await asyncio.wait(waiting, timeout=0.05))[0])
            app.open(PlainTextResponse("of the APIs"))
            assert {(await one).text for one in waiting} == {"of the APIs"}

    asyncio.run(visit())
