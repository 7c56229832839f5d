"""The models that come with regard: found by name, complete, described, small enough, and what they claim to be."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regard
from regard import pretrained
from regard.config import Config
from regard.errors import RegardError
from regard.files import MODEL, MODEL_VERSION, WEIGHTS_FILE, find_model_directory, verify_files
from regard.inference.evaluation import EvaluationReport
from regard.tracing.trace import trace_texts
from regard.training.recipes import find_recipe
from regard.worlds.scenes import caption_text, draw_scene, draw_splits, scene_caption
from regard.worlds.sentences import draw_splits as draw_labelled
from regard.worlds.sentences import split
from tests.support.commands import run_command

MAX_BYTES = 24_000_000  # of all weights together


def test_every_model_is_shipped_and_small_enough() -> None:
    assert pretrained.names() == list(pretrained.ORDER)
    weights = [pretrained.directory(name) / WEIGHTS_FILE for name in pretrained.names()]
    assert sum(path.stat().st_size for path in weights) <= MAX_BYTES


@pytest.mark.parametrize("name", pretrained.ORDER)
def test_shipped_model_matches_manifest_card_and_recipe(name: str) -> None:
    directory = find_model_directory(Path(name))
    verify_files(directory, MODEL, MODEL_VERSION)
    card = pretrained.card(name)
    assert all((card.summary, card.data, card.licence, card.attribution, card.test_set, card.figures))
    assert ("CC-BY" in card.licence and "tatoeba.org" in card.attribution) == ("Tatoeba" in card.data)
    config, recipe = Config.load(directory / "config.toml"), Config.load(find_recipe(Path(card.recipe)))
    assert config == recipe


def test_path_of_a_user_comes_before_shipped_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_model_directory(Path("en-fr")) == pretrained.directory("en-fr")
    (tmp_path / "en-fr").mkdir()
    assert find_model_directory(Path("en-fr")) == Path("en-fr")
    assert find_model_directory(Path("./world-en-ko")) == pretrained.directory("world-en-ko")  # the same for pathlib


def test_unknown_name_lists_the_shipped_models() -> None:
    for attempt in (lambda: regard.load("en-frr"), lambda: pretrained.card("en-frr")):
        with pytest.raises(RegardError, match=r"en-frr.*did you mean 'en-fr'.*en-fr, fr-en"):
            attempt()


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_source_without_final_mark_equals_closed_one(engine: Any) -> None:
    translator = regard.load("en-fr", task="translation", engine=engine)
    typed, closed = translator.translate(["Where is the train station", "Where is the train station."])
    assert typed == closed
    assert list(translator.stream("Thank you"))[-1] == "Merci."
    assert translator.trace("I love you").source == translator.trace("I love you.").source
    assert trace_texts(translator.require_bundle("traces"), "I love you", "Je t'aime.").source.words[-2] == "you."


def test_shipped_translators_translate_their_worlds() -> None:
    pairs = split("test", 60)
    for name, swapped in (("world-en-ko", False), ("world-ko-en", True)):
        sources = [pair.target if swapped else pair.source for pair in pairs]
        targets = [pair.source if swapped else pair.target for pair in pairs]
        found = [one.text for one in regard.load(name, task="translation").translate(sources, beam_size=1)]
        assert sum(map(str.__eq__, found, targets)) > 30, name


def test_shipped_captioner_describes_new_scenes() -> None:
    scenes = draw_splits({"test": 20})["test"]
    captioner = regard.load("scenes", task="image-to-text")
    found = captioner.caption([np.asarray(draw_scene(scene)) for scene in scenes])
    assert sum(one.text == caption_text(scene_caption(scene)) for one, scene in zip(found, scenes, strict=True)) > 13


def test_shipped_classifier_decides_by_word_order() -> None:
    classifier = regard.load("world-classifier", task="classification")
    pairs = draw_labelled({"test": 60}, task="who-acts")["test"]
    found = classifier.classify([pair.source for pair in pairs])
    assert sum(one.label == pair.label for one, pair in zip(found, pairs, strict=True)) > 55
    [nurse, boy] = classifier.classify(["The nurse helped the boy", "The boy helped the nurse"])
    assert (nurse.label, boy.label) == ("nurse", "boy")


def test_known_everyday_sentences_are_translated() -> None:
    ended = run_command("translate", "en-fr", "Where is the train station?", "I am tired.", "--engine", "torch")
    assert ended.code == 0
    first, second = ended.out.splitlines()
    assert first.startswith("Où ")
    assert first.endswith(" la gare ?")
    assert "fatigu" in second
    assert run_command("translate", "en-fr", "Hello.", "--input", "x").code == 2


def test_words_outside_the_training_are_named() -> None:
    translator = regard.load("en-fr", task="translation", engine="torch")
    assert translator.unknown_words("The blockchain isn't a cat, it's a Blockchain.") == ["blockchain", "Blockchain"]
    known, unknown = translator.translate(["I am tired.", "Kubernetes schedules ephemeral containers."])
    assert 0 < unknown.confidence < known.confidence < 1
    assert regard.load("world-en-ko", task="translation").unknown_words("I love chess") == ["chess"]


def test_info_shows_figures_and_licence() -> None:
    listed = json.loads(run_command("info", "--json").out)
    assert list(listed) == pretrained.names()
    shown = run_command("info", "fr-en").out
    assert "CC-BY 2.0 FR" in shown
    assert "tatoeba.org" in shown
    assert f"BLEU {listed['fr-en']['figures']['BLEU']:.1f}" in shown


def test_texts_of_the_list_are_left_aligned() -> None:
    rows = {line.split()[0]: line for line in run_command("info").out.splitlines()}
    starts = {rows[name].index(f" {pretrained.card(name).summary[:10]}") for name in pretrained.names()}
    assert len(starts) == 1


def test_shipped_report_has_three_generations_without_sentences() -> None:
    report = EvaluationReport.read(pretrained.EVALUATION_FILE)
    assert [one.model for one in report.models] == ["en-fr", "en-fr-rnn-attention", "en-fr-rnn"]
    assert report.sources == report.references == [text for one in report.models for text in one.outputs] == []
    for one in report.models:
        figures = pretrained.card(one.model).figures
        assert figures["BLEU"] == round(next(score.value for score in one.scores if score.name == "BLEU"), 1)


def test_shipped_examples_of_the_world_are_generated() -> None:
    pairs = split("test", 200)
    for suffix, texts in (("en", [one.source for one in pairs]), ("ko", [one.target for one in pairs])):
        assert (pretrained.EXAMPLES_FOLDER / f"world.{suffix}").read_text(encoding="utf-8").splitlines() == texts
