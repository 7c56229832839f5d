"""Who may ask: the hosts and origins that are let in, keys, and the headers that keep a browser from harm."""

import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_network

from regard.errors import RegardError
from regard.serve.refusals import Refusal

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
ANY = "*"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_ORIGIN = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[^/*]+")


@dataclass(frozen=True)
class Gate:
    """The hosts that requests may name, and the origins of pages that may send them besides our own."""

    hosts: frozenset[str]
    origins: frozenset[str]

    @classmethod
    def of(cls, host: str, *, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> "Gate":
        """What was allowed, the loopback names, and the address that the server listens on."""
        own = [] if host in ("0.0.0.0", "::", "") else [_bracketed(host)]  # noqa: S104  (any address is none)
        allowed = frozenset(name.lower() for name in (*LOOPBACK, *own, *map(_allowed_host, hosts)))
        return cls(allowed, frozenset(map(_allowed_origin, origins)))

    def check_host(self, host: str) -> None:
        """Refuse a Host header that is not ours: a page elsewhere may have bound its own name to this address."""
        if ANY not in self.hosts and name_of(host).lower() not in self.hosts:
            raise Refusal(
                421, "wrong_host", "This server does not answer to that host name. Start it with --allow-host."
            )

    def allows_origin(self, origin: str, *, host: str) -> bool:
        """Whether a page of that origin may send requests: our own page, or one that was allowed."""
        return self.names_origin(origin) or origin.lower().partition("://")[2] == host.lower()

    def names_origin(self, origin: str) -> bool:
        """Whether a page of that origin was allowed."""
        return ANY in self.origins or origin.lower() in self.origins

    def check_origin(self, method: str, origin: str | None, *, host: str) -> None:
        """Refuse a request by which a foreign page would do something here."""
        if origin is not None and method not in SAFE_METHODS and not self.allows_origin(origin, host=host):
            raise Refusal(403, "wrong_origin", "Pages of that origin are not allowed. Start with --allow-origin.")


class Keys:
    """The keys that open the APIs; without any, they are open."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = [_checked(key).encode() for key in keys]

    @property
    def required(self) -> bool:
        return bool(self._keys)

    def check(self, headers: Mapping[str, str], *, given: str | None = None) -> None:
        """Refuse a request without a valid key."""
        if self.required and self.named(headers, given=given) is None:
            raise Refusal(401, "key_required", "A valid API key is needed.")

    def named(self, headers: Mapping[str, str], *, given: str | None = None) -> int | None:
        """Which key was given, by number; the time that takes tells nothing of the keys."""
        offered = (given or _offered(headers)).encode("utf-8", "replace")
        matches = [hmac.compare_digest(offered, key) for key in self._keys]
        return matches.index(True) if any(matches) else None


def _checked(key: str) -> str:
    """The key, unless it is blank: a request that offers none would have it."""
    if not key.strip():
        raise RegardError(
            "A blank API key would let anybody in. Give one that is not blank; or, to be open, none, with "
            "REGARD_API_KEYS unset."
        )
    return key


def name_of(host: str) -> str:
    """A Host header without its port."""
    return host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]


def trusted_address(given: str) -> str:
    """An address or a network of proxies; what is neither would never be met, and so trusted in vain."""
    try:
        ip_network(given)
    except ValueError:
        raise RegardError(
            f"--trust-proxy {given!r} is no address. Write one such as 127.0.0.1, or a network such as 10.0.0.0/8."
        ) from None
    return given


def _allowed_host(given: str) -> str:
    """The name of a host that is allowed, without a port: names alone are compared."""
    name = name_of(_bracketed(given))
    if not name or "/" in given or (ANY in given and name != ANY):  # names are compared as a whole
        raise RegardError(f"--allow-host {given!r} is no host name. Write one such as translate.example.org, or *.")
    return name


def _allowed_origin(given: str) -> str:
    """An origin as browsers write it."""
    origin = given.lower().rstrip("/")
    if not _ORIGIN.fullmatch(origin):
        raise RegardError(f"--allow-origin {given!r} is no origin. Write one such as https://example.org, or *.")
    return origin


def _bracketed(host: str) -> str:
    return f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host


def _offered(headers: Mapping[str, str]) -> str:
    scheme, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() if scheme.lower() in ("bearer", "deepl-auth-key") else headers.get("x-api-key", "")
