"""Bodies read strictly: what is not plain JSON of the right form is refused, and never repeated."""

import json
from contextlib import suppress
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from regard.server.errors import ApiError
from regard.server.requests import parse_json


class Asked(msgspec.Struct, forbid_unknown_fields=True):
    texts: list[str]
    beam_size: Annotated[int, Meta(ge=1)] = 1
    weight: float = 0.0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        b'{"texts": ["\\ud800"]}',
        b'{"texts": ["\\udc00"]}',
        b'{"texts": ["\\ud800 secret"]}',
        b'{"texts": ["\\udc00\\ud800"]}',
        b'{"texts": ["\xed\xa0\x80"]}',
        b'{"texts": [], "weight": NaN}',
        b'{"texts": [], "weight": Infinity}',
        b'{"texts": [], "weight": 1e999}',
        b'{"texts": [], "beam_size": 1e999}',
        b'{"texts": [], "beam_size": 0}',
        b'{"texts": [], "beam_size": true}',
        b'{"texts": "secret"}',
        b'{"texts": [], "secret": 1}',
        b'{"texts": []} secret',
        b"[" * 100_000,
        b'{"texts":' + b"[" * 100_000,
        b"9" * 10_000,
    ],
)
def test_invalid_body_is_refused_and_not_repeated(body: bytes) -> None:
    with pytest.raises(ApiError) as refused:
        parse_json(body, Asked)
    assert refused.value.status == 400
    assert "secret" not in refused.value.message


def test_unknown_field_lists_the_allowed_ones() -> None:
    with pytest.raises(ApiError, match=r"unknown field; allowed: texts, beam_size, weight\.$"):
        parse_json(b'{"texts": [], "secret": 1}', Asked)


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_any_text_arrives_as_it_was_sent(texts: list[str]) -> None:
    assert parse_json(json.dumps({"texts": texts}).encode(), Asked).texts == texts
    assert parse_json(json.dumps({"texts": texts}, ensure_ascii=False).encode(), Asked).texts == texts


@given(st.binary())
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    with suppress(ApiError):
        assert isinstance(parse_json(body, dict[str, Any]), dict)
