"""The own API over a running server: every answer is what the model itself says."""

import json
import re
import struct
from typing import Any

import httpx
import numpy as np
import pytest

from regard.inference.open import load
from regard.inference.translator import Translator
from regard.server.api.runs import EvaluationReportFile
from regard.server.errors import ApiError
from regard.tracing.alignment import align, best_head
from regard.tracing.trace import trace_texts
from tests.support.own_api_server import OwnApiServer

TEXTS = ["one red cat", "two  big\tdog runs", "", "cat"]


@pytest.fixture(scope="session")
def translator(own_api: OwnApiServer) -> Translator:
    return load(own_api.run / "model")


def floats(answer: httpx.Response) -> np.ndarray[Any, Any]:
    rows, columns = map(int, answer.headers["x-regard-shape"].split(","))
    assert answer.headers["content-type"] == "application/octet-stream"
    return np.array(struct.unpack(f"<{rows * columns}f", answer.content)).reshape(rows, columns)


# --- translating -----------------------------------------------------------------------------------------------------


def test_models_are_listed_with_their_properties(own_api: OwnApiServer, translator: Translator) -> None:
    there, back = own_api.get("models").json()["models"]
    assert there == {
        "name": "there",
        "source": "en",
        "target": "ko",
        "kind": "transformer",
        "score": None,
        "query_state": None,
        "parameters": translator.num_parameters,
        "layers": 2,
        "heads": 2,
        "has_attention": True,
        "max_positions": None,
        "run": "there",
        "is_ready": True,
        "task": "translation",
        "reads_images": False,
        "fills_masks": False,
    }
    assert (back["name"], back["source"], back["target"], back["run"]) == ("back", "ko", "en", None)


def test_translations_and_scores_are_the_model_s_own(own_api: OwnApiServer, translator: Translator) -> None:
    answer = own_api.post("translate", texts=TEXTS, source="en", target="ko", nbest=3, beam_size=4).json()
    expected = translator.nbest(TEXTS, nbest=3, beam_size=4)
    assert answer["model"] == "there"
    assert [[one["text"] for one in outputs] for outputs in answer["translations"]] == [
        [one.text for one in outputs] for outputs in expected
    ]
    for outputs, own_outputs in zip(answer["translations"], expected, strict=True):
        for one, other in zip(outputs, own_outputs, strict=True):
            assert (one["score"], one["log_probability"]) == pytest.approx(
                (other.score, other.log_probability), abs=1e-4
            )


def test_links_are_ranges_of_the_given_text(own_api: OwnApiServer, translator: Translator) -> None:
    [[output], [empty]] = own_api.post("translate", model="there", texts=[TEXTS[1], ""], align=True).json()[
        "translations"
    ]
    [expected] = align(translator.bundle, [TEXTS[1]], [output["text"]])
    found = output["alignment"]
    assert [TEXTS[1][word["start"] : word["end"]] for word in found["source_words"]] == TEXTS[1].split()
    assert [output["text"][word["start"] : word["end"]] for word in found["target_words"]] == output["text"].split()
    assert len(found["source_words"]) == len(expected.source_words)
    assert all(source < 4 for source, _ in found["links"])
    assert empty["alignment"] == {"links": [], "source_words": [], "target_words": []}


def test_split_text_is_translated_by_sentence(own_api: OwnApiServer) -> None:
    sentences = ["One red cat.", "Two big dogs!", "red."]
    text = f"  {sentences[0]} {sentences[1]}\n\n{sentences[2]}"
    [[split], [blank]] = own_api.post("translate", model="there", texts=[text, " 12 "], split=True).json()[
        "translations"
    ]
    apart = [one for [one] in own_api.post("translate", model="there", texts=sentences).json()["translations"]]
    whole = httpx.post(f"{own_api.server.url}/translate", json={"q": text, "source": "en", "target": "ko"}, timeout=60)
    assert split["text"] == whole.json()["translatedText"]
    assert [one["text"] in split["text"] for one in apart] == [True] * 3
    assert split["log_probability"] == pytest.approx(sum(one["log_probability"] for one in apart), abs=1e-4)
    assert split["score"] == pytest.approx(sum(one["score"] for one in apart) / 3, abs=1e-4)
    assert split["is_finished"] == all(one["is_finished"] for one in apart)
    assert (blank["text"], blank["score"]) == (" 12 ", 0.0)


def test_a_stream_grows_to_the_translation(own_api: OwnApiServer, translator: Translator) -> None:
    events = []
    asked = {"text": TEXTS[1], "model": "there"}
    with httpx.stream("POST", f"{own_api.server.url}/api/v1/stream", json=asked, timeout=60) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for block in "".join(answer.iter_text()).strip().split("\n\n"):
            name, data = block.split("\n")
            events.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    expected = Translator(translator.require_bundle("streaming")).translate([TEXTS[1]])[0]  # torch decodes a stream
    assert [name for name, _ in events] == ["partial"] * (len(events) - 1) + ["done"]
    assert [data["text"] for _, data in events[:-1]] == list(translator.stream(TEXTS[1]))
    assert events[-1][1]["text"] == expected.text
    assert events[-1][1]["score"] == pytest.approx(expected.score, abs=1e-4)
    assert events[-1][1]["alignment"]["links"]


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ({"texts": ["a"], "model": "none"}, 404, "no_model"),
        ({"texts": ["a"], "source": "xx"}, 400, "no_pair"),
        ({"texts": ["a"], "model": "there", "target": "en"}, 400, "no_pair"),
        ({"texts": ["a"], "beam_size": 11}, 400, "bad_beam_size"),
        ({"texts": ["a"], "beam_size": 11, "split": True}, 400, "bad_beam_size"),
        ({"texts": ["a"], "nbest": 2, "split": True}, 400, "bad_split"),
        ({"texts": ["a"], "align": True, "split": True}, 400, "bad_split"),
        ({"texts": ["a" * 5001], "split": True}, 413, "text_too_long"),
        ({"texts": ["a"], "nbest": 11}, 400, "bad_nbest"),
        ({"texts": ["a"] * 129}, 413, "too_many_texts"),
        ({"texts": ["a" * 5001]}, 413, "text_too_long"),
        ({"texts": []}, 400, "bad_request"),
        ({"texts": ["a"], "secret": 1}, 400, "bad_request"),
        ({}, 400, "bad_request"),
    ],
)
def test_untranslatable_request_is_refused_with_a_code(
    own_api: OwnApiServer, asked: dict[str, Any], status: int, code: str
) -> None:
    answer = own_api.post("translate", **asked)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert "secret" not in answer.text


# --- looking inside --------------------------------------------------------------------------------------------------


def test_too_long_text_is_refused_before_translation(own_api: OwnApiServer) -> None:
    for target in (None, "x"):
        answer = own_api.post("traces", model="there", text="one " * 1200, target=target)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "text_too_long")


def test_trace_is_of_the_model_own_output(own_api: OwnApiServer, translator: Translator) -> None:
    answer = own_api.trace()
    expected = trace_texts(translator.bundle, "one red cat", answer["text"])
    assert answer["text"] == answer["translation"]["text"] == translator.translate(["one red cat"])[0].text
    assert answer["source"]["pieces"] == expected.source.pieces
    assert answer["target"]["pieces"] == expected.target.pieces
    assert answer["log_probabilities"] == pytest.approx(expected.log_probabilities, abs=1e-5)
    for place, layer in enumerate(answer["layers"]):
        for head in (*range(layer["heads"]), "mean"):
            shown = floats(own_api.get(f"traces/{answer['id']}/weights", layer=place, head=head))
            assert shown == pytest.approx(expected.weights(place, None if head == "mean" else head), abs=1e-6)  # type: ignore[arg-type]
    assert floats(own_api.get(f"traces/{answer['id']}/rollout")) == pytest.approx(expected.rollout(), abs=1e-6)


def test_a_given_target_is_forced(own_api: OwnApiServer, translator: Translator) -> None:
    answer = own_api.trace(target="개 본다")
    expected = trace_texts(translator.bundle, "one red cat", "개 본다")
    assert (answer["text"], answer["translation"]) == ("개 본다", None)
    assert answer["log_probabilities"] == pytest.approx(expected.log_probabilities, abs=1e-5)


def test_inside_is_the_arithmetic_of_one_query(own_api: OwnApiServer, translator: Translator) -> None:
    answer = own_api.trace(target="개 본다")
    expected = trace_texts(translator.bundle, "one red cat", "개 본다").arithmetic(3, 1, 2)
    shown = own_api.get(f"traces/{answer['id']}/arithmetic", layer=3, head=1, query=2).json()
    assert (shown["head"], shown["query_index"], shown["query_label"]) == (1, 2, expected.query_label)
    for name in ("x", "query", "scores", "weights", "context", "output"):
        assert shown[name] == pytest.approx(getattr(expected, name), abs=1e-5)


@pytest.mark.parametrize("at", ["output", "input"])
def test_an_alignment_is_by_words(own_api: OwnApiServer, translator: Translator, at: str) -> None:
    from regard.tracing.alignment import HeadSelection

    answer = own_api.trace()
    shown = own_api.get(f"traces/{answer['id']}/alignment", layer=1, head="mean", at=at).json()
    [expected] = align(translator.bundle, ["one red cat"], [answer["text"]], HeadSelection(1, None, at))
    assert (shown["source_words"], shown["target_words"]) == (expected.source_words, expected.target_words)
    assert np.array(shown["weights"]) == pytest.approx(expected.weights, abs=1e-5)
    assert {tuple(link) for link in shown["links"]} == expected.links


@pytest.mark.parametrize(
    ("path", "query", "status", "code"),
    [
        ("traces/none/weights", {"layer": 0}, 404, "trace_gone"),
        ("traces/ID/weights", {"layer": 99}, 400, "bad_input"),
        ("traces/ID/weights", {"layer": "x"}, 400, "bad_query"),
        ("traces/ID/weights", {}, 400, "bad_query"),
        ("traces/ID/arithmetic", {"layer": 0, "head": 9, "query": 0}, 400, "bad_input"),
        ("traces/ID/arithmetic", {"layer": 0, "head": 0, "query": 99}, 400, "bad_input"),
        ("traces/ID/alignment", {"layer": 9}, 400, "bad_input"),
        ("traces/ID/alignment", {"at": "never"}, 400, "bad_query"),
        ("models/none/head-alignment", {}, 404, "no_model"),
        ("models/there/positions", {"length": 3000}, 400, "bad_query"),
        ("runs/none/events", {}, 404, "no_run"),
        ("runs/there/probes", {"step": 7}, 404, "no_probe"),
        ("runs/there/probes/60/99/0", {}, 404, "no_probe"),
        ("runs/there/probes/60/0/99", {}, 404, "no_probe"),
        ("runs/there/probes/60/0/0", {"head": 9}, 404, "no_probe"),
        ("evaluation/2", {}, 404, "no_bucket"),
        ("nothing", {}, 404, "not_found"),
    ],
)
def test_missing_resource_is_refused_with_a_code(
    own_api: OwnApiServer, path: str, query: dict[str, object], status: int, code: str
) -> None:
    identity = own_api.trace()["id"] if "ID" in path else ""
    answer = own_api.get(path.replace("ID", identity), **query)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_head_alignments_are_sorted_best_first(own_api: OwnApiServer, translator: Translator) -> None:
    from regard.metrics.alignment import parse_alignments

    sources, targets, links = (
        (own_api.run.parent / f"test.{suffix}").read_text().splitlines() for suffix in ("en", "ko", "align")
    )
    assert translator.bundle is not None
    best = best_head(translator.bundle, sources, targets, parse_alignments(links))
    readings = own_api.get("models/there/head-alignment").json()["heads"]
    assert readings[0]["aer"] == pytest.approx(best.aer, abs=1e-6)
    assert [one["aer"] for one in readings] == sorted(one["aer"] for one in readings)
    assert len(readings) == 2 * (2 * 2 + 2 + 1)
    assert (best.selection.layer, best.selection.head, best.at) in {(r["layer"], r["head"], r["at"]) for r in readings}


def test_positions_are_sines_and_cosines(own_api: OwnApiServer) -> None:
    answer = own_api.get("models/there/positions", length=5).json()
    values = np.array(answer["values"])
    assert (answer["kind"], answer["layout"], answer["width"], values.shape) == (
        "sinusoidal",
        "interleaved",
        32,
        (5, 32),
    )
    assert values[:, 0] == pytest.approx(np.sin(np.arange(5)))
    assert values[:, 1] == pytest.approx(np.cos(np.arange(5)))


# --- watching and comparing ------------------------------------------------------------------------------------------


def test_a_run_is_shown_with_its_events(own_api: OwnApiServer) -> None:
    [run] = own_api.get("runs").json()["runs"]
    assert run == {"name": "there", "kind": "transformer", "steps": 60, "step": 60, "state": "ended", "model": "there"}
    lines = [json.loads(line) for line in (own_api.run / "events.jsonl").read_text().splitlines()]
    assert own_api.get("runs/there/events").json() == {"events": lines, "next": len(lines)}
    assert own_api.get("runs/there/events", after=len(lines) - 1).json() == {"events": lines[-1:], "next": len(lines)}
    assert own_api.get("runs/there/events", after=999).json() == {"events": [], "next": len(lines)}


def test_probes_are_the_maps_of_the_run(own_api: OwnApiServer) -> None:
    probes = own_api.get("runs/there/probes").json()
    assert probes["steps"] == [0, 25, 30, 50, 60]
    assert [layer["role"] for layer in probes["layers"]] == [
        "encoder-self",
        "encoder-self",
        "cross",
        "decoder-self",
        "cross",
        "decoder-self",
    ]
    for place, layer in enumerate(probes["layers"]):
        keys = probes["labels"][1]["target" if layer["role"] == "decoder-self" else "source"]
        weights = floats(own_api.get(f"runs/there/probes/30/1/{place}", head=1))
        assert weights.shape[1] == len(keys)
        assert weights.sum(axis=1) == pytest.approx(np.ones(len(weights)), abs=0.01)


def test_quality_is_the_measured_one(own_api: OwnApiServer) -> None:
    answer = own_api.get("evaluation").json()
    assert answer["test"] == {"sentences": 24, "has_sentences": True}
    assert [one["model"] for one in answer["models"]] == ["there", "else"]
    best = {"layer": 2, "head": None, "at": "input", "aer": 0.125, "precision": 0.9, "recall": 0.9}
    assert [one["alignment"] for one in answer["models"]] == [best, None]
    assert all(one["outputs"] == [] for one in answer["models"])
    counts = [bucket["count"] for bucket in answer["models"][0]["lengths"]]
    found = [own_api.get(f"evaluation/{bucket}").json()["sentences"] for bucket in (0, 1)]
    assert [len(sentences) for sentences in found] == counts
    first = found[0][0]
    assert first["outputs"] == {"there": f"there {first['source']}", "else": f"else {first['source']}"}


def test_unmeasured_quality_is_null_without_sentences() -> None:
    unknown = EvaluationReportFile(None)
    assert unknown.figures() is None
    with pytest.raises(ApiError, match="no evaluation report"):
        unknown.sentences(0)


def test_examples_have_their_gold_links(own_api: OwnApiServer) -> None:
    for source, target in (("en", "ko"), ("ko", "en")):
        examples = own_api.get("examples", source=source, target=target).json()["examples"]
        assert 1 < len(examples) <= 8
        assert all(one["links"] == [[place, place] for place in range(len(one["source"].split()))] for one in examples)
    assert own_api.get("examples", source="../en", target="ko").json() == {"examples": []}


def test_page_and_modules_are_served_and_nothing_else(own_api: OwnApiServer) -> None:
    url = own_api.server.url
    index = httpx.get(url, timeout=60)
    assert index.headers["content-type"].startswith("text/html")
    assert "script-src 'self'" in index.headers["content-security-policy"]
    known = {"if-none-match": index.headers["etag"]}
    assert httpx.get(url, headers=known, timeout=60).status_code == 304
    names = re.findall(r'"(page/[^"]+)"', index.text)
    assert len(names) == 3
    for name in names:
        file = httpx.get(f"{url}/{name}", timeout=60)
        assert file.headers["content-encoding"] == "gzip"
        assert "immutable" in file.headers["cache-control"]
        assert httpx.get(f"{url}/{name}", headers={"accept-encoding": "identity"}, timeout=60).text == file.text
    for path in ("page/", "page/none.js", "page/..%2fplots.py", "page/%2e%2e/plots.py", "page/__init__.py"):
        assert httpx.get(f"{url}/{path}", timeout=60).status_code == 404
