"""`regard ablate`, `regard prune`, `regard align --measure` and `regard show --ablate`, as a user runs them."""

import json
import re
from pathlib import Path

from regard.cli.align import MEASURES
from regard.inference.open import load
from tests.support.commands import Regard


def on_pairs(corpus: Path) -> list[object]:
    return ["--source", corpus / "test.en", "--reference", corpus / "test.ko", "--beam", 1]


def test_ablate_lists_every_head(regard: Regard, transformer: Path, corpus: Path, tmp_path: Path) -> None:
    plot = tmp_path / "heads.svg"
    gold = ["--gold", corpus / "test.align", "--json", "--plot", plot]
    ended = regard("ablate", transformer, *on_pairs(corpus), *gold)
    assert ended.code == 0, ended.err
    report = json.loads(ended.out)
    assert len(report["heads"]) == len({(one["role"], one["layer"], one["head"]) for one in report["heads"]}) == 12
    losses = [one["quality"]["bleu"] for one in report["heads"]]
    assert losses == sorted(losses)
    assert losses[0] < report["baseline"]["bleu"]
    assert "change of BLEU" in plot.read_text()
    table = regard("ablate", transformer, *on_pairs(corpus), "--role", "cross").out
    assert len(re.findall(r"^cross \d", table, flags=re.MULTILINE)) == 4


def test_prune_writes_a_smaller_equal_model(regard: Regard, transformer: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "pruned"
    ended = regard("prune", transformer, "--heads", 2, *on_pairs(corpus), "--out", out, "--json")
    assert ended.code == 0, ended.err
    record = json.loads(ended.out)
    before, after = record["parameters"]
    assert after < before
    assert len(record["removed"]) == 2
    assert sum(load(out).config.model.decoder.cross_attention_heads) <= 4  # type: ignore[union-attr]
    assert regard("info", out).code == 0
    again = regard("prune", transformer, "--heads", 2, *on_pairs(corpus), "--out", out)
    assert again.code == 2
    assert "exists" in again.err


def test_prune_keeps_within_the_loss(regard: Regard, transformer: Path, corpus: Path, tmp_path: Path) -> None:
    words = ["--max-loss", 100, *on_pairs(corpus), "--out", tmp_path / "pruned", "--plot", tmp_path / "bleu.svg"]
    ended = regard("prune", transformer, *words)
    assert ended.code == 0, ended.err
    assert "0 more heads could be removed" in ended.out  # every loss is allowed
    assert (tmp_path / "bleu.svg").exists()
    assert regard("prune", transformer, *words, "--heads", 1).code == 2


def test_a_model_of_single_heads_is_not_pruned(regard: Regard, corpus: Path, tmp_path: Path) -> None:
    refused = regard("prune", "en-fr-rnn-attention", "--heads", 1, *on_pairs(corpus), "--out", tmp_path / "pruned")
    assert refused.code == 2
    assert "Choose a model with several heads" in refused.err


def test_align_has_every_measure(regard: Regard, transformer: Path, corpus: Path) -> None:
    words = ["align", transformer, "--source", corpus / "test.en", "--target", corpus / "test.ko"]
    words += ["--gold", corpus / "test.align", "--all-heads", "--json"]
    plain, norms, zeroed, contributions = (json.loads(regard(*words, "--measure", one).out) for one in MEASURES)
    assert len(plain["heads"]) == len(norms["heads"]) == 14
    assert [one["aer"] for one in plain["heads"]] != [one["aer"] for one in norms["heads"]]
    assert len(zeroed["heads"]) == 6  # two layers and their mean, at two decoder steps
    assert {one["measure"] for one in zeroed["heads"]} == {"value-zeroing"}
    assert {one["at"] for one in contributions["heads"]} == {"input", "output"}
    assert {(one["layer"], one["head"]) for one in contributions["heads"]} == {(None, None)}
    refused = regard(*words[:-2], "--measure", "contributions", "--layer", 1)
    assert refused.code == 2
    assert "of all layers" in refused.err


def test_show_saves_an_experiment(regard: Regard, transformer: Path, tmp_path: Path) -> None:
    page = tmp_path / "experiment.html"
    ended = regard("show", transformer, "one red cat", "--ablate", "2.1", "--out", page)
    assert ended.code == 0, ended.err
    assert re.search(r"^before: .+\n.*^after: ", ended.err, flags=re.MULTILINE)
    assert '"interventions": ["cross.2.1=zero"]' in page.read_text() or "cross.2.1=zero" in page.read_text()
    shown = regard("show", transformer, "one red cat", "--intervene", "cross.*.*=uniform")
    assert shown.code == 0, shown.err


def test_show_refuses_what_does_not_fit(regard: Regard, transformer: Path) -> None:
    for options, problem in (
        (["--ablate", "2"], "is not a layer and a head"),
        (["--ablate", "9.1"], "does not apply to this model"),
        (["--intervene", "nothing"], "has no known form"),
        (["--intervene", "hide.source.99"], "names position 99"),
        (["--intervene", "patch.block:decoder.1@99<1;two red cats"], "names position 99 of the target"),
        (["--intervene", "patch.memory@99<1;two red cats"], "names position 99 of the source"),
        (["--intervene", f"cross.1.1@1={','.join(['0.01'] * 99)}"], "names position 99 of the source"),
    ):
        ended = regard("show", transformer, "one red cat", *options)
        assert ended.code == 2
        assert problem in ended.err
