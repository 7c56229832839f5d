import tracemalloc
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor

from regard.tokens.sampling import REMEMBERED, MergeCuts, UnigramCuts
from regard.tokens.vocabulary import learn

LINES = ["the reader reads the book", "readers read and reread the bookish books", "다시 읽은 책을 읽는다"] * 4
WORDS = st.text("redasbokth읽책字😀", min_size=1, max_size=20)


def processor(kind: str, size: int) -> SentencePieceProcessor:
    return SentencePieceProcessor(model_proto=learn(LINES, kind=kind, size=size))


MERGING = [processor("bpe", 1000), processor("bpe", 50)]  # with bytes, and without
RANKING = [processor("unigram", 1000), processor("unigram", 45)]


@pytest.mark.parametrize("model", MERGING, ids=["bytes", "no bytes"])
@given(word=WORDS)
def test_merges_without_dropout_are_those_of_sentencepiece(model, word):
    assert MergeCuts(model, dropout=0.0).draw(word, Random(0)) == model.encode(word)


def test_merges_that_are_all_dropped_leave_single_characters():
    cut = MergeCuts(MERGING[0], dropout=1.0).draw("reader", Random(0))
    assert MERGING[0].id_to_piece(cut) == ["▁", "r", "e", "a", "d", "e", "r"]


@pytest.mark.parametrize(("cuts", "model"), [(MergeCuts, MERGING[0]), (UnigramCuts, RANKING[0])])
@given(word=WORDS, seed=st.integers(0, 2**63))
def test_every_cut_spells_the_word(cuts, model, word, seed):
    assert model.decode(cuts(model).draw(word, Random(seed))) == word


@pytest.mark.parametrize("model", RANKING, ids=["bytes", "no bytes"])
@given(word=WORDS, seed=st.integers(0, 2**63))
def test_a_drawn_cut_is_one_of_the_best(model, word, seed):
    assert UnigramCuts(model).draw(word, Random(seed)) in model.nbest_encode(word, nbest_size=64)


def test_likelier_cuts_are_drawn_more_often():
    cuts, chance = UnigramCuts(RANKING[0]), Random(0)
    drawn = Counter(tuple(cuts.draw("reading", chance)) for _ in range(2000))
    ranked = [tuple(cut) for cut in RANKING[0].nbest_encode("reading", nbest_size=64)]
    assert len(drawn) > 1
    assert drawn[ranked[0]] > drawn[ranked[-1]]


def test_the_cuts_that_are_remembered_take_little_memory():
    chance = Random(0)
    words = ["".join(chance.choices("abdeot", k=10)) for _ in range(800)]
    cuts = UnigramCuts(SentencePieceProcessor(model_proto=learn(words, kind="unigram", size=400)))
    cuts.draw(words[0], chance)
    tracemalloc.start()
    try:
        for word in words:
            cuts.draw(word, chance)
        size = tracemalloc.get_traced_memory()[0] / len(words)
    finally:
        tracemalloc.stop()
    assert size > 1000  # they are remembered
    assert size * REMEMBERED < 100e6


def test_changing_a_drawn_cut_does_not_change_the_next():
    cuts = UnigramCuts(RANKING[0])
    first = cuts.draw("book", Random(1))
    kept = list(first)
    first.clear()
    assert cuts.draw("book", Random(1)) == kept
