"""`regard.plotting.save`: the files of `regard show`, of a trace that is at hand; and refusals in words."""

import json
import re
from pathlib import Path

import pytest
from PIL import Image

import regard.plotting
from regard.errors import RegardError
from regard.plotting.attention_map import MapSelection, draw_map, select_map
from tests.support.traces import CAPTION, TEXT, TRANSFORMER, caption_trace, trace_of


def embedded(page: Path) -> dict[str, object]:
    (data,) = re.findall(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    found: dict[str, object] = json.loads(data)
    return found


def test_map_is_of_the_choice_counted_from_zero(tmp_path: Path) -> None:
    trace = trace_of(TRANSFORMER)
    which = {"role": "decoder-self", "layer": 0, "head": 1, "at": "input", "pieces": True}
    written = regard.plotting.save(trace, tmp_path / "map.svg", **which)  # type: ignore[arg-type]
    expected = draw_map(select_map(trace, MapSelection("decoder-self", 0, 1, "input", "pieces")))
    assert written.read_text(encoding="utf-8") == expected
    assert regard.plotting.save(trace, str(tmp_path / "mean.svg")).read_text(encoding="utf-8") == draw_map(
        select_map(trace, MapSelection("cross"))
    )


def test_suffix_decides_between_image_and_page(tmp_path: Path) -> None:
    trace = trace_of(TRANSFORMER, "AI", "AI")
    with Image.open(regard.plotting.save(trace, tmp_path / "map.PNG")) as image:
        assert image.format == "PNG"
    page = embedded(regard.plotting.save(trace_of(TRANSFORMER), tmp_path / "page.html", name="mine"))
    assert page["source"] == TEXT
    assert '"name": "mine"' in json.dumps(page["models"])


def test_captioner_trace_is_drawn_over_its_image(tmp_path: Path) -> None:
    trace = caption_trace()
    panels = regard.plotting.save(trace, tmp_path / "words.svg", layer=0, head=0).read_text(encoding="utf-8")
    assert f"<title>{CAPTION}</title>" in panels
    assert 'id="image0"' in panels
    own = regard.plotting.save(trace, tmp_path / "self.svg", role="decoder-self").read_text(encoding="utf-8")
    assert f"<title>{CAPTION}</title>" in own
    assert "decoder self-attention" in own
    assert len(embedded(regard.plotting.save(trace, tmp_path / "page.html"))["captions"]) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "which", "problem"),
    [
        ("map.jpg", {}, "map.jpg does not end with .svg, .png, .pdf or .html"),
        ("map.svg", {"layer": 9}, "no layer 9; cross-attention has 2 here, counted from 0"),
        ("map.svg", {"head": 7}, "no head 7; each layer of cross-attention has 7 here, counted from 0"),
        ("map.svg", {"role": "image-cross"}, "no image-cross attention; it has encoder-self"),
        ("map.svg", {"heads": 1}, "save has no option heads; the options are role, layer, head, at, pieces"),
        ("map.svg", {"at": "later"}, "at is 'later'"),
        ("page.html", {"layer": 0}, "every layer and head"),
        ("page.html", {"pieces": True}, "Remove role, layer, head, pieces and at='input'"),
    ],
)
def test_wrong_options_write_nothing(tmp_path: Path, name: str, which: dict[str, object], problem: str) -> None:
    with pytest.raises(RegardError, match=re.escape(problem)):
        regard.plotting.save(trace_of(TRANSFORMER), tmp_path / name, **which)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_trace_without_attention_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="no attention to show"):
        regard.plotting.save(trace_of("rnn-gru"), tmp_path / "map.svg")
