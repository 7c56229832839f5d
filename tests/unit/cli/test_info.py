import json
from pathlib import Path

from tests.support.commands import Regard


def test_a_run_and_its_model_are_the_same(regard: Regard, transformer: Path) -> None:
    assert regard("info", transformer, "--json").out == regard("info", transformer / "model", "--json").out


def test_json_has_config_size_and_files(regard: Regard, transformer: Path) -> None:
    facts = json.loads(regard("info", transformer, "--json").out)
    assert (facts["kind"], facts["languages"], facts["tokenizer"]) == ("transformer", ["en", "ko"], "word")
    assert facts["vocabulary"]["shared"] is False
    assert facts["parameters"] > 10_000
    assert facts["files"] == {path.name: path.stat().st_size for path in (transformer / "model").glob("*.*")}
    assert facts["config"]["training"]["steps"] == 60


def test_people_see_the_same(regard: Regard, attending: Path) -> None:
    ended = regard("info", attending)
    assert ended.code == 0
    for words in ("rnn-attention", "en → ko", "source", "model.safetensors", "[training]"):
        assert words in ended.out
