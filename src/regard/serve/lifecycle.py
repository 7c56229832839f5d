"""From start to stop: models are loaded and warmed before the server is ready, and SIGTERM lets it finish its work."""

import asyncio
import gc
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import uvicorn

from regard.errors import RegardError
from regard.serve.logs import tell, tell_problem
from regard.serve.models import ServedModel
from regard.serve.service import Service

POLL = 1.0  # seconds between looks for models that have appeared
DRAIN = 8.5  # seconds in which accepted requests are finished


class Lifecycle:
    """Which part of its life the server is in, and how much is under way."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.failure: RegardError | None = None  # a model that was asked for cannot be loaded
        self.on_failure: Callable[[], object] = lambda: None
        self.under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def is_draining(self) -> bool:
        return self.service.is_draining

    @contextmanager
    def counted(self, *, is_work: bool) -> Iterator[None]:
        """Count a request as under way; questions after our health are not work."""
        self.under_way += is_work
        self._idle.clear()
        try:
            yield
        finally:
            self.under_way -= is_work
            if not self.under_way:
                self._idle.set()

    async def watch_models(self) -> None:
        """Load models as they appear, for as long as the server runs."""
        while True:
            loaded = await asyncio.to_thread(self.service.models.load_new)
            for model, problem in loaded:
                self._note(model, problem)
            if loaded:
                gc.collect()
                gc.freeze()  # what is there by now stays: to look through it again takes a tenth of a second each time
            await asyncio.sleep(POLL)

    def _note(self, model: ServedModel, problem: RegardError | None) -> None:
        if problem is None:
            tell("a model is ready", model=model.name, engine=model.engine)
        elif model.is_required and not model.is_ready:
            self.failure = problem
            self.on_failure()
        else:
            tell_problem(f"a model cannot be used: {problem}", model=model.name)

    async def drain(self) -> None:
        """Take nothing new; return when all that was accepted has been answered and fetched, or time is up."""
        self.service.is_draining = True
        tell("draining", under_way=self.under_way)
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN):
                await self.service.jobs.settle()
                while self.under_way:
                    self._idle.clear()
                    await self._idle.wait()
        tell("drained", unanswered=self.under_way)


class Server(uvicorn.Server):
    """uvicorn's server, which drains before it stops; a second signal stops it at once."""

    def __init__(self, config: uvicorn.Config, lifecycle: Lifecycle, on_start: Callable[[str], object]) -> None:
        super().__init__(config)
        self.lifecycle, self.on_start = lifecycle, on_start
        self.stopped_by: int | None = None
        self._draining: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self.on_start(f"http://{f'[{host}]' if ':' in host else host}:{port}/")

    def give_up(self) -> None:
        """Stop at once: there is nothing to serve."""
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.stopped_by is not None:
            super().handle_exit(signal.SIGINT, frame)
            self.force_exit = True
            return
        self.stopped_by = sig
        asyncio.get_event_loop().call_soon_threadsafe(self._begin_to_stop)

    def _begin_to_stop(self) -> None:
        self._draining = asyncio.ensure_future(self._stop())

    async def _stop(self) -> None:
        await self.lifecycle.drain()
        self.should_exit = True
