"""LibreTranslate's API over a running server."""

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from regard.inference.open import load
from tests.support.api_server import KEY, ApiServer

TEXT = "one red cat"
ASKED = {"q": TEXT, "source": "en", "target": "ko", "api_key": KEY}


@pytest.fixture
def http(api_server: ApiServer) -> Iterator[httpx.Client]:
    with api_server.http() as client:
        yield client


@pytest.fixture(scope="module")
def expected(api_server: ApiServer) -> str:
    """What the model says of the text when nobody serves it."""
    return load(api_server.model).translate([TEXT])[0].text


@pytest.mark.parametrize("way", ["json", "data", "params", "files"])
def test_fields_come_as_json_form_query_or_multipart(http: httpx.Client, expected: str, way: str) -> None:
    fields: dict[str, Any] = {way: ASKED} if way != "files" else {"data": ASKED, "files": {"other": b""}}
    answer = http.post("/translate", **fields)
    assert answer.status_code == 200
    assert answer.json() == {"translatedText": expected}


def test_a_list_gives_a_list_in_its_order(http: httpx.Client, expected: str) -> None:
    answer = http.post("/translate", json={**ASKED, "q": ["two dog", TEXT, ""]}).json()
    assert answer["translatedText"][1:] == [expected, ""]
    repeated = http.post("/translate", data={**ASKED, "q": [TEXT, TEXT]}).json()
    assert repeated["translatedText"] == [expected, expected]


def test_white_space_and_lines_stay(http: httpx.Client, expected: str) -> None:
    answer = http.post("/translate", json={**ASKED, "q": f"  {TEXT}\n\n\t{TEXT}\n"}).json()
    assert answer["translatedText"] == f"  {expected}\n\n\t{expected}\n"


def test_html_keeps_its_tags(http: httpx.Client) -> None:
    document = "<p>one <b>red</b> cat</p><script>one</script><p><a href='x'>two</a> dog</p>"
    output = http.post("/translate", json={**ASKED, "q": document, "format": "html"}).json()["translatedText"]
    for tag in ("<b>", "</b>", "<script>one</script>", "<a href='x'>", "</a>"):
        assert output.count(tag) == 1
    assert output.startswith("<p>")
    assert "red" not in output


def test_alternatives_have_the_requested_number(http: httpx.Client, expected: str) -> None:
    answer = http.post("/translate", json={**ASKED, "alternatives": 2}).json()
    assert answer["translatedText"] == expected
    assert len(answer["alternatives"]) == 2
    both = http.post("/translate", json={**ASKED, "q": [TEXT, TEXT], "alternatives": 1}).json()
    assert [len(own) for own in both["alternatives"]] == [1, 1]


@pytest.mark.parametrize("way", ["json", "data"])
def test_values_may_be_strings_or_null(http: httpx.Client, expected: str, way: str) -> None:
    options: dict[str, Any] = {"alternatives": "2"} | ({"format": None, "source": None} if way == "json" else {})
    answer = http.post("/translate", **{way: ASKED | options}).json()
    assert answer["translatedText"] == expected
    assert len(answer["alternatives"]) == 2


def test_errors_have_the_wording_of_libretranslate(http: httpx.Client) -> None:
    without_text = {name: value for name, value in ASKED.items() if name != "q"}
    for change, error in (
        ({**ASKED, "target": "zz"}, "zz is not supported"),
        (without_text, "Invalid request: missing q parameter"),
    ):
        for way in ("json", "data"):
            answer = http.post("/translate", **{way: change})
            assert (answer.status_code, answer.json()) == (400, {"error": error})


def test_spec_is_a_document_and_suggestions_are_disabled(http: httpx.Client) -> None:
    assert "/translate" in http.get("/spec").json()["paths"]
    suggested = http.post("/suggest", data={"q": "a", "s": "b", "source": "en", "target": "ko"})
    assert (suggested.status_code, suggested.json()) == (403, {"error": "Suggestions are disabled on this server."})
    for method, path in (("POST", "/spec"), ("GET", "/suggest"), ("GET", "/detect"), ("POST", "/languages")):
        assert http.request(method, path).status_code == 405
    assert http.post("/detect", json={"api_key": KEY}).status_code == 400


@pytest.mark.parametrize(("text", "language"), [("two big dogs see the cat", "en"), ("고양이가 개를 본다", "ko")])
def test_language_is_detected(http: httpx.Client, text: str, language: str) -> None:
    (found, *_) = http.post("/detect", json={"q": text, "api_key": KEY}).json()
    assert found["language"] == language
    assert 50 < found["confidence"] <= 100
    target = {"en": "ko", "ko": "en"}[language]
    answer = http.post("/translate", json={**ASKED, "q": text, "source": "auto", "target": target}).json()
    assert answer["detectedLanguage"] == found


def test_text_already_in_the_target_language_is_returned(http: httpx.Client) -> None:
    answer = http.post("/translate", json={**ASKED, "q": ["안녕하세요", TEXT], "source": "auto"}).json()
    assert answer["translatedText"][0] == "안녕하세요"
    assert [found["language"] for found in answer["detectedLanguage"]] == ["ko", "en"]


def test_languages_settings_and_health_need_no_key(http: httpx.Client) -> None:
    assert http.get("/languages").json() == [
        {"code": "en", "name": "English", "targets": ["en", "ko"]},
        {"code": "ko", "name": "Korean", "targets": ["en", "ko"]},
    ]
    settings = http.get("/frontend/settings").json()
    assert settings["keyRequired"] is True
    assert settings["charLimit"] == 5000
    assert ".srt" in settings["supportedFilesFormat"]
    assert http.get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"api_key": None}, 403),
        ({"api_key": "wrong"}, 403),
        ({"q": None}, 400),
        ({"q": 5}, 400),
        ({"q": ["a", 5]}, 400),
        ({"target": "xx-secret"}, 400),
        ({"source": "xx-secret"}, 400),
        ({"format": "xx-secret"}, 400),
        ({"alternatives": -1}, 400),
        ({"alternatives": 50}, 400),
        ({"alternatives": "xx-secret"}, 400),
        ({"q": "x" * 5001}, 413),
        ({"q": ["x"] * 129}, 413),
    ],
)
def test_invalid_libretranslate_request_is_refused_without_echo(
    http: httpx.Client, change: dict[str, Any], status: int
) -> None:
    answer = http.post("/translate", json={**ASKED, **change})
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}
    assert "xx-secret" not in answer.text


@pytest.mark.parametrize("body", [b'{"q": "\\ud800", "target": "ko"}', b'{"q": NaN}', b"[1]", b"\xff", b"{"])
def test_broken_json_is_refused(http: httpx.Client, body: bytes) -> None:
    answer = http.post("/translate", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert set(answer.json()) == {"error"}


FILES = {  # by name: the content, and what must still be there
    "a.txt": ("one red cat\n\n  two dog\n", ["\n\n  "]),
    "a.srt": ("1\n00:00:01,000 --> 00:00:02,000\none red cat\n", ["1\n00:00:01,000 --> 00:00:02,000\n"]),
    "a.po": ('msgid "one %s cat"\nmsgstr ""\n', ['msgid "one %s cat"\nmsgstr "', "%s"]),
    "a.html": ("<p>one <b>red</b> cat</p>", ["<p>", "<b>", "</b>", "</p>"]),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_translated_and_downloaded(http: httpx.Client, name: str) -> None:
    content, kept = FILES[name]
    fields = {"source": "en", "target": "ko", "api_key": KEY}
    answer = http.post("/translate_file", data=fields, files={"file": (name, content.encode())})
    assert answer.status_code == 200, answer.text
    result = http.get(answer.json()["translatedFileUrl"])
    assert result.status_code == 200
    assert result.headers["content-disposition"].startswith("attachment")
    assert result.text != content
    assert all(piece in result.text for piece in kept)


def test_file_status_is_available_while_translating(http: httpx.Client) -> None:
    lines = "".join(f"one {'red ' * (number % 9)}cat\n" for number in range(300))
    fields = {"source": "auto", "target": "ko", "api_key": KEY, "wait": "false"}
    answer = http.post("/translate_file", data=fields, files={"file": ("my file.txt", lines.encode())})
    assert answer.status_code == 202
    record = answer.json()
    assert record["translatedFileUrl"] is None
    deadline = time.monotonic() + 60
    while record["state"] == "running" and time.monotonic() < deadline:
        record = http.get(record["statusUrl"]).json()
        assert 0 <= record["progress"] <= 1
    assert (record["state"], record["progress"], record["translated"]) == ("done", 1.0, record["total"])
    assert http.get(record["translatedFileUrl"]).text.count("\n") == 300
    assert http.delete(record["statusUrl"]).status_code == 204
    assert http.get(record["translatedFileUrl"]).status_code == 404


@pytest.mark.parametrize(
    ("name", "content", "status"),
    [
        ("a.exe", b"x", 400),
        ("a.txt", b"\xff", 400),
        ("a.po", b"nonsense", 400),
        ("a.srt", b"nonsense", 400),
        ("a.txt", b"x" * 4_100_000, 413),
    ],
)
def test_files_that_cannot_be_translated_are_refused(
    http: httpx.Client, name: str, content: bytes, status: int
) -> None:
    fields = {"source": "en", "target": "ko", "api_key": KEY}
    answer = http.post("/translate_file", data=fields, files={"file": (name, content)})
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}


FORM = "multipart/form-data; boundary=xx"
PARTS = {name.encode(): value.encode() for name, value in ASKED.items()}


def form_body(parts: dict[bytes, bytes], end: bytes = b"--") -> bytes:
    beginning = b'--xx\r\nContent-Disposition: form-data; name="'
    return b"".join(beginning + name + b'"\r\n\r\n' + value + b"\r\n" for name, value in parts.items()) + b"--xx" + end


@pytest.mark.parametrize(
    ("query", "media", "body"),
    [
        ("", FORM, form_body(PARTS | {b"q": b"caf\xe9"})),
        ("", f"{FORM}; charset=latin-1", form_body(PARTS | {b"q": b"caf\xe9"})),
        ("", f"{FORM}; charset=nonsense", form_body(PARTS | {b"q": b"caf\xe9"})),
        ("", f"{FORM}; charset=utf-16", form_body(PARTS | {b"q": TEXT.encode("utf-16")})),
        ("", FORM, form_body(PARTS | {b"q": b"\xed\xa0\x80"})),
        ("", FORM, form_body(PARTS | {b"caf\xe9": b""})),
        ("", FORM, form_body(PARTS, end=b"")),
        ("", FORM, form_body(PARTS | {b"q": b'a"; filename="a'}).replace(b'"q"', b'"q"; filename="caf\xe9"')),
        ("?q=%ff", "application/json", b'{"target": "ko"}'),
        ("?q=%ed%a0%80", "application/json", b'{"target": "ko"}'),
        ("", "application/x-www-form-urlencoded", b"target=ko&q=%ff"),
    ],
)
def test_text_that_is_not_utf8_is_refused(http: httpx.Client, query: str, media: str, body: bytes) -> None:
    answer = http.post(f"/translate{query}", content=body, headers={"content-type": media, "x-api-key": KEY})
    assert answer.status_code == 400
    assert set(answer.json()) == {"error"}


def test_charset_of_a_form_is_utf8(http: httpx.Client, expected: str) -> None:
    for media in (FORM, f"{FORM}; charset=utf-8", 'multipart/form-data; charset="UTF-8"; boundary="xx"'):
        answer = http.post("/translate", content=form_body(PARTS) + b"\r\nend", headers={"content-type": media})
        assert answer.json() == {"translatedText": expected}


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "gzip, identity"])
def test_compressed_body_is_refused(http: httpx.Client, encoding: str) -> None:
    answer = http.post("/translate", json=ASKED, headers={"content-encoding": encoding})
    assert answer.status_code == 415
    assert "Send it without Content-Encoding." in answer.json()["error"]


@pytest.mark.parametrize("path", ["/translate/", "/v2/translate/", "/api/v1/translate/"])
def test_path_with_a_slash_is_not_redirected(http: httpx.Client, path: str) -> None:
    answer = http.post(path, json=ASKED, follow_redirects=False)
    assert answer.status_code == 404
    assert set(answer.json()) <= {"error", "message"}


def test_values_that_an_option_lacks_are_refused(http: httpx.Client) -> None:
    for name, value in (("format", "text\n"), ("format", "HTML"), ("alternatives", "1e1"), ("target", "ko\n")):
        answer = http.post("/translate", json={**ASKED, name: value})
        assert answer.status_code == 400
        assert set(answer.json()) == {"error"}


@pytest.mark.parametrize("ranges", ["bytes=0-1", "bytes=9-1", "bytes=999999-", "items=0-1", "x"])
def test_a_download_is_whole_whatever_the_range(http: httpx.Client, ranges: str) -> None:
    files = {"file": ("a.txt", TEXT.encode())}
    url = http.post("/translate_file", data=ASKED, files=files).json()["translatedFileUrl"]
    answer = http.get(url, headers={"range": ranges})
    assert (answer.status_code, answer.headers["accept-ranges"]) == (200, "none")
    assert answer.text == http.get(url).text


def test_file_needs_form_file_and_key(http: httpx.Client) -> None:
    assert http.post("/translate_file", json=ASKED).status_code == 415
    assert http.post("/translate_file", data=ASKED, files={"other": b"x"}).status_code == 400
    files = {"file": ("a.txt", b"one")}
    assert http.post("/translate_file", data={"target": "ko"}, files=files).status_code == 403
    assert http.get("/translate_file/unknown").status_code == 404
    assert http.get("/download_file/unknown/a.txt").status_code == 404
