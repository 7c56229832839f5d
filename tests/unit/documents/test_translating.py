"""Sentences through a translator: batches, long ones, alternatives, marks at their ends."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from regard.documents.template import plain_text_template, without_splitting
from regard.documents.translate import SentenceTranslator, translate
from regard.inference.translator import Translation
from tests.support.sentence_translators import translated, word_translator


def test_too_long_sentence_is_translated_in_pieces() -> None:
    heard: list[list[str]] = []
    text = "the cat saw the dog, and the dog saw the bird, and the bird flew away over the house"
    output = translated(plain_text_template(text), word_translator(str.upper, longest=30, heard=heard))
    assert output == text.upper()
    assert all(len(sentence) <= 30 for batch in heard for sentence in batch)


@given(st.text(st.sampled_from("ab ,."), max_size=300), st.integers(1, 20))
def test_no_word_is_lost_at_any_model_length(text: str, longest: int) -> None:
    output = translated(plain_text_template(text), word_translator(str.upper, longest=longest))
    assert output.replace(" ", "") == text.upper().replace(" ", "")


def test_unsplit_text_stays_whole_if_the_model_fits() -> None:
    heard: list[list[str]] = []
    text = " One two.\nThree! "
    output = [
        translated(without_splitting(plain_text_template(text)), word_translator(str.upper, longest=n, heard=heard))
        for n in (20, 9)
    ]
    assert heard == [["One two. Three!"], ["One two.", "Three!"]]
    assert output == [" ONE TWO. THREE! ", " ONE TWO.\nTHREE! "]


def test_sentences_are_batched_by_longest_with_progress() -> None:
    heard: list[list[str]] = []
    result: list[tuple[int, int]] = []
    lines = [letter * length for length, letters in ((1, "abcdef"), (5, "abc"), (20, "a")) for letter in letters]
    by = word_translator(str.upper, batch_size=lambda sentence: max(1, 10 // len(sentence)), heard=heard)
    asyncio.run(
        translate(
            [plain_text_template("\n".join(lines))], by, progress=lambda output, every: result.append((output, every))
        )
    )
    assert [len(batch) for batch in heard] == [1, 2, 2, 5]
    assert [sentence for batch in heard for sentence in batch] == sorted(lines, key=len, reverse=True)
    assert result == [(1, 10), (3, 10), (5, 10), (10, 10)]


def test_alternatives_combine_next_best_outputs_of_sentences() -> None:
    async def translate_sentences(sentences: list[str], is_aligned: bool) -> list[list[Translation]]:  # noqa: ARG001
        outputs = {"One.": ["A.", "B."], "Two.": ["C.", "D.", "E."]}
        return [[Translation(text, 0.0, 0.0, []) for text in outputs[sentence]] for sentence in sentences]

    (output,) = asyncio.run(
        translate(
            [plain_text_template("One.\nTwo.")], SentenceTranslator(translate_sentences, lambda _: True, lambda _: 64)
        )
    )
    assert output == ["A.\nC.", "B.\nD.", "B.\nE."]


def test_model_without_punctuation_gets_that_of_source() -> None:
    assert (
        translated(plain_text_template("One. Two! Three"), word_translator(lambda sentence: sentence.strip(".!")))
        == "One. Two! Three"
    )
    assert translated(plain_text_template("One."), word_translator(lambda _: "Un !")) == "Un !"


def test_title_gets_no_full_stop() -> None:
    outputs = {"Train station": "Gare.", "Go!": "Va.", "And so on": "etc...", "Why": "Pourquoi ?"}
    output = translated(plain_text_template("\n".join(outputs)), word_translator(outputs.__getitem__))
    assert output == "Gare\nVa.\netc...\nPourquoi ?"


def test_sentences_that_touched_are_parted_by_a_space() -> None:
    assert (
        translated(
            plain_text_template("行く。帰る。"), word_translator({"行く。": "I go.", "帰る。": "I return."}.__getitem__)
        )
        == "I go. I return."
    )
    assert translated(plain_text_template("行く。帰る。"), word_translator(str)) == "行く。帰る。"
