"""Sentences through a voice: batches, long ones, alternatives, marks at their ends."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from regard.serve.documents import Voice, plain, translate
from regard.serve.documents.translating import BATCH_SENTENCES
from regard.translation.lines import Translation
from tests.serve.voices import translated, voice


def test_a_sentence_too_long_for_the_model_is_said_in_stretches() -> None:
    heard: list[list[str]] = []
    text = "the cat saw the dog, and the dog saw the bird, and the bird flew away over the house"
    said = translated(plain(text), voice(str.upper, longest=30, heard=heard))
    assert said == text.upper()
    assert all(len(sentence) <= 30 for batch in heard for sentence in batch)


@given(st.text(st.sampled_from("ab ,."), max_size=300), st.integers(1, 20))
def test_no_word_is_lost_however_little_the_model_reads(text: str, longest: int) -> None:
    said = translated(plain(text), voice(str.upper, longest=longest))
    assert said.replace(" ", "") == text.upper().replace(" ", "")


def test_many_sentences_go_in_batches_and_progress_is_told() -> None:
    heard: list[list[str]] = []
    told: list[tuple[int, int]] = []
    count = 2 * BATCH_SENTENCES + 1
    text = "\n".join(f"line {'x' * number}" for number in range(1, count + 1))
    by = voice(str.upper, heard=heard)
    asyncio.run(translate([plain(text)], by, progress=lambda said, every: told.append((said, every))))
    assert [len(batch) for batch in heard] == [BATCH_SENTENCES, BATCH_SENTENCES, 1]
    assert told == [(BATCH_SENTENCES, count), (2 * BATCH_SENTENCES, count), (count, count)]


def test_alternatives_are_made_of_the_sentences_next_best_outputs() -> None:
    async def say(sentences: list[str], is_aligned: bool) -> list[list[Translation]]:  # noqa: ARG001
        outputs = {"One.": ["A.", "B."], "Two.": ["C.", "D.", "E."]}
        return [[Translation(text, 0.0, 0.0, []) for text in outputs[sentence]] for sentence in sentences]

    (said,) = asyncio.run(translate([plain("One.\nTwo.")], Voice(say, lambda _: True)))
    assert said == ["A.\nC.", "B.\nD.", "B.\nE."]


def test_a_model_that_says_no_marks_gets_those_of_the_source() -> None:
    assert translated(plain("One. Two! Three"), voice(lambda sentence: sentence.strip(".!"))) == "One. Two! Three"
    assert translated(plain("One."), voice(lambda _: "Un !")) == "Un !"


def test_sentences_that_touched_are_parted_by_a_space() -> None:
    assert (
        translated(plain("行く。帰る。"), voice({"行く。": "I go.", "帰る。": "I return."}.__getitem__))
        == "I go. I return."
    )
    assert translated(plain("行く。帰る。"), voice(str)) == "行く。帰る。"
