import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from regard.config import load
from tests.cli.toy import Regard, command, environment


def text_files(corpus: Path) -> list[object]:
    return [
        *("--source", corpus / "train.en", "--target", corpus / "train.ko"),
        *("--valid-source", corpus / "valid.en", "--valid-target", corpus / "valid.ko"),
    ]


def test_a_run_holds_config_journal_checkpoints_and_model(transformer: Path) -> None:
    assert load(transformer / "config.toml").training.steps == 60
    events = [json.loads(line) for line in (transformer / "journal.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [events[0]["event"], events[-1]["event"]] == ["began", "ended"]
    assert [path.name for path in sorted((transformer / "checkpoints").iterdir())] == ["step-00000030", "step-00000060"]
    assert (transformer / "model" / "manifest.json").exists()


def test_a_run_is_not_begun_twice(regard: Regard, transformer: Path, corpus: Path) -> None:
    before = (transformer / "journal.jsonl").read_bytes()
    ended = regard("train", corpus / "transformer.toml", "--run", transformer)
    assert ended.code == 2
    assert f"checkpoints up to step 60. Go on with `regard train --run {transformer} --resume`" in ended.err
    assert (transformer / "journal.jsonl").read_bytes() == before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_and_resume_goes_on(
    regard: Regard, corpus: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    run = tmp_path / "run"
    wish = ["train", corpus / "transformer.toml", "--run", run, "--json", "--set", "training.steps=100000"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command(*wish), env=environment(), **pipes) as process:  # type: ignore[call-overload]
        seen = (json.loads(line)["event"] for line in process.stdout)
        assert "saved" in seen
        process.send_signal(number)
        _, messages = process.communicate(timeout=60)
    assert process.returncode == code
    assert f"regard train --run {run} --resume" in messages.decode()
    stopped = json.loads((run / "journal.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    assert stopped["event"] == "saved"

    steps = stopped["step"] + 3
    ended = regard("train", "--run", run, "--resume", "--json", "--set", f"training.steps={steps}")
    assert ended.code == 0, ended.err
    events = [json.loads(line) for line in ended.out.splitlines()]
    assert (events[0]["event"], events[0]["step"]) == ("began", stopped["step"])
    assert f"going on from step {stopped['step']}" in events[0]["notes"]
    assert (events[-1]["event"], events[-1]["step"]) == ("ended", steps)
    assert (run / "model" / "manifest.json").exists()


BUSY = """
import hashlib, sys
import regard.training.pairs
from regard.cli import main

def learn(*_given):
    print("learning now", file=sys.stderr, flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", {rounds})  # as in sentencepiece: one call, in which Python sees no signal

regard.training.pairs.train_tokenizers = learn
sys.argv = {arguments}
main()
"""


@pytest.mark.parametrize(("rounds", "signals"), [(2_000_000, 1), (500_000_000, 4)])
def test_a_signal_while_the_vocabulary_is_learnt_is_answered(
    corpus: Path, tmp_path: Path, rounds: int, signals: int
) -> None:
    arguments = ["regard", "train", str(corpus / "transformer.toml"), "--run", str(tmp_path / "run"), "--json"]
    program = [sys.executable, "-u", "-c", BUSY.format(rounds=rounds, arguments=arguments)]
    with subprocess.Popen(program, env=environment(), stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        told = b""
        while not told.endswith(b"learning now\n"):
            told += process.stderr.readline()
        for _ in range(signals):
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
        rest = process.stderr.read().decode()
        assert process.wait(timeout=30) == 130
    assert rest.startswith("stopping as soon as")
    assert ("stopped; there is nothing to save yet, and the same command begins anew\n" in rest) == (signals == 1)
    assert "Traceback" not in rest
    assert not (tmp_path / "run" / "config.toml").exists()


SMALL = "{layers=1, width=16, heads=2, inner=16}"
FEW_STEPS = ["--set", "training.steps=2", "--set", "training.threads=1"]
SMALL_MODEL = [*FEW_STEPS, "--set", f"model.encoder={SMALL}", "--set", f"model.decoder={SMALL}"]


def test_without_a_recipe_defaults_are_told_and_saved(regard: Regard, corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    wish = [*text_files(corpus), "--languages", "en,ko", "--run", run, "--probe", "one cat"]
    ended = regard("train", *wish, *SMALL_MODEL)
    assert ended.code == 0, ended.err
    assert "200 pairs, about" in ended.out
    saved = load(run / "config.toml")
    assert f"tokens.size={saved.tokens.size}" in ended.out
    assert "training.warmup=0 steps" in ended.out  # what holds with --set, and not what would hold without
    assert "training.steps=2: " in ended.out
    assert "endings" not in ended.out
    assert (saved.training.steps, saved.data.languages, saved.training.probes) == (2, ["en", "ko"], ["one cat"])
    assert f"regard translate {run}/model" in ended.out


def test_files_that_end_in_codes_need_not_name_their_languages(regard: Regard, corpus: Path, tmp_path: Path) -> None:
    ended = regard("train", *text_files(corpus), "--run", tmp_path / "run", *SMALL_MODEL)
    assert ended.code == 0, ended.err
    assert "data.languages=['en', 'ko']: the endings of --source and --target" in ended.out
    assert "warning" not in ended.out + ended.err
    assert json.loads(regard("info", tmp_path / "run", "--json").out)["languages"] == ["en", "ko"]


def test_a_run_that_began_without_languages_goes_on_without_them(
    regard: Regard, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = [path.absolute() if isinstance(path, Path) else path for path in text_files(corpus)]
    begun = regard("train", *files, *SMALL_MODEL, "--set", "data.languages=[]")
    assert begun.code == 0, begun.err
    assert load(tmp_path / "runs" / "train" / "config.toml").data.languages == []
    ended = regard("train", *files, *SMALL_MODEL, "--resume", "--set", "training.steps=3")
    assert ended.code == 0, ended.err
    assert "going on from step 2" in ended.out
    assert load(tmp_path / "runs" / "train" / "config.toml").data.languages == []


def test_a_model_without_languages_is_warned_about(regard: Regard, corpus: Path, tmp_path: Path) -> None:
    ended = regard("train", corpus / "transformer.toml", "--run", tmp_path / "run", *FEW_STEPS, "--set",
                   "data.languages=[]")  # fmt: skip
    assert ended.code == 0, ended.err
    [warning] = [line for line in ended.out.splitlines() if line.startswith("warning: ")]
    assert "data.languages is not named: the LibreTranslate and DeepL APIs" in warning


@pytest.mark.parametrize(
    "setting",
    [
        "training.device=abacus",
        "data.languages=['en']",
        "data.languages=en",
        "data.valid=['{corpus}/valid.en', '{corpus}/test.ko']",
        "data.valid=['{corpus}/nothing', '{corpus}/nothing']",
        "data.valid=[]",
        "model.share_embeddings=true",
    ],
)
def test_what_is_cheap_to_find_is_found_before_the_vocabulary_is_learnt(
    regard: Regard, corpus: Path, tmp_path: Path, setting: str
) -> None:
    (corpus / "nothing").touch()
    ended = regard("train", corpus / "transformer.toml", "--run", tmp_path / "run", "--set",
                   setting.format(corpus=corpus))  # fmt: skip
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ")
    assert not (tmp_path / "run" / "tokens").exists()


CAPTIONER = ["--set", "model={kind='captioner-rnn'}", "--set", "data.languages=['ko']"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "there is nothing to train"),
        (["--source", "x"], "--target, --valid-source, --valid-target are missing"),
        (["--source", "x", "--target", "y", "--valid-source", "z"], "--valid-target is missing"),
        (["{recipe}", "--source", "x"], "text files (--source) exclude each other"),
        (["{recipe}", "--languages", "en,ko"], "--languages en,ko goes with --source and --target"),
        (
            ["--source", "x", "--target", "y", "--valid-source", "z", "--valid-target", "z", "--languages", "en"],
            "data.languages: expected two codes",
        ),
        (["--resume", "--run", "nowhere"], "nowhere is not a run: it has no config.toml"),
        (["nowhere.toml"], "nowhere.toml cannot be read"),
        (["{recipe}", "--set", "training.stepz=2"], "training.stepz: unknown key (did you mean 'steps'?)"),
        (
            ["{recipe}", "--set", "training.steps=-2"],
            "training.steps: Expected `int` >= 1, got -2 (--set training.steps=-2)",
        ),
        (["{recipe}", "--set", "training.steps"], "has no value. Write section.key=value"),
        (["{recipe}", "--set", "training.steps.more=2"], "steps is a value, not a section"),
        (["{recipe}", "--set", "model={kind='encoder-only'}"], "'encoder-only', which says no sentences"),
        (["{recipe}", "--set", "data.train=['gone/train.en', 'gone/train.ko']"], "data world sentences --out gone"),
        (
            ["{recipe}", *CAPTIONER, "--set", "data.train=['gone/scenes', 'train']"],
            "data world scenes --out gone/scenes",
        ),
        (["{recipe}", "--set", "training.metric=cider"], "'cider', which is for captions"),
        (["{recipe}", "--set", "data.valid=[]"], "data.valid is empty"),
        (["{recipe}", "--set", "training.device=abacus"], "training.device is 'abacus', which cannot be used"),
    ],
)
def test_a_wish_that_cannot_be_met_is_told(
    regard: Regard, corpus: Path, tmp_path: Path, words: list[str], problem: str
) -> None:
    run = [] if "--run" in words or not words else ["--run", tmp_path / "run"]
    ended = regard(
        "train",
        *(word.format(recipe=corpus / "transformer.toml") if "recipe" in word else word for word in words),
        *run,
    )
    assert ended.code == 2
    assert problem in ended.err
    assert "Traceback" not in ended.err


def test_a_try_that_failed_on_its_data_can_be_repeated(regard: Regard, corpus: Path, tmp_path: Path) -> None:
    run, recipe = tmp_path / "run", corpus / "transformer.toml"
    few = ["--set", "training.steps=2", "--set", "tokens.kind=char", "--set", "training.threads=1"]
    failed = regard("train", recipe, "--run", run, "--set", "data.maximum_length=1", "--set", "training.steps=2")
    assert failed.code == 2
    assert (run / "tokens" / "source.tokens").exists()
    ended = regard("train", recipe, "--run", run, *few)
    assert ended.code == 0, ended.err
    assert json.loads(regard("info", run, "--json").out)["tokens"] == "char"  # and not the words of the first try


def test_a_resumed_run_keeps_its_model(regard: Regard, attending: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(attending, run)
    ended = regard("train", "--run", run, "--resume", "--set", "model.embedding=8")
    assert ended.code == 2
    assert "the section(s) model differ" in ended.err
