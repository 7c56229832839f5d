"""How much one request, one client and all clients together may ask for; every bound is on by default."""

import time
from collections import OrderedDict
from dataclasses import dataclass

from regard.serve.refusals import Refusal


@dataclass(frozen=True)
class Limits:
    """The bounds of a server; 0 for `rate` takes that bound away."""

    characters: int = 5_000  # of one text
    total_characters: int = 50_000  # of one request
    texts: int = 128  # of one request
    beam: int = 10
    nbest: int = 10  # outputs of one text; other APIs call them alternatives
    body_bytes: int = 1_000_000
    file_bytes: int = 4_000_000  # of an uploaded document
    body_seconds: float = 10.0  # in which a body must have arrived
    rate: float = 100.0  # requests a second of one key, or of one address without a key
    burst: int = 200  # requests that may come at once before the rate holds
    waiting_texts: int = 2_000  # of all clients together
    waiting_seconds: float = 5.0  # a request that would have to wait longer is refused at once
    deadline: float = 30.0  # seconds in which an accepted request is answered

    def check_texts(self, texts: list[str]) -> None:
        """Refuse what is too much for one request."""
        if len(texts) > self.texts:
            raise Refusal(413, "too_many_texts", f"There are more than {self.texts} texts. Send fewer at a time.")
        if any(len(text) > self.characters for text in texts):
            raise Refusal(413, "text_too_long", f"A text has more than {self.characters} characters. Send it in parts.")
        if sum(map(len, texts)) > self.total_characters:
            raise Refusal(
                413, "too_many_characters", f"The texts have more than {self.total_characters} characters together."
            )

    def check_search(self, beam: int, nbest: int) -> None:
        """Refuse a search that is wider than allowed."""
        if not 1 <= beam <= self.beam:
            raise Refusal(400, "bad_beam", f"The beam must be from 1 to {self.beam}.")
        if not 1 <= nbest <= self.nbest:
            raise Refusal(400, "bad_nbest", f"From 1 to {self.nbest} outputs may be asked for.")


class Rates:
    """A bucket for each client: it holds `burst` requests and is filled again at `rate` a second."""

    CLIENTS = 10_000  # remembered; the one not heard of for longest is forgotten first

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # client: requests left, when

    def take(self, client: str) -> None:
        """Count a request, or refuse it."""
        rate, burst = self.limits.rate, float(self.limits.burst)
        if not rate:
            return
        now = time.monotonic()
        left, then = self._buckets.pop(client, (burst, now))
        left = min(burst, left + (now - then) * rate)
        is_allowed = left >= 1
        self._buckets[client] = (left - 1 if is_allowed else left, now)
        while len(self._buckets) > self.CLIENTS:
            self._buckets.popitem(last=False)
        if not is_allowed:
            raise Refusal(
                429,
                "too_many_requests",
                "Too many requests came from you. Slow down.",
                retry_after=(1 - left) / rate,
            )
