"""Pictures through the own API: described, traced, bounded; bad files are refused in words that repeat nothing."""

import base64
import io
import json
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image

from regard.inference.open import load
from regard.server.models import ModelRegistry
from regard.tracing.image_maps import image_maps, word_image_maps
from regard.training.model_locations import find_models
from tests.support.captioning_server import HIT, MISS, SIDE, SIZE, CaptioningServer, captioning_server, make_captioners
from tests.support.shared_results import build_once
from tests.unit.data.test_images import bomb


@pytest.fixture(scope="module")
def captioners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CaptioningServer]:
    directory, _ = build_once(tmp_path_factory, "captioners", make_captioners)
    with captioning_server(directory) as shown:
        yield shown


@pytest.fixture
def client(captioners: CaptioningServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{captioners.url}api/v1/", timeout=60) as http:
        yield http


def test_captioners_are_listed_with_image_input(client: httpx.Client) -> None:
    models = {model["name"]: model for model in client.get("models").json()["models"]}
    assert {model["task"] for model in models.values()} == {"image-to-text"}
    assert {name: model["has_attention"] for name, model in models.items()} == {
        "heads": True,
        "attention": True,
        "fixed": False,
    }
    assert all(model["target"] == "en" and model["source"] == "" for model in models.values())


def test_a_captioner_is_torchs_whichever_engine_translates(captioners: CaptioningServer) -> None:
    models = ModelRegistry(find_models([captioners.folder / "heads"]), engine="ctranslate2")
    assert [(model.engine, problem) for model, problem in models.load_changed()] == [("torch", None)]


@pytest.mark.parametrize("model", ["heads", "attention", "fixed"])
def test_caption_and_maps_equal_the_model_own(client: httpx.Client, captioners: CaptioningServer, model: str) -> None:
    path = captioners.image(1)
    answer = client.post("captions", params={"model": model}, content=path.read_bytes()).json()
    captioner = load(captioners.folder / model, task="image-to-text")
    output = captioner.caption([path])[0]
    assert answer["text"] == output.text
    assert answer["log_probability"] == pytest.approx(output.log_probability, abs=1e-4)
    assert (answer["rows"], answer["columns"], answer["gold"]) == (SIDE, SIDE, None)
    layers = [index for index, layer in enumerate(answer["layers"]) if layer["role"] == "image-cross"]
    assert len(layers) == {"heads": 2, "attention": 1, "fixed": 0}[model]
    if layers:
        found = client.get(f"traces/{answer['id']}/weights", params={"layer": layers[-1], "head": 0})
        expected = image_maps(captioner.trace(path, output.tokens), layer=len(layers) - 1, head=0)
        assert np.frombuffer(found.content, "<f4") == pytest.approx(expected.ravel(), abs=1e-5)


def stream_events(client: httpx.Client, content: bytes = b"", **query: object) -> list[tuple[str, dict[str, Any]]]:
    """The events of a stream."""
    with client.stream("POST", "captions/stream", params=query, content=content) as answer:  # type: ignore[arg-type]
        assert answer.headers["content-type"].startswith("text/event-stream")
        blocks = [block.split("\n") for block in "".join(answer.iter_text()).strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


@pytest.mark.parametrize("model", ["heads", "attention", "fixed"])
def test_stream_sends_each_word_map_then_whole_answer(
    client: httpx.Client, captioners: CaptioningServer, model: str
) -> None:
    path = captioners.image(1)
    (first, seen), *partials, (last, answer) = stream_events(client, path.read_bytes(), model=model)
    whole = client.post("captions", params={"model": model}, content=path.read_bytes()).json()
    assert (first, last) == ("image", "done")
    assert (seen["image"], seen["rows"]) == (whole["image"], SIDE)
    assert answer | {"id": ""} == whole | {"id": ""}
    captioner = load(captioners.folder / model, task="image-to-text")
    assert [data["text"] for _, data in partials] == list(captioner.stream(path))
    assert {name for name, _ in partials} == {"partial"}
    words = partials[-1][1]["words"]
    if model == "fixed":
        assert words == []
    else:
        output = captioner.caption([path])[0]
        expected = word_image_maps(captioner.trace(path, output.tokens), layer=1 if model == "heads" else 0)
        assert [word["text"] for word in words] == [word for word, _ in expected]
        for word, (_, weights) in zip(words, expected, strict=True):
            assert word["weights"] == pytest.approx(weights.ravel(), abs=6e-5)


def test_example_stream_has_gold_and_a_trace(client: httpx.Client) -> None:
    answer = stream_events(client, model="heads", example=0)[-1][1]
    assert answer["gold"]["boxes"][0] == [HIT]
    assert client.get(f"traces/{answer['id']}/weights", params={"layer": 1, "head": 0}).status_code == 200


def test_non_image_is_refused_before_streaming(client: httpx.Client) -> None:
    answer = client.post("captions/stream", content=b"secret words")
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "bad_image")
    assert client.post("captions/stream", params={"beam_size": 99}).status_code == 400


def test_arithmetic_of_a_word_is_served(client: httpx.Client, captioners: CaptioningServer) -> None:
    answer = client.post("captions", params={"model": "heads"}, content=captioners.image(0).read_bytes()).json()
    layer = max(index for index, layer in enumerate(answer["layers"]) if layer["role"] == "image-cross")
    inside = client.get(f"traces/{answer['id']}/arithmetic", params={"layer": layer, "head": 2, "query": 1}).json()
    assert len(inside["weights"]) == SIDE * SIDE
    assert sum(inside["weights"]) == pytest.approx(1, abs=1e-5)
    assert inside["key_labels"][:2] == ["1,1", "1,2"]


def test_image_is_returned_as_the_model_input(client: httpx.Client) -> None:
    upload = io.BytesIO()
    Image.new("RGB", (200, 100), (10, 200, 30)).save(upload, "JPEG", quality=95)
    answer = client.post("captions", content=upload.getvalue(), headers={"content-type": "image/jpeg"}).json()
    head, _, content = answer["image"].partition(",")
    assert head == "data:image/png;base64"
    with Image.open(io.BytesIO(base64.b64decode(content))) as seen:
        assert seen.size == (SIZE, SIZE)
        assert np.abs(np.asarray(seen).astype(int) - [10, 200, 30]).max() <= 4


def test_form_may_carry_the_image(client: httpx.Client, captioners: CaptioningServer) -> None:
    content = captioners.image(0).read_bytes()
    raw = client.post("captions", content=content).json()["text"]
    assert client.post("captions", files={"image": ("a.png", content, "image/png")}).json()["text"] == raw
    empty = client.post("captions", files={"file": ("a.png", content, "image/png")})
    assert (empty.status_code, empty.json()["error"]["code"]) == (400, "no_file")


def test_examples_are_validation_images_with_gold(client: httpx.Client, captioners: CaptioningServer) -> None:
    pictures = client.get("models/heads/examples").json()["examples"]
    assert [(one["number"], one["has_boxes"]) for one in pictures] == [(0, True), (1, False), (2, False)]
    shown = client.get("models/heads/examples/2")
    assert shown.headers["content-type"] == "image/png"
    with Image.open(io.BytesIO(shown.content)) as one, Image.open(captioners.image(2)) as other:
        assert (np.asarray(one) == np.asarray(other)).all()
    answer = client.post("captions", params={"model": "heads", "example": 0}).json()
    assert answer["gold"]["words"] == answer["text"].split()
    assert answer["gold"]["boxes"][:2] == [[HIT], [MISS]]
    assert client.get("models/heads/examples/3").status_code == 404
    assert client.post("captions", params={"example": 99}).status_code == 404


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"", 415, "bad_image"),
        (b"<script>alert(1)</script>", 415, "bad_image"),
        (b"\x89PNG\r\n\x1a\nsecret words of mine", 415, "bad_image"),
        (bomb(6_000, 6_000), 413, "image_too_large"),
        (bytes(4_100_000), 413, "body_too_large"),
    ],
)
def test_non_image_is_refused_without_echo(client: httpx.Client, content: bytes, status: int, code: str) -> None:
    answer = client.post("captions", content=content)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert "secret" not in answer.text
    assert "script" not in answer.text


def test_float_image_is_refused_with_the_reason(client: httpx.Client) -> None:
    content = io.BytesIO()
    Image.fromarray(np.zeros((4, 4), np.float32)).save(content, "TIFF")
    answer = client.post("captions", content=content.getvalue())
    assert answer.status_code == 415
    assert "32 bits per pixel. Save it with 8 or 16" in answer.json()["error"]["message"]


def test_truncated_image_is_refused(client: httpx.Client, captioners: CaptioningServer) -> None:
    answer = client.post("captions", content=captioners.image(0).read_bytes()[:-30])
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "bad_image")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"model": "absent"}, 404),
        ({"beam_size": 0}, 400),
        ({"beam_size": 99}, 400),
        ({"beam_size": "x"}, 400),
        ({"example": -1}, 400),
    ],
)
def test_impossible_option_is_refused(
    client: httpx.Client, captioners: CaptioningServer, query: dict[str, str], status: int
) -> None:
    assert client.post("captions", params=query, content=captioners.image(0).read_bytes()).status_code == status


def test_text_for_a_captioner_is_refused_with_guidance(client: httpx.Client) -> None:
    answer = client.post("translate", json={"texts": ["a"], "model": "heads"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "wrong_task")
    assert client.post("traces", json={"text": "a", "model": "heads"}).status_code == 409
