"""The corpus as a whole: a function from English to Korean, well linked, disjoint and the same everywhere."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from regard.errors import RegardError
from regard.worlds import SeededRandom
from regard.worlds.sentences import draw_splits, format_links, sentence_pairs, split, split_of, write_world
from regard.worlds.sentences.english import in_english
from regard.worlds.sentences.korean import in_korean
from regard.worlds.sentences.meaning import SentencePair
from regard.worlds.sentences.patterns import PATTERNS

DIFFERENT = 20_000


@pytest.fixture(scope="module")
def sample() -> list[SentencePair]:
    return list(islice(sentence_pairs(0), DIFFERENT))


def english_words(pairs: list[SentencePair]) -> Iterator[str]:
    return (word.lower().removesuffix("?") for pair in pairs for word in pair.source.split())


def test_seed_determines_the_pairs() -> None:
    first, second, other = (list(islice(sentence_pairs(seed), 300)) for seed in (7, 7, 8))
    assert first == second
    assert first != other


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_another_process_with_other_hashes_draws_the_same(hash_seed: str) -> None:
    program = (
        "from itertools import islice; from regard.worlds.sentences import format_links, sentence_pairs\n"
        "print(ascii([(pair.source, pair.target, format_links(pair)) for pair in islice(sentence_pairs(0), 200)]))"
    )
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program]
    printed = subprocess.run(command, env=environment, capture_output=True, check=True, text=True, timeout=300)
    here = [(pair.source, pair.target, format_links(pair)) for pair in islice(sentence_pairs(0), 200)]
    assert printed.stdout.strip() == ascii(here)


def test_an_english_sentence_has_one_translation(sample: list[SentencePair]) -> None:
    translations: dict[str, str] = {}
    for pair in sample:
        assert translations.setdefault(pair.source, pair.target) == pair.target, pair.source


def test_a_korean_sentence_has_hardly_ever_two_translations(sample: list[SentencePair]) -> None:
    sources: dict[str, set[str]] = {}
    for pair in sample:
        sources.setdefault(pair.target, set()).add(pair.source)
    ambiguous = sum(len(meanings) > 1 for meanings in sources.values())
    assert ambiguous < 0.001 * len(sources)


def test_every_word_is_linked_within_range(sample: list[SentencePair]) -> None:
    for pair in sample:
        assert pair.sure <= pair.possible
        assert {source for source, _ in pair.possible} == set(range(len(pair.source.split()))), pair
        assert {target for _, target in pair.possible} == set(range(len(pair.target.split()))), pair


def test_only_small_english_words_lack_a_sure_link(sample: list[SentencePair]) -> None:
    small = {"a", "an", "the", "to", "of", "as", "it", "there"}
    for pair in sample:
        sure = {source for source, _ in pair.sure}
        words = pair.source.lower().split()
        assert {word for index, word in enumerate(words) if index not in sure} <= small, pair


def test_every_korean_word_has_a_sure_link(sample: list[SentencePair]) -> None:
    for pair in sample:
        assert {target for _, target in pair.sure} == set(range(len(pair.target.split()))), pair


def test_there_are_many_words_and_a_dozen_patterns(sample: list[SentencePair]) -> None:
    everyday = {word for word in english_words(sample) if not word.endswith("'s")}
    assert len(everyday) >= 400
    seen = Counter(pair.pattern for pair in sample)
    assert set(seen) == set(PATTERNS)
    assert len(seen) >= 12
    assert min(seen.values()) >= 0.01 * len(sample)


def test_lengths_spread_from_three_to_forty_words(sample: list[SentencePair]) -> None:
    lengths = [len(pair.source.split()) for pair in sample]
    assert (min(lengths), max(lengths)) == (3, 40)
    assert 0.15 <= sum(length > 20 for length in lengths) / len(lengths) <= 0.25
    assert 0.5 <= sum(length <= 10 for length in lengths) / len(lengths) <= 0.7


def test_there_are_more_than_ten_million_sentences(sample: list[SentencePair]) -> None:
    """Of n draws from N = 10 million or fewer, n * (n - 1) / 2N or more would meet; of the longer ones none does."""
    longer = [pair.source for pair in sample if len(pair.source.split()) >= 11]
    assert len(longer) * (len(longer) - 1) / 2 / 10_000_000 > 2
    assert len(set(longer)) == len(longer)


def test_sentences_are_clean_text(sample: list[SentencePair]) -> None:
    for pair in sample:
        for text in (pair.source, pair.target):
            assert text == " ".join(text.split())
            assert text.isprintable()
            assert text.endswith("?") == (pair.pattern == "question")
            assert "?" not in text[:-1]
        assert pair.source[0].isupper()


@pytest.mark.parametrize(
    ("source", "target"),
    [("AI changes the world", "AI가 세상을 바꾼다"), ("Robots must obey orders", "로봇은 명령을 따라야 한다")],
)
def test_the_two_examples_are_ordinary_sentences(source: str, target: str) -> None:
    chance = SeededRandom(0)
    draw = PATTERNS["general"][1]
    drawn = (draw(chance) for _ in range(5_000))
    found = next(sentence for sentence in drawn if " ".join(word.text for word in in_english(sentence)) == source)
    assert " ".join(word.text for word in in_korean(found)) == target


def test_splits_share_no_sentence_in_either_language() -> None:
    counts = {"train": 1500, "valid": 150, "test": 150}
    sources: dict[str, set[str]] = {name: set() for name in counts}
    targets: dict[str, set[str]] = {name: set() for name in counts}
    for seed in (0, 1):
        for name, pairs in draw_splits(counts, seed).items():  # type: ignore[arg-type]
            assert len(pairs) == len({pair.source for pair in pairs}) == counts[name]
            sources[name] |= {pair.source for pair in pairs}
            targets[name] |= {pair.target for pair in pairs}
    for one, other in (("train", "valid"), ("train", "test"), ("valid", "test")):
        assert not sources[one] & sources[other]
        assert not targets[one] & targets[other]


def test_single_split_is_the_same_as_among_others() -> None:
    together = draw_splits({"train": 50, "valid": 20, "test": 20}, seed=3)
    assert split("test", 20, seed=3) == together["test"]
    assert all(split_of(pair) == "test" for pair in together["test"])


@pytest.mark.parametrize(("name", "count", "part"), [("dev", 5, "'dev'"), ("train", -1, "-1")])
def test_impossible_request_is_explained(name: str, count: int, part: str) -> None:
    with pytest.raises(RegardError, match=part):
        split(name, count)  # type: ignore[arg-type]


def test_a_world_is_written_line_by_line(tmp_path: Path) -> None:
    world = tmp_path / "deep" / "world"
    counts = write_world(world, train=60, valid=10, test=20, seed=5)
    assert counts == {"train": 60, "valid": 10, "test": 20}
    assert "seed 5" in (world / "README.txt").read_text(encoding="utf-8")
    for name, count in counts.items():
        columns = [(world / f"{name}.{kind}").read_bytes().decode() for kind in ("en", "ko", "align")]
        assert all(text.endswith("\n") and "\r" not in text for text in columns)
        lines = [text.split("\n")[:-1] for text in columns]
        expected = split(name, count, seed=5)
        assert lines == [
            [pair.source for pair in expected],
            [pair.target for pair in expected],
            [format_links(pair) for pair in expected],
        ]


def test_uncreatable_folder_is_explained(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    with pytest.raises(RegardError, match="taken"):
        write_world(tmp_path / "taken", train=1, valid=1, test=1)


def test_links_are_ordered_with_p_for_possible() -> None:
    pair = SentencePair("a b", "c d", frozenset({(1, 0)}), frozenset({(1, 0), (0, 1)}), "simple")
    assert format_links(pair) == "0p1 1-0"


def test_exhausted_world_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.worlds.sentences.MAX_REPEATS", 20)
    with pytest.raises(RegardError, match=r"too few different sentences: [0-9,]+ of 1,000,000 valid"):
        draw_splits({"valid": 1_000_000})
