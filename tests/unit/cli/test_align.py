import json
from pathlib import Path

import pytest

from regard.metrics.alignment import alignment_error_rate, format_alignment, parse_alignments
from tests.support.commands import Regard
from tests.support.toy_language import untrained_rnn, with_languages


def wish(corpus: Path) -> list[object]:
    return ["--source", corpus / "test.en", "--target", corpus / "test.ko"]


def links_in(text: str) -> list[frozenset[tuple[int, int]]]:
    return [one.sure for one in parse_alignments(text.splitlines())]


def test_links_go_to_stdout_and_error_to_stderr(regard: Regard, transformer: Path, corpus: Path) -> None:
    ended = regard("align", transformer, *wish(corpus), "--gold", corpus / "test.align")
    assert ended.code == 0, ended.err
    gold = links_in((corpus / "test.align").read_text())
    score = alignment_error_rate(links_in(ended.out), gold, gold)
    assert f"{score.aer:.4f}" in ended.err
    assert "mean of layers, mean of heads, decoder output" in ended.err


def test_layers_and_heads_are_counted_from_one(regard: Regard, transformer: Path, corpus: Path) -> None:
    last = regard("align", transformer, *wish(corpus), "--layer", 2, "--head", 2, "--at", "input")
    assert last.code == 0, last.err
    assert "layer 2, head 2, decoder input" in last.err
    for option, problem in (("--layer", "there is no layer 3"), ("--head", "there is no head 3")):
        ended = regard("align", transformer, *wish(corpus), option, 3)
        assert ended.code == 2
        assert problem in ended.err


def test_best_head_errs_no_more_than_any_other(regard: Regard, transformer: Path, corpus: Path) -> None:
    gold = ["--gold", corpus / "test.align", "--json"]
    best = json.loads(regard("align", transformer, *wish(corpus), *gold, "--best-head").out)
    mean = json.loads(regard("align", transformer, *wish(corpus), *gold).out)
    assert best["score"]["aer"] <= mean["score"]["aer"]
    assert best["selections"][0].startswith("best by the gold links themselves: ")
    assert len(best["links"]) == best["pairs"] == 24


def test_every_head_is_listed_with_best_first(regard: Regard, transformer: Path, corpus: Path) -> None:
    words = ["align", transformer, *wish(corpus), "--gold", corpus / "test.align"]
    record = json.loads(regard(*words, "--all-heads", "--json").out)
    errors = [one["aer"] for one in record["heads"]]
    assert record["pairs"] == 24
    assert errors == sorted(errors)
    places = {(one["layer"], one["head"], one["at"]) for one in record["heads"]}
    assert len(places) == len(errors) == (2 * 2 + 2 + 1) * 2  # heads, means of heads, the mean of all; said and read
    for one in (record["heads"][0], record["heads"][-1]):
        named = [f"--{name}={one[name]}" for name in ("layer", "head", "at") if one[name] is not None]
        assert one["aer"] == json.loads(regard(*words, *named, "--json").out)["score"]["aer"]
    best = json.loads(regard(*words, "--best-head", "--json").out)
    assert best["score"]["aer"] == errors[0]
    head, _, first, *_ = regard(*words, "--all-heads").out.splitlines()
    assert head.split("  ")[0] == "layer"
    assert f"{errors[0]:.4f}" in first


def test_single_head_is_not_repeated_as_a_mean(regard: Regard, attending: Path, corpus: Path) -> None:
    ended = regard("align", attending, *wish(corpus), "--gold", corpus / "test.align", "--all-heads", "--json")
    found = [(one["layer"], one["head"], one["at"]) for one in json.loads(ended.out)["heads"]]
    assert sorted(found) == [(1, 1, "input"), (1, 1, "output")]


def test_model_without_attention_has_no_alignment(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path
) -> None:
    fixed = untrained_rnn(tmp_path / "fixed", transformer)
    for how in ("--best-head", "--all-heads"):
        ended = regard("align", fixed, *wish(corpus), "--gold", corpus / "test.align", how)
        assert ended.code == 2
        assert "this model has no attention between target and source" in ended.err


def test_best_head_is_chosen_on_the_development_set(
    regard: Regard, attending: Path, corpus: Path, tmp_path: Path
) -> None:
    output = tmp_path / "links"
    developing = [("--dev-source", "valid.en"), ("--dev-target", "valid.ko"), ("--dev-gold", "valid.align")]
    options = [word for name, file in developing for word in (name, corpus / file)]
    ended = regard("align", attending, *wish(corpus), "--best-head", *options, "--output", output, "--json")
    assert ended.code == 0, ended.err
    record = json.loads(ended.out)
    assert record["selections"][0].startswith("best by the development set: ")
    assert record["score"] is None
    assert len(output.read_text().splitlines()) == 24


def test_two_directions_are_joined(
    regard: Regard, transformer: Path, attending: Path, corpus: Path, tmp_path: Path
) -> None:
    # The other model only says that it is of the other direction, and reads the Korean as unknown words: its links are
    # links.
    backward = with_languages(attending, tmp_path / "backward", "['ko-KR', 'en']")
    both = {}
    for how in ("intersection", "union"):
        ended = regard("align", transformer, *wish(corpus), "--reverse", backward, "--symmetrization", how)
        assert ended.code == 0, ended.err
        assert f"combined by {how}" in ended.err
        both[how] = links_in(ended.out)
    usual = regard("align", transformer, *wish(corpus), "--reverse", backward)
    assert "combined by grow-diag-final-and" in usual.err
    forward = links_in(regard("align", transformer, *wish(corpus)).out)
    for smaller, own, larger in zip(both["intersection"], forward, both["union"], strict=True):
        assert smaller <= own <= larger
        assert all(source < 6 and target < 6 for source, target in larger)


def test_reverse_model_must_have_the_other_direction(
    regard: Regard, transformer: Path, attending: Path, corpus: Path
) -> None:
    ended = regard("align", transformer, *wish(corpus), "--reverse", attending)
    assert ended.code == 2
    assert f"{attending} en to ko. --reverse needs a model of the opposite direction" in ended.err


def test_links_file_is_scored_without_a_model(regard: Regard, tmp_path: Path) -> None:
    found, gold = tmp_path / "found", tmp_path / "gold"
    found.write_text("0-0 1-1\n0-1\n")
    gold.write_text("1-1 2p2 3-3\n1-1\n")
    ended = regard("align", "--hypothesis", found, "--gold", gold, "--gold-index-base", 1)
    assert (ended.code, ended.err) == (0, "")
    cells = [line.split() for line in ended.out.splitlines()]
    assert ["precision", "0.6667"] in cells  # 0-0 is sure, 1-1 possible, 0-1 wrong
    assert ["recall", "0.3333"] in cells
    assert ["AER", "0.5000"] in cells  # 1 - (1 + 2) / (3 + 3)


def test_links_counted_from_one_get_a_warning(regard: Regard, corpus: Path, tmp_path: Path) -> None:
    right, moved = corpus / "test.align", tmp_path / "moved.align"
    gold = parse_alignments(right.read_text().splitlines())
    moved.write_text("".join(f"{format_alignment(one, one_based=True)}\n" for one in gold))
    ended = regard("align", "--hypothesis", right, "--gold", moved)
    assert ended.err.startswith(f"warning: {moved}: no link has index 0")
    assert "add --gold-index-base 1" in ended.err
    ended = regard("align", "--hypothesis", moved, "--gold", right)
    assert ended.err.startswith(f"warning: {moved}: no link has index 0")
    assert "subtract 1 from each" in ended.err
    for words in ([right, "--gold", right], [right, "--gold", moved, "--gold-index-base", 1], [moved, "--gold", moved]):
        ended = regard("align", "--hypothesis", *words)
        assert (ended.code, ended.err) == (0, "")
        assert ["AER", "0.0000"] in [line.split() for line in ended.out.splitlines()]


def test_few_sentences_do_not_reveal_the_link_base(regard: Regard, tmp_path: Path) -> None:
    found, gold = tmp_path / "found", tmp_path / "gold"
    found.write_text("0-0\n" * 4)
    gold.write_text("1-1\n" * 4)
    assert regard("align", "--hypothesis", found, "--gold", gold).err == ""


@pytest.mark.parametrize("option", ["--gold", "--dev-gold"])
@pytest.mark.parametrize(("line", "base"), [("0-0 2-0", 0), ("0-0 0p1", 0), ("1-1 3-1", 1)])
def test_links_beyond_a_sentence_are_refused(
    regard: Regard, attending: Path, tmp_path: Path, option: str, line: str, base: int
) -> None:
    files = {"en": "one\none cat\n", "ko": "하나\n하나\n", "gold": f"{base}-{base}\n{line}\n"}
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    en, ko, gold = (tmp_path / name for name in files)
    words = ["align", attending, "--source", en, "--target", ko, option, gold, "--gold-index-base", base]
    words += ["--best-head", "--dev-source", en, "--dev-target", ko] if option == "--dev-gold" else []
    ended = regard(*words)
    assert ended.code == 2
    assert f"{gold}:2: {line.split()[1].replace('p', '-')} is out of range" in ended.err
    assert f"the sentences have 2 and 1 words, counted from {base}" in ended.err
    assert ("--gold-index-base 1" in ended.err) == (base == 0)


def test_a_dash_is_standard_output(
    regard: Regard, attending: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["align", attending, *wish(corpus)]
    assert regard(*words, "--output", "-").out == regard(*words).out != ""
    assert not list(tmp_path.iterdir())


def test_word_mark_is_no_word_that_was_truncated(regard: Regard, transformer: Path, tmp_path: Path) -> None:
    (tmp_path / "en").write_text("one \N{LOWER ONE EIGHTH BLOCK} cat\n", encoding="utf-8")
    (tmp_path / "ko").write_text("하나 고양이\n", encoding="utf-8")
    ended = regard("align", transformer, "--source", tmp_path / "en", "--target", tmp_path / "ko")
    assert (ended.code, "warning" in ended.err) == (0, False)


def test_blank_lines_keep_their_place(regard: Regard, transformer: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "en", tmp_path / "ko"
    source.write_text("one cat\n\none\n")
    target.write_text("하나 고양이\n하나\n\n", encoding="utf-8")
    ended = regard("align", transformer, "--source", source, "--target", target)
    assert [bool(line) for line in ended.out.split("\n")] == [True, False, False, False]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "give a model, --source and --target"),
        (["{model}"], "give a model, --source and --target"),
        (["--hypothesis", "{gold}"], "needs --gold to be scored against"),
        (
            ["{model}", "--source", "{en}", "--target", "{ko}", "--best-head"],
            "--best-head needs gold links",
        ),
        (
            ["{model}", "--source", "{en}", "--target", "{ko}", "--dev-gold", "{gold}"],
            "need each other and --best-head",
        ),
        (["{model}", "--source", "{en}", "--target", "{ko}", "--gold", "{short}"], "24 sentence pairs and 10 lines"),
        (
            ["--hypothesis", "{gold}", "--gold", "{gold}", "--reverse", "nowhere", "--layer", "3", "--source", "{en}"],
            "but --source, --layer, --reverse is for a model. Remove it",
        ),
        (
            ["--hypothesis", "{gold}", "--gold", "{gold}", "--at", "output", "--best-head"],
            "but --at, --best-head is for a model",
        ),
        (
            ["{model}", "--source", "{en}", "--target", "{ko}", "--symmetrization", "union"],
            "--symmetrization union combines the links",
        ),
        (
            ["{model}", "--source", "{en}", "--target", "{ko}", "--gold", "{gold}", "--best-head", "--at", "input"],
            "--best-head chooses layer, head and decoder step",
        ),
        (["{model}", "--source", "{en}", "--target", "{ko}", "--all-heads"], "against gold links. Give --gold"),
        (
            [
                "{model}",
                "--source",
                "{en}",
                "--target",
                "{ko}",
                "--gold",
                "{gold}",
                "--all-heads",
                "--head",
                "1",
                "--best-head",
            ],
            "of one model. Remove --head, --best-head.",
        ),
        (
            [
                "{model}",
                "--source",
                "{en}",
                "--target",
                "{ko}",
                "--gold",
                "{gold}",
                "--all-heads",
                "--output",
                "nowhere",
            ],
            "--all-heads prints errors and writes no links",
        ),
        (["--hypothesis", "{gold}", "--gold", "{gold}", "--all-heads"], "but --all-heads is for a model"),
        (["--hypothesis", "{gold}", "--gold", "{en}"], "is not a link"),
        (["--hypothesis", "{gold}", "--gold", "{gold}", "--gold-index-base", "1"], "counted from 1"),
    ],
)
def test_impossible_option_is_refused(
    regard: Regard, transformer: Path, corpus: Path, words: list[str], problem: str
) -> None:
    places = {"model": transformer, "en": corpus / "test.en", "ko": corpus / "test.ko"}
    places |= {"gold": corpus / "test.align", "short": corpus / "valid.align"}
    ended = regard("align", *(word.format(**places) for word in words))
    assert ended.code == 2
    assert problem in ended.err
