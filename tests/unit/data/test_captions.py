"""Every format of captions gives the same records; what is wrong in a file is told with its place."""

import json
import unicodedata
from pathlib import Path

import pytest

from regard.data.captions import CaptionedImage, read_captioned
from regard.errors import RegardError

FLICKR = Path(__file__).parents[4] / "shared" / "data" / "flickr8k"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files that stand for images; readers never open them."""
    (tmp_path / "images").mkdir()
    for name in ("dog.jpg", "cat.jpg", "cow.jpg"):
        (tmp_path / "images" / name).write_bytes(b"")
    return tmp_path


def expected(folder: Path) -> list[CaptionedImage]:
    return [
        CaptionedImage(folder / "images" / "dog.jpg", ["A dog .", "The dog, it runs ."]),
        CaptionedImage(folder / "images" / "cat.jpg", ["A cat ."]),
    ]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def write_json(path: Path, value: object) -> Path:
    return write(path, json.dumps(value, indent=1))


TABBED = "dog.jpg\tA dog .\ncat.jpg\tA cat .\ndog.jpg\tThe dog, it runs .\n"
NUMBERED = "dog.jpg#0\tA dog .\ndog.jpg#1\tThe dog, it runs .\ncat.jpg#0\tA cat .\n"
HEADED = 'image,caption\ndog.jpg,A dog .\ncat.jpg,A cat .\ndog.jpg,"The dog, it runs ."\n'
QUOTED = '"image","caption"\n"dog.jpg","A dog ."\n"cat.jpg","A cat ."\n"dog.jpg","The dog, it runs ."\n'
LINES = """{"image": "dog.jpg", "captions": ["A dog .", "The dog, it runs ."]}

{"image": "cat.jpg", "caption": "A cat ."}
"""
COCO = {
    "info": {"year": 2014},
    "images": [{"id": 7, "file_name": "dog.jpg", "height": 3}, {"id": 3, "file_name": "cat.jpg"}],
    "annotations": [
        {"image_id": 7, "id": 1, "caption": "A dog .\n"},
        {"image_id": 7, "id": 2, "caption": "The dog,  it runs ."},
        {"image_id": 3, "id": 3, "caption": "A cat ."},
    ],
}
KARPATHY = {
    "dataset": "flickr8k",
    "images": [
        {
            "filename": "dog.jpg",
            "split": "train",
            "sentences": [{"raw": "A dog .", "tokens": ["a", "dog"]}, {"raw": "The dog, it runs ."}],
        },
        {"filename": "cat.jpg", "split": "restval", "sentences": [{"raw": "A cat ."}]},
        {"filename": "cow.jpg", "split": "test", "sentences": [{"raw": "A cow ."}]},
    ],
}


@pytest.mark.parametrize(
    "text",
    [
        TABBED,
        NUMBERED,
        HEADED,
        "\ufeff" + TABBED,
        TABBED.replace("\n", "\r\n"),
        HEADED + "\n\n",
        "\n \n" + HEADED,
        QUOTED,
    ],
)
def test_both_forms_of_captions_txt_are_read(folder: Path, text: str) -> None:
    (folder / "captions.txt").write_bytes(text.encode())
    assert read_captioned(folder) == expected(folder)
    assert read_captioned(folder / "captions.txt") == expected(folder)


def test_coco_karpathy_and_jsonl_give_the_same(folder: Path) -> None:
    assert read_captioned(write_json(folder / "coco.json", COCO)) == expected(folder)
    assert read_captioned(write_json(folder / "split.json", KARPATHY), split="train+restval") == expected(folder)
    assert read_captioned(write(folder / "a.jsonl", LINES)) == expected(folder)


def test_repeated_caption_is_kept_once(folder: Path) -> None:
    write(folder / "captions.txt", TABBED + TABBED + "cat.jpg\tA  cat .\n")
    assert read_captioned(folder) == expected(folder)


def test_quoted_newlines_are_part_of_the_caption(folder: Path) -> None:
    write(folder / "captions.txt", 'image,caption\ndog.jpg,"A ""big""\ndog ."\n')
    assert read_captioned(folder)[0].captions == ['A "big" dog .']


def test_other_columns_and_another_order_are_no_matter(folder: Path) -> None:
    write(folder / "a.csv", "id,Caption,image\n1,A dog .,dog.jpg\n")
    assert read_captioned(folder / "a.csv")[0] == CaptionedImage(folder / "images" / "dog.jpg", ["A dog ."])


# --- splits ----------------------------------------------------------------------------------------------------------


def test_a_list_beside_the_captions_chooses_images(folder: Path) -> None:
    write(folder / "captions.txt", TABBED)
    write(folder / "train.txt", "cat.jpg\n")
    write(folder / "dev.txt", "dog.jpg\r\n\n")
    assert [one.image.name for one in read_captioned(folder, split="train")] == ["cat.jpg"]
    assert [one.image.name for one in read_captioned(folder, split="dev.txt")] == ["dog.jpg"]
    assert len(read_captioned(folder, split="train+dev")) == 2


def test_marked_split_is_chosen_by_name(folder: Path) -> None:
    path = write_json(folder / "split.json", KARPATHY)
    assert [one.image.name for one in read_captioned(path, split="test")] == ["cow.jpg"]
    lines = write(folder / "a.jsonl", '{"image":"dog.jpg","caption":"A dog","split":"valid"}\n')
    assert len(read_captioned(lines, split="valid")) == 1


def test_missing_split_is_refused_with_existing_names(folder: Path) -> None:
    path = write_json(folder / "split.json", KARPATHY)
    with pytest.raises(RegardError, match=r"no split 'dev'.* There are: restval, test, train"):
        read_captioned(path, split="dev")


def test_the_captions_themselves_are_not_a_list(folder: Path) -> None:
    write(folder / "captions.txt", TABBED)
    with pytest.raises(RegardError, match="no split 'captions'"):
        read_captioned(folder, split="captions")


def test_listed_image_without_caption_is_an_error(folder: Path) -> None:
    write(folder / "captions.txt", TABBED)
    write(folder / "train.txt", "cat.jpg\ncow.jpg\n")
    with pytest.raises(RegardError, match=r"1 of the 2 images that .*train\.txt lists: cow\.jpg"):
        read_captioned(folder, split="train")


# --- images --------------------------------------------------------------------------------------------------------


def test_images_that_are_missing_are_counted_and_listed(folder: Path) -> None:
    write(folder / "captions.txt", TABBED + "".join(f"gone{index}.jpg\tA bird .\n" for index in range(8)))
    with pytest.raises(RegardError, match=r"8 of 10 images are not in .*: gone0\.jpg, .*gone4\.jpg, \.\.\.\."):
        read_captioned(folder)
    write(folder / "captions.txt", f"{TABBED}{'long' * 1000}.jpg\tA bird .\n")
    with pytest.raises(RegardError, match=r"1 of 3 images are not in .*: longlong"):
        read_captioned(folder)


def test_korean_name_matches_in_any_normalisation(folder: Path) -> None:
    composed, decomposed = (unicodedata.normalize(form, "한글.png") for form in ("NFC", "NFD"))
    (folder / "images" / decomposed).write_bytes(b"")
    write(folder / "captions.txt", f"{composed}\tA word .\n")
    assert [one.image.name for one in read_captioned(folder)] == [decomposed]


def test_two_normalisations_of_a_name_are_one_image(folder: Path) -> None:
    composed, decomposed = (unicodedata.normalize(form, "고양이.png") for form in ("NFC", "NFD"))
    (folder / "images" / composed).write_bytes(b"")
    write(folder / "captions.txt", f"{composed}\tA cat .\ndog.jpg\tA dog .\n{decomposed}\tIt sleeps .\n")
    cat = CaptionedImage(folder / "images" / composed, ["A cat .", "It sleeps ."])
    assert read_captioned(folder)[0] == cat
    for number, listed in enumerate((composed, decomposed, f"{composed}\n{decomposed}")):
        write(folder / f"list{number}.txt", f"{listed}\n")
        assert read_captioned(folder, split=f"list{number}") == [cat]
    with pytest.raises(RegardError, match="There are: list0, list1, list2"):
        read_captioned(folder, split="nosuch")


def test_files_that_list_no_images_are_no_splits(folder: Path) -> None:
    write(folder / "captions.txt", TABBED)
    write(folder / "some.txt", "dog.jpg\n")
    write(folder / "README.txt", "These are images.\n")
    (folder / "folder.txt").mkdir()
    with pytest.raises(RegardError, match="There are: some\\."):
        read_captioned(folder, split="nosuch")


def test_only_images_of_the_split_need_be_there(folder: Path) -> None:
    write(folder / "captions.txt", TABBED + "gone.jpg\tA bird .\n")
    write(folder / "train.txt", "cat.jpg\n")
    assert len(read_captioned(folder, split="train")) == 1


def test_images_may_lie_beside_the_captions_or_elsewhere(folder: Path) -> None:
    elsewhere = folder / "elsewhere"
    (folder / "images").rename(elsewhere)
    path = write(folder / "captions.txt", TABBED)
    assert read_captioned(path, images=elsewhere)[0].image == elsewhere / "dog.jpg"
    for name in ("dog.jpg", "cat.jpg"):
        (elsewhere / name).rename(folder / name)
    assert [one.image.parent for one in read_captioned(folder)] == [folder, folder]


def test_a_folder_inside_karpathys_file_is_followed(folder: Path) -> None:
    (folder / "images" / "val2014").mkdir()
    (folder / "images" / "dog.jpg").rename(folder / "images" / "val2014" / "dog.jpg")
    image = {"filename": "dog.jpg", "filepath": "val2014", "sentences": [{"raw": "A dog"}]}
    path = write_json(folder / "split.json", {"images": [image]})
    assert read_captioned(path)[0].image == folder / "images" / "val2014" / "dog.jpg"


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("captions.txt", "dog.jpg\tA dog\ncat.jpg A cat\n", r"captions\.txt:2: expected an image, one tab"),
        ("captions.txt", "dog.jpg\tA dog\tor two\n", r"captions\.txt:1: .* got 3 column"),
        ("captions.txt", "\ndog.jpg\t \n", r"captions\.txt:2: .*caption.*missing"),
        ("captions.txt", "\tA dog\n", r"captions\.txt:1: the image is missing"),
        ("captions.txt", "", r"captions\.txt is empty"),
        ("captions.txt", "image,caption\ndog.jpg,A dog, it runs\n", r"captions\.txt:2: expected 2 columns .* got 3"),
        ("captions.txt", "\n\nimage,caption\ndog.jpg\n", r"captions\.txt:4: expected 2 columns .* got 1"),
        ("captions.txt", "dog.jpg," + "A dog " * 30_000, r"captions\.txt:1: expected an image, one tab"),
        ("captions.txt", 'image,caption\ndog.jpg,"A dog" here\n', r"captions\.txt:2: "),
        ("captions.txt", 'image,caption\ndog.jpg,"A dog\n', r"captions\.txt:2: "),
        ("a.jsonl", '{"image": "dog.jpg", "caption": "a"}\n{"image": 3}\n', r"a\.jsonl:2: Expected `str`"),
        ("a.jsonl", '{"image": "dog.jpg"}\n', r"a\.jsonl:1: .*caption.*missing"),
        ("a.jsonl", '{"image": "dog.jpg", "captions": ["a", " "]}\n', r"a\.jsonl:1: .*blank"),
        ("a.jsonl", "[]\n", r"a\.jsonl:1: Expected `object`"),
        ("a.json", '{"images": [],\n"annotations": [}\n', r"a\.json:2: not JSON"),
        ("a.json", '{"images": [{"id": 1}], "annotations": [{}]}', r"a\.json: .*missing.*\$\.images\[0\]"),
        ("a.json", '{"images": [{"filename": "dog.jpg", "sentences": []}]}', r"\$\.images\[0\]: .*caption.*missing"),
        ("a.json", '{"images": [], "annotations": [{"image_id": 1, "caption": "a"}]}', r"annotations\[0\].* 1 with"),
        ("a.json", json.dumps({**COCO, "images": [{"id": 7, "file_name": "dog.jpg"}] * 2}), "2 images have the id 7"),
        ("a.json", "{}", r"a\.json: .*missing.*images"),
        ("a.xml", "<a/>", "unknown format"),
    ],
)
def test_error_names_file_and_line(folder: Path, name: str, text: str, problem: str) -> None:
    with pytest.raises(RegardError, match=problem):
        read_captioned(write(folder / name, text))


def test_invalid_utf8_is_reported_with_its_line(folder: Path) -> None:
    (folder / "captions.txt").write_bytes(b"dog.jpg\tA dog\ncat.jpg\tA c\xffat\n")
    with pytest.raises(RegardError, match=r"captions\.txt:2: byte 12 \(0xff\) is not UTF-8"):
        read_captioned(folder)
    (folder / "a.json").write_bytes(b'{"images": "\xff"}')
    with pytest.raises(RegardError, match=r"a\.json"):
        read_captioned(folder / "a.json")


@pytest.mark.parametrize("content", [("captions.jsonl", "\n"), ("c.json", '{"images": []}'), ("captions.txt", "")])
def test_a_file_without_captions_is_refused(folder: Path, content: tuple[str, str]) -> None:
    write(folder / content[0], content[1])
    with pytest.raises(RegardError, match="is empty"):
        read_captioned(folder / content[0])


def test_missing_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"captions\.txt does not exist"):
        read_captioned(tmp_path)
    with pytest.raises(RegardError, match="absent does not exist"):
        read_captioned(tmp_path / "absent")


def test_flickr8k_is_read_whole() -> None:
    if not FLICKR.is_dir():
        pytest.skip("shared/data/flickr8k is not there")
    train, dev = (read_captioned(FLICKR, split=name) for name in ("train", "dev"))
    assert (len(train), len(dev)) == (6_000, 1_000)
    assert sum(len(one.captions) for one in train + dev) > 34_900  # of 35,000, a few come twice
    assert not {one.image for one in train} & {one.image for one in dev}
