"""Bodies read strictly: what is not plain JSON of the right form is refused, and never repeated."""

import json
from contextlib import suppress
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from regard.serve.refusals import Refusal
from regard.serve.requests import check_text, parse_json


class Asked(msgspec.Struct, forbid_unknown_fields=True):
    texts: list[str]
    beam: Annotated[int, Meta(ge=1)] = 1
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
        b'{"texts": [], "beam": 1e999}',
        b'{"texts": [], "beam": 0}',
        b'{"texts": [], "beam": true}',
        b'{"texts": "secret"}',
        b'{"texts": [], "secret": 1}',
        b'{"texts": []} secret',
        b"[" * 100_000,
        b'{"texts":' + b"[" * 100_000,
        b"9" * 10_000,
    ],
)
def test_what_does_not_fit_is_refused_without_being_repeated(body: bytes) -> None:
    with pytest.raises(Refusal) as refused:
        parse_json(body, Asked)
    assert refused.value.status == 400
    assert "secret" not in refused.value.message


def test_where_a_field_is_unknown_the_known_ones_are_named() -> None:
    with pytest.raises(Refusal, match=r"unknown field; there are texts, beam, weight\.$"):
        parse_json(b'{"texts": [], "secret": 1}', Asked)


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_any_text_arrives_as_it_was_sent(texts: list[str]) -> None:
    assert parse_json(json.dumps({"texts": texts}).encode(), Asked).texts == texts
    assert parse_json(json.dumps({"texts": texts}, ensure_ascii=False).encode(), Asked).texts == texts


@given(st.binary())
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    with suppress(Refusal):
        assert isinstance(parse_json(body, dict[str, Any]), dict)


def test_half_a_surrogate_pair_is_no_text() -> None:
    assert check_text("가 😀") == "가 😀"
    with pytest.raises(Refusal):
        check_text("\ud800")
