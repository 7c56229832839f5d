import dataclasses
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor

from regard.errors import RegardError
from regard.special_tokens import MASK, RESERVED, UNKNOWN
from regard.tokenization import tokenizer as remembered
from regard.tokenization.text import group_into_words, is_unknown_word, normalize
from regard.tokenization.tokenizer import Tokenizer

KINDS = ["unigram", "bpe", "char", "word"]
each_kind = pytest.mark.parametrize("kind", KINDS)
cut_at_random = pytest.mark.parametrize("kind", ["unigram", "bpe"])

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
KNOWN_CHARACTERS = st.text("나는학교에 갑니다책을읽 theboksrding.")
KNOWN_WORDS = st.lists(st.sampled_from(["나는", "학교에", "책을", "the", "book", "library.", "going"])).map(" ".join)
SEED = st.integers(0, 2**63)


def known_text(kind: str) -> st.SearchStrategy[str]:
    """Text that a vocabulary of this kind can spell: any at all for one with bytes."""
    return {"char": KNOWN_CHARACTERS, "word": KNOWN_WORDS}.get(kind, ANY_TEXT)


@each_kind
@given(data=st.data())
def test_known_text_round_trips_in_normal_form(tokenizers, kind, data):
    text = data.draw(known_text(kind))
    assert tokenizers[kind].decode(tokenizers[kind].encode(text)) == normalize(text)


@each_kind
@given(texts=st.lists(ANY_TEXT, max_size=4))
def test_byte_rows_hold_the_ids_of_texts(tokenizers, kind, texts):
    rows = tokenizers[kind].encode_to_bytes(texts)
    assert [np.frombuffer(row, "<i4").tolist() for row in rows] == [tokenizers[kind].encode(text) for text in texts]


@each_kind
@given(data=st.data())
def test_sentence_is_segmented_as_sentencepiece_does(tokenizers, kind, data):
    text = normalize(data.draw(known_text(kind)))
    whole = SentencePieceProcessor(model_proto=tokenizers[kind].to_bytes())
    assert tokenizers[kind].encode(text) == whole.encode(text)


@each_kind
def test_word_cache_is_bounded_and_segmentation_the_same(tokenizers, kind, monkeypatch):
    text = "one two three two one " + "w" * 100
    expected = tokenizers[kind].encode(text)
    monkeypatch.setattr(remembered, "MAX_CACHED_WORDS", 2)
    fresh = Tokenizer.from_bytes(tokenizers[kind].to_bytes())
    assert [fresh.encode(text) for _ in range(2)] == [expected, expected]
    assert sorted(fresh._word_cache) == ["one", "two"]
    assert "w" * 100 not in tokenizers[kind]._word_cache


@each_kind
@given(text=ANY_TEXT)
def test_composed_and_decomposed_text_have_the_same_ids(tokenizers, kind, text):
    composed, decomposed = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
    assert tokenizers[kind].encode(composed) == tokenizers[kind].encode(decomposed)


def test_korean_in_both_spellings_has_the_same_ids(tokenizers):
    decomposed = unicodedata.normalize("NFD", "학교에 갑니다")
    assert len(decomposed) > len("학교에 갑니다")
    assert tokenizers["unigram"].encode(decomposed) == tokenizers["unigram"].encode("학교에 갑니다")


@each_kind
@given(text=ANY_TEXT, seed=SEED)
def test_ids_are_in_range_and_never_control_symbols(tokenizers, without_bytes, kind, text, seed):
    control = set(RESERVED.values()) - {UNKNOWN}
    for tokenizer in (tokenizers[kind], without_bytes[kind]):
        ids = tokenizer.encode(text) + tokenizer.encode_sampled(text, seed)
        assert all(0 <= identity < tokenizer.vocab_size and identity not in control for identity in ids)


@cut_at_random
@given(text=ANY_TEXT, seed=SEED)
def test_sampled_segmentation_is_deterministic_and_decodes_back(tokenizers, kind, text, seed):
    tokenizer = tokenizers[kind]
    drawn = tokenizer.encode_sampled(text, seed)
    tokenizer.encode_sampled("something else in between", seed + 1)
    assert Tokenizer.from_bytes(tokenizer.to_bytes()).encode_sampled(text, seed) == drawn
    assert tokenizer.decode(drawn) == normalize(text)


@cut_at_random
def test_segmentations_differ_between_seeds_but_not_threads(tokenizers, kind):
    def draw(seed: int) -> list[int]:
        return tokenizers[kind].encode_sampled("the readers were reading in the library", seed)

    in_order = [draw(seed) for seed in range(20)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(draw, range(20))) == in_order
    assert len({tuple(ids) for ids in in_order}) > 1


@pytest.mark.parametrize("kind", ["char", "word"])
@given(text=ANY_TEXT, seed=SEED)
def test_characters_and_words_have_one_segmentation(tokenizers, kind, text, seed):
    assert tokenizers[kind].encode_sampled(text, seed) == tokenizers[kind].encode(text)


@each_kind
@given(data=st.data())
def test_pieces_group_into_the_words_of_the_text(tokenizers, kind, data):
    text = data.draw(known_text(kind))
    known = tokenizers[kind]
    assert len(group_into_words(known.pieces(known.encode(text)))) == len(normalize(text).split())
    assert len(group_into_words(known.pieces(known.encode_sampled(text, 3)))) == len(normalize(text).split())


@each_kind
@given(text=ANY_TEXT)
def test_unknown_text_keeps_its_number_of_words(without_bytes, kind, text):
    tokenizer = without_bytes[kind]
    assert len(group_into_words(tokenizer.pieces(tokenizer.encode(text)))) == len(normalize(text).split())


@each_kind
@given(ids=st.lists(st.integers(0, 149)))
def test_decoded_text_is_always_a_single_line(tokenizers, kind, ids):
    in_range = [identity for identity in ids if identity < tokenizers[kind].vocab_size]
    assert len(tokenizers[kind].decode(in_range).splitlines()) <= 1


@pytest.mark.parametrize("separator", ["\n", "\r", "\u0085", "\u2028", "\u2029"])
def test_separator_spelled_in_bytes_decodes_to_space(tokenizers, separator):
    tokenizer = tokenizers["unigram"]
    every_piece = tokenizer.pieces(range(tokenizer.vocab_size))
    spelled = [every_piece.index(f"<0x{byte:02X}>") for byte in separator.encode()]
    assert tokenizer.decode([*tokenizer.encode("book"), *spelled, *tokenizer.encode("book")[1:]]).startswith("book")
    assert tokenizer.decode([every_piece.index("<0x41>"), *spelled, every_piece.index("<0x42>")]) == "A B"


@each_kind
def test_model_type_is_read_from_the_bytes(tokenizers, without_bytes, kind):
    for tokenizer in (tokenizers[kind], without_bytes[kind]):
        assert Tokenizer.from_bytes(tokenizer.to_bytes()).model_type == kind


@each_kind
def test_vocabulary_equals_its_copy_and_is_immutable(tokenizers, kind):
    tokenizer = tokenizers[kind]
    assert Tokenizer.from_bytes(tokenizer.to_bytes()) == tokenizer
    assert all(tokenizer != tokenizers[other] for other in KINDS if other != kind)
    with pytest.raises(dataclasses.FrozenInstanceError):
        tokenizer.model = b""


@each_kind
def test_blank_text_and_empty_ids_correspond(tokenizers, kind):
    assert tokenizers[kind].encode("") == tokenizers[kind].encode(" \t\n") == []
    assert tokenizers[kind].encode_sampled("", 1) == []
    assert tokenizers[kind].decode([]) == ""
    assert tokenizers[kind].pieces([]) == []


@each_kind
def test_reserved_ids_show_in_pieces_but_not_text(tokenizers, kind):
    tokenizer = tokenizers[kind]
    book = tokenizer.encode("book")
    assert tokenizer.decode([RESERVED["<s>"], *book, MASK, RESERVED["</s>"], RESERVED["<pad>"]]) == "book"
    assert tokenizer.pieces([MASK, RESERVED["</s>"]]) == ["<mask>", "</s>"]


def test_reserved_names_written_in_text_are_only_text(tokenizers):
    text = "<s> <mask> </s> <pad> <unk> <0x41>"
    assert MASK not in tokenizers["unigram"].encode(text)
    assert tokenizers["unigram"].decode(tokenizers["unigram"].encode(text)) == text


@pytest.mark.parametrize(
    ("kind", "text", "shown"),
    [("char", "th字e book", "th⁇e book"), ("word", "the 字字 字 book", "the ⁇ ⁇ book")],
)
def test_unknown_piece_is_shown_in_its_place(tokenizers, kind, text, shown):
    assert tokenizers[kind].decode(tokenizers[kind].encode(text)) == shown


@each_kind
@pytest.mark.parametrize("line", ["가" * 1_000_000, "ab " * 333_333, "\x00" * 1_000_000], ids=["word", "words", "NUL"])
def test_line_of_a_million_characters_finishes(tokenizers, kind, line):
    ids = tokenizers[kind].encode(line)  # work that grows with the square would take longer than a test may
    assert len(tokenizers[kind].encode_sampled(line, 0)) > 0
    tokenizers[kind].decode(ids)


@each_kind
def test_a_lone_surrogate_is_refused(tokenizers, kind):
    with pytest.raises(RegardError, match=r"U\+DC80"):
        tokenizers[kind].encode("book \udc80")
    with pytest.raises(RegardError, match=r"U\+DC80"):
        tokenizers[kind].encode_sampled("book \udc80", 1)


@pytest.mark.parametrize("identity", [-1, 1_000_000])
def test_an_id_outside_the_vocabulary_is_refused(tokenizers, identity):
    with pytest.raises(RegardError, match=f"id {identity} is not in the vocabulary"):
        tokenizers["bpe"].decode([5, identity])
    with pytest.raises(RegardError, match=f"id {identity} is not in the vocabulary"):
        tokenizers["bpe"].pieces([5, identity])


def test_damaged_bytes_are_refused_or_still_a_vocabulary(tokenizers):
    model = tokenizers["unigram"].to_bytes()
    refused = 0
    for place in range(0, len(model), 97):
        damaged = model[:place] + bytes([model[place] ^ 0x80]) + model[place + 1 :]
        try:
            tokenizer = Tokenizer.from_bytes(damaged)
            tokenizer.decode(tokenizer.encode("the book 책"))
        except RegardError:
            refused += 1
    assert refused > 0


@pytest.mark.parametrize("model", [b"", b"\x00" * 100, b"not a model"])
def test_bytes_that_are_no_model_are_refused(model):
    with pytest.raises(RegardError, match="cannot be read"):
        Tokenizer.from_bytes(model)


def test_a_truncated_model_is_refused(tokenizers):
    with pytest.raises(RegardError, match="cannot be read"):
        Tokenizer.from_bytes(tokenizers["bpe"].to_bytes()[:-7])


def test_other_reserved_ids_in_sentencepiece_are_refused():
    import io

    import sentencepiece

    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b c"] * 9), model_writer=writer, vocab_size=20, hard_vocab_limit=False, minloglevel=2
    )
    with pytest.raises(RegardError, match="regard reserves"):
        Tokenizer.from_bytes(writer.getvalue())


def test_words_without_pieces_are_unknown(tokenizers, without_bytes):
    text = "I read the zyxwv 책을 쀍 book , zyxwv"
    assert tokenizers["unigram"].unknown_words(text) == ["zyxwv", "쀍"]
    assert tokenizers["bpe"].unknown_words(text) == ["zyxwv", "쀍"]
    assert without_bytes["word"].unknown_words("Reader 나는") == ["Reader"]


def test_words_in_single_letters_are_unknown():
    assert is_unknown_word(["▁y", "o", "u"], by_letter=True)
    assert not is_unknown_word(["▁y", "o", "u"], by_letter=False)
    for known in (["▁yo", "u"], ["▁o", "x"], ["▁", "1", "2", "3"], ["▁나", "는", "야"]):
        assert not is_unknown_word(known, by_letter=True)


def test_letter_vocabularies_know_spelled_words(tokenizers):
    assert tokenizers["char"].unknown_words("I read the books 책을") == []


@each_kind
def test_whole_words_are_single_pieces(tokenizers, kind):
    words = tokenizers[kind].whole_words()
    assert all(len(tokenizers[kind].encode(word)) == 1 for word in words)
    assert ("book" in words) == (kind != "char")
