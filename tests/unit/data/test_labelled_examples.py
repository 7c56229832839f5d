"""Labelled texts and images: the formats agree, and what is wrong is named with its file and line."""

import gzip
from pathlib import Path

import pytest
from PIL import Image

from regard.data.labelled_examples import (
    are_images,
    describe_labels,
    find_labels,
    hold_out_images,
    read_labelled_images,
    read_labelled_texts,
)
from regard.errors import RegardError

TSV = "good film\tpos\nbad, dull\tneg\n"
FILES = {
    "a.tsv": TSV,
    "header.tsv": f"text\tlabel\n{TSV}",
    "a.jsonl": '{"text": "good film", "label": "pos"}\n\n{"text": "bad, dull", "label": "neg", "id": 3}\n',
    "a.csv": 'id,Label,Text\n1,pos,good film\n2,neg,"bad, dull"\n',
}


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_examples(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    pairs = list(read_labelled_texts([tmp_path / name]))
    assert [(pair.source, pair.target) for pair in pairs] == [("pos", "good film"), ("neg", "bad, dull")]
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(FILES[name].encode()))
    assert list(read_labelled_texts([tmp_path / f"{name}.gz"])) == pairs


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.tsv", "good\tpos\nbad\n", r"a\.tsv:2: expected a text, one tab and a label, got 1 column"),
        ("a.tsv", "good\tpos\n\tneg\n", r"a\.tsv:2: the text is missing"),
        ("a.tsv", "good\tpos\nbad\t \n", r"a\.tsv:2: the label is missing"),
        ("a.tsv", "", r"a\.tsv is empty"),
        ("a.tsv", "good\tpos\nbad\tthird\n", r"a\.tsv:2: the label 'third' is not one of the 2 labels"),
        ("a.jsonl", '{"text": "good"}\n', r"a\.jsonl:1: expected an object such as"),
        ("a.jsonl", '{"text": "good", "label": true}\n', r"a\.jsonl:1: expected an object such as"),
        ("a.jsonl", "[\n", r"a\.jsonl:1: not JSON"),
        ("a.csv", "review,label\ngood,pos\n", r"a\.csv:1: the header is \['review', 'label'\]"),
        ("a.csv", "text,label\ngood, old,pos\n", r"a\.csv:2: expected 2 columns as in the header, got 3"),
        ("a.txt", TSV, r"a\.txt has an unknown format for labels"),
    ],
)
def test_broken_line_is_named(tmp_path: Path, name: str, content: str, problem: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(RegardError, match=problem):
        list(read_labelled_texts([tmp_path / name], labels=["neg", "pos"]))


def test_labels_are_sorted_numbers_by_value(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"text {row}\t{row % 12}\n" for row in range(24)), encoding="utf-8")
    assert find_labels([[str(path)]], is_image=False) == [str(number) for number in range(12)]


def test_labels_of_many_digits_are_sorted_last(tmp_path: Path) -> None:
    labels = ["7" * 5000, "12", "3"]
    (tmp_path / "a.tsv").write_text("".join(f"text {row}\t{labels[row % 3]}\n" for row in range(24)), encoding="utf-8")
    assert find_labels([[str(tmp_path / "a.tsv")]], is_image=False) == ["3", "12", "7" * 5000]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["a\tpos", "b\tpos"], "has one label only: 'pos'"),
        ([f"pos\ttext {row}" for row in range(30)], "check that they are not swapped"),
    ],
)
def test_one_label_or_swapped_columns_are_refused(tmp_path: Path, lines: list[str], problem: str) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    with pytest.raises(RegardError, match=problem):
        find_labels([[str(path)]], is_image=False)


def test_folders_and_files_of_images_agree(tmp_path: Path) -> None:
    for label in ("cat", "dog"):
        (tmp_path / label).mkdir()
        Image.new("RGB", (4, 4)).save(tmp_path / label / "1.png")
    (tmp_path / "images.tsv").write_text("cat/1.png\tcat\ndog/1.png\tdog\n", encoding="utf-8")
    folders = read_labelled_images(tmp_path)
    assert folders == read_labelled_images(tmp_path / "images.tsv")
    assert [(one.image.parent.name, one.captions) for one in folders] == [("cat", ["cat"]), ("dog", ["dog"])]
    assert are_images(tmp_path)
    assert are_images(tmp_path / "images.tsv")
    (tmp_path / "gone.tsv").write_text("cat/2.png\tcat\n", encoding="utf-8")
    with pytest.raises(RegardError, match=r"gone\.tsv:1: the image .*2\.png does not exist"):
        read_labelled_images(tmp_path / "gone.tsv")
    (tmp_path / "long.tsv").write_text(f"{'cat' * 1000}.png\tcat\n", encoding="utf-8")
    with pytest.raises(RegardError, match=r"long\.tsv:1: the image .* does not exist"):
        read_labelled_images(tmp_path / "long.tsv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RegardError, match="empty has no images"):
        read_labelled_images(tmp_path)


def test_held_out_images_are_the_same_every_time(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for number in range(60):
        (tmp_path / "a" / f"{number}.png").touch()
    images = read_labelled_images(tmp_path)
    train, valid = hold_out_images(images, "")
    assert (train, valid) == hold_out_images(images, "")
    assert sorted([*train, *valid], key=lambda one: one.image) == sorted(images, key=lambda one: one.image)
    assert 1 <= len(valid) <= 15


def test_imbalance_is_a_warning() -> None:
    assert describe_labels({"a": 60, "b": 40}) == ["2 classes: a 60 (60%), b 40 (40%)"]
    [counts, warning] = describe_labels({"a": 5, "b": 95})
    assert counts == "2 classes: b 95 (95%), a 5 (5%)"
    assert "always answering b gives 95% accuracy" in warning
    [_, warning] = describe_labels({"Good": 5, "bad": 5, "good": 5, "so so": 4, "soso": 5})
    assert "warning: 'Good', 'good', 'so so', 'soso' differ only in case or spaces" in warning
    assert "no training example has the label 'b'" in describe_labels({"a": 5, "b": 0})[1]
