"""What every API of the server stands on: models to translate with, limits, keys, and one queue for all clients.

The modules of the APIs (own_api, libretranslate, deepl, inference) turn requests into calls of a `Service` and its
results into their own JSON. Each offers `routes(service) -> list[Route]`, and `ROUTES_SCHEMA` for the OpenAPI document.
What a service cannot do it refuses by raising `Refusal`, which the server answers in the form of the API's path.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from regard.serve.batcher import Batcher
from regard.serve.documents.jobs import Jobs
from regard.serve.leaving import unless_client_leaves
from regard.serve.limits import Limits, Rates
from regard.serve.models import Models, ServedModel
from regard.serve.safety import Keys
from regard.serve.search import Wish
from regard.serve.traces import Traces
from regard.translation.translator import Translation


@dataclass(frozen=True)
class LanguagePair:
    """A direction that some model translates in, by language codes such as "en" and "ko"."""

    source: str
    target: str


class Service:
    """The server's parts, and what the APIs ask of them."""

    def __init__(self, models: Models, limits: Limits, keys: Keys, batcher: Batcher) -> None:
        self.models = models
        self.limits = limits
        self.keys = keys
        self.batcher = batcher
        self.rates = Rates(limits)
        self.traces = Traces()
        self.jobs = Jobs()
        self.is_draining = False

    async def translate_with(
        self, chosen: ServedModel, texts: Sequence[str], wish: Wish, *, request: Request
    ) -> list[list[Translation]]:
        """For each text its best translations by the model, as many as wished.

        Checks the limits; waits in the queue, and leaves it when the client does.
        """
        self.limits.check_texts(list(texts))
        work = self.batcher.submit(chosen.search(wish, self.limits), list(texts))
        return await unless_client_leaves(request, work)

    async def run_alone(self, request: Request, function: Callable[[], Any], *, cost: int) -> Any:
        """The result of a function that has a worker for itself, such as a trace; `cost` is about its tokens."""
        return await unless_client_leaves(request, self.batcher.alone(function, cost=cost))

    def choose(self, *, model: str | None = None, source: str | None = None, target: str | None = None) -> ServedModel:
        """The model of that name or, without one, the ready one that is nearest to the languages."""
        return self.models.choose(model=model, source=source, target=target)

    def pairs(self) -> list[LanguagePair]:
        """Every direction that can be asked for, each once, in the order of the models."""
        found = [LanguagePair(*one.languages) for one in self.models.ready() if all(one.languages)]
        return list(dict.fromkeys(found))

    def detect(self, text: str) -> list[tuple[str, float]]:
        """The languages that a text may be in, with a confidence from 0 to 1 each, the likeliest first."""
        from regard.serve.detection import detect

        known = {code for pair in self.pairs() for code in (pair.source, pair.target)}
        return detect(text, sorted(known))

    def check_key(self, request: Request, *, given: str | None = None) -> None:
        """Refuse a request without a valid key, where keys are required.

        Looks at the headers (Authorization: Bearer or DeepL-Auth-Key, X-API-Key) and at `given`: the key that an API
        takes in its body or query.
        """
        self.keys.check(request.headers, given=given)

    def limit_rate(self, request: Request) -> None:
        """Count the request for its key or, without one, its address; refuse it when they are too many."""
        key = self.keys.named(request.headers)
        address = request.client.host if request.client else "unknown"
        self.rates.take(f"key {key}" if key is not None else f"address {address}")

    @property
    def is_ready(self) -> bool:
        """Whether requests are taken and at least one model has translated or described something."""
        return not self.is_draining and any(one.is_ready for one in self.models.all)

    def check_ready(self) -> None:
        """Refuse while no model is loaded and warm."""
        if not self.models.ready():
            raise self.models.none_ready()
