"""`regard show`: a map in the terminal, as a picture, as a page; what is not there is refused in words."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from regard.bundle import new_bundle, save_bundle
from regard.config import Config, RecurrentLayersConfig, RNNConfig, TransformerConfig, TransformerStackConfig
from regard.inference.open import load
from regard.plotting.attention_map import MapSelection, draw_map, select_map
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair
from regard.tracing.trace import trace_texts
from tests.support.commands import Regard

SENTENCE, FORCED = "red cat sees dog", "개 본다 고양이"


def test_without_a_file_the_map_is_printed(regard: Regard, transformer: Path) -> None:
    shown = regard("show", transformer, SENTENCE)
    assert shown.code == 0, shown.err
    lines = shown.out.splitlines()
    [output] = load(transformer / "model").translate([SENTENCE])
    assert lines[0] == f"{SENTENCE} → {output.text}"
    assert lines[1] == "cross-attention: mean of 2 heads, mean of 2 layers"
    assert [line.split()[-1] for line in lines[3:8]] == [*SENTENCE.split(), "</s>"]
    assert [line.split()[0] for line in lines[8:]] == [*output.text.split(), "</s>"]


def test_a_given_target_is_shown(regard: Regard, attending: Path) -> None:
    shown = regard("show", attending / "model", SENTENCE, "--target", FORCED)
    assert shown.out.splitlines()[0] == f"{SENTENCE} → {FORCED}"
    assert shown.out.splitlines()[1] == "cross-attention: layer 1, head 1"


@pytest.mark.parametrize("use", ["cross", "encoder-self", "decoder-self"])
def test_layer_and_head_are_counted_from_one(regard: Regard, transformer: Path, tmp_path: Path, use: str) -> None:
    wish = ("--role", use, "--layer", 2, "--head", 1, "--subwords", "--at", "input", "--target", FORCED)
    shown = regard("show", transformer, SENTENCE, *wish, "--out", tmp_path / "map.svg")
    assert shown.code == 0, shown.err
    trace = trace_texts(load(transformer / "model").bundle, SENTENCE, FORCED)
    expected = draw_map(select_map(trace, MapSelection(use, 1, 0, "input", "pieces")))  # type: ignore[arg-type]
    assert (tmp_path / "map.svg").read_text(encoding="utf-8") == expected
    ElementTree.fromstring(expected)  # noqa: S314  (our own text)


def test_several_sentences_are_one_page(regard: Regard, transformer: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    shown = regard("show", transformer, SENTENCE, "two dog", "--out", page)
    assert shown.code == 0, shown.err
    data = json.loads(page.read_text(encoding="utf-8").split('id="data">')[1].split("</script>")[0])
    assert [one["source"] for one in (data, *data["others"])] == [SENTENCE, "two dog"]
    assert [one["trace"]["id"] for one in (data, *data["others"])] == ["embedded-0", "embedded-1"]
    refused = regard("show", transformer, SENTENCE, "two dog")
    assert "only a page shows several" in refused.err


def test_suffix_decides_the_output_kind(regard: Regard, transformer: Path, tmp_path: Path) -> None:
    picture, page = tmp_path / "map.PNG", tmp_path / "page.html"
    assert regard("show", transformer, SENTENCE, "--out", picture).code == 0
    with Image.open(picture) as image:
        assert image.format == "PNG"
    printed = tmp_path / "map.pdf"
    assert regard("show", transformer, SENTENCE, "--out", printed).code == 0
    assert printed.read_bytes().startswith(b"%PDF")
    shown = regard("show", transformer, SENTENCE, "--out", page)
    assert str(page) in shown.err
    assert shown.out == ""
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert '"name":"transformer"' in text
    assert '"source":"en"' in text


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        (["--out", "map.jpg"], "map.jpg does not end with .svg, .png, .pdf or .html"),
        (["--out", "map"], "does not end with"),
        (["--layer", 3], "no layer 3; cross-attention has 2 here"),
        (["--head", 3], "no head 3; each layer of cross-attention has 2"),
        (["--layer", 0], "--layer"),
        (["--role", "self"], "--role"),
        (["--layer", 1, "--out", "page.html"], "every layer and head"),
        (["--subwords", "--out", "page.html"], "Remove --role, --layer, --head, --subwords and --at input"),
        (["--at", "input", "--out", "page.html"], "words and pieces, output and input"),
        (["--out", "no/such/folder/map.svg"], "no/such/folder"),
    ],
)
def test_wrong_option_is_refused_with_an_explanation(
    regard: Regard, transformer: Path, wish: list[object], problem: str
) -> None:
    shown = regard("show", transformer, SENTENCE, *wish)
    assert shown.code in (1, 2)
    assert problem in shown.err
    assert "Traceback" not in shown.err


@pytest.mark.parametrize("sentence", ["", "  ", "\t"])
def test_an_empty_sentence_is_refused(regard: Regard, transformer: Path, sentence: str) -> None:
    assert "empty" in regard("show", transformer, sentence).err


@pytest.mark.parametrize("ending", [".svg", ".png", ".html", None])
def test_a_model_without_attention_is_refused(regard: Regard, tmp_path: Path, ending: str | None) -> None:
    sizes = RecurrentLayersConfig(width=8)
    directory = saved(tmp_path, Config(model=RNNConfig(embedding_width=8, encoder=sizes, decoder=sizes)))
    out = [] if ending is None else ["--out", tmp_path / f"map{ending}"]
    shown = regard("show", directory, SENTENCE, *out)
    assert shown.code == 2
    assert "no attention to show" in shown.err
    assert not list(tmp_path.glob("map.*"))


def test_attention_that_the_model_lacks_is_refused(regard: Regard, tmp_path: Path) -> None:
    stack = TransformerStackConfig(layers=1, width=8, heads=2, ffn_width=8)
    directory = saved(
        tmp_path, Config(model=TransformerConfig(encoder=stack, decoder=stack, decoder_autoregression="ssru"))
    )
    shown = regard("show", directory, SENTENCE, "--role", "decoder-self")
    assert shown.code == 2
    assert "no decoder-self attention; it has encoder-self, cross" in shown.err


def saved(folder: Path, config: Config) -> Path:
    tokenizer = Tokenizer.train([SENTENCE], model_type="word", vocab_size=32)
    save_bundle(folder / "model", new_bundle(config, TokenizerPair(tokenizer, tokenizer)))
    return folder / "model"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (["--run", "RUN"], "a run is shown as a page. Name it with --out"),
        (["--run", "RUN", "--out", "training.svg"], "a run is shown as a page"),
        (["--run", "no/such/run", "--out", "training.html"], "has no events.jsonl"),
        (["MODEL", "red", "--run", "RUN", "--out", "training.html"], "MODEL was given too"),
        (["--run", "RUN", "--layer", 1, "--out", "training.html"], "--layer was given too"),
        ([], "Give a MODEL and a SENTENCE or IMAGE, or --run"),
        (["MODEL"], "Give a MODEL and a SENTENCE or IMAGE, or --run"),
    ],
)
def test_run_is_shown_alone_and_as_page(regard: Regard, transformer: Path, given: list[object], problem: str) -> None:
    places = {"RUN": transformer, "MODEL": transformer / "model"}
    shown = regard("show", *(places.get(str(word), word) for word in given))
    assert shown.code == 2
    assert problem in shown.err
