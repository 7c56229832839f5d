"""Limits on one request, on one client and on all clients together; every limit is on by default."""

import time
from collections import OrderedDict
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Network, ip_address

from starlette.requests import Request

from regard.server.errors import ApiError


@dataclass(frozen=True)
class Limits:
    """The limits of a server; a `rate` of 0 turns the rate limit off."""

    max_characters: int = 5_000  # of one text
    max_total_characters: int = 50_000  # of one request
    max_texts: int = 128  # of one request
    max_beam_size: int = 10
    max_nbest: int = 10  # outputs of one text; LibreTranslate calls them alternatives
    max_body_bytes: int = 1_000_000
    max_file_bytes: int = 4_000_000  # of an uploaded document or image
    body_timeout: float = 10.0  # seconds in which a body must arrive
    rate: float = 100.0  # requests per second of one key, or of one address without a key
    burst: int = 200  # requests at once before the rate applies
    max_queue: int = 2_000  # texts of all clients together
    max_wait_seconds: float = 5.0  # a request that would have to wait longer is refused at once
    deadline: float = 30.0  # seconds until an admitted request has its response

    def check_texts(self, texts: list[str]) -> None:
        """Raise if the texts are too many or too long for one request."""
        if len(texts) > self.max_texts:
            raise ApiError(413, "too_many_texts", f"There are more than {self.max_texts} texts. Send fewer at a time.")
        if any(len(text) > self.max_characters for text in texts):
            raise ApiError(
                413, "text_too_long", f"A text has more than {self.max_characters} characters. Send it in parts."
            )
        if sum(map(len, texts)) > self.max_total_characters:
            raise ApiError(
                413,
                "too_many_characters",
                f"The texts have more than {self.max_total_characters} characters together. Send fewer at a time.",
            )

    def choose_beam_size(self, own: int, requested: int | None, nbest: int = 1) -> int:
        """The beam size for a request, at least `nbest`; by default the model's own, within the limit."""
        beam_size = min(own, self.max_beam_size) if requested is None else requested
        if not 1 <= beam_size <= self.max_beam_size:
            raise ApiError(400, "bad_beam_size", f"beam_size must be from 1 to {self.max_beam_size}.")
        if not 1 <= nbest <= self.max_nbest:
            raise ApiError(400, "bad_nbest", f"The number of outputs must be from 1 to {self.max_nbest}.")
        return max(beam_size, nbest)


def client_address(request: Request) -> str:
    """The address for which requests without a key are counted; of IPv6 the /64 network, which one client has whole."""
    host = request.client.host if request.client else "unknown"
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv4Address):
        return host
    return str(address.ipv4_mapped or IPv6Network((int(address) >> 64 << 64, 64)))


class RateLimiter:
    """A token bucket per client: it holds `burst` requests and refills at `rate` requests per second."""

    MAX_CLIENTS = 10_000  # in memory; the client whose last request is oldest goes first

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # client: requests left, time

    def acquire(self, address: str, *, key: int | None = None) -> None:
        """Count a request for its key or, without one, for its address; raise if the bucket is empty."""
        rate, burst = self.limits.rate, float(self.limits.burst)
        if not rate:
            return
        client = address if key is None else f"key {key}"
        now = time.monotonic()
        left, then = self._buckets.pop(client, (burst, now))
        left = min(burst, left + (now - then) * rate)
        is_allowed = left >= 1
        self._buckets[client] = (left - 1 if is_allowed else left, now)
        while len(self._buckets) > self.MAX_CLIENTS:
            self._buckets.popitem(last=False)
        if not is_allowed:
            raise ApiError(
                429,
                "too_many_requests",
                "Too many requests came from this client. Send fewer per second.",
                retry_after=(1 - left) / rate,
            )

    def charge_key(self, address: str, key: int) -> None:
        """Count a request, which was counted for its address, for its key instead: the body had it."""
        if address in self._buckets:
            left, then = self._buckets[address]
            self._buckets[address] = (min(left + 1, float(self.limits.burst)), then)
        self.acquire(address, key=key)
