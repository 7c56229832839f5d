"""A problem is shown in the reader's language, as long as it lasts."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SENTENCE

LOST = {"en-US": "The server does not answer.", "ko-KR": "서버가 응답하지 않아요."}
KOREAN = {
    "too_many_requests": "짧은 시간에 요청이 너무 많았어요",
    "text_too_long": "글이 너무 길어요",
    "not_ready": "모델이 아직 준비되지 않았어요",
}


@pytest.fixture
def page(browser: Any, server: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    context = browser.new_context(locale=getattr(request, "param", "ko-KR"))
    opened = context.new_page()
    opened.goto(f"{server}#translate")
    expect(opened.locator(".outputs li")).not_to_have_count(0)
    yield opened
    context.close()


@pytest.mark.parametrize("page", LOST, indirect=True)
def test_unreachable_server_is_reported_until_it_answers(page: Any, request: pytest.FixtureRequest) -> None:
    result = LOST[request.node.callspec.params["page"]]
    bar = page.locator(".offline")
    expect(bar).to_be_hidden()
    page.route("**/api/v1/**", lambda route: route.abort())
    expect(bar).to_contain_text(result)
    page.unroute("**/api/v1/**")
    expect(bar).to_be_hidden()


@pytest.mark.parametrize("code", KOREAN)
def test_known_problems_are_shown_in_korean(page: Any, code: str) -> None:
    refused = {"error": {"code": code, "message": "English words of the server."}}
    page.route("**/api/v1/stream", lambda route: route.fulfill(status=400, json=refused))
    page.fill("#source-text", SENTENCE)
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text(KOREAN[code])
    assert not re.search("[A-Za-z]", page.get_by_role("alert").inner_text())


def test_unknown_problem_shows_the_message_of_the_server(page: Any) -> None:
    refused = {"error": {"code": "something_new", "message": "The moon is full."}}
    page.route("**/api/v1/stream", lambda route: route.fulfill(status=400, json=refused))
    page.fill("#source-text", SENTENCE)
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("The moon is full.")
