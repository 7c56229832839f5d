"""Figures for Prometheus; every label has few values, whatever clients send."""

from functools import lru_cache
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.responses import Response

from regard.serve.batcher import Batcher, Finished
from regard.serve.search import Search

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        own: Any = {"registry": self.registry}
        self.requests = Counter("regard_requests", "Requests answered.", ["route", "status"], **own)
        self.latency = Histogram("regard_request_seconds", "Time to an answer.", ["route"], buckets=SECONDS, **own)
        self.batches = Histogram("regard_batch_texts", "Texts decoded together.", ["pair"], buckets=SIZES, **own)
        self.tokens = Counter("regard_tokens", "Target tokens said.", ["pair"], **own)
        self.busy = Counter("regard_decoding_seconds", "Time that workers spent decoding.", ["pair"], **own)
        self.left = Counter("regard_clients_left", "Requests whose client left before the answer.", **own)
        self.shed = Counter("regard_shed_requests", "Requests refused unread: the queue was full.", ["route"], **own)
        self.waiting = Gauge("regard_waiting_texts", "Texts in the queue.", **own)
        self.wait = Gauge("regard_expected_wait_seconds", "How long a new text would wait.", **own)
        self.ready = Gauge("regard_ready_models", "Models that are loaded and warm.", **own)
        self.failing = Gauge("regard_failing_models", "Models that cannot be loaded.", **own)
        self._of_route = lru_cache(maxsize=1024)(self._labelled)  # to look labels up takes longer than to count

    def watch(self, batcher: Batcher) -> None:
        """Show the queue as it is when asked."""
        self.waiting.set_function(lambda: len(batcher.waiting))
        self.wait.set_function(lambda: batcher.expected_wait)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a request; `route` is a route's pattern, never a client's path."""
        requests, latency = self._of_route(route, status)
        requests.inc()
        latency.observe(seconds)

    def _labelled(self, route: str, status: int) -> tuple[Counter, Histogram]:
        return self.requests.labels(route, str(status)), self.latency.labels(route)

    def decoded(self, finished: Finished) -> None:
        """Count a batch."""
        if not isinstance(finished.work, Search):
            return
        pair = finished.work.pair
        self.batches.labels(pair).observe(len(finished.items))
        self.tokens.labels(pair).inc(sum(len(one.tokens) + 1 for outputs in finished.results for one in outputs))
        self.busy.labels(pair).inc(finished.seconds)

    def page(self) -> Response:
        """All figures, as Prometheus reads them."""
        return Response(generate_latest(self.registry), media_type=CONTENT_TYPE_LATEST)
