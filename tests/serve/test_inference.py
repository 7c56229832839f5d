"""The Open Inference Protocol over a running server."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from regard.translation.translator import load
from tests.serve.spoken import KEY, Spoken

TEXTS = ["one red cat", "two dog"]


def tensor(data: list[Any], **change: Any) -> dict[str, Any]:
    return {"inputs": [{"name": "text", "shape": [len(data)], "datatype": "BYTES", "data": data, **change}]}


@pytest.fixture
def http(spoken: Spoken) -> Iterator[httpx.Client]:
    with spoken.http(f"Bearer {KEY}") as client:
        yield client


@pytest.mark.parametrize("path", ["/v2/models/there/infer", "/v2/models/there/versions/1/infer"])
def test_outputs_are_those_of_the_bare_model(http: httpx.Client, spoken: Spoken, path: str) -> None:
    answer = http.post(path, json={**tensor(TEXTS), "id": "mine"}).json()
    said = load(spoken.model).translate(TEXTS)
    assert (answer["model_name"], answer["model_version"], answer["id"]) == ("there", "1", "mine")
    text, score = answer["outputs"]
    assert text == {"name": "translation", "shape": [2], "datatype": "BYTES", "data": [one.text for one in said]}
    assert score["data"] == pytest.approx([one.score for one in said], abs=1e-4)


def test_nbest_gives_a_row_for_each_text_and_outputs_can_be_chosen(http: httpx.Client) -> None:
    asked = {**tensor(TEXTS), "parameters": {"nbest": 3}, "outputs": [{"name": "score"}]}
    (score,) = http.post("/v2/models/there/infer", json=asked).json()["outputs"]
    assert (score["name"], score["shape"], len(score["data"])) == ("score", [2, 3], 6)
    assert score["data"][:3] == sorted(score["data"][:3], reverse=True)


def test_data_may_be_nested_as_its_shape_says(http: httpx.Client) -> None:
    nested = http.post("/v2/models/there/infer", json=tensor([["one"], ["two"]], shape=[2, 1]))
    flat = http.post("/v2/models/there/infer", json=tensor(["one", "two"], shape=[2, 1]))
    assert nested.json() == flat.json()
    assert nested.status_code == 200


def test_health_and_metadata_need_no_key(http: httpx.Client) -> None:
    http.headers.pop("authorization")
    assert http.get("/v2/health/live").json() == {"live": True}
    assert http.get("/v2/health/ready").json() == {"ready": True}
    assert http.get("/v2/models/there/ready").json() == {"name": "there", "ready": True}
    assert http.get("/v2").json()["name"] == "regard"
    metadata = http.get("/v2/models/there").json()
    assert metadata["versions"] == ["1"]
    assert [one["name"] for one in metadata["inputs"] + metadata["outputs"]] == ["text", "translation", "score"]
    assert http.post("/v2/models/there/infer", json=tensor(TEXTS)).status_code == 401


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        (tensor(TEXTS, name="xx-secret"), 400),
        (tensor(TEXTS, datatype="INT64"), 400),
        (tensor(TEXTS, shape=[3]), 400),
        (tensor([1, 2]), 400),
        (tensor([["a"], "b"], shape=[2, 1]), 400),
        ({"inputs": []}, 400),
        ({**tensor(TEXTS), "outputs": [{"name": "xx-secret"}]}, 400),
        ({**tensor(TEXTS), "parameters": {"nbest": 0}}, 400),
        ({**tensor(TEXTS), "parameters": {"beam": 999}}, 400),
        (tensor(["red " * 1100]), 413),
    ],
)
def test_what_cannot_be_answered_is_refused_and_not_repeated(
    http: httpx.Client, asked: dict[str, Any], status: int
) -> None:
    answer = http.post("/v2/models/there/infer", json=asked)
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}
    assert "xx-secret" not in answer.text


@pytest.mark.parametrize("path", ["/v2/models/unknown", "/v2/models/there/versions/2", "/v2/models/unknown/infer"])
def test_models_and_versions_that_are_not_there_are_not_found(http: httpx.Client, path: str) -> None:
    answer = http.post(path, json=tensor(TEXTS)) if path.endswith("infer") else http.get(path)
    assert answer.status_code == 404
    assert set(answer.json()) == {"error"}
