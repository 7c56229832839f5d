"""Interventions as strings and as JSON: every form has one object, and every object its form."""

import msgspec
import pytest

from regard.interventions import (
    AnyIntervention,
    CellIntervention,
    HeadIntervention,
    HideIntervention,
    InterventionError,
    PatchIntervention,
    RowIntervention,
    WithoutIntervention,
    format_intervention,
    parse_intervention,
    read_interventions,
)

FORMS: dict[str, AnyIntervention] = {
    "cross.2.1=zero": HeadIntervention(role="cross", layer=1, head=0),
    "cross.*.*=mean": HeadIntervention(role="cross", action="mean"),
    "encoder-self.1.3=uniform": HeadIntervention(role="encoder-self", layer=0, head=2, action="uniform"),
    "cross.2.1@3=uniform": RowIntervention(role="cross", layer=1, head=0, query=2, action="uniform"),
    "cross.2.1@3=renormalise": RowIntervention(role="cross", layer=1, head=0, query=2, action="renormalise"),
    "cross.2.1@3=0.1,0.9": RowIntervention(role="cross", layer=1, head=0, query=2, action="set", weights=(0.1, 0.9)),
    "cross.*.1@3>5,6": RowIntervention(role="cross", head=0, query=2, action="move", keys=(4, 5)),
    "cross.2.1@3:5=0.7": CellIntervention(role="cross", layer=1, head=0, query=2, key=4, weight=0.7),
    "image-cross.1.1@*:5=0,keep": CellIntervention(
        role="image-cross", layer=0, head=0, query=None, key=4, weight=0.0, rest="keep"
    ),
    "hide.source.4": HideIntervention(side="source", position=3),
    "hide.target.1:decoder-self": HideIntervention(side="target", position=0, role="decoder-self"),
    "hide.image.9:image-cross.2": HideIntervention(side="image", position=8, role="image-cross", layer=1),
    "without.scaling": WithoutIntervention(part="scaling"),
    "without.layer:decoder.2": WithoutIntervention(part="layer", stack="decoder", layer=1),
    "without.residual:encoder.1.feed-forward": WithoutIntervention(
        part="residual", stack="encoder", layer=0, sublayer="feed-forward"
    ),
    "patch.head:cross.2.1@3<4;a text;its target": PatchIntervention(
        site="head", role="cross", layer=1, head=0, position=2, from_position=3, text="a text", target="its target"
    ),
    "patch.block:decoder.2@3<1;a text": PatchIntervention(
        site="block", stack="decoder", layer=1, position=2, text="a text"
    ),
    "patch.memory@1<1;a text": PatchIntervention(site="memory", position=0, text="a text"),
}


@pytest.mark.parametrize(("text", "expected"), FORMS.items(), ids=list(FORMS))
def test_every_form_is_read_and_written(text: str, expected: AnyIntervention) -> None:
    assert parse_intervention(text) == [expected]
    assert format_intervention(expected) == text
    assert msgspec.json.decode(msgspec.json.encode(expected), type=AnyIntervention) == expected


@pytest.mark.parametrize("text", ["temperature=0.7", "top-k=5", "prefix=The man"])
def test_options_of_decoding_have_forms(text: str) -> None:
    assert [format_intervention(one) for one in parse_intervention(text)] == [text]


def test_a_range_of_rows_is_a_span() -> None:
    span = parse_intervention("cross.*.*@3-4>5-6,9")
    assert [format_intervention(one) for one in span] == ["cross.*.*@3>5,6,9", "cross.*.*@4>5,6,9"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cross",
        "cross.0.1=zero",
        "cross.1=zero",
        "cross.1.1=half",
        "elsewhere.1.1=zero",
        "cross.1.1@0>1",
        "cross.1.1@1:1=1.5",
        "cross.1.1@1=-1",
        "decoder-self.1.1@2>3",
        "hide.source.0",
        "hide.moon.1",
        "without.layer",
        "without.layer:decoder",
        "without.scaling:moon",
        "patch.head@1<1;text",
        "patch.memory@1<1",
        "temperature=0",
        "top-k=0",
        "prefix=",
        "cross.1.1@1-9999>1",
        pytest.param("hide.source." + "9" * 5_000, id="endless number"),
        pytest.param("cross.1." + "9" * 5_000 + "=zero", id="endless head"),
        pytest.param("cross.1.1@3=" + "11," * 5_000 + "x", id="long list of weights"),
        pytest.param("temperature=" + "1" * 100_000 + "x", id="long number"),
    ],
)
def test_malformed_interventions_are_refused(text: str) -> None:
    with pytest.raises(InterventionError):
        parse_intervention(text)


def test_ranges_of_rows_are_bounded_together() -> None:
    with pytest.raises(InterventionError, match="512"):
        read_interventions(["cross.*.*@1-512>1"] * 2)


@pytest.mark.parametrize(
    "record",
    [
        {"kind": "row", "role": "cross", "query": 0, "action": "move"},
        {"kind": "row", "role": "cross", "query": 0, "action": "uniform", "keys": [1]},
        {"kind": "patch", "site": "memory", "position": 0},
        {"kind": "patch", "site": "memory", "position": 0, "text": "a", "vector": [1.0]},
        {"kind": "decode"},
        {"kind": "decode", "top_k": 1, "temperature": 1.0},
        {"kind": "decode", "top_k": 1, "rows": [0]},
        {"kind": "hide", "side": "source", "position": 0, "layer": 0},
        {"kind": "without", "part": "residual", "layer": 0},
        {"kind": "head", "role": "cross", "unknown": 1},
    ],
)
def test_contradicting_records_are_refused(record: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(record, AnyIntervention)
