"""`regard show` on pictures: a panel a word, several pictures as one sheet, every kind of file, refusals in words."""

import json
import re
from pathlib import Path

import pytest
from PIL import Image

from regard.inference.captioner import Captioner
from regard.inference.open import load
from regard.plotting.attention_map import MapSelection, draw_map, select_map
from regard.plotting.terminal import CELL_WIDTH, GRID_GAP, SHADE_CHARACTERS
from regard.tracing.image_maps import word_image_maps
from regard.worlds.scenes import boxes_beside
from tests.support.commands import Regard
from tests.support.small_images import ATTENDING, TRANSFORMER, picture_config
from tests.support.small_run import run_to_the_end


@pytest.fixture(scope="module")
def captioner(describing: Path) -> Captioner:
    return load(describing / "model", task="image-to-text")


@pytest.fixture(scope="module")
def pictures(scenes: Path) -> list[Path]:
    return sorted((scenes / "images" / "test").iterdir())


def test_without_file_every_word_prints_above_its_grid(
    regard: Regard, describing: Path, pictures: list[Path], captioner: Captioner
) -> None:
    shown = regard("show", describing, pictures[0])
    assert shown.code == 0, shown.err
    output = captioner.caption([pictures[0]])[0]
    maps = word_image_maps(captioner.trace(pictures[0], output.tokens))
    title, _, *lines = shown.out.splitlines()
    assert title == output.text
    side = captioner.image_encoder.grid_size
    step = CELL_WIDTH * side + GRID_GAP
    for number, (word, weights) in enumerate(maps[:5]):
        column = [line[number * step :][: CELL_WIDTH * side] for line in lines[: side + 2]]
        assert word.startswith(column[0].strip().removesuffix("…"))
        row, at = divmod(int(weights.argmax()), side)
        assert column[1 + row][CELL_WIDTH * at :].startswith(SHADE_CHARACTERS[-1] * CELL_WIDTH)
        assert column[-1].strip() == f"{weights.max():.2f}"


def test_given_caption_gets_gold_boxes_if_correct(
    regard: Regard, describing: Path, scenes: Path, tmp_path: Path
) -> None:
    picture = scenes / "images" / "train" / "00000.png"  # all of whose words the model knows
    gold = boxes_beside(picture)
    assert gold is not None
    for words, outlines in ((gold.words, sum(map(len, gold.boxes))), (gold.words[:2], 0)):
        shown = regard("show", describing, picture, "--target", " ".join(words), "--out", tmp_path / "words.svg")
        assert shown.err.endswith(f"shows: {' '.join(words)}\n")
        text = (tmp_path / "words.svg").read_text(encoding="utf-8")
        assert len(re.findall('fill="none"', text)) == 2 * outlines  # on the grid and on the smooth map
        assert len(re.findall(r"<text", text)) == 1 + 2 * len(words)


def test_unknown_words_are_reported(regard: Regard, describing: Path, pictures: list[Path]) -> None:
    ended = regard("show", describing, pictures[0], "--target", "A purple elephant")
    assert ended.code == 0
    assert "has words that are not in the model's vocabulary" in ended.err


def test_several_images_are_one_sheet(regard: Regard, describing: Path, pictures: list[Path], tmp_path: Path) -> None:
    assert regard("show", describing, *pictures[:3], "--out", tmp_path / "sheet.svg").code == 0
    assert len(re.findall('id="image', (tmp_path / "sheet.svg").read_text(encoding="utf-8"))) == 3
    assert regard("show", describing, *pictures[:3], "--out", tmp_path / "sheet.png").code == 0
    assert regard("show", describing, pictures[0], "--out", tmp_path / "one.png").code == 0
    with Image.open(tmp_path / "sheet.png") as sheet, Image.open(tmp_path / "one.png") as one:
        assert sheet.format == one.format == "PNG"
        assert sheet.height > one.height / 2


def test_page_holds_every_image_with_its_numbers(
    regard: Regard, describing: Path, pictures: list[Path], tmp_path: Path, captioner: Captioner
) -> None:
    assert regard("show", describing, *pictures[:2], "--out", tmp_path / "page.html").code == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    assert [one["task"] for one in data["models"]] == ["image-to-text"]
    assert [one["trace"]["text"] for one in data["captions"]] == [one.text for one in captioner.caption(pictures[:2])]
    assert all(one["details"] and one["weights"] for one in data["captions"])


def test_layers_and_heads_are_counted_from_one(
    regard: Regard, scenes: Path, pictures: list[Path], tmp_path: Path
) -> None:
    run_to_the_end(picture_config(scenes, model=TRANSFORMER, steps=1), tmp_path / "run")
    wish = ["show", tmp_path / "run", pictures[0], "--target", "A red star"]
    captioner = load(tmp_path / "run" / "model", task="image-to-text")
    trace = captioner.trace(pictures[0], captioner.bundle.tokenizers.target.encode("A red star"))
    shown = regard(*wish, "--layer", 1, "--head", 2)
    peaks = [f"{weights.max():.2f}" for _, weights in word_image_maps(trace, 0, 1)]
    assert shown.out.splitlines()[-1].split() == peaks
    assert "no layer 9" in regard(*wish, "--layer", 9).err
    assert "no head 9" in regard(*wish, "--head", 9).err


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        (["--role", "cross"], "--role cross is for translators, but this model describes images. Give image-cross"),
        (["--subwords"], "--subwords is for translators"),
        (["--at", "input"], "--at input is for translators"),
        (["--target", " "], "--target is empty"),
        (["--out", "sheet.gif"], "sheet.gif does not end with"),
    ],
)
def test_impossible_option_is_refused(
    regard: Regard, describing: Path, pictures: list[Path], wish: list[str], problem: str
) -> None:
    shown = regard("show", describing, pictures[0], *wish)
    assert shown.code == 2
    assert problem in shown.err


def test_changed_captioner_is_shown(
    regard: Regard, describing: Path, pictures: list[Path], tmp_path: Path, captioner: Captioner
) -> None:
    out = tmp_path / "words.svg"
    for change in ("image-cross.*.*=mean", "hide.image.1"):
        shown = regard("show", describing, pictures[0], "--intervene", change, "--out", out)
        assert shown.code == 0, shown.err
        assert f"before: {captioner.caption([pictures[0]])[0].text}" in shown.err
        assert "after: " in shown.err
    assert regard("show", describing, pictures[0], "--ablate", "1.1", "--target", "A red star", "--out", out).code == 0
    ablated = out.read_bytes()
    assert regard("show", describing, pictures[0], "--target", "A red star", "--out", out).code == 0
    assert out.read_bytes() != ablated
    for change, problem in (
        ("cross.1.1=zero", "does not apply to this model"),
        ("hide.image.999", "names position 999"),
    ):
        assert problem in regard("show", describing, pictures[0], "--intervene", change).err


def test_file_that_is_not_an_image_is_reported(
    regard: Regard, describing: Path, scenes: Path, pictures: list[Path]
) -> None:
    assert "is not a readable image" in regard("show", describing, scenes / "captions.txt").err
    assert "cannot be read" in regard("show", describing, "A red star").err
    assert "there are 2 images" in regard("show", describing, *pictures[:2], "--target", "a").err


def test_a_captioner_without_attention_is_refused(
    regard: Regard, scenes: Path, pictures: list[Path], tmp_path: Path
) -> None:
    blind = {
        "kind": "captioner-rnn",
        "embedding_width": 8,
        "decoder": {"width": 8},
        "image_encoder": ATTENDING["image_encoder"],
    }
    run_to_the_end(picture_config(scenes, model=blind, steps=1), tmp_path / "run")
    shown = regard("show", tmp_path / "run", pictures[0], "--out", tmp_path / "words.svg")
    assert shown.code == 2
    assert "no attention to show" in shown.err
    assert not (tmp_path / "words.svg").exists()


def test_a_translator_takes_one_sentence(regard: Regard, transformer: Path) -> None:
    assert "or one text in quotation marks" in regard("show", transformer, "red", "cat").err


@pytest.mark.parametrize("use", ["image-self", "decoder-self"])
def test_words_and_patches_share_one_self_attention_map(
    regard: Regard, scenes: Path, pictures: list[Path], tmp_path: Path, use: str
) -> None:
    run_to_the_end(picture_config(scenes, model=TRANSFORMER, steps=1), tmp_path / "run")
    wish = ["show", tmp_path / "run", pictures[0], "--target", "A red star", "--role", use, "--layer", 1]
    shown = regard(*wish, "--head", 2, "--out", tmp_path / "map.svg")
    assert shown.code == 0, shown.err
    captioner = load(tmp_path / "run" / "model", task="image-to-text")
    trace = captioner.trace(pictures[0], captioner.bundle.tokenizers.target.encode("A red star"))
    expected = draw_map(select_map(trace, MapSelection(use, 0, 1)))  # type: ignore[arg-type]
    assert (tmp_path / "map.svg").read_text(encoding="utf-8") == expected
    assert regard(*wish).out.splitlines()[0] == trace.text
    assert "one image at a time" in regard(*wish, pictures[1]).err


def test_captioner_training_page_has_its_images(regard: Regard, scenes: Path, tmp_path: Path) -> None:
    config = picture_config(scenes, model=ATTENDING, steps=1)
    run_to_the_end(config, tmp_path / "run")
    (tmp_path / "run" / "config.toml").write_text(config.to_toml())
    shown = regard("show", "--run", tmp_path / "run", "--out", tmp_path / "training.html")
    assert shown.code == 0, shown.err
    text = (tmp_path / "training.html").read_text(encoding="utf-8")
    run = json.loads(text.partition('id="data">')[2].partition("</script>")[0])["run"]
    probes = run["probes"][0]["labels"]
    assert [one["name"] for one in run["images"]] == [one["image"] for one in probes]
    assert all(one["address"].startswith("data:image/png;base64,") for one in run["images"])
    assert all(len(maps) == len(probes) for maps in run["maps"].values())
