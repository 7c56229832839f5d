"""Log and metrics: JSON lines on standard error (plain lines in a terminal), and counters for Prometheus.

The log never has the text of a request, and no label of a metric has a value that clients choose.
"""

import logging
import re
import secrets
import sys
import time
import traceback
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.responses import Response

if TYPE_CHECKING:
    from regard.server.batcher import Batcher, BatchResult

LOGGER = logging.getLogger("regard.server")
BATCH_SIZE_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
SECONDS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
FIRST_ERROR_STATUS = 400
REPETITION_SECONDS = 10.0
_REQUEST_ID = re.compile("[A-Za-z0-9._-]{1,64}")


class JsonLines(logging.Formatter):
    """Records as JSON lines."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        entry |= getattr(record, "fields", {})
        if record.exc_info:
            entry["traceback"] = "".join(traceback.format_exception(*record.exc_info))
        return msgspec.json.encode(entry).decode()


class PlainLines(logging.Formatter):
    """Records as plain lines for a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        entry = [f"{name}={value}" for name, value in getattr(record, "fields", {}).items()]
        line = " ".join([time.strftime("%H:%M:%S", time.localtime(record.created)), record.getMessage(), *entry])
        return line + ("\n" + self.formatException(record.exc_info) if record.exc_info else "")


def is_success(record: logging.LogRecord) -> bool:
    """Whether a record is about a successful request; opening the page makes a hundred of them."""
    return bool(getattr(record, "fields", {}).get("status", FIRST_ERROR_STATUS) < FIRST_ERROR_STATUS)


class RepetitionFilter(logging.Filter):
    """Passes an error or warning once; how often it was repeated meanwhile is logged after a while.

    Records with the id of a request always pass: a client may ask for the reason of its own error.
    """

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[str, tuple[float, int]] = {}  # first line of the message: time, repetitions

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING or "request" in getattr(record, "fields", {}):
            return True
        message = record.getMessage().partition("\n")[0]
        logged_at, repetitions = self._counts.get(message, (time.monotonic(), -1))
        self._counts[message] = logged_at, repetitions + 1
        return repetitions < 0

    def pop_counts(self) -> dict[str, int]:
        """The messages that were logged a while ago, with their repetitions since then; they pass again."""
        before = time.monotonic() - REPETITION_SECONDS
        old = [message for message, (logged_at, _) in self._counts.items() if logged_at < before]
        return {message: self._counts.pop(message)[1] for message in old}


REPETITIONS = RepetitionFilter()


def start_logs() -> None:
    """Write the log of this server, of uvicorn and of asyncio to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(REPETITIONS)
    if sys.stderr.isatty():
        handler.setFormatter(PlainLines())
        handler.addFilter(lambda record: not is_success(record))
    else:
        handler.setFormatter(JsonLines())
    for name in ("regard.server", "uvicorn", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == "regard.server" else logging.WARNING)


def log_repetitions() -> None:
    """Log how often errors were repeated; the server calls it once per second."""
    for message, repetitions in REPETITIONS.pop_counts().items():
        if repetitions:
            log_info("repeated", error=message, times=repetitions)


def log_info(message: str, **fields: Any) -> None:
    """Log one line; without the location in the code, which would take as long to find as all the rest."""
    if LOGGER.isEnabledFor(logging.INFO):
        record = LOGGER.makeRecord(LOGGER.name, logging.INFO, "", 0, message, (), None, extra={"fields": fields})
        LOGGER.handle(record)


def log_error(message: str, **fields: Any) -> None:
    """Log a problem that an operator has to solve."""
    LOGGER.error(message, extra={"fields": fields})


def log_exception(message: str, error: BaseException | None = None, **fields: Any) -> None:
    """Log the traceback of an exception; without one, of the exception that is being handled."""
    LOGGER.error(message, extra={"fields": fields}, exc_info=error or True)


def request_id(given: str | None) -> str:
    """The id of a request: the one that the client sent, if it is short and plain."""
    return given if given is not None and _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        own: Any = {"registry": self.registry}
        self.requests = Counter("regard_requests", "Responses sent.", ["route", "status"], **own)
        self.latency = Histogram(
            "regard_request_seconds", "Time to the response.", ["route"], buckets=SECONDS_BUCKETS, **own
        )
        self.batches = Histogram(
            "regard_batch_texts", "Texts decoded together.", ["pair"], buckets=BATCH_SIZE_BUCKETS, **own
        )
        self.tokens = Counter("regard_tokens", "Target tokens decoded.", ["pair"], **own)
        self.busy = Counter("regard_decoding_seconds", "Time that workers spent decoding.", ["pair"], **own)
        self.client_disconnects = Counter(
            "regard_client_disconnects", "Requests whose client disconnected before the response.", **own
        )
        self.queue_length = Gauge("regard_queue_length", "Texts in the queue.", **own)
        self.wait = Gauge("regard_expected_wait_seconds", "Time that a new text would wait.", **own)
        self.ready = Gauge("regard_ready_models", "Models that are loaded and warmed up.", **own)
        self.load_failures = Gauge("regard_model_load_failures", "Models that cannot be loaded.", **own)
        # Finding the labels takes longer than counting.
        self._of_route = lru_cache(maxsize=1024)(
            lambda route, status: (self.requests.labels(route, str(status)), self.latency.labels(route))
        )

    def observe_queue(self, batcher: "Batcher") -> None:
        """Read the length of the queue whenever the metrics are requested."""
        self.queue_length.set_function(lambda: len(batcher.waiting))
        self.wait.set_function(lambda: batcher.expected_wait)

    def record_request(self, route: str, status: int, seconds: float) -> None:
        """Count a request; `route` is the pattern of a route, never the path that a client sent."""
        requests, latency = self._of_route(route, status)
        requests.inc()
        latency.observe(seconds)

    def record_batch(self, finished: "BatchResult") -> None:
        """Count a batch."""
        from regard.server.batcher import TranslateJob  # not above: it imports torch

        if not isinstance(finished.job, TranslateJob):
            return
        pair = finished.job.pair
        self.batches.labels(pair).observe(len(finished.items))
        self.tokens.labels(pair).inc(sum(len(one.tokens) + 1 for outputs in finished.results for one in outputs))
        self.busy.labels(pair).inc(finished.seconds)

    def page(self) -> Response:
        """All metrics in the format of Prometheus."""
        return Response(generate_latest(self.registry), media_type=CONTENT_TYPE_LATEST)
