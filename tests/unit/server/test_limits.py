"""How much may be asked for, and how often."""

from types import SimpleNamespace

import pytest
from starlette.requests import Request

from regard.server import limits as limits_module
from regard.server.errors import ApiError
from regard.server.limits import Limits, RateLimiter, client_address


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(limits_module, "time", SimpleNamespace(monotonic=lambda: self.now))


@pytest.mark.parametrize(
    ("texts", "code"),
    [(["abc"] * 5, "too_many_texts"), (["abcde"], "text_too_long"), (["abcd"] * 3, "too_many_characters")],
)
def test_each_text_limit_refuses_by_its_own_name(texts: list[str], code: str) -> None:
    bounds = Limits(max_texts=4, max_characters=4, max_total_characters=11)
    with pytest.raises(ApiError) as refused:
        bounds.check_texts(texts)
    assert (refused.value.status, refused.value.code) == (413, code)
    bounds.check_texts(["abcd", "abcd", "abc"])


@pytest.mark.parametrize(("beam", "nbest"), [(0, 1), (6, 1), (5, 0), (5, 3), (-1, 1)])
def test_a_search_wider_than_allowed_is_refused(beam: int, nbest: int) -> None:
    with pytest.raises(ApiError):
        Limits(max_beam_size=5, max_nbest=2).choose_beam_size(1, beam, nbest)
    assert Limits(max_beam_size=5, max_nbest=2).choose_beam_size(1, 5, 2) == 5
    assert Limits(max_beam_size=5, max_nbest=2).choose_beam_size(8, None, 2) == 5
    assert Limits(max_beam_size=5, max_nbest=2).choose_beam_size(1, None, 2) == 2


def test_client_may_burst_then_keeps_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, rates = Clock(monkeypatch), RateLimiter(Limits(rate=2.0, burst=3))
    for _ in range(3):
        rates.acquire("a")
    with pytest.raises(ApiError) as refused:
        rates.acquire("a")
    assert (refused.value.status, refused.value.retry_after) == (429, 0.5)
    rates.acquire("b")
    clock.now += 0.5
    rates.acquire("a")
    with pytest.raises(ApiError):
        rates.acquire("a")


def test_a_bucket_never_holds_more_than_the_burst(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, rates = Clock(monkeypatch), RateLimiter(Limits(rate=2.0, burst=3))
    rates.acquire("a")
    clock.now += 1000
    for _ in range(3):
        rates.acquire("a")
    with pytest.raises(ApiError):
        rates.acquire("a")


def test_rate_zero_is_unlimited_and_clients_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    free = RateLimiter(Limits(rate=0, burst=1))
    for _ in range(100):
        free.acquire("a")
    monkeypatch.setattr(RateLimiter, "MAX_CLIENTS", 10)
    rates = RateLimiter(Limits(rate=1.0, burst=1))
    for number in range(100):
        rates.acquire(str(number))
    assert len(rates._buckets) == 10


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("unknown", "testclient", False),
    ],
)
def test_ipv6_network_is_one_client(one: str, other: str, is_same: bool) -> None:
    found = [client_address(Request({"type": "http", "client": (host, 1)})) for host in (one, other)]
    assert (found[0] == found[1]) is is_same


def test_key_in_body_is_charged_instead_of_address(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    rates = RateLimiter(Limits(rate=1.0, burst=2))
    for _ in range(2):
        rates.acquire("a")
        rates.charge_key("a", 0)
    with pytest.raises(ApiError):
        rates.acquire("b", key=0)
    for _ in range(2):
        rates.acquire("a")
    with pytest.raises(ApiError):
        rates.acquire("a")
