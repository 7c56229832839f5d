"""Labels of sentences, words and scenes: they follow from the meaning, are balanced, and are the same everywhere."""

from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from regard.data.images import load_image
from regard.errors import RegardError
from regard.worlds import SeededRandom
from regard.worlds.scenes import SceneWorldOptions, draw_scene, labelled_scenes
from regard.worlds.scenes import write_world as write_scenes
from regard.worlds.scenes.scene_labels import BLUE_SQUARE, RED_CIRCLE, SCENE_TASKS
from regard.worlds.sentences import draw_splits, sentence_pairs, write_world
from regard.worlds.sentences.english import in_english
from regard.worlds.sentences.meaning import Action, Clause, Question, Sentence, SentencePair, Subordinate
from regard.worlds.sentences.sentence_labels import ACTORS, SENTENCE_TASKS, main_clause_of, sentence_of_two_people


def labelled(task: str, count: int = 3_000) -> list[SentencePair]:
    return list(islice(sentence_pairs(0, task=task), count))


@pytest.mark.parametrize("task", SENTENCE_TASKS)
def test_labels_of_sentences_are_balanced(task: str) -> None:
    counts = Counter(pair.label for pair in labelled(task))
    assert max(counts.values()) < 1.3 * min(counts.values())


def test_questions_and_commands_look_like_them() -> None:
    for pair in labelled("type"):
        assert pair.source.endswith("?") == pair.target.endswith("?") == (pair.label == "question")
        assert pair.target.endswith("라") == (pair.label == "command"), pair


def test_only_the_future_has_will() -> None:
    """Whichever clause is the main one, only its future is marked: the others are in the present."""
    for pair in labelled("tense"):
        assert (pair.label == "future") == ("will" in pair.source.lower().split()), pair


def exchanged(sentence: Sentence) -> Sentence:
    """The same sentence with the two people in each other's place."""
    main = main_clause_of(sentence)
    assert isinstance(main.predicate, Action)
    mirrored = replace(main, subject=main.predicate.object, predicate=Action(main.predicate.verb, main.subject))
    match sentence:
        case Question():
            return Question(mirrored, sentence.asked)
        case Subordinate():
            return replace(sentence, main=mirrored)
    assert isinstance(sentence, Clause)
    return mirrored


def test_only_word_order_tells_who_acts() -> None:
    """The bag of words of each sentence is that of a sentence with another label."""
    rng = SeededRandom(0)
    for _ in range(1_000):
        label, sentence = sentence_of_two_people(rng)
        other = main_clause_of(exchanged(sentence)).subject
        assert other is not None
        assert other.noun.english != label
        bags = (
            Counter(word.text.lower().strip("?") for word in in_english(one)) for one in (sentence, exchanged(sentence))
        )
        assert len({frozenset(bag.items()) for bag in bags}) == 1


def test_the_actor_is_the_first_person_named() -> None:
    people = {noun.english for noun in ACTORS}
    for pair in labelled("who-acts"):
        assert next(word for word in pair.source.lower().split() if word in people) == pair.label


def test_labels_leave_the_pairs_unchanged() -> None:
    plain = list(islice(sentence_pairs(3), 300))
    with_words = list(islice(sentence_pairs(3, word_labels=True), 300))
    assert [replace(pair, source_labels=(), target_labels=()) for pair in with_words] == plain


def test_every_word_has_labels() -> None:
    tags = {"ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "NOUN", "NUM", "PART", "PRON", "PROPN", "SCONJ", "VERB"}
    for pair in islice(sentence_pairs(1, word_labels=True), 3_000):
        for text, labels in ((pair.source, pair.source_labels), (pair.target, pair.target_labels)):
            assert len(labels) == len(text.split())
            assert {one.part_of_speech for one in labels} <= tags
            assert {"predicate"} <= {one.role for one in labels}


def test_linked_content_words_share_their_role() -> None:
    """Both sides are labelled apart, from one meaning; a sure link of nouns must connect equal roles."""
    content = {"NOUN", "PROPN", "ADJ", "VERB"}
    total, equal = 0, 0
    for pair in islice(sentence_pairs(2, word_labels=True), 1_000):
        for i, j in pair.sure:
            source, target = pair.source_labels[i], pair.target_labels[j]
            if source.part_of_speech == target.part_of_speech and source.part_of_speech in content:
                total, equal = total + 1, equal + (source.role == target.role)
    assert total > 3_000
    assert equal / total > 0.99


@pytest.mark.parametrize(
    ("word", "tag", "role"),
    [
        ("robots", "NOUN", "subject"),
        ("world", "NOUN", "object"),
        ("because", "SCONJ", "link"),
        ("will", "AUX", "predicate"),
    ],
)
def test_known_words_have_their_labels(word: str, tag: str, role: str) -> None:
    found = Counter(
        labels
        for pair in islice(sentence_pairs(0, word_labels=True), 2_000)
        for text, labels in zip(pair.source.lower().split(), pair.source_labels, strict=True)
        if text == word
    )
    assert {labels.part_of_speech for labels in found} == {tag}
    assert found.most_common(1)[0][0].role == role


def test_files_of_labels(tmp_path: Path) -> None:
    write_world(tmp_path, train=30, valid=3, test=4, task="who-acts", word_labels=True)
    pairs = draw_splits({"train": 30, "valid": 3, "test": 4}, task="who-acts")["test"]
    assert (tmp_path / "test.ko.tsv").read_text("utf-8") == "".join(f"{one.target}\t{one.label}\n" for one in pairs)
    header, *blocks = (tmp_path / "test.en.conllup").read_text("utf-8").strip().replace("\n\n", "\n#\n").split("\n")
    assert header == "# global.columns = FORM UPOS ROLE"
    assert " ".join(line.split("\t")[0] for line in blocks if line != "#") == " ".join(one.source for one in pairs)
    assert not (tmp_path / "test.en").exists()


def test_unknown_task_is_an_error() -> None:
    for stream in (sentence_pairs(0, task="colour"), labelled_scenes("colour", 0)):
        with pytest.raises(RegardError, match="no task 'colour'"):
            next(iter(stream))


@pytest.mark.parametrize("task", SCENE_TASKS)
def test_labels_of_scenes_are_balanced(task: str) -> None:
    counts = Counter(scene.label for scene in islice(labelled_scenes(task, 0), 1_500))
    assert max(counts.values()) < 1.3 * min(counts.values())


def test_scene_labels_follow_from_the_shapes() -> None:
    for scene in islice(labelled_scenes("count", 1), 300):
        assert scene.label == str(sum(map(len, scene.groups)))
    for scene in islice(labelled_scenes("left-of", 1), 300):
        shapes = {shape.kind: shape for group in scene.groups for shape in group}
        assert len(shapes) == len(scene.groups)  # each kind once
        assert scene.label == ("yes" if shapes[RED_CIRCLE].x < shapes[BLUE_SQUARE].x else "no")


def test_files_of_labelled_scenes(tmp_path: Path) -> None:
    options = SceneWorldOptions(train=3, valid=2, test=2, size=32, task="left-of")
    write_scenes(tmp_path, options)
    lines = [
        line for name in ("train", "valid", "test") for line in (tmp_path / f"{name}.tsv").read_text().splitlines()
    ]
    expected = list(islice(labelled_scenes("left-of", 0), 7))
    assert [line.split("\t")[1] for line in lines] == [scene.label for scene in expected]
    last = load_image(tmp_path / lines[-1].split("\t")[0], size=32)
    assert (last == draw_scene(expected[-1], 32)).all()
