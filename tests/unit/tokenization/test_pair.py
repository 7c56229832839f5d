import pytest

from regard.config import TokenizerConfig
from regard.tokenization.tokenizer import TokenizerPair, train_tokenizer_pair

KOREAN = ["나는 학교에 갑니다.", "그는 책을 읽습니다."] * 4
ENGLISH = ["I go to school.", "He reads a book."] * 4


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char", "word"])
def test_shared_vocabulary_covers_both_sides(kind):
    pair = train_tokenizer_pair(
        TokenizerConfig(model_type=kind, vocab_size=100, shared=True), iter(KOREAN), iter(ENGLISH)
    )
    assert pair.shared
    assert pair.source is pair.target
    for line in ("나는 책을", "He reads"):
        assert pair.source.decode(pair.source.encode(line)) == line


def test_separate_vocabularies_know_their_own_side():
    pair = train_tokenizer_pair(TokenizerConfig(model_type="char", vocab_size=100, shared=False), KOREAN, ENGLISH)
    assert not pair.shared
    assert pair.source.decode(pair.source.encode("나는")) == "나는"
    assert pair.target.decode(pair.target.encode("나는")) == "⁇"


def test_equal_vocabularies_are_shared_when_loaded_separately():
    config = TokenizerConfig(model_type="char", vocab_size=100, shared=True)
    first, second = (train_tokenizer_pair(config, KOREAN, ENGLISH) for _ in range(2))
    assert TokenizerPair(source=first.source, target=second.target).shared


@pytest.mark.parametrize("shared", [True, False])
def test_shared_vocabulary_is_read_once_for_both_sides(shared):
    pair = train_tokenizer_pair(TokenizerConfig(model_type="char", vocab_size=100, shared=shared), KOREAN, ENGLISH)
    again = TokenizerPair.from_bytes(pair.source.to_bytes(), pair.target.to_bytes())
    assert again == pair
    assert (again.source is again.target) == shared
