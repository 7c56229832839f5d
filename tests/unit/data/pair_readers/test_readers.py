import gzip
from pathlib import Path

import pytest

from regard.data.pair_readers import PAIR_FORMATS, read_blocks, read_pairs
from regard.data.pair_readers.text import PairBlock
from regard.errors import RegardError

GOOD = {
    ".tsv": "one\t하나\n",
    ".csv": "source,target\none,하나\n",
    ".jsonl": '{"source": "one", "target": "하나"}\n',
    ".po": 'msgid "one"\nmsgstr "하나"\n',
    ".tmx": '<tmx><tu><tuv xml:lang="en"><seg>one</seg></tuv><tuv xml:lang="ko"><seg>하나</seg></tuv></tu></tmx>',
}
LANGUAGES = ["en", "ko"]


def test_every_format_has_an_example_here() -> None:
    assert tuple(GOOD) == PAIR_FORMATS


@pytest.mark.parametrize("suffix", [*GOOD, *(f"{suffix}.gz" for suffix in GOOD)])
class TestEveryFormat:
    """The bad-input table: each fault in each format is an error that names the file."""

    def write(self, path: Path, content: bytes) -> None:
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)

    def test_reads_a_good_file(self, tmp_path: Path, suffix: str) -> None:
        self.write(tmp_path / f"a{suffix}", GOOD[suffix.removesuffix(".gz")].encode())
        pairs = list(read_pairs([str(tmp_path / f"a{suffix}")], languages=LANGUAGES))
        assert [(pair.source, pair.target) for pair in pairs] == [("one", "하나")]
        blocks = list(read_blocks([str(tmp_path / f"a{suffix}")], languages=LANGUAGES))
        assert blocks == [PairBlock(b"one", "하나".encode())]

    @pytest.mark.parametrize(
        "content", [b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\x00\x00\n", b"one\xed\xa0\x80\n", b"stray"]
    )
    def test_refuses_bad_bytes(self, tmp_path: Path, suffix: str, content: bytes) -> None:
        self.write(tmp_path / f"a{suffix}", content)
        with pytest.raises(RegardError, match=rf"a\{suffix}"):
            list(read_pairs([tmp_path / f"a{suffix}"], languages=LANGUAGES))

    def test_refuses_a_missing_file_and_a_directory(self, tmp_path: Path, suffix: str) -> None:
        with pytest.raises(RegardError, match="No such file"):
            list(read_pairs([tmp_path / f"a{suffix}"], languages=LANGUAGES))
        (tmp_path / f"a{suffix}").mkdir()
        with pytest.raises(RegardError, match="Is a directory"):
            list(read_pairs([tmp_path / f"a{suffix}"], languages=LANGUAGES))


@pytest.mark.parametrize("suffix", GOOD)
def test_truncated_gzip_is_refused_in_every_format(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}.gz"
    path.write_bytes(gzip.compress(GOOD[suffix].encode())[:-3])
    with pytest.raises(RegardError, match=r"\.gz:\d+: broken gzip"):
        list(read_pairs([path], languages=LANGUAGES))


@pytest.mark.parametrize(
    ("paths", "problem"),
    [
        ([], "0 files given"),
        (["a", "b", "c"], "3 files given"),
        (["a.txt"], "unknown format; one file must be .tsv, .csv, .jsonl, .po, .tmx"),
        (["a"], "unknown format"),
        (["a.xlsx.gz"], "unknown format"),
        (["a.en", "b.tsv"], "b.tsv contains pairs"),
    ],
)
def test_number_and_format_of_files_are_checked_first(paths: list[str], problem: str) -> None:
    with pytest.raises(RegardError, match=problem):
        read_pairs(paths)


@pytest.mark.parametrize("languages", [["en"], ["en", "ko", "de"], ["en", "en"], ["en", ""]])
def test_languages_are_two_different_codes(languages: list[str]) -> None:
    with pytest.raises(RegardError, match="Name the source and the target"):
        read_pairs(["a.tsv"], languages=languages)
