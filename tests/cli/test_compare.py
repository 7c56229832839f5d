import json
import shutil
from pathlib import Path

from regard.cli.running.compare import figures
from regard.cli.running.measuring import Measured
from regard.metrics import Score
from tests.cli.toy import Regard, renamed


def wish(corpus: Path) -> list[object]:
    return ["--source", corpus / "test.en", "--reference", corpus / "test.ko", "--beam", 1, "--resamples", 5]


def test_models_stand_side_by_side(
    regard: Regard, transformer: Path, attending: Path, corpus: Path, tmp_path: Path
) -> None:
    plot = tmp_path / "length.svg"
    ended = regard("compare", transformer, attending / "model", *wish(corpus), "--plot", plot)
    assert ended.code == 0, ended.err
    head = ended.out.splitlines()[0].split()
    assert head == ["transformer", "attending"]
    for row in (
        "BLEU",
        "chrF2",
        "TER",
        "BLEU, 1–10 words (24)",
        "sentences/s",
        "tokens/s",
        "parameters",
        "bytes on disk",
    ):
        assert f"\n{row} " in ended.out
    drawn = plot.read_text(encoding="utf-8")
    assert ">transformer<" in drawn
    assert ">attending<" in drawn


def test_json_gives_the_figures_of_each_model(regard: Regard, transformer: Path, corpus: Path, tmp_path: Path) -> None:
    twin = tmp_path / "transformer" / "model"
    shutil.copytree(transformer / "model", twin)
    models = json.loads(regard("compare", transformer, twin, *wish(corpus), "--json").out)["models"]
    assert [one["model"] for one in models] == [str(transformer), str(twin)]  # the same name twice says nothing
    assert models[0]["scores"] == models[1]["scores"]
    assert models[0]["bytes"] == sum(path.stat().st_size for path in twin.iterdir())
    assert all(one["tokens_per_second"] > one["sentences_per_second"] > 0 for one in models)


def test_one_way_of_cutting_words_holds_for_all(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path
) -> None:
    nameless = renamed(transformer, tmp_path / "nameless", "[]")
    for models in ([nameless, transformer], [transformer, nameless], [nameless, nameless]):
        both = json.loads(regard("compare", *models, *wish(corpus), "--json").out)["models"]
        assert both[0]["scores"] == both[1]["scores"]
        assert "tok:13a" not in both[0]["scores"][0]["signature"]


def test_models_of_languages_that_are_cut_otherwise_are_not_compared(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path
) -> None:
    german = renamed(transformer, tmp_path / "german", "['en', 'de']")
    ended = regard("compare", transformer, german, *wish(corpus))
    assert ended.code == 2
    assert f"{german} (de: 13a) is cut in other ways" in ended.err
    both = json.loads(regard("compare", transformer, german, *wish(corpus), "--json", "--tokenize", "char").out)
    assert all("tok:char" in one["scores"][0]["signature"] for one in both["models"])


def test_a_metric_that_a_model_lacks_is_left_open() -> None:
    both, one = (
        [Score("BLEU", 30.0, "", 29.0, 31.0), Score("TER", 50.0, "", 49.0, 51.0)],
        [Score("BLEU", 20.0, "", 19.0, 21.0)],
    )
    rows = figures([measured("first", both), measured("second", one)])
    assert rows[:2] == [["BLEU", "30.0 [29.0, 31.0]", "20.0 [19.0, 21.0]"], ["TER", "50.0 [49.0, 51.0]", "–"]]


def measured(name: str, scores: list[Score]) -> Measured:
    speed = {"seconds": 1.0, "sentences_per_second": 2.0, "tokens_per_second": 20.0}
    return Measured(model=name, directory=name, sentences=2, scores=scores, lengths=[], parameters=1, bytes=1, **speed)
