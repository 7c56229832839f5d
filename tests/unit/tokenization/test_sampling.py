import tracemalloc
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor

from regard.tokenization.sentencepiece_training import train_sentencepiece
from regard.tokenization.subword_sampling import CACHED_WORDS, BpeDropout, UnigramSampler

LINES = ["the reader reads the book", "readers read and reread the bookish books", "다시 읽은 책을 읽는다"] * 4
WORDS = st.text("redasbokth읽책字😀", min_size=1, max_size=20)


def processor(kind: str, size: int) -> SentencePieceProcessor:
    return SentencePieceProcessor(model_proto=train_sentencepiece(LINES, model_type=kind, vocab_size=size))


MERGING = [processor("bpe", 1000), processor("bpe", 50)]  # with bytes, and without
RANKING = [processor("unigram", 1000), processor("unigram", 45)]


@pytest.mark.parametrize("model", MERGING, ids=["bytes", "no bytes"])
@given(word=WORDS)
def test_merges_without_dropout_are_those_of_sentencepiece(model, word):
    assert BpeDropout(model, dropout=0.0).sample(word, Random(0)) == model.encode(word)


def test_merges_that_are_all_dropped_leave_single_characters():
    cut = BpeDropout(MERGING[0], dropout=1.0).sample("reader", Random(0))
    assert MERGING[0].id_to_piece(cut) == ["▁", "r", "e", "a", "d", "e", "r"]


@pytest.mark.parametrize(("cuts", "model"), [(BpeDropout, MERGING[0]), (UnigramSampler, RANKING[0])])
@given(word=WORDS, seed=st.integers(0, 2**63))
def test_every_segmentation_spells_the_word(cuts, model, word, seed):
    assert model.decode(cuts(model).sample(word, Random(seed))) == word


@pytest.mark.parametrize("model", RANKING, ids=["bytes", "no bytes"])
@given(word=WORDS, seed=st.integers(0, 2**63))
def test_sampled_segmentation_is_one_of_the_best(model, word, seed):
    assert UnigramSampler(model).sample(word, Random(seed)) in model.nbest_encode(word, nbest_size=64)


def test_likelier_cuts_are_drawn_more_often():
    cuts, chance = UnigramSampler(RANKING[0]), Random(0)
    drawn = Counter(tuple(cuts.sample("reading", chance)) for _ in range(2000))
    ranked = [tuple(cut) for cut in RANKING[0].nbest_encode("reading", nbest_size=64)]
    assert len(drawn) > 1
    assert drawn[ranked[0]] > drawn[ranked[-1]]


def test_the_cuts_that_are_remembered_take_little_memory():
    chance = Random(0)
    words = ["".join(chance.choices("abdeot", k=10)) for _ in range(800)]
    cuts = UnigramSampler(
        SentencePieceProcessor(model_proto=train_sentencepiece(words, model_type="unigram", vocab_size=400))
    )
    cuts.sample(words[0], chance)
    tracemalloc.start()
    try:
        for word in words:
            cuts.sample(word, chance)
        size = tracemalloc.get_traced_memory()[0] / len(words)
    finally:
        tracemalloc.stop()
    assert size > 1000  # they are remembered
    assert size * CACHED_WORDS < 100e6


def test_changing_a_sampled_segmentation_leaves_the_next():
    cuts = UnigramSampler(RANKING[0])
    first = cuts.sample("book", Random(1))
    kept = list(first)
    first.clear()
    assert cuts.sample("book", Random(1)) == kept
