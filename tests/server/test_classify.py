"""Classifiers over a running server: what they answer is what they say themselves."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from benchmarks.http_load import Served, serving

from regard.inference.open import load
from tests.support.shared_results import build_once
from tests.support.small_labels import make_classifiers

TEXTS = ["가 와 나", "나 가", "나 와 네 가"]


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_once(tmp_path_factory, "labels", make_classifiers)[0]


@pytest.fixture(scope="module")
def server(labelled: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    log = tmp_path_factory.mktemp("serving") / "log"
    models = [labelled / name for name in ("rnn", "encoder", "images")]
    with serving(models, log, "--limit", "rate=0") as server:
        yield server


def post(server: Served, path: str, **asked: object) -> httpx.Response:
    return httpx.post(f"{server.url}/api/v1/{path}", json=asked, timeout=60)


@pytest.mark.parametrize("name", ["rnn", "encoder"])
def test_classes_are_those_of_the_model(server: Served, labelled: Path, name: str) -> None:
    answer = post(server, "classify", model=name, texts=TEXTS, attention=True).json()
    for record, own in zip(
        answer["results"], load(labelled / name, task="classification").classify(TEXTS), strict=True
    ):
        assert record["label"] == own.label
        assert {one["label"]: one["probability"] for one in record["classes"]} == pytest.approx(
            own.probabilities, abs=1e-5
        )
        assert sum(word["weight"] for word in record["words"]) == pytest.approx(1, abs=1e-4)


def test_concurrent_clients_get_their_own_classes(server: Served, labelled: Path) -> None:
    expected = [one.label for one in load(labelled / "rnn", task="classification").classify(TEXTS)]
    with ThreadPoolExecutor(6) as clients:
        answers = list(clients.map(lambda text: post(server, "classify", model="rnn", texts=[text]).json(), TEXTS * 4))
    assert [one["results"][0]["label"] for one in answers] == expected * 4


def test_text_is_traced_and_changed(server: Served) -> None:
    trace = post(server, "traces", model="rnn", text=TEXTS[0]).json()
    assert trace["text"] == "forward"
    assert [layer["role"] for layer in trace["layers"]] == ["cross"]
    changed = post(server, "classify", model="rnn", texts=TEXTS[:1], interventions=["hide.source.1"]).json()
    plain = post(server, "classify", model="rnn", texts=TEXTS[:1]).json()
    assert changed["results"][0]["classes"] != plain["results"][0]["classes"]


def test_image_is_classified_with_its_map(server: Served, labelled: Path) -> None:
    image = next((labelled / "bars" / "test" / "down").glob("*.png"))
    answer = httpx.post(
        f"{server.url}/api/v1/classify/image", params={"model": "images"}, content=image.read_bytes(), timeout=60
    ).json()
    [own] = load(labelled / "images", task="classification").classify([image])
    assert answer["label"] == own.label
    assert answer["probability"] == pytest.approx(own.probability, abs=1e-5)
    assert len(answer["weights"]) == answer["rows"] * answer["columns"] == 16
    weights = httpx.get(f"{server.url}/api/v1/traces/{answer['id']}/weights", params={"layer": 1}, timeout=60)
    assert weights.headers["x-regard-shape"] == "1,16"
    examples = httpx.get(f"{server.url}/api/v1/models/images/examples", timeout=60).json()["examples"]
    assert examples
    first = {"model": "images", "example": 0}
    assert httpx.post(f"{server.url}/api/v1/classify/image", params=first, timeout=60).status_code == 200


@pytest.mark.parametrize(
    ("path", "asked", "expected"),
    [
        ("classify", {"model": "rnn", "texts": [" "]}, (400, "blank_text")),
        ("classify", {"model": "images", "texts": ["가"]}, (409, "wrong_task")),
        ("classify", {"model": "rnn", "texts": []}, (400, "bad_request")),
        ("translate", {"model": "rnn", "texts": ["가"]}, (409, "wrong_task")),
        ("traces", {"model": "images", "text": "가"}, (409, "wrong_task")),
    ],
)
def test_what_does_not_fit_is_refused(
    server: Served, path: str, asked: dict[str, object], expected: tuple[int, str]
) -> None:
    answer = post(server, path, **asked)
    assert (answer.status_code, answer.json()["error"]["code"]) == expected


def test_broken_image_is_refused(server: Served) -> None:
    answer = httpx.post(
        f"{server.url}/api/v1/classify/image", params={"model": "images"}, content=b"\x89PNG broken", timeout=60
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "bad_image")
