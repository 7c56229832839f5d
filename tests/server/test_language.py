"""Language models over a running server: what they answer is what they say themselves."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from benchmarks.http_load import Served, serving

from regard.inference.open import load
from tests.support.shared_results import build_once
from tests.support.small_language import make_language, turns


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_once(tmp_path_factory, "language", make_language)[0]


@pytest.fixture(scope="module")
def server(texts: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    log = tmp_path_factory.mktemp("serving") / "log"
    with serving([texts / "writer", texts / "reader"], log, "--limit", "rate=0") as server:
        yield server


def post(server: Served, path: str, **asked: object) -> httpx.Response:
    return httpx.post(f"{server.url}/api/v1/{path}", json=asked, timeout=60)


def status_and_message(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def test_models_list_their_input_kind(server: Served) -> None:
    models = httpx.get(f"{server.url}/api/v1/models", timeout=60).json()["models"]
    assert [(one["kind"], one["task"], one["source"], one["target"]) for one in models] == [
        ("decoder-only", "text-generation", "", "ko"),
        ("encoder-only", "fill-mask", "", "ko"),
    ]
    assert all(one["is_ready"] and one["has_attention"] and one["layers"] == 2 for one in models)


def test_completion_equals_the_model_own_completion(server: Served, texts: Path) -> None:
    writer = load(texts / "writer", task="text-generation")
    answer = post(server, "complete", text=turns(0, 2), nbest=3).json()
    expected = writer.nbest([turns(0, 2)], nbest=3, beam_size=3)[0]
    assert answer["model"] == "writer"
    assert [one["text"] for one in answer["continuations"]] == [one.text for one in expected]
    assert [one["log_probability"] for one in answer["continuations"]] == pytest.approx(
        [one.log_probability for one in expected], abs=1e-4
    )
    assert post(server, "complete", text="").json()["continuations"][0]["text"] == writer.generate([""])[0].text


def test_samples_differ_between_requests(server: Served) -> None:
    drawn = post(server, "complete", text="", do_sample=True, nbest=10, temperature=3.0).json()["continuations"]
    assert len({one["text"] for one in drawn}) > 1
    short = post(server, "complete", text=turns(0, 2), max_new_tokens=1).json()["continuations"][0]
    assert (short["text"], short["is_finished"]) == (turns(0, 3), False)


def test_masks_are_filled_like_the_model_does(server: Served, texts: Path) -> None:
    answer = post(server, "fill", text="가 ___ 다 ___", top_k=3).json()
    [expected] = load(texts / "reader", task="fill-mask").fill(["가 ___ 다 ___"], top_k=3)
    assert answer["text"] == expected.text
    assert [[one["token"] for one in own] for own in answer["masks"]] == [
        [one.token for one in own] for own in expected.predictions
    ]


@pytest.mark.parametrize("name", ["writer", "reader"])
def test_a_text_is_traced_itself(server: Served, name: str) -> None:
    trace = post(server, "traces", model=name, text=turns(0, 4)).json()
    side, other = ("target", "source") if name == "writer" else ("source", "target")
    assert [word for word in trace[side]["words"] if "<" not in word] == turns(0, 4).split()
    assert trace[other]["pieces"] == []
    assert trace["translation"] is None
    asked: dict[str, Any] = {"layer": 1, "head": 0, "query": 2}
    inside = httpx.get(f"{server.url}/api/v1/traces/{trace['id']}/arithmetic", params=asked, timeout=60).json()
    assert sum(inside["weights"]) == pytest.approx(1.0, abs=1e-5)
    positions = httpx.get(f"{server.url}/api/v1/models/{name}/positions", timeout=60).json()
    assert positions["kind"] == "rotary"


@pytest.mark.parametrize(
    ("path", "asked", "expected"),
    [
        ("complete", {"text": "가", "model": "reader"}, (409, "wrong_task")),
        ("fill", {"text": "가 ___", "model": "writer"}, (409, "wrong_task")),
        ("fill", {"text": "가 나"}, (400, "bad_masks")),
        ("fill", {"text": "___ " * 17}, (400, "bad_masks")),
        ("fill", {"text": " "}, (400, "bad_masks")),
        ("complete", {"text": "가", "model": "none"}, (404, "no_model")),
        ("complete", {"text": "가", "nbest": 11}, (400, "bad_nbest")),
        ("complete", {"text": "가", "beam_size": 11}, (400, "bad_beam_size")),
        ("complete", {"text": "가", "max_new_tokens": 501}, (400, "bad_request")),
        ("complete", {"text": "가", "temperature": 0}, (400, "bad_request")),
        ("complete", {"text": "가" * 5001}, (413, "text_too_long")),
        ("traces", {"text": "가", "model": "writer", "target": "나"}, (400, "no_target")),
        ("translate", {"texts": ["가"], "model": "writer"}, (409, "wrong_task")),
        ("translate", {"texts": ["가"]}, (503, "not_ready")),
    ],
)
def test_impossible_request_is_refused(
    server: Served, path: str, asked: dict[str, Any], expected: tuple[int, str]
) -> None:
    assert status_and_message(post(server, path, **asked)) == expected


def test_examples_belong_to_the_requested_model(server: Served) -> None:
    def examples(name: str) -> list[str]:
        query = {"source": "", "target": "ko", "model": name}
        answer = httpx.get(f"{server.url}/api/v1/examples", params=query, timeout=60).json()
        return [one["source"] for one in answer["examples"]]

    assert all("___" in text for text in examples("reader"))
    assert examples("writer")
    assert not any("___" in text for text in examples("writer"))


def test_long_text_is_refused_as_a_client_error(server: Served) -> None:
    answer = post(server, "traces", model="writer", text=turns(0, 700))
    assert answer.status_code == 400
    assert "tokens" in answer.json()["error"]["message"]
