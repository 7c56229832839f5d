"""The server's door and its manners: hosts, origins, bad bodies, ids, figures, clients that leave or mean ill."""

import asyncio
import json
import re
import time

import httpx
import pytest
from benchmarks import fuzz_requests, serving
from benchmarks.http_load import TRANSLATE, Client

from tests.support.own_api_server import OwnApiServer

JSON = {"content-type": "application/json"}


def asked(own_api: OwnApiServer, method: str = "POST", path: str = TRANSLATE, **options: object) -> httpx.Response:
    options = {"json": {"texts": ["one red cat"], "model": "there"}} | options if method == "POST" else options
    return httpx.request(method, own_api.server.url + path, timeout=60, **options)  # type: ignore[arg-type]


async def status_of(own_api: OwnApiServer, head: str) -> int:
    """The status of the response to raw bytes, which no client library would send."""
    async with Client(own_api.server.port) as client:
        await client.send(head.encode())
        return (await client.receive()).status


# --- who is let in ---------------------------------------------------------------------------------------------------


def test_foreign_host_is_refused_but_health_is_open(own_api: OwnApiServer) -> None:
    for path in ("/", "/api/v1/models", "/languages"):
        assert asked(own_api, "GET", path, headers={"host": "evil.example"}).status_code == 421
    for path in ("/", "/livez", "/v2/usage"):
        for hosts in ("localhost\r\nHost: localhost", "localhost:8101@evil.example", "[::1].evil.example"):
            assert asyncio.run(status_of(own_api, f"GET {path} HTTP/1.1\r\nHost: {hosts}\r\n\r\n")) == 400
    for path in ("/livez", "/readyz", "/metrics"):
        assert asked(own_api, "GET", path, headers={"host": "10.0.0.7:8000"}).status_code == 200


def test_a_foreign_page_cannot_send_and_ours_can(own_api: OwnApiServer) -> None:
    foreign = asked(own_api, headers={"origin": "http://evil.example"})
    assert (foreign.status_code, foreign.json()["error"]["code"]) == (403, "wrong_origin")
    assert "access-control-allow-origin" not in foreign.headers
    assert asked(own_api, headers={"origin": own_api.server.url}).status_code == 200
    preflight = {"origin": "http://evil.example", "access-control-request-method": "POST"}
    refused = asked(own_api, "OPTIONS", headers=preflight)
    assert refused.is_client_error
    assert "access-control-allow-origin" not in refused.headers


def test_every_response_has_security_headers(own_api: OwnApiServer) -> None:
    for answer in (
        asked(own_api),
        asked(own_api, "GET", "/none"),
        asked(own_api, "GET", "/"),
        asked(own_api, content=b"{", json=None),
    ):
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers


# --- bad requests ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b'{"texts": ["\\ud800"]}',
        b'{"texts": ["a"], "beam_size": 1e999}',
        b'{"texts": [NaN]}',
        b"[" * 9999,
    ],
)
def test_bad_body_gets_400_without_echo(own_api: OwnApiServer, body: bytes) -> None:
    answer = asked(own_api, content=body, headers=JSON, json=None)
    assert answer.status_code == 400
    assert set(answer.json()["error"]) == {"code", "message"}


@pytest.mark.parametrize("name", ["canary", "canary\ncanary", "canary` - at `canary", "canary` - at `$.x` - at `$.x"])
def test_unknown_field_is_not_repeated(own_api: OwnApiServer, name: str) -> None:
    for body in ({name: 1}, {"interventions": [{"kind": "head", "role": "cross", name: 1}]}):
        answer = asked(own_api, json={"texts": ["a"], **body})
        assert answer.status_code == 400
        assert "unknown field" in answer.text
        assert "canary" not in answer.text


def test_wrong_methods_and_media_types_are_named(own_api: OwnApiServer) -> None:
    wrong = asked(own_api, "GET", TRANSLATE)
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
    assert asked(own_api, content=b"texts=a", headers={"content-type": "text/plain"}, json=None).status_code == 415


def test_huge_index_is_not_found(own_api: OwnApiServer) -> None:
    for path in ("models/there/examples/{}", "evaluation/{}", "runs/there/probes/{}/0/0"):
        assert asked(own_api, "GET", f"/api/v1/{path.format('9' * 5000)}").status_code == 404


def test_errors_follow_the_format_of_their_api(own_api: OwnApiServer) -> None:
    assert set(asked(own_api, path="/translate", content=b"{", headers=JSON, json=None).json()) == {"error"}
    assert isinstance(asked(own_api, path="/translate", content=b"{", headers=JSON, json=None).json()["error"], str)
    assert set(asked(own_api, path="/v2/translate", content=b"{", headers=JSON, json=None).json()) == {"message"}


def test_a_body_over_the_bound_is_refused(own_api: OwnApiServer) -> None:
    answer = asked(own_api, content=b'{"texts": ["' + b"a" * 1_000_001 + b'"]}', headers=JSON, json=None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")


def test_page_is_compressed_only_for_who_accepts_it(own_api: OwnApiServer) -> None:
    path = "/" + re.findall('src="(page/[^"]+)"', asked(own_api, "GET", "/").text)[0]
    for accepted, encoding in {
        "gzip": "gzip",
        "br, GZIP;q=0.1": "gzip",
        "gzip;q=0": None,
        "gzip; q=0.00, br": None,
        "x-gzipped": None,
        "identity;q=0": None,
    }.items():
        answer = asked(own_api, "GET", path, headers={"accept-encoding": accepted})
        assert answer.headers.get("content-encoding") == encoding


# --- ids, logs and figures -------------------------------------------------------------------------------------------


def test_valid_request_id_is_kept_and_others_replaced(own_api: OwnApiServer) -> None:
    assert asked(own_api, headers={"x-request-id": "mine-1"}).headers["x-request-id"] == "mine-1"
    assert re.fullmatch("[0-9a-f]{16}", asked(own_api, headers={"x-request-id": "a b"}).headers["x-request-id"])


def test_log_has_requests_but_never_texts(own_api: OwnApiServer) -> None:
    identity = asked(own_api, json={"texts": ["unheard-of"]}, headers={"x-request-id": "of-the-log"}).headers[
        "x-request-id"
    ]
    asked(own_api, "GET", "/unheard-of")
    text = own_api.server.log.read_text()
    [line] = [json.loads(line) for line in text.splitlines() if identity in line]
    assert (line["route"], line["method"], line["status"]) == (TRANSLATE, "POST", 200)
    assert "unheard-of" not in text


def test_metric_labels_are_few_for_any_requests(own_api: OwnApiServer) -> None:
    for number in range(5):
        asked(own_api, "GET", f"/none/{number}")
        asked(own_api, "GET", f"/api/v1/traces/{number}/weights")
        asked(own_api, f"STRANGE{number}", "/")
    own_api.post("translate", texts=["one red cat"])
    figures = asked(own_api, "GET", "/metrics").text
    routes = set(re.findall(r'regard_requests_total\{route="([^"]*)"', figures))
    assert "none" in routes
    assert "/api/v1/traces/{trace_id}/weights" in routes
    assert not any(re.search("[0-9]", route.replace("v1", "").replace("v2", "")) for route in routes)
    assert set(re.findall(r'pair="([^"]*)"', figures)) <= {"en-ko", "ko-en"}
    assert own_api.server.figure("regard_ready_models") == 2
    assert own_api.server.figure("regard_tokens_total") > 0


# --- many clients, clients that leave, clients that mean ill ---------------------------------------------------------


def test_concurrent_answers_equal_sequential_answers(own_api: OwnApiServer) -> None:
    before = own_api.server.figure("regard_batch_texts_count")
    result = asyncio.run(serving.canaries(own_api.load, 200))
    assert (result["mixed"], result["requests"]) == (0, 200)
    assert result["outputs"] > 20
    batches = own_api.server.figure("regard_batch_texts_count") - before
    assert batches < result["texts"] + result["requests"]  # as many as there were without those who go together


def test_disconnected_client_frees_its_queue_places(own_api: OwnApiServer) -> None:
    result = asyncio.run(serving.disconnects(own_api.load, 60))
    assert sum(result["ended"].values()) >= 60  # and whoever left earlier and is counted now
    assert result["ended"]["left"] > 30
    assert result["most_waiting"] > 20
    assert result["then_statuses"] == [200] * 5


def test_a_gigabyte_is_refused_before_it_is_sent(own_api: OwnApiServer) -> None:
    result = asyncio.run(serving.gigabyte(own_api.load, 0.5))
    assert max(result["sent_bytes"].values()) < 2**26
    assert result["grown_megabytes"] < 200  # a fifth of one body; the language detector, loaded late, has about 50
    assert result["then_statuses"] == [200] * 5


def test_slow_clients_are_disconnected_and_block_nobody(own_api: OwnApiServer) -> None:
    result = asyncio.run(serving.slow_clients(own_api.load, 10))
    assert result["then_statuses"] == [200] * 5
    assert result["endings"] == {"408": 5, "closed": 5}


def test_ten_thousand_headers_do_no_harm(own_api: OwnApiServer) -> None:
    result = asyncio.run(serving.many_headers(own_api.load))
    assert result["statuses"]["many"] in ("431", "400")
    assert result["statuses"]["long"] in ("431", "closed")
    assert result["then_statuses"] == [200] * 5


def test_disconnected_stream_frees_its_worker(own_api: OwnApiServer) -> None:
    async def leave() -> None:
        for _ in range(3):
            client = Client(own_api.server.port)
            await client.send(
                *serving.posted("/api/v1/stream", {"text": "one red cat " * 330, "model": "there", "beam_size": 10})
            )
            assert client.reader is not None
            await client.reader.readuntil(b"partial")
            client.close()
        async with Client(own_api.server.port) as client:
            assert (await client.translate("one red cat")).status == 200

    before = own_api.server.figure("regard_client_disconnects_total")
    asyncio.run(leave())
    until = time.monotonic() + 120
    while (left := own_api.server.figure("regard_client_disconnects_total") - before) < 3 and time.monotonic() < until:
        time.sleep(0.01)
    assert left >= 3  # and whoever left earlier and is counted now


def test_made_up_requests_get_documented_responses(own_api: OwnApiServer) -> None:
    statuses, wrong = asyncio.run(fuzz_requests.fuzz(own_api.server.port, seed=3, cases=400))
    assert wrong == []
    assert statuses.total() == 400
    assert "traceback" not in own_api.server.log.read_text()
