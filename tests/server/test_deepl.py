"""DeepL's API over a running server."""

import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from regard.inference.open import load
from tests.support.api_server import KEY, ApiServer

TEXT = "one red cat"


@pytest.fixture
def http(api_server: ApiServer) -> Iterator[httpx.Client]:
    with api_server.http(f"DeepL-Auth-Key {KEY}") as client:
        yield client


@pytest.fixture(scope="module")
def expected(api_server: ApiServer) -> str:
    return load(api_server.model).translate([TEXT])[0].text


def test_json_and_repeated_form_fields_are_equivalent(http: httpx.Client, expected: str) -> None:
    fields = {"text": [TEXT, "고양이가 개를 본다"], "target_lang": "KO"}
    by_json, by_form = http.post("/v2/translate", json=fields), http.post("/v2/translate", data=fields)
    assert by_json.json() == by_form.json()
    used = {"model_type_used": "quality_optimized"}
    assert by_json.json()["translations"] == [
        {"detected_source_language": "EN", "text": expected, "billed_characters": len(TEXT)} | used,
        {"detected_source_language": "KO", "text": "고양이가 개를 본다", "billed_characters": 10} | used,
    ]


@pytest.mark.parametrize("form", ["json", "data"])
def test_old_clients_send_the_key_in_the_body(api_server: ApiServer, form: str) -> None:
    with api_server.http() as client:
        for key, status in ((KEY, 200), ("wrong", 403)):
            fields = {"text": TEXT, "target_lang": "KO", "auth_key": key}
            answer = client.post("/v2/translate", **{form: fields | ({"text": [TEXT]} if form == "json" else {})})
            assert answer.status_code == status
        assert client.get("/v2/languages", params={"auth_key": KEY}).status_code == 200


def test_single_text_and_regional_codes_are_accepted(http: httpx.Client) -> None:
    fields = {"text": "고양이가 개를 본다", "source_lang": "KO", "target_lang": "EN-GB"}
    (translation,) = http.post("/v2/translate", data=fields).json()["translations"]
    assert translation["detected_source_language"] == "KO"
    assert translation["text"] != fields["text"]


def test_tags_are_kept_with_tag_handling(http: httpx.Client) -> None:
    fields = {"text": ["one <b>red</b> cat"], "target_lang": "ko", "tag_handling": "xml"}
    (translation,) = http.post("/v2/translate", json=fields).json()["translations"]
    assert translation["text"].count("<b>") == translation["text"].count("</b>") == 1


def test_inline_xml_tags_do_not_split_a_sentence(http: httpx.Client, expected: str) -> None:
    def translated(text: str, **more: object) -> str:
        fields = {"text": [text], "target_lang": "ko", "source_lang": "EN", "tag_handling": "xml", **more}
        (translation,) = http.post("/v2/translate", json=fields).json()["translations"]
        return str(translation["text"])

    assert re.sub("</?p>", "", translated("one <p>red</p> cat")) == expected
    assert re.sub("</?p>", "", translated("one <p>red</p> cat", splitting_tags=["p"])) != expected
    for one_sentence in ({"non_splitting_tags": "q,p"}, {"outline_detection": False}):
        assert re.sub("</?p>", "", translated("<p>one red </p><p>cat</p>", **one_sentence)) == expected
    assert "<p>red</p>" in translated("one <p>red</p> cat", ignore_tags=["p"])
    assert "<p>red</p>" in translated("one <p>red</p> cat", ignore_tags=["p"], tag_handling="html")


def test_newlines_end_sentences_unless_disabled(http: httpx.Client) -> None:
    fields = {"text": ["one red\ncat"], "target_lang": "ko", "source_lang": "EN"}
    (split,) = http.post("/v2/translate", json=fields).json()["translations"]
    (whole,) = http.post("/v2/translate", json={**fields, "split_sentences": "nonewlines"}).json()["translations"]
    assert "\n" in split["text"]
    assert "\n" not in whole["text"]


def test_unsplit_text_is_one_sentence(http: httpx.Client, api_server: ApiServer) -> None:
    text = "one red cat. Two big dogs."
    fields = {"text": [text], "target_lang": "ko", "source_lang": "EN", "split_sentences": 0}
    (whole,) = http.post("/v2/translate", json=fields).json()["translations"]
    (tagged,) = http.post("/v2/translate", json={**fields, "tag_handling": "html"}).json()["translations"]
    (split,) = http.post("/v2/translate", json={**fields, "split_sentences": 1}).json()["translations"]
    expected = load(api_server.model).translate([text])[0].text
    assert whole["text"].startswith(expected)
    assert whole["text"] == tagged["text"] != split["text"]


def test_languages_accept_query_or_body_parameters(http: httpx.Client) -> None:
    sources = [{"language": "EN", "name": "English"}, {"language": "KO", "name": "Korean"}]
    assert http.get("/v2/languages").json() == http.get("/v2/languages?type=source").json() == sources
    targets = http.request("GET", "/v2/languages", data={"type": "target"}).json()
    assert targets == http.get("/v2/languages", params={"type": "target"}).json()
    assert [one["language"] for one in targets] == ["EN-GB", "EN-US", "KO"]
    assert all(one["supports_formality"] is False for one in targets)


def test_usage_counts_translated_characters(http: httpx.Client) -> None:
    before = http.get("/v2/usage").json()["character_count"]
    http.post("/v2/translate", json={"text": [TEXT], "target_lang": "KO"})
    usage = http.get("/v2/usage").json()
    assert usage["character_count"] == before + len(TEXT)
    assert usage["character_limit"] > usage["character_count"]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"text": None}, 400),
        ({"text": [5]}, 400),
        ({"target_lang": "XX-secret"}, 400),
        ({"source_lang": "XX-secret"}, 400),
        ({"tag_handling": "XX-secret"}, 400),
        ({"split_sentences": "XX-secret"}, 400),
        ({"outline_detection": "XX-secret"}, 400),
        ({"ignore_tags": {"XX-secret": 1}}, 400),
        ({"text": []}, 400),
        ({"glossary_id": "XX-secret"}, 400),
        ({"glossary_ids": ["XX-secret"]}, 400),
        ({"style_id": "XX-secret"}, 400),
        ({"custom_instructions": ["XX-secret"]}, 400),
        ({"translation_memory_id": "XX-secret"}, 400),
        ({"model_type": "XX-secret"}, 400),
        ({"tag_handling_version": "XX-secret"}, 400),
        ({"formality": "XX-secret"}, 400),
        ({"formality": "more"}, 400),
        ({"formality": "Less"}, 400),
        ({"text": ["x" * 5001]}, 413),
    ],
)
def test_invalid_deepl_request_is_refused_without_echo(http: httpx.Client, change: dict[str, Any], status: int) -> None:
    answer = http.post("/v2/translate", json={"text": [TEXT], "target_lang": "KO", **change})
    assert answer.status_code == status
    assert set(answer.json()) == {"message"}
    assert "XX-secret" not in answer.text


@pytest.mark.parametrize(
    ("requested", "used"),
    [
        (None, "quality_optimized"),
        ("quality_optimized", "quality_optimized"),
        ("prefer_quality_optimized", "quality_optimized"),
        ("latency_optimized", "latency_optimized"),
    ],
)
def test_model_type_used_is_returned(http: httpx.Client, requested: str | None, used: str) -> None:
    answer = http.post("/v2/translate", json={"text": [TEXT], "target_lang": "KO", "model_type": requested})
    assert answer.json()["translations"][0]["model_type_used"] == used


@pytest.mark.parametrize(
    "options",
    [
        {"formality": "default"},
        {"formality": "prefer_less"},
        {"preserve_formatting": True, "context": "a farm", "show_billed_characters": True},
        {"tag_handling": "html", "tag_handling_version": "v2"},
        {"debug": "1"},
    ],
)
def test_preferences_do_not_change_the_translation(http: httpx.Client, options: dict[str, Any]) -> None:
    plain = http.post("/v2/translate", json={"text": [TEXT], "target_lang": "KO"}).json()
    assert http.post("/v2/translate", json={"text": [TEXT], "target_lang": "KO", **options}).json() == plain


def test_document_is_translated_and_downloaded(http: httpx.Client, expected: str) -> None:
    before, content = http.get("/v2/usage").json()["character_count"], f"{TEXT}\n"
    fields, files = {"target_lang": "KO", "output_format": "TXT"}, {"file": ("a.txt", content.encode())}
    document = http.post("/v2/document", data=fields, files=files).json()
    path, key = f"/v2/document/{document['document_id']}", {"document_key": document["document_key"]}
    deadline = time.monotonic() + 60
    while (status := http.post(path, json=key).json())["status"] == "translating":
        assert time.monotonic() < deadline
    assert (status["status"], status["billed_characters"]) == ("done", len(content))
    assert http.post(f"{path}/result", data=key).text == f"{expected}\n"
    assert http.get("/v2/usage").json()["character_count"] == before + len(content)
    assert http.post("/v2/document/unknown", json=key).status_code == 404


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"output_format": "pdf"}, "a.txt"),
        ({"formality": "more"}, "a.txt"),
        ({"target_lang": "XX"}, "a.txt"),
        ({}, "a.exe"),
    ],
)
def test_unsupported_document_is_refused(http: httpx.Client, change: dict[str, str], name: str) -> None:
    answer = http.post("/v2/document", data={"target_lang": "KO", **change}, files={"file": (name, b"one")})
    assert answer.status_code == 400
    assert set(answer.json()) == {"message"}


@pytest.mark.parametrize("name", ["source_lang", "target_lang"])
def test_unknown_language_is_named_by_its_field(http: httpx.Client, name: str) -> None:
    fields = {"text": [TEXT], "target_lang": "KO"} | {name: "XX"}
    answer = http.post("/v2/translate", json=fields)
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(f"Value for '{name}' not supported.")


@pytest.mark.parametrize(
    ("method", "path", "subject"),
    [
        ("GET", "/v2/glossaries", "Glossaries"),
        ("GET", "/v2/glossary-language-pairs", "Glossaries"),
        ("PATCH", "/v3/glossaries/an-id", "Glossaries"),
        ("POST", "/v2/write/rephrase", "Rephrasing"),
        ("DELETE", "/v3/style_rules/an-id", "Style rules"),
        ("GET", "/v3/translation_memories", "Translation memories"),
        ("GET", "/v2/nothing", "There is nothing"),
        ("GET", "/v2", "There is nothing"),
        ("GET", "/v3/nothing", "There is nothing"),
    ],
)
def test_missing_paths_have_the_error_format(http: httpx.Client, method: str, path: str, subject: str) -> None:
    answer = http.request(method, path)
    assert answer.status_code == 404
    assert set(answer.json()) == {"message"}
    assert answer.json()["message"].startswith(subject)


@pytest.mark.parametrize("path", ["/v2/languages", "/v2/usage", "/v2/translate"])
def test_every_path_needs_the_key(http: httpx.Client, path: str) -> None:
    method = "POST" if path == "/v2/translate" else "GET"
    answer = http.request(method, path, headers={"authorization": "DeepL-Auth-Key wrong"})
    assert answer.status_code == 403
    assert set(answer.json()) == {"message"}
    http.headers.pop("authorization")
    body = {"json": {"text": [TEXT], "target_lang": "KO"}} if method == "POST" else {}  # it may have the key
    assert http.request(method, path, **body).status_code == 403
    assert http.request(method, f"{path}?auth_key={KEY}").status_code in (200, 400)
