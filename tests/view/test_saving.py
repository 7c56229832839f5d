"""`regard.view.save`: the files of `regard show`, of a trace that is at hand; and refusals in words."""

import json
import re
from pathlib import Path

import pytest
from PIL import Image

import regard.view
from regard.errors import RegardError
from regard.view import painting
from regard.view.maps import draw_map
from regard.view.trace_maps import Choice, map_of
from tests.view.small_traces import CAPTION, TEXT, TRANSFORMER, pictured, trace_of


def embedded(page: Path) -> dict[str, object]:
    (data,) = re.findall(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    found: dict[str, object] = json.loads(data)
    return found


def test_a_map_is_that_of_the_choice_and_counted_from_zero(tmp_path: Path) -> None:
    trace = trace_of(TRANSFORMER)
    which = {"use": "decoder-self", "layer": 0, "head": 1, "when": "read", "pieces": True}
    written = regard.view.save(trace, tmp_path / "map.svg", **which)  # type: ignore[arg-type]
    expected = draw_map(map_of(trace, Choice("decoder-self", 0, 1, "read", "pieces")))
    assert written.read_text(encoding="utf-8") == expected
    assert regard.view.save(trace, str(tmp_path / "mean.svg")).read_text(encoding="utf-8") == draw_map(
        map_of(trace, Choice("cross"))
    )


def test_a_name_says_whether_it_is_a_picture_or_a_page(tmp_path: Path) -> None:
    trace = trace_of(TRANSFORMER, "AI", "AI")
    with Image.open(regard.view.save(trace, tmp_path / "map.PNG")) as image:
        assert image.format == "PNG"
    page = embedded(regard.view.save(trace_of(TRANSFORMER), tmp_path / "page.html", name="mine"))
    assert page["source"] == TEXT
    assert '"name": "mine"' in json.dumps(page["models"])


def test_a_captioners_trace_is_drawn_over_its_picture(tmp_path: Path) -> None:
    trace = pictured()
    panels = regard.view.save(trace, tmp_path / "words.svg", layer=0, head=0).read_text(encoding="utf-8")
    assert f"<title>{CAPTION}</title>" in panels
    assert 'id="picture0"' in panels
    own = regard.view.save(trace, tmp_path / "self.svg", use="decoder-self").read_text(encoding="utf-8")
    assert f"<title>{CAPTION}</title>" in own
    assert "decoder self-attention" in own
    assert len(embedded(regard.view.save(trace, tmp_path / "page.html"))["pictures"]) == 1  # type: ignore[arg-type]


def test_letters_that_no_font_has_are_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(painting, "FOLDERS", [])
    painting.font.cache_clear()
    with pytest.warns(UserWarning, match="boxes stand for") as told:
        regard.view.save(trace_of(TRANSFORMER), tmp_path / "map.png")
    painting.font.cache_clear()
    assert told[0].filename == __file__


@pytest.mark.parametrize(
    ("name", "which", "problem"),
    [
        ("map.jpg", {}, "map.jpg does not end with .svg, .png or .html"),
        ("map.svg", {"layer": 9}, "no layer 9; cross-attention has 2 here, counted from 0"),
        ("map.svg", {"head": 7}, "no head 7; each layer of cross-attention has 7 here, counted from 0"),
        ("map.svg", {"use": "picture"}, "no picture attention; it has encoder-self"),
        ("map.svg", {"heads": 1}, "save knows no heads; a map is chosen by use, layer, head, when, pieces"),
        ("map.svg", {"when": "later"}, "when is 'later'"),
        ("page.html", {"layer": 0}, "every layer and head"),
        ("page.html", {"pieces": True}, "Leave use, layer, head, pieces and when='read' away"),
    ],
)
def test_a_wrong_wish_is_refused_and_nothing_is_written(
    tmp_path: Path, name: str, which: dict[str, object], problem: str
) -> None:
    with pytest.raises(RegardError, match=re.escape(problem)):
        regard.view.save(trace_of(TRANSFORMER), tmp_path / name, **which)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_trace_without_attention_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="no attention to show"):
        regard.view.save(trace_of("rnn-gru"), tmp_path / "map.svg")
