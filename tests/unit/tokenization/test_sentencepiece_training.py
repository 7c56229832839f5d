import logging
from collections import Counter

import pytest
import sentencepiece

from regard.errors import RegardError
from regard.special_tokens import RESERVED
from regard.tokenization.sentencepiece_training import reservoir_sample, train_sentencepiece
from regard.tokenization.tokenizer import Tokenizer

KINDS = ["unigram", "bpe", "char", "word"]
LINES = ["나는 학교에 갑니다.", "She was reading a book in the library.", "그는 책을 읽습니다."] * 4


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_lines_give_the_same_vocabulary(kind):
    assert train_sentencepiece(LINES, model_type=kind, vocab_size=100) == train_sentencepiece(
        iter(LINES), model_type=kind, vocab_size=100
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [16, 40, 100, 999, 1000, 9000])
def test_size_is_an_upper_bound_for_any_text(kind, size):
    many_characters = ["".join(chr(code) for code in range(start, start + 9)) for start in range(0xAC00, 0xB000, 9)]
    assert Tokenizer.train(many_characters + LINES, model_type=kind, vocab_size=size).vocab_size <= size


def test_too_small_text_for_vocabulary_explains_it(caplog):
    with caplog.at_level(logging.WARNING):
        tokenizer = Tokenizer.train(["a b"], vocab_size=500)
    assert f"only {tokenizer.vocab_size} of the 500" in caplog.text


def test_training_prints_nothing(capfd):
    train_sentencepiece(LINES, vocab_size=60)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", KINDS)
def test_reserved_ids_are_equal_in_every_vocabulary(kind):
    processor = sentencepiece.SentencePieceProcessor(
        model_proto=train_sentencepiece(LINES, model_type=kind, vocab_size=60)
    )
    assert {piece: processor.piece_to_id(piece) for piece in RESERVED} == RESERVED
    assert [processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id()] == [0, 1, 2, 3]
    assert processor.is_control(RESERVED["<mask>"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "line",
    [
        "a",
        "x" * 1_000_000,
        "ab " * 300_000,
        "a\x00b",
        "a▅b",
        "▁",
        "a\u2028b",
        "<mask> <s> </s> <unk> <0x41>",
        "\ufeffa",
    ],
    ids=["one character", "one long word", "a long line", "NUL", "U+2585", "mark", "U+2028", "reserved", "BOM"],
)
def test_unusual_lines_do_not_break_training(kind, line):
    tokenizer = Tokenizer.train([line, "a normal line"], model_type=kind, vocab_size=1000)
    assert tokenizer.decode(tokenizer.encode("a normal line")) == "a normal line"


def test_repeated_lines_count_once():
    lines = ["She was reading a book in the library.", "x" * 50_000, "a normal line"]
    assert train_sentencepiece(lines[:1] * 20_000 + lines) == train_sentencepiece(lines)


@pytest.mark.parametrize("lines", [[], [""], ["  ", "\t", "▁"]])
def test_no_text_is_refused(lines):
    with pytest.raises(RegardError, match="no text"):
        train_sentencepiece(lines)


def test_unknown_kind_or_impossible_size_is_refused():
    with pytest.raises(RegardError, match="unigram, bpe, char, word"):
        train_sentencepiece(LINES, model_type="syllable")
    with pytest.raises(RegardError, match="at least 7"):
        train_sentencepiece(LINES, vocab_size=5)


def test_sample_is_repeatable_without_repeated_lines():
    lines = [str(number) for number in range(1000)]
    sample = reservoir_sample(iter(lines), largest=100)
    assert sample == reservoir_sample(iter(lines), largest=100)
    assert len(set(sample)) == 100
    assert set(sample) <= set(lines)


def test_sample_is_uniform_over_the_whole_text():
    tenths = Counter(int(line) // 1000 for line in reservoir_sample(iter(map(str, range(10_000))), largest=1000))
    assert all(60 <= tenths[tenth] <= 140 for tenth in range(10))


def test_most_frequent_characters_are_kept_under_limit():
    lines = ["ababab ab", "aab bba", "abz", "aby", "abx", "abw", "abv", "abu"]
    tokenizer = Tokenizer.train(lines, model_type="bpe", vocab_size=9)
    assert tokenizer.decode(tokenizer.encode("ab ba")) == "ab ba"
    assert tokenizer.decode(tokenizer.encode("u")) == "⁇"
