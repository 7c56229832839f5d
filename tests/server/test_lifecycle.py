"""From start to stop, each in a process of its own: readiness, runs that are still trained, refusals, SIGTERM."""

import asyncio
import json
import os
import pty
import random
import shutil
import signal
import socket
import time
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from benchmarks import serving
from benchmarks.http_load import Client, Served, head_of, posted
from benchmarks.http_load import serving as served

from regard import pretrained
from regard.cli import run
from regard.server import models as failures
from regard.server.api.runs import GoldFiles
from regard.server.api.traces import HeadAlignmentCache
from regard.server.auth import ApiKeys
from regard.server.batcher import Batcher
from regard.server.errors import ApiError
from regard.server.limits import Limits
from regard.server.models import ModelRegistry, ServedModel
from regard.server.monitoring import Metrics
from regard.server.service import Service
from regard.training.model_locations import find_models
from tests.support.api_server import make_models
from tests.support.commands import run_command
from tests.support.own_api_server import toy_sentence
from tests.support.shared_results import build_once
from tests.support.toy_language import WORDS

# On a busy machine what was accepted may take longer than a server that is stopped has time for.
DRAINING_LONG = (
    "-c",
    "from regard.server import lifecycle; lifecycle.DRAIN_SECONDS = 600; from regard.cli import main; main()",
)


@pytest.fixture(scope="session")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory, _ = build_once(tmp_path_factory, "translators", make_models)
    return directory


def test_run_is_listed_untrained_and_served_once_trained(toys: Path, tmp_path: Path) -> None:
    young = tmp_path / "young"
    with served([], tmp_path / "log", "--run", str(young), wait=False) as server:

        def get(path: str) -> httpx.Response:
            return httpx.get(f"{server.url}{path}", timeout=60)

        assert (get("/livez").status_code, get("/readyz").status_code, get("/").status_code) == (200, 503, 200)
        assert get("/api/v1/runs").json()["runs"][0]["state"] == "waiting"
        assert get("/api/v1/models").json() == {"models": []}
        refused = httpx.post(f"{server.url}/api/v1/translate", json={"texts": ["one"]}, timeout=60)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        young.mkdir()
        for name in ("config.toml", "events.jsonl"):
            shutil.copy(toys / "there" / name, young / name)
        lines = (young / "events.jsonl").read_text().splitlines(keepends=True)
        (young / "events.jsonl").write_text("".join(lines[:-1]) + lines[-1][:10])
        [shown] = get("/api/v1/runs").json()["runs"]
        assert (shown["state"], shown["step"], shown["steps"], shown["model"]) == ("stopped", 60, 60, None)
        assert get("/api/v1/runs/young/events").json()["next"] == len(lines) - 1
        [model] = get("/api/v1/models").json()["models"]
        assert (model["name"], model["is_ready"], model["kind"]) == ("young", False, "transformer")
        shutil.copytree(toys / "there" / "model", tmp_path / "staged")
        (tmp_path / "staged").rename(young / "model")
        while not server.is_ready():
            time.sleep(0.1)
        assert httpx.post(f"{server.url}/api/v1/translate", json={"texts": ["one"]}, timeout=60).status_code == 200
        assert get("/api/v1/runs").json()["runs"][0]["model"] == "young"


def test_terminal_log_is_plain_and_omits_successful_requests(toys: Path) -> None:
    ours, servers = pty.openpty()
    with served([toys / "there"], Path(os.ttyname(servers))) as server:
        for path in ("/", "/api/v1/models", "/nowhere"):
            httpx.get(f"{server.url}{path}", timeout=60)
        server.terminate()
    lines = os.read(ours, 1 << 16).decode().splitlines()
    os.close(ours)
    os.close(servers)
    assert any("a model is ready model=there" in line for line in lines)
    [refused] = [line for line in lines if " request " in line]
    assert "status=404" in refused
    assert not any(line.startswith("{") for line in lines)


def test_full_queue_answers_429_and_liveness_still_answers(toys: Path, tmp_path: Path) -> None:
    limits = [part for limit in ("rate=0", "max_queue=8", "deadline=600") for part in ("--limit", limit)]

    async def crowd(port: int) -> list[int]:
        busy = [Client(port) for _ in range(30)]
        texts = [f"{'one red cat ' * 80}{'big ' * number}" for number in range(40)]  # one request fills the queue
        statuses = await asyncio.gather(*(client.translate(*texts, beam_size=10) for client in busy))
        for client in busy:
            client.close()
        async with Client(port) as other:
            assert (await other.get("/livez")).status == 200
        refused = [answer for answer in statuses if answer.status == 429]
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
        return [answer.status for answer in statuses]

    with served([toys / "there"], tmp_path / "log", *limits) as server:
        statuses = asyncio.run(crowd(server.port))
    assert set(statuses) == {200, 429}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_stop_signal_under_load_loses_no_request(toys: Path, tmp_path: Path, number: int) -> None:
    with served([toys / "there"], tmp_path / "log", "--limit", "rate=0", program=DRAINING_LONG) as server:
        result = asyncio.run(serving.sigterm(serving.Load(server, toy_sentence), 16, (number,)))
    assert result["lost"] == 0
    assert result["outcomes"]["200"] >= 16
    assert set(result["outcomes"]) <= {"200", "503"}
    assert (result["code"], result["tracebacks"]) == (128 + number, 0)


@pytest.mark.parametrize("signals", [1, 2])
def test_requests_that_outlast_the_drain_get_errors(toys: Path, tmp_path: Path, signals: int) -> None:
    seconds = 0.5 if signals == 1 else 60
    setup = (
        f"from regard.server import lifecycle; lifecycle.DRAIN_SECONDS = {seconds}; from regard.cli import main; main()"
    )

    async def stop(server: Served) -> tuple[bytes, int]:
        long = {"text": "one red cat " * 330, "beam_size": 10}
        async with Client(server.port) as stream, Client(server.port) as unsent:
            await stream.send(*posted("/api/v1/stream", long))
            await unsent.send(head_of("/v2/translate", "Content-Length: 1000"))
            assert stream.reader is not None
            await stream.reader.readuntil(b"partial")
            for _ in range(signals):
                server.process.send_signal(signal.SIGTERM)
                await asyncio.sleep(0.3)
            return await stream.reader.read(), (await unsent.receive()).status

    with served([toys / "there"], tmp_path / "log", program=("-c", setup)) as server:
        events, status = asyncio.run(stop(server))
        assert server.process.wait(60) == 128 + signal.SIGTERM
    assert b"event: done" in events or b'event: error\ndata: {"code":"stopped"' in events
    assert status == 503
    assert "raceback" not in server.log.read_text()


IMPORTED_ON_DEMAND = """
import importlib, os, time

def import_module(name, real=importlib.import_module):
    while name == "regard.server.app" and not os.path.exists({gate!r}):
        time.sleep(0.05)
    return real(name)

importlib.import_module = import_module
from regard.cli import main
main()
"""


def test_requests_before_the_apis_are_imported_get_responses(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    program = ("-c", IMPORTED_ON_DEMAND.format(gate=str(gate)))
    with served([], tmp_path / "log", wait=False, program=program) as server:
        missing = httpx.get(server.url + "/page/none", timeout=60)
        assert (missing.status_code, set(missing.json())) == (404, {"error"})
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as waiting:
            waiting.sendall(b"GET /v2/usage HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert httpx.get(server.url + "/livez", timeout=60).status_code == 200  # read after the one that waits
            server.process.send_signal(signal.SIGTERM)
            refused = b"".join(iter(lambda: waiting.recv(4096), b""))
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b'\r\n\r\n{"message":' in refused
        gate.touch()
        assert server.process.wait(60) == 128 + signal.SIGTERM
    assert "raceback" not in server.log.read_text()


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
def test_second_signal_stops_at_once(toys: Path, tmp_path: Path, first: int) -> None:
    def long_sentence(chance: random.Random) -> str:
        return " ".join(chance.choices(list(WORDS), k=200))

    with served([toys / "there"], tmp_path / "log", "--limit", "rate=0", program=DRAINING_LONG) as server:
        signals = (first, signal.SIGTERM, signal.SIGINT, signal.SIGTERM)
        result = asyncio.run(serving.sigterm(serving.Load(server, long_sentence), 16, signals))
    assert (result["code"], result["tracebacks"]) == (128 + first, 0)


def test_ignored_hangup_does_not_stop_the_server(tmp_path: Path) -> None:
    nohup = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); from regard.cli import main; main()"
    with served([], tmp_path / "log", wait=False, program=("-c", nohup)) as server:
        server.process.send_signal(signal.SIGHUP)
        for _ in range(3):
            assert httpx.get(f"{server.url}/livez", timeout=60).status_code == 200
        server.terminate()
        assert server.process.returncode == 143


def test_translated_file_can_be_fetched_after_sigterm(toys: Path, tmp_path: Path) -> None:
    words = list(WORDS)  # eight: no two lines are the same, and all of them together are seconds of work
    lines = "".join(
        f"{words[number // 64 % 8]} {words[number // 8 % 8]} {words[number % 8]} {'red ' * 40}\n"
        for number in range(400)
    ).encode()
    with served([toys / "there"], tmp_path / "log", "--limit", "rate=0", program=DRAINING_LONG) as server:
        fields = {"source": "en", "target": "ko", "wait": "false"}
        upload = httpx.post(f"{server.url}/translate_file", data=fields, files={"file": ("a.txt", lines)}, timeout=60)
        record = upload.json()
        assert (upload.status_code, record["state"]) == (202, "running")
        server.process.terminate()
        while "draining" not in server.log.read_text():
            time.sleep(0.01)
        refused = httpx.post(f"{server.url}/translate", json={"q": "one", "source": "en", "target": "ko"}, timeout=60)
        assert refused.status_code == 503
        while record["state"] == "running":
            record = httpx.get(record["statusUrl"], timeout=60).json()
        assert httpx.get(record["translatedFileUrl"], timeout=60).text.count("\n") == 400
        assert server.process.wait(timeout=60) == 143
    assert '"unanswered":0' in server.log.read_text()


def test_allowed_origin_is_answered_up_to_body_limit(toys: Path, tmp_path: Path) -> None:
    options = ["--allow-origin", "*", "--limit", "max_body_bytes=2000000", "--limit", "max_file_bytes=1"]
    with served([toys / "there"], tmp_path / "log", *options) as server:
        url, origin = f"{server.url}/api/v1/translate", {"origin": "http://friend.example"}
        large = httpx.post(url, json={"texts": ["one"], "padding": "x" * 1_500_000}, headers=origin, timeout=60)
        assert (large.status_code, large.headers["access-control-allow-origin"]) == (400, "*")
        assert "unknown field" in large.json()["error"]["message"]
        larger = httpx.post(url, json={"texts": ["one"], "padding": "x" * 2_000_000}, timeout=60)
        assert larger.status_code == 413


def test_rates_hold_for_each_key(toys: Path, tmp_path: Path) -> None:
    options = ["--limit", "rate=0.001", "--limit", "burst=2", "--api-key", "one", "--api-key", "two"]
    with served([toys / "there"], tmp_path / "log", *options) as server:
        url, keys = f"{server.url}/api/v1/models", ["one", "one", "one", "two", "wrong"]
        answers = [httpx.get(url, headers={"authorization": f"Bearer {key}"}, timeout=60) for key in keys]
        assert [answer.status_code for answer in answers] == [200, 200, 429, 200, 401]
        assert int(answers[2].headers["retry-after"]) > 1
        page = [httpx.get(server.url, timeout=60).status_code for _ in range(5)]
        assert page == [200] * 5  # the page itself is not counted


def test_key_counts_wherever_it_is_sent(tmp_path: Path) -> None:
    options = ["--limit", "rate=0.001", "--limit", "burst=4", "--api-key", "one", "--api-key", "two"]
    with served([], tmp_path / "log", *options, wait=False) as server:

        def ask(key: str, where: str) -> int:
            body = {"q": "a", "target": "ko"} | ({"api_key": key} if where == "body" else {})
            headers = {"authorization": f"Bearer {key}"} if where == "header" else {}
            query = {"api_key": key} if where == "query" else {}
            url = f"{server.url}/translate"
            return httpx.post(url, json=body, headers=headers, params=query, timeout=60).status_code

        places = ["header", "body", "query", "body", "header", "body", "query"]
        assert [ask("one", where) == 429 for where in places] == [False] * 4 + [True] * 3
        assert [ask("two", "body") == 429 for _ in range(5)] == [False] * 4 + [True]
        assert [ask("wrong", "body") for _ in range(5)] == [403] * 4 + [429]  # for the address


@pytest.mark.parametrize(
    ("trusted", "statuses"),
    [
        ([], [200, 429, 429, 429]),
        (["192.0.2.1"], [200, 429, 429, 429]),
        (["192.0.2.1", "127.0.0.0/8"], [200, 200, 200, 429]),
    ],
)
def test_client_address_comes_from_trusted_proxy_only(
    toys: Path, tmp_path: Path, trusted: list[str], statuses: list[int]
) -> None:
    options = [part for address in trusted for part in ("--trust-proxy", address)]
    with served([toys / "there"], tmp_path / "log", "--limit", "rate=0.001", "--limit", "burst=1", *options) as server:
        claimed = ["198.51.100.1", "198.51.100.2", "198.51.100.1, 198.51.100.3", "198.51.100.3"]
        answers = [
            httpx.get(f"{server.url}/api/v1/models", headers={"x-forwarded-for": one}, timeout=60) for one in claimed
        ]
        assert [answer.status_code for answer in answers] == statuses


def test_without_model_the_shipped_ones_are_served(tmp_path: Path) -> None:
    with served([], tmp_path / "log") as server:
        listed: list[dict] = []
        while not any(model["is_ready"] and model["name"] == "en-fr" for model in listed):
            time.sleep(0.1)
            listed = httpx.get(f"{server.url}/api/v1/models", timeout=30).json()["models"]
        assert [model["name"] for model in listed] == pretrained.names()
        body = {"texts": ["Where is the train station?"], "model": "en-fr"}
        answer = httpx.post(f"{server.url}/api/v1/translate", json=body, timeout=60)
        assert "gare" in answer.text


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nowhere"], "has no model"),
        (["MODEL", "--limit", "speed=1"], "there is no limit"),
        (["MODEL", "--limit", "rate=fast"], "is not a number"),
        (["MODEL", "--limit", "rate=-1"], "rate must be at least 0"),
        (["MODEL", "--limit", "max_beam_size=0"], "max_beam_size must be at least 1"),
        (["MODEL", "--limit", "deadline=0"], "deadline must be at least 0.001"),
        (["MODEL", "--limit", "max_characters=1000000000000"], "below 1e12"),
        (["MODEL", "--allow-host", "http://me.example"], "is not a valid host name"),
        (["MODEL", "--allow-origin", "me.example"], "is not a valid origin"),
        (["MODEL", "--trust-proxy", "me.example"], "is not a valid address"),
        (["MODEL", "--trust-proxy", "10.0.0.1/8"], "or a network such as 10.0.0.0/8"),
        (["MODEL", "--gold", "nowhere/test"], "nowhere does not exist"),
        (["MODEL", "--api-key", ""], "API key is blank"),
        (["MODEL", "--api-key", "one\ntwo"], "control character"),
    ],
)
def test_unservable_input_is_an_explained_error(
    toys: Path, arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["serve", *(str(toys / "there") if one == "MODEL" else one for one in arguments), "--port", "0"])
    assert code == 2
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize("keys", ["", " "])
def test_empty_key_variable_does_not_open_the_server(
    toys: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], keys: str
) -> None:
    monkeypatch.setenv("REGARD_API_KEYS", keys)
    arguments = ["serve", str(toys / "there"), "--port", "0", "--trust-proxy", "none"]  # named after the keys
    assert run(arguments) == 2
    assert "API key is blank" in capsys.readouterr().err
    assert run([*arguments, "--api-key", "one"]) == 2
    assert "is not a valid address" in capsys.readouterr().err


def test_taken_port_and_foreign_address_are_explained_errors(toys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        assert run(["serve", str(toys / "there"), "--port", port]) == 2
    assert f"port {port}: Address already in use. Choose another port with --port" in capsys.readouterr().err
    assert run(["serve", str(toys / "there"), "--port", "0", "--host", "192.0.2.1"]) == 2
    assert "or an address of this machine with --host" in capsys.readouterr().err
    assert run(["serve", str(toys / "there"), "--port", "0", "--host", "a..b"]) == 2
    assert "the server cannot listen on a..b" in capsys.readouterr().err


def test_open_server_without_key_or_run_warns(toys: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--host", "192.0.2.1", "--run", str(tmp_path / "none")]  # an address that no machine has
    assert run(["serve", str(toys / "there"), "--port", "0", *arguments]) == 2
    result = capsys.readouterr().err
    assert "no key is required. Set one with --api-key" in result
    assert f"{tmp_path / 'none'} does not exist yet" in result


def test_any_load_failure_is_logged_and_others_load(toys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = ModelRegistry(find_models([toys / "there", toys / "back"], []))
    load = ServedModel.load

    def load_or_fail(model: ServedModel) -> None:
        if model.name == "there":
            raise RuntimeError("not enough memory")
        load(model)

    monkeypatch.setattr(ServedModel, "load", load_or_fail)
    problems = {model.name: problem for model, problem in models.load_changed()}
    assert "cannot be loaded: not enough memory" in str(problems["there"])
    assert problems["back"] is None


def test_first_model_is_ready_before_others_load(toys: Path) -> None:
    models = ModelRegistry(find_models([toys / "there", toys / "back"], []))
    assert [[model.name for model, _ in models.load_changed()] for _ in range(3)] == [["there"], ["back"], []]


def test_a_failure_without_words_is_one_too() -> None:
    found = failures.RetryBackoff()
    assert not found
    assert [found.add("", None), found.add("", None)] == [True, False]
    assert found


def test_late_weights_are_loaded_and_absence_logged_once(
    toys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(failures, "time", SimpleNamespace(monotonic=lambda: now[0]))  # for others time goes on
    models = ModelRegistry(find_models([], [tmp_path / "young"]))
    place, [young] = tmp_path / "young" / "model", models.all
    shutil.copytree(toys / "there" / "model", place, ignore=shutil.ignore_patterns("model.safetensors"))
    [(_, problem)] = models.load_changed()
    assert "model.safetensors" in str(problem)
    assert not young.is_stale  # not to be tried at once
    now[0] += failures.FIRST_RETRY_SECONDS
    assert young.is_stale
    assert models.load_changed() == []
    assert not young.is_stale
    shutil.copy(toys / "there" / "model" / "model.safetensors", place)
    now[0] += failures.MAX_RETRY_SECONDS
    assert models.load_changed() == [(young, None)]
    assert young.is_ready


def test_unloadable_model_is_logged_and_counted_until_loaded(toys: Path, tmp_path: Path) -> None:
    weights = Path(shutil.copytree(toys / "back" / "model", tmp_path / "young" / "model")) / "model.safetensors"
    weights.write_bytes(b"x")
    with served([toys / "there"], tmp_path / "log", "--run", str(tmp_path / "young")) as server:
        while "a model cannot be loaded" not in server.log.read_text():
            time.sleep(0.1)
        lines = [json.loads(line) for line in server.log.read_text().splitlines()]
        [result] = [line for line in lines if line["message"].startswith("a model cannot be loaded")]
        assert (result["level"], result["model"]) == ("error", "young")
        assert server.figure("regard_model_load_failures") == 1
        shutil.copy(toys / "back" / "model" / "model.safetensors", weights)
        deadline = time.monotonic() + 120
        while server.figure("regard_ready_models") < 2 or server.figure("regard_model_load_failures"):
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_readiness_is_one_answer_and_ends_on_drain(toys: Path) -> None:
    async def answers(*, is_draining: bool) -> bool:
        models = ModelRegistry(find_models([toys / "there"], []))
        models.load_changed()
        service = Service(models, Limits(), ApiKeys([]), Batcher(Limits(), Metrics().record_batch))
        service.is_draining = is_draining
        return service.is_ready

    assert asyncio.run(answers(is_draining=False))
    assert not asyncio.run(answers(is_draining=True))


def test_gold_written_later_is_measured_on_next_request(toys: Path, tmp_path: Path) -> None:
    models = ModelRegistry(find_models([toys / "there"], []))
    models.load_changed()
    model, readings = models.get("there"), HeadAlignmentCache(GoldFiles(tmp_path / "test"))

    async def ask_twice() -> int:
        with pytest.raises(ApiError, match="no gold alignments"):
            await readings.get(model)
        for suffix, line in zip((*model.languages, "align"), ("red", "red", "0-0"), strict=True):
            (tmp_path / f"test.{suffix}").write_text(f"{line}\n")
        return len((await readings.get(model)).heads)

    assert asyncio.run(ask_twice()) > 0


def test_damaged_named_model_ends_the_server(toys: Path, tmp_path: Path) -> None:
    shutil.copytree(toys / "there" / "model", tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").write_bytes(b"x")
    ended = run_command("serve", tmp_path / "model", "--port", 0)
    assert ended.code == 2
    assert "model.safetensors" in ended.err
