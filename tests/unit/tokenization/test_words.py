from hypothesis import given
from hypothesis import strategies as st

from regard.tokenization.text import group_into_words, join_pieces
from regard.tokenization.tokenizer import Tokenizer

PIECES = st.lists(st.sampled_from(["▁", "▁a", "b", "<unk>", "<s>", "</s>", "<pad>", "<mask>", "<0xEA>"]))


@given(PIECES)
def test_every_piece_belongs_to_one_word_in_order(pieces):
    found = group_into_words(pieces)
    assert [index for word in found for index in word] == list(range(len(pieces)))
    assert all(found)


def test_a_word_begins_at_the_word_mark():
    assert group_into_words(["▁read", "ing", "▁a", "▁book", "s", "."]) == [[0, 1], [2], [3, 4, 5]]


def test_characters_follow_a_lone_separator_piece():
    assert group_into_words(["▁", "책", "을", "▁", "읽"]) == [[0, 1, 2], [3, 4]]


def test_a_mark_written_twice_makes_no_empty_word():
    assert group_into_words(["▁", "▁", "a", "▁", "▁b"]) == [[0, 1, 2], [3, 4]]


def test_reserved_pieces_are_words_by_themselves():
    assert group_into_words(["<s>", "▁a", "b", "</s>", "<pad>", "<pad>"]) == [[0], [1, 2], [3], [4], [5]]


def test_an_unknown_piece_is_part_of_its_word():
    assert group_into_words(["▁a", "<unk>", "b", "▁c"]) == [[0, 1, 2], [3]]


def test_chinese_without_spaces_has_words_by_piece():
    pieces = ["▁", "人工", "智能", "20", "24", "年", "改变", "世界", "。"]
    assert group_into_words(pieces) == [[0, 1], [2], [3, 4], [5], [6], [7], [8]]


def test_segmented_chinese_keeps_the_given_words():
    assert group_into_words(["▁联合", "国", "▁开发", "计划", "署", "▁在", "▁纽约"]) == [[0, 1], [2, 3, 4], [5], [6]]


def test_bytes_are_decoded_as_the_letters_they_spell():
    tokenizer = Tokenizer.train(["a book of words"] * 20, model_type="bpe", vocab_size=1000)
    text = "a book 책을 of €5"
    pieces = tokenizer.pieces(tokenizer.encode(text))
    assert any(piece.startswith("<0x") for piece in pieces)
    assert [join_pieces([pieces[index] for index in word]) for word in group_into_words(pieces)] == text.split()


def test_bytes_that_spell_no_letter_are_marked():
    assert join_pieces(["▁a", "<0xEA>", "b"]) == "a\ufffdb"
