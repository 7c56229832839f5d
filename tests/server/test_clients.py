"""Clients as people install them, against a running server: what they send is understood, what they read is there."""

import json
import shutil
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import deepl
import pytest
from benchmarks import client_coverage
from deep_translator import LibreTranslator
from deep_translator.exceptions import AuthorizationException, ServerException
from libretranslatepy import LibreTranslateAPI

from regard.inference.open import load
from tests.support.api_server import KEY, ApiServer

TEXT = "one red cat"
KOREAN = "고양이가 개를 본다"
TOOLS = Path(__file__).parent / "tools"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def expected(api_server: ApiServer) -> str:
    return load(api_server.model).translate([TEXT])[0].text


def test_libretranslatepy_sends_forms(api_server: ApiServer, expected: str) -> None:
    client = LibreTranslateAPI(api_server.url, api_key=KEY)
    assert client.translate(TEXT, "en", "ko") == expected
    assert client.detect(KOREAN)[0]["language"] == "ko"
    assert {language["code"] for language in client.languages()} == {"en", "ko"}
    with pytest.raises(HTTPError, match="403") as refused:
        LibreTranslateAPI(api_server.url).translate(TEXT, "en", "ko")
    refused.value.close()


def test_deep_translator_sends_query_strings_without_a_body(api_server: ApiServer, expected: str) -> None:
    client = LibreTranslator(source="en", target="ko", api_key=KEY, custom_url=api_server.url)
    assert client.translate(TEXT) == expected
    assert client.translate_batch([TEXT, TEXT]) == [expected, expected]
    with pytest.raises(AuthorizationException):
        LibreTranslator(source="en", target="ko", api_key="wrong", custom_url=api_server.url).translate(TEXT)
    with pytest.raises(ServerException):
        LibreTranslator(source="en", target="ja", api_key=KEY, custom_url=api_server.url).translate(TEXT)


def test_deepl_sends_json_and_get_with_body(api_server: ApiServer, expected: str) -> None:
    with closing(deepl.DeepLClient(KEY, server_url=api_server.url)) as client:
        output = client.translate_text([TEXT, KOREAN], target_lang="KO")
        assert [(one.text, one.detected_source_lang, one.billed_characters) for one in output] == [
            (expected, "EN", len(TEXT)),
            (KOREAN, "KO", len(KOREAN)),
        ]
        tagged = client.translate_text(f"<p>{TEXT}</p>", source_lang="EN", target_lang="KO", tag_handling="html")
        assert tagged.text == f"<p>{expected}</p>"
        assert [one.code for one in client.get_source_languages()] == ["EN", "KO"]
        assert [one.code for one in client.get_target_languages()] == ["EN-GB", "EN-US", "KO"]
        usage = client.get_usage()
        assert usage.character.count >= len(TEXT)
        assert not usage.any_limit_reached
        with pytest.raises(deepl.DeepLException, match="Bad request"):
            client.translate_text(TEXT, target_lang="JA")
    with (
        closing(deepl.DeepLClient("wrong", server_url=api_server.url)) as stranger,
        pytest.raises(deepl.AuthorizationException),
    ):
        stranger.get_usage()


def test_npm_translate_sends_json(api_server: ApiServer, expected: str) -> None:
    result = _in_node("translate", api_server.url, KEY, TEXT)
    assert result == {"translated": expected, "refused": "This server requires an API key. Send a valid one."}


def test_npm_libretranslate_ts_sends_json_with_nulls(api_server: ApiServer, expected: str) -> None:
    result = _in_node("libretranslate-ts", api_server.url, KEY, TEXT)
    assert result["translated"]["translatedText"] == expected
    assert len(result["translated"]["alternatives"]) == 2
    assert "requires an API key" in result["refused"]["error"]
    assert result["detected"]["language"] == "en"
    assert [language["code"] for language in result["languages"]] == ["en", "ko"]


def test_npm_deepl_node_sends_forms_with_repeated_fields(api_server: ApiServer, expected: str) -> None:
    result = _in_node("deepl-node", api_server.url, KEY, TEXT, KOREAN)
    assert [one["text"] for one in result["translated"]] == [expected, KOREAN]
    assert [one["detectedSourceLang"] for one in result["translated"]] == ["en", "ko"]
    assert [one["billedCharacters"] for one in result["translated"]] == [len(TEXT), len(KOREAN)]
    assert result["tagged"]["text"].count("<b>") == result["tagged"]["text"].count("</b>") == 1
    assert [one["code"] for one in result["sources"]] == ["en", "ko"]
    assert [one["code"] for one in result["targets"]] == ["en-GB", "en-US", "ko"]
    assert result["usage"]["character"]["count"] >= len(TEXT)
    assert result["refused"] == "AuthorizationError"


def test_every_client_method_works_or_is_refused(api_server: ApiServer, tmp_path: Path) -> None:
    url, page = api_server.url.rstrip("/"), (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    outcomes = client_coverage.cover_python(url, KEY, tmp_path)
    if shutil.which("node") and (TOOLS / "node_modules" / "deepl-node").is_dir():
        outcomes |= client_coverage.cover_node(url, KEY, tmp_path)
    for library, own in outcomes.items():
        assert {name: one for name, one in own.items() if one not in ("works", "refused")} == {}
        assert client_coverage.table_row(library, own) in page  # of these versions; the command prints the table


def _in_node(client: str, *arguments: str) -> dict[str, Any]:
    """What a client says in Node, or a skip with the reason."""
    if shutil.which("node") is None:
        pytest.skip("Node is not installed")
    if not (TOOLS / "node_modules" / client).is_dir():
        pytest.skip("the npm clients are not installed: npm install --prefix tests/server/tools --no-package-lock")
    ended = subprocess.run(
        ["node", str(TOOLS / f"{client}.mjs"), *arguments], capture_output=True, text=True, check=False, timeout=300
    )
    assert ended.returncode == 0, ended.stderr
    result: dict[str, Any] = json.loads(ended.stdout)
    return result
