"""Who is let in: hosts, origins, keys."""

from contextlib import nullcontext

import pytest
from starlette.requests import Request

from regard.errors import RegardError
from regard.server.auth import ApiKeys, HostPolicy, host_without_port, parse_host
from regard.server.errors import ApiError


def asking(headers: dict[str, str], *, query: str = "") -> Request:
    """A request with these headers."""
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    return Request({"type": "http", "method": "GET", "path": "/", "headers": raw, "query_string": query.encode()})


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "127.0.0.1:1", "[::1]:8000", "LOCALHOST", "me.example"]
)
def test_loopback_and_allowed_names_are_ours(host: str) -> None:
    HostPolicy.from_options("127.0.0.1", hosts=["me.example"]).check_host(host)


@pytest.mark.parametrize("allowed", ["me.example:8000", "ME.example", "*"])
def test_port_in_an_allowed_name_is_ignored(allowed: str) -> None:
    for host in ("me.example", "me.example:80"):
        HostPolicy.from_options("127.0.0.1", hosts=[allowed]).check_host(host)
    HostPolicy.from_options("127.0.0.1", hosts=["[2001:db8::1]:8000"]).check_host("[2001:db8::1]")


@pytest.mark.parametrize("host", ["https://me.example", "me.example/", "", ":8000", "*.example.org"])
def test_impossible_host_name_is_an_error(host: str) -> None:
    with pytest.raises(RegardError, match="is not a valid host name"):
        HostPolicy.from_options("127.0.0.1", hosts=[host])


@pytest.mark.parametrize(
    "origin",
    ["friend.example", "//friend.example", "https://", "http://friend.example/page", "", "https://*.example.org"],
)
def test_impossible_origin_is_an_error(origin: str) -> None:
    with pytest.raises(RegardError, match="is not a valid origin"):
        HostPolicy.from_options("127.0.0.1", origins=[origin])


def test_pages_of_any_origin_may_be_allowed() -> None:
    gate = HostPolicy.from_options("127.0.0.1", origins=["*"])
    gate.check_origin("POST", "http://evil.example", host="localhost:8000")
    assert gate.is_allowed_origin("null")


@pytest.mark.parametrize(
    "host", ["", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::2]", "[::1", "*"]
)
def test_no_other_host_is(host: str) -> None:
    with pytest.raises(ApiError) as refused:
        HostPolicy.from_options("127.0.0.1").check_host(host)
    assert refused.value.status == 421


@pytest.mark.parametrize(
    "hosts",
    [
        [""],
        ["localhost", "localhost"],
        ["localhost", "evil.example"],
        ["localhost:8101@evil.example"],
        ["user@localhost"],
        ["[::1].evil.example"],
        ["[::1]evil.example:80"],
        ["localhost:80:80"],
        ["localhost:"],
        ["localhost:http"],
        ["localhost:123456"],
        ["localhost:65536"],
        ["localhost/evil.example"],
        ["localhost\tevil.example"],
        ["localhost, evil.example"],
        ["localhost%00.evil.example"],
        ["http://localhost"],
        ["\u017f\u212aocalhost"],
    ],
)
def test_malformed_or_repeated_hosts_are_refused(hosts: list[str]) -> None:
    with pytest.raises(ApiError) as refused:
        parse_host(hosts)
    assert (refused.value.status, refused.value.code) == (400, "bad_host")


def test_listening_address_is_allowed_unless_wildcard() -> None:
    HostPolicy.from_options("192.0.2.7").check_host("192.0.2.7:80")
    HostPolicy.from_options("2001:db8::1").check_host("[2001:db8::1]:80")
    with pytest.raises(ApiError):
        HostPolicy.from_options("0.0.0.0").check_host("0.0.0.0:80")  # noqa: S104


@pytest.mark.parametrize(
    ("method", "origin", "is_allowed"),
    [
        ("POST", None, True),
        ("POST", "http://localhost:8000", True),
        ("POST", "http://friend.example", True),
        ("POST", "http://evil.example", False),
        ("POST", "null", False),
        ("POST", "http://localhost:9000", False),
        ("DELETE", "http://evil.example", False),
        ("GET", "http://evil.example", True),
    ],
)
def test_a_foreign_page_may_not_do_anything_here(method: str, origin: str | None, is_allowed: bool) -> None:
    gate = HostPolicy.from_options("127.0.0.1", origins=["http://friend.example/"])
    with nullcontext() if is_allowed else pytest.raises(ApiError, match="origin"):
        gate.check_origin(method, origin, host="localhost:8000")


def test_a_port_is_no_part_of_a_name() -> None:
    assert [host_without_port(host) for host in ("a:1", "a", "[::1]:1", "[::1]")] == ["a", "a", "[::1]", "[::1]"]


@pytest.mark.parametrize(
    "headers",
    [{"authorization": "Bearer two"}, {"authorization": "DeepL-Auth-Key two"}, {"x-api-key": "two"}],
)
def test_key_is_read_from_any_of_its_headers(headers: dict[str, str]) -> None:
    assert ApiKeys(["one", "two"]).in_request(asking(headers)) == 1


@pytest.mark.parametrize("name", ["api_key", "auth_key"])
def test_key_may_be_in_the_query(name: str) -> None:
    assert ApiKeys(["one", "two"]).in_request(asking({}, query=f"q=a&{name}=two")) == 1
    assert ApiKeys(["one", "two"]).in_request(asking({"x-api-key": "wrong"}, query=f"{name}=two")) is None


@pytest.mark.parametrize(
    "headers", [{}, {"authorization": "Bearer tw"}, {"authorization": "two"}, {"x-api-key": "\xff"}]
)
def test_without_a_valid_key_nothing_opens(headers: dict[str, str]) -> None:
    assert ApiKeys(["one", "two"]).in_request(asking(headers)) is None
    assert not ApiKeys([]).required


@pytest.mark.parametrize("key", ["", " ", "\t"])
def test_empty_key_is_an_error(key: str) -> None:
    with pytest.raises(RegardError, match="API key is blank"):
        ApiKeys(["one", key])


def test_key_in_body_counts_like_a_header() -> None:
    assert ApiKeys(["one"]).identify("one") == 0
    assert ApiKeys(["one"]).identify("\ud800") is None
    assert ApiKeys(["one"]).identify("") is None
