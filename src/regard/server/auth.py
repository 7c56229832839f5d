"""Access control: API keys, allowed hosts and origins, trusted proxies, and security headers for browsers."""

import hmac
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import ip_network

from starlette.requests import Request

from regard.errors import RegardError
from regard.server.errors import ApiError

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
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:(?P<port>[0-9]{1,5}))?")
MAX_PORT = 65_535
_ORIGIN = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[^/*]+")


@dataclass(frozen=True)
class HostPolicy:
    """The allowed values of the Host header, and the origins of other sites' pages that may send requests."""

    hosts: frozenset[str]
    origins: frozenset[str]

    @classmethod
    def from_options(cls, host: str, *, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> "HostPolicy":
        """The policy of a server that listens on `host`: the options, the loopback names, and its own address."""
        own = [] if host in ("0.0.0.0", "::", "") else [_bracket_ipv6(host)]  # noqa: S104  (these are no address)
        allowed = frozenset(name.lower() for name in (*LOOPBACK, *own, *map(parse_allowed_host, hosts)))
        return cls(allowed, frozenset(map(parse_allowed_origin, origins)))

    def check_host(self, host: str) -> None:
        """Raise if the Host header is not allowed: another site may have bound its own name to this address."""
        if ANY not in self.hosts and (host_without_port(host) or "").lower() not in self.hosts:
            raise ApiError(421, "wrong_host", "This host name is not allowed. Start the server with --allow-host.")

    def check_origin(self, method: str, origin: str | None, *, host: str) -> None:
        """Raise if a page of another origin, which is not allowed, sends a request that changes something."""
        if origin is None or method in SAFE_METHODS or self.is_allowed_origin(origin):
            return
        if origin.lower().partition("://")[2] != host.lower():
            raise ApiError(403, "wrong_origin", "This origin is not allowed. Start the server with --allow-origin.")

    def is_allowed_origin(self, origin: str) -> bool:
        """Whether the origin is one of those that were allowed with an option."""
        return ANY in self.origins or origin.lower() in self.origins


class ApiKeys:
    """The valid keys; without any, no key is required."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = [key.encode() for key in keys]
        if not all(key.strip() for key in self._keys):
            raise RegardError(
                "An API key is blank, which would admit every client. Give a key that is not blank; for a server "
                "without keys, give none and leave REGARD_API_KEYS unset."
            )
        if any(byte < 0x20 or byte == 0x7F for key in self._keys for byte in key):
            raise RegardError("An API key has a control character, which no header can carry. Give a key without it.")

    @property
    def required(self) -> bool:
        return bool(self._keys)

    def identify(self, offered: str | None) -> int | None:
        """The index of the key; None if it is missing or wrong. The time does not depend on the keys."""
        encoded = (offered or "").encode("utf-8", "replace")
        matches = [hmac.compare_digest(encoded, key) for key in self._keys]
        return matches.index(True) if any(matches) else None

    def in_request(self, request: Request) -> int | None:
        """The index of the key in the headers or in the query, where old clients of DeepL send it."""
        if not self._keys:
            return None
        headers, query = request.headers, request.query_params
        scheme, _, value = headers.get("authorization", "").partition(" ")
        if scheme.lower() in ("bearer", "deepl-auth-key"):
            return self.identify(value.strip())
        return self.identify(headers.get("x-api-key") or query.get("api_key") or query.get("auth_key"))


def parse_host(headers: Sequence[str]) -> str:
    """The only Host header, with its port; empty without one, as old clients may send none."""
    if len(headers) > 1 or (headers and host_without_port(headers[0]) is None):
        raise ApiError(400, "bad_host", "Send one Host header: a name or an address, and a port if it is not 80.")
    return headers[0] if headers else ""


def host_without_port(host: str) -> str | None:
    """A Host header without its port; None if it is neither a name nor an address."""
    found = _HOST.fullmatch(host)
    return found["name"] if found and int(found["port"] or 0) <= MAX_PORT else None


def parse_proxy_address(given: str) -> str:
    """The address or network of trusted proxies; raises for anything else, which would never match."""
    try:
        ip_network(given)
    except ValueError:
        raise RegardError(
            f"--trust-proxy {given!r} is not a valid address. Write an address such as 127.0.0.1, or a network such "
            "as 10.0.0.0/8."
        ) from None
    return given


def parse_allowed_host(given: str) -> str:
    """The name of an allowed host without its port; names are compared as a whole."""
    name = ANY if given == ANY else host_without_port(_bracket_ipv6(given))
    if name is None:
        raise RegardError(
            f"--allow-host {given!r} is not a valid host name. Write one such as translate.example.org, or *."
        )
    return name


def parse_allowed_origin(given: str) -> str:
    """The origin as browsers write it."""
    origin = given.lower().rstrip("/")
    if not _ORIGIN.fullmatch(origin):
        raise RegardError(
            f"--allow-origin {given!r} is not a valid origin. Write one such as https://example.org, or *."
        )
    return origin


def _bracket_ipv6(host: str) -> str:
    return f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host
