"""`regard classify`, `show`, and --labels of `evaluate`, `compare` and `train`, on two words and two bars."""

import json
from pathlib import Path

import pytest

from tests.support.commands import Regard
from tests.support.shared_results import build_once
from tests.support.small_labels import make_classifiers


@pytest.fixture(scope="session")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_once(tmp_path_factory, "labels", make_classifiers)[0]


def test_texts_are_classified_with_probabilities(regard: Regard, learnt: Path, tmp_path: Path) -> None:
    result = regard("classify", learnt / "rnn", "가 나")
    assert result.code == 0
    assert result.out.startswith("forward 0.")
    several = regard("classify", learnt / "rnn", "가 나", "나 가").out.splitlines()
    assert [line.split("\t")[0] for line in several] == ["가 나", "나 가"]
    assert several[1].split("\t")[1].startswith("backward 0.")
    (tmp_path / "texts").write_text("가 나\n나 와 가\n", encoding="utf-8")
    result = regard("classify", learnt / "rnn", "--input", tmp_path / "texts", "--output", tmp_path / "labels")
    assert result.code == 0
    assert (tmp_path / "labels").read_text() == "forward\nbackward\n"
    record = json.loads(regard("classify", learnt / "rnn", "가 나", "--json").out)
    assert record["label"] == "forward"
    assert sum(record["probabilities"].values()) == pytest.approx(1)


def test_images_are_classified(regard: Regard, learnt: Path) -> None:
    image = next((learnt / "bars" / "test" / "down").glob("*.png"))
    assert regard("classify", learnt / "images", image, "--top-k", "1").out == "down\n"


def test_blank_line_and_other_models_are_refused(regard: Regard, learnt: Path, tmp_path: Path) -> None:
    (tmp_path / "texts").write_text("가 나\n\n", encoding="utf-8")
    result = regard("classify", learnt / "rnn", "--input", tmp_path / "texts", "--output", tmp_path / "labels")
    assert result.code == 2
    assert "texts:2: the line is blank" in result.err
    assert not (tmp_path / "labels").exists()
    assert "Use `regard classify`" in regard("translate", learnt / "rnn", "--input", tmp_path / "texts").err


def test_evaluation_prints_figures_and_draws_confusion(regard: Regard, learnt: Path, tmp_path: Path) -> None:
    result = regard("evaluate", learnt / "rnn", "--labels", learnt / "test.tsv", "--plot", tmp_path / "confusion.svg")
    assert result.code == 0, result.err
    assert "accuracy" in result.out
    assert "macro F1" in result.out
    assert "backward" in result.out
    assert "predicted class" in (tmp_path / "confusion.svg").read_text(encoding="utf-8")
    record = json.loads(regard("evaluate", learnt / "rnn", "--labels", learnt / "test.tsv", "--json").out)
    assert sum(map(sum, record["confusion"])) == record["examples"] == 16
    assert record["scores"][0]["value"] == pytest.approx(
        100 * sum(record["confusion"][number][number] for number in range(2)) / 16
    )


def test_unseen_label_in_a_test_set_is_named(regard: Regard, learnt: Path, tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text("가 나\tforward\n나 가\tsideways\n", encoding="utf-8")
    result = regard("evaluate", learnt / "rnn", "--labels", tmp_path / "test.tsv")
    assert result.code == 2
    assert "test.tsv:2: the label 'sideways' is not one of the 2 labels" in result.err


def test_two_classifiers_are_compared_by_a_paired_test(regard: Regard, learnt: Path) -> None:
    result = regard("compare", learnt / "rnn", learnt / "encoder", "--labels", learnt / "test.tsv")
    assert result.code == 0, result.err
    assert "McNemar's p" in result.out
    options = ("--labels", learnt / "test.tsv", "--json", "--resamples", 50)
    record = json.loads(regard("compare", learnt / "rnn", learnt / "encoder", *options).out)
    [difference] = record["differences"]
    values = [one["scores"][0]["value"] for one in record["models"]]
    assert difference["difference"] == pytest.approx(values[1] - values[0])


def test_decision_is_shown_over_words_and_images(regard: Regard, learnt: Path, tmp_path: Path) -> None:
    result = regard("show", learnt / "rnn", "가 와 나")
    assert result.code == 0, result.err
    assert "가 와 나 → forward" in result.out
    assert "forward " in result.out.splitlines()[-1]
    image = next((learnt / "bars" / "test" / "down").glob("*.png"))
    assert regard("show", learnt / "images", image, "--out", tmp_path / "map.png").code == 0
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    result = regard("show", learnt / "rnn", "가 와 나", "--intervene", "hide.source.1")
    assert "before: forward" in result.err


def test_labels_train_a_classifier_without_a_recipe(regard: Regard, learnt: Path, tmp_path: Path) -> None:
    options = ("--set", "training.steps=2", "--set", "training.threads=1")
    result = regard("train", "--labels", learnt / "train.tsv", "--run", tmp_path / "run", *options)
    assert result.code == 0, result.err
    assert "2 classes: " in result.out
    assert "accuracy" in result.out
    config = (tmp_path / "run" / "model" / "config.toml").read_text(encoding="utf-8")
    assert "classes = 2" in config
    assert '"backward",\n    "forward",' in config


def test_masked_language_model_gets_a_class_head(regard: Regard, learnt: Path, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text(
        "".join(f"{line.split(chr(9))[0]}\n" for line in (learnt / "train.tsv").read_text().splitlines())
    )
    small = "model.transformer={layers=1, width=16, heads=2, ffn_width=16}"
    options = ("--set", "training.steps=2", "--set", "training.threads=1")
    kind = ("--set", "model.kind=encoder-only", "--set", small)
    assert regard("train", "--text", tmp_path / "texts.txt", "--run", tmp_path / "lm", *kind, *options).code == 0
    start = ("--from", tmp_path / "lm", "--labels", learnt / "train.tsv", "--valid-labels", learnt / "valid.tsv")
    result = regard("train", *start, "--run", tmp_path / "tuned", *options)
    assert result.code == 0, result.err
    assert "initialised: head.dense.weight" in result.out
    assert regard("classify", tmp_path / "tuned", "가 나", "--top-k", "1").out.strip() in ("forward", "backward")


def test_images_train_from_folders_and_from_a_list(regard: Regard, learnt: Path, tmp_path: Path) -> None:
    options = ("--set", "training.steps=2", "--set", "training.threads=1")
    listed = tmp_path / "images.tsv"
    images = sorted((learnt / "bars" / "train").rglob("*.png"))
    listed.write_text("".join(f"{image}\t{image.parent.name}\n" for image in images))
    for number, given in enumerate((learnt / "bars" / "train", listed)):
        run = tmp_path / str(number)
        result = regard("train", "--labels", given, "--run", run, *options)
        assert result.code == 0, result.err
        assert "2 classes: " in result.out
        result = regard("evaluate", run, "--labels", learnt / "bars" / "test", "--resamples", 50)
        assert result.code == 0, result.err
        assert "macro F1" in result.out


@pytest.mark.parametrize(
    ("images", "problem"),
    [
        (("down/1.png",), "has one label only: 'down'"),
        (("down/1.png", "across/"), "across has no images"),
        (("down/1.png", "across/broken.png"), "broken.png is not a readable image"),
        (("down/1.png", "across/cut.png"), "cut.png is damaged"),
        (("1.png",), "has no folders. Put the images of each class into a folder"),
    ],
)
def test_broken_images_and_single_classes_are_refused(
    regard: Regard, learnt: Path, tmp_path: Path, images: tuple[str, ...], problem: str
) -> None:
    whole = next((learnt / "bars" / "train").rglob("*.png")).read_bytes()
    contents = {"broken.png": b"not an image", "cut.png": whole[:-40]}
    for name in images:
        path = tmp_path / "images" / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_bytes(contents.get(path.name, whole))
    result = regard("train", "--labels", tmp_path / "images", "--run", tmp_path / "run")
    assert result.code == 2
    assert problem in result.err


def test_unseen_class_of_images_is_named(regard: Regard, learnt: Path, tmp_path: Path) -> None:
    image = next((learnt / "bars" / "test" / "down").glob("*.png"))
    (tmp_path / "test" / "diagonal").mkdir(parents=True)
    (tmp_path / "test" / "diagonal" / "1.png").write_bytes(image.read_bytes())
    result = regard("evaluate", learnt / "images", "--labels", tmp_path / "test")
    assert result.code == 2
    assert "1.png: the label 'diagonal' is not one of the 2 labels" in result.err


def test_classes_are_counted_before_training(regard: Regard, learnt: Path, tmp_path: Path) -> None:
    """By `data inspect` and `train --dry-run`, in the terminal, as JSON and on the page of the report."""
    result = regard("data", "inspect", "--labels", learnt / "train.tsv", "--report", tmp_path / "report.html")
    assert result.code == 0, result.err
    assert "2 classes: " in result.out
    assert "Examples of each class" in (tmp_path / "report.html").read_text(encoding="utf-8")
    result = regard("data", "inspect", "--labels", learnt / "bars" / "train", "--json")
    assert set(json.loads(result.out)["classes"]) == {"across", "down"}
    result = regard("train", "--labels", learnt / "train.tsv", "--run", tmp_path / "run", "--dry-run")
    assert "2 classes: " in result.out


def test_texts_and_images_are_not_confused(regard: Regard, learnt: Path) -> None:
    result = regard("evaluate", learnt / "rnn", "--labels", learnt / "bars" / "test")
    assert "test is a folder, and the model classifies texts" in result.err
    result = regard("evaluate", learnt / "images", "--labels", learnt / "test.tsv")
    assert "is not the name of an image, and the model classifies images" in result.err


def test_labels_are_shown_by_info(regard: Regard, learnt: Path) -> None:
    assert "2: 'backward', 'forward'" in regard("info", learnt / "rnn").out
    assert json.loads(regard("info", learnt / "rnn", "--json").out)["classes"] == ["backward", "forward"]


def test_kinds_of_examples_are_not_mixed(regard: Regard, learnt: Path) -> None:
    result = regard("train", "--labels", learnt / "train.tsv", "--text", learnt / "train.tsv")
    assert result.code == 2
    result = regard("train", "--labels", learnt / "train.tsv", "--valid-text", learnt / "train.tsv")
    assert "--labels needs --valid-labels" in result.err
