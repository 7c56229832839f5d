import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from regard.config import AttentionRNNCaptionerConfig, Config, DataConfig, EfficientNetConfig, TransformerConfig
from regard.files import CONFIG_FILE
from regard.training.default_config import CorpusSize, default_config, fine_tuning_rate
from regard.training.run_directory import load_run_config, record_working_directory
from tests.support.commands import Regard, command, environment, started
from tests.support.small_images import ATTENDING, picture_config


def text_files(corpus: Path) -> list[object]:
    return [
        *("--source", corpus / "train.en", "--target", corpus / "train.ko"),
        *("--valid-source", corpus / "valid.en", "--valid-target", corpus / "valid.ko"),
    ]


def endless(corpus: Path, run: Path, *more: object) -> list[str]:
    return command("train", corpus / "transformer.toml", "--run", run, "--set", "training.steps=100000", *more)


def test_a_run_holds_config_journal_checkpoints_and_model(transformer: Path) -> None:
    assert Config.load(transformer / "config.toml").training.steps == 60
    events = [json.loads(line) for line in (transformer / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [events[0]["event"], events[-1]["event"]] == ["start", "end"]
    assert [path.name for path in sorted((transformer / "checkpoints").iterdir())] == ["step-00000030", "step-00000060"]
    assert (transformer / "model" / "manifest.json").exists()


def test_run_is_not_started_twice(regard: Regard, transformer: Path, corpus: Path) -> None:
    before = (transformer / "events.jsonl").read_bytes()
    ended = regard("train", corpus / "transformer.toml", "--run", transformer)
    assert ended.code == 2
    assert f"checkpoints up to step 60. Continue it with `regard train --run {transformer} --resume`" in ended.err
    assert (transformer / "events.jsonl").read_bytes() == before


@pytest.mark.slow
@pytest.mark.usefixtures("default_hangup")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signal_saves_and_resume_continues(
    regard: Regard, corpus: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    run = tmp_path / "run"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(endless(corpus, run, "--json"), env=environment(), **pipes) as process:
        seen = (json.loads(line)["event"] for line in process.stdout)
        assert "checkpoint" in seen
        process.send_signal(number)
        _, messages = process.communicate(timeout=300)
    assert process.returncode == code
    assert f"regard train --run {run} --resume" in messages.decode()
    stopped = json.loads((run / "events.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    assert stopped["event"] == "checkpoint"

    steps = stopped["step"] + 3
    ended = regard("train", "--run", run, "--resume", "--json", "--set", f"training.steps={steps}")
    assert ended.code == 0, ended.err
    events = [json.loads(line) for line in ended.out.splitlines()]
    assert (events[0]["event"], events[0]["step"]) == ("start", stopped["step"])
    assert f"resuming from step {stopped['step']}" in events[0]["notes"]
    assert (events[-1]["event"], events[-1]["step"]) == ("end", steps)
    assert (run / "model" / "manifest.json").exists()


def last_event(run: Path) -> str:
    """The end of a run's journal; its steps are saved, so that it can go on, if that is `checkpoint`."""
    event: str = json.loads((run / "events.jsonl").read_text(encoding="utf-8").splitlines()[-1])["event"]
    return event


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--json"], ["--processes", "2"]])
def test_run_with_closed_output_is_saved(corpus: Path, tmp_path: Path, words: list[str]) -> None:
    run, pipes = tmp_path / "run", {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(endless(corpus, run, *words), env=environment(), **pipes) as process:
        while b"progress" not in (line := process.stdout.readline()) and b"tokens/s" not in line:
            assert line
        process.stdout.close()
        messages = process.stderr.read().decode()
        assert process.wait(timeout=300) == 141
    assert "the output cannot be written (Broken pipe): stopping after this step\n" in messages
    assert f"regard train --run {run} --resume" in messages
    assert last_event(run) == "checkpoint"


IN_A_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


@pytest.mark.slow
@pytest.mark.usefixtures("default_hangup")
def test_a_run_whose_terminal_is_closed_is_saved(corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    screen, terminal = os.openpty()
    program = [sys.executable, "-c", IN_A_TERMINAL, *endless(corpus, run)]
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), terminal)
    with started(program, env=environment(), **streams) as process:
        os.close(terminal)
        while not (run / "checkpoints").exists():
            os.read(screen, 4096)
        os.close(screen)  # the system sends SIGHUP, as to a process whose window was closed
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGHUP)  # and so does a shell
        assert process.wait(timeout=300) == 129
    assert last_event(run) == "checkpoint"


@pytest.mark.slow
def test_run_under_nohup_continues(corpus: Path, tmp_path: Path) -> None:
    run, pipes = tmp_path / "run", {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    program = ["nohup", *endless(corpus, run, "--json")]
    with started(program, env=environment(), **pipes) as process:
        seen = (json.loads(line)["event"] for line in process.stdout)
        assert "checkpoint" in seen
        process.send_signal(signal.SIGHUP)
        assert "validation" in seen
        assert "checkpoint" in seen
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=300)
    assert process.returncode == 143


BUSY = """
import hashlib, sys
import regard.training.preprocessing
from regard.cli import main

def learn(*_given):
    print("learning now", file=sys.stderr, flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", {rounds})  # as in sentencepiece: one call, in which Python sees no signal

regard.training.preprocessing.train_tokenizer_pair = learn
sys.argv = {arguments}
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("rounds", "signals"), [(20_000_000, 1), (500_000_000, 4)])
def test_signal_during_vocabulary_training_is_handled(corpus: Path, tmp_path: Path, rounds: int, signals: int) -> None:
    arguments = ["regard", "train", str(corpus / "transformer.toml"), "--run", str(tmp_path / "run"), "--json"]
    program = [sys.executable, "-u", "-c", BUSY.format(rounds=rounds, arguments=arguments)]
    with started(program, env=environment(), stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        result = b""
        while not result.endswith(b"learning now\n"):
            result += process.stderr.readline()
        for _ in range(signals):
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
        rest = process.stderr.read().decode()
        assert process.wait(timeout=300) == 130
    assert rest.startswith("stopping after this step")
    assert ("stopped; there is nothing to save yet, and the same command starts over\n" in rest) == (signals == 1)
    assert "Traceback" not in rest
    assert not (tmp_path / "run" / "config.toml").exists()


SMALL = "{layers=1, width=16, heads=2, ffn_width=16}"
FEW_STEPS = ["--set", "training.steps=2", "--set", "training.threads=1"]
SMALL_MODEL = [*FEW_STEPS, "--set", f"model.encoder={SMALL}", "--set", f"model.decoder={SMALL}"]


def test_without_recipe_defaults_are_reported_and_saved(regard: Regard, corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    wish = [*text_files(corpus), "--languages", "en,ko", "--run", run, "--probe", "one cat"]
    ended = regard("train", *wish, *SMALL_MODEL)
    assert ended.code == 0, ended.err
    assert "200 pairs, about" in ended.out
    saved = Config.load(run / "config.toml")
    assert f"tokenizer.vocab_size={saved.tokenizer.vocab_size}" in ended.out
    assert "training.warmup_steps=0 steps" in ended.out  # what holds with --set, and not what would hold without
    assert "training.steps=2: " in ended.out
    assert "endings" not in ended.out
    assert (saved.training.steps, saved.data.languages, saved.training.probes) == (2, ["en", "ko"], ["one cat"])
    assert f"regard translate {run}/model" in ended.out


def chosen_for(pairs: int) -> TransformerConfig:
    """The model that a corpus of so many pairs gets."""
    model = default_config(DataConfig(), CorpusSize(pairs, 30 * pairs)).model
    assert isinstance(model, TransformerConfig)
    return model


def test_one_file_of_pairs_is_enough(regard: Regard, corpus: Path, tmp_path: Path) -> None:
    write_table(corpus, tmp_path / "pairs.tsv")
    wish = ["--pairs", tmp_path / "pairs.tsv", "--languages", "en,ko", "--run", tmp_path / "run"]
    ended = regard("train", *wish, *FEW_STEPS)
    assert ended.code == 0, ended.err
    saved = Config.load(tmp_path / "run" / "config.toml")
    assert (saved.data.train, saved.data.valid) == ([str(tmp_path / "pairs.tsv")], [])
    assert saved.model == chosen_for(200)
    assert f"pairs are held out of the training files, in {tmp_path / 'run' / 'held-out.jsonl'}" in ended.out
    assert regard("info", tmp_path / "run").code == 0
    again = regard("train", *wish, "--resume", "--set", "training.steps=3")
    assert again.code == 0, again.err
    assert "resuming from step 2" in again.out
    assert (
        Config.load(tmp_path / "run" / "config.toml").training.threads == 1
    )  # as it began, though nobody named it again


def test_validation_pairs_may_be_one_file(regard: Regard, corpus: Path, tmp_path: Path) -> None:
    write_table(corpus, tmp_path / "pairs.tsv")
    wish = ["--source", corpus / "train.en", "--target", corpus / "train.ko", "--valid-pairs", tmp_path / "pairs.tsv"]
    ended = regard("train", *wish, "--run", tmp_path / "run", *SMALL_MODEL)
    assert ended.code == 0, ended.err
    assert Config.load(tmp_path / "run" / "config.toml").data.valid == [str(tmp_path / "pairs.tsv")]
    assert not (tmp_path / "run" / "held-out.jsonl").exists()


@pytest.mark.parametrize("has_recipe", [False, True])
def test_corpus_without_model_gets_one_of_its_size(
    regard: Regard, corpus: Path, tmp_path: Path, has_recipe: bool
) -> None:
    write_table(corpus, tmp_path / "pairs.tsv")
    recipe = tmp_path / "recipe.toml"
    recipe.write_text("[tokenizer]\nmodel_type = 'word'\n[training]\nseed = 5\n")
    setting = f"data.train=['{tmp_path / 'pairs.tsv'}']"
    wish = [*([recipe] if has_recipe else []), "--set", setting, "--run", tmp_path / "run", *FEW_STEPS]
    ended = regard("train", *wish)
    assert ended.code == 0, ended.err
    assert "200 pairs, about" in ended.out
    saved = Config.load(tmp_path / "run" / "config.toml")
    assert saved.model == chosen_for(200)
    assert (saved.tokenizer.model_type, saved.training.seed) == (("word", 5) if has_recipe else ("unigram", 0))

    with (tmp_path / "pairs.tsv").open("a") as file:
        file.writelines(f"{index}\t{index}\n" for index in range(20_000))  # enough for a larger model to begin with
    again = regard("train", *wish, "--resume", "--set", "training.steps=3")
    assert again.code == 0, again.err
    assert Config.load(tmp_path / "run" / "config.toml").model == saved.model


def write_table(corpus: Path, path: Path) -> None:
    """The training pairs of the corpus in one file."""
    sides = ((corpus / f"train.{code}").read_text(encoding="utf-8").splitlines() for code in ("en", "ko"))
    path.write_text("".join(f"{source}\t{target}\n" for source, target in zip(*sides, strict=True)), encoding="utf-8")


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["train.en", "train.ko", "valid.ko", "valid.en"], "valid.en are ko to en by their endings, but the model"),
        (["train.ko", "train.en", "valid.ko", "valid.en", "en,ko"], "translates en to ko. Swap the files"),
        (["train.en", "../{name}/train.en", "valid.en", "valid.ko"], "is both source and target"),
        (["train.en", "train.ko", "valid.en", "valid.en"], "data.valid: "),
    ],
)
def test_swapped_files_are_reported(
    regard: Regard, corpus: Path, tmp_path: Path, names: list[str], problem: str
) -> None:
    options = ["--source", "--target", "--valid-source", "--valid-target"]
    paths = [corpus / name.format(name=corpus.name) for name in names[:4]]
    languages = ["--languages", names[4]] if len(names) > 4 else []
    files = [word for both in zip(options, paths, strict=True) for word in both]
    ended = regard("train", *files, *languages, "--run", tmp_path / "run", *SMALL_MODEL)
    assert ended.code == 2
    assert problem in ended.err
    recipe = [
        "--set",
        f"data.train={[str(path) for path in paths[:2]]}",
        "--set",
        f"data.valid={[*map(str, paths[2:])]}",
    ]
    by_recipe = regard("train", corpus / "transformer.toml", *recipe, "--run", tmp_path / "run")
    assert (by_recipe.code, problem in by_recipe.err) == (2, True)
    assert not (tmp_path / "run").exists()


def test_validating_on_training_data_gives_a_warning(regard: Regard, corpus: Path, tmp_path: Path) -> None:
    same = ["--set", f"data.valid={[str(corpus / 'train.en'), str(corpus / 'train.ko')]}"]
    ended = regard("train", corpus / "transformer.toml", "--run", tmp_path / "run", *FEW_STEPS, *same)
    assert ended.code == 0, ended.err
    warnings = [line for line in ended.out.splitlines() if line.startswith("warning: ")]
    assert "data.valid is the same as data.train" in warnings[0]
    assert "200 of the 200 validation pairs are training pairs too" in warnings[1]


def test_file_suffix_codes_set_the_languages(regard: Regard, corpus: Path, tmp_path: Path) -> None:
    ended = regard("train", *text_files(corpus), "--run", tmp_path / "run", *SMALL_MODEL)
    assert ended.code == 0, ended.err
    assert "data.languages=['en', 'ko']: the endings of --source and --target" in ended.out
    assert "data.languages is empty" not in ended.out + ended.err
    assert json.loads(regard("info", tmp_path / "run", "--json").out)["languages"] == ["en", "ko"]


def test_run_without_languages_resumes_without_them(
    regard: Regard, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = [path.absolute() if isinstance(path, Path) else path for path in text_files(corpus)]
    begun = regard("train", *files, *SMALL_MODEL, "--set", "data.languages=[]")
    assert begun.code == 0, begun.err
    assert Config.load(tmp_path / "runs" / "train" / "config.toml").data.languages == []
    ended = regard("train", *files, *SMALL_MODEL, "--resume", "--set", "training.steps=3")
    assert ended.code == 0, ended.err
    assert "resuming from step 2" in ended.out
    assert Config.load(tmp_path / "runs" / "train" / "config.toml").data.languages == []


def test_options_unused_by_a_captioner_are_reported(regard: Regard, scenes: Path, tmp_path: Path) -> None:
    config = picture_config(scenes, model=ATTENDING, steps=1)
    (tmp_path / "recipe.toml").write_text(config.to_toml())
    quiet = regard("train", tmp_path / "recipe.toml", "--run", tmp_path / "quiet")
    assert quiet.code == 0, quiet.err
    assert "without effect" not in quiet.out
    unused = ["--set", "tokenizer.shared=false", "--set", "data.deduplicate=true"]
    result = regard("train", tmp_path / "recipe.toml", "--run", tmp_path / "told", *unused)
    assert result.code == 0, result.err
    unused = "which has text on one side only: data.deduplicate, tokenizer.shared"
    assert f"without effect on a model for image-to-text, {unused}" in result.out


def test_a_model_without_languages_is_warned_about(regard: Regard, corpus: Path, tmp_path: Path) -> None:
    ended = regard("train", corpus / "transformer.toml", "--run", tmp_path / "run", *FEW_STEPS, "--set",
                   "data.languages=[]")  # fmt: skip
    assert ended.code == 0, ended.err
    warnings = [line for line in ended.out.splitlines() if line.startswith("warning: ")]
    assert "data.languages is empty: the LibreTranslate and DeepL APIs" in warnings[0]


@pytest.mark.parametrize(
    "setting",
    [
        "training.device=abacus",
        "data.languages=['en']",
        "data.languages=en",
        "data.valid=['{corpus}/valid.en', '{corpus}/test.ko']",
        "data.valid=['{corpus}/nothing', '{corpus}/nothing']",
        "model.share_embeddings=true",
    ],
)
def test_cheap_errors_come_before_vocabulary_training(
    regard: Regard, corpus: Path, tmp_path: Path, setting: str
) -> None:
    (corpus / "nothing").touch()
    ended = regard("train", corpus / "transformer.toml", "--run", tmp_path / "run", "--set",
                   setting.format(corpus=corpus))  # fmt: skip
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ")
    assert not (tmp_path / "run" / "tokenizer").exists()


CAPTIONER = ["--set", "model={kind='captioner-rnn'}", "--set", "data.languages=['ko']"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "there is nothing to train"),
        (["--source", "x"], "--target is missing. Give --source and --target, or --pairs with one file of pairs (.tsv"),
        (["--source", "x", "--target", "y", "--valid-source", "z"], "--valid-target is missing"),
        (["--pairs", "x.tsv", "--target", "y"], "--source is missing"),
        (
            ["--pairs", "x.tsv", "--valid-pairs", "x.tsv", "--valid-source", "y", "--valid-target", "z"],
            "--valid-pairs has sources and targets",
        ),
        (
            ["--valid-pairs", "x.tsv"],
            "--valid-pairs without a file to train on. Give --source and --target, or --pairs",
        ),
        (["--set", "data.train=[]"], "data.train is empty. Name a file of pairs"),
        (["--pairs", "x.tmx"], "x.tmx may contain many languages"),
        (["{recipe}", "--source", "x"], "text files (--source) exclude each other"),
        (["{recipe}", "--languages", "en,ko"], "--languages en,ko needs --source and --target"),
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
        (["{recipe}", "--set", "data.train=['gone/train.en', 'gone/train.ko']"], "data generate sentences --out gone"),
        (
            ["{recipe}", *CAPTIONER, "--set", "data.train=['gone/scenes', 'train']"],
            "data generate scenes --out gone/scenes",
        ),
        (["{recipe}", "--set", "training.validation_metric=cider"], "'cider', which is not measured for translation"),
        (["{recipe}", *CAPTIONER, "--set", "data.valid=[]"], "data.valid is empty. Name a file of captions"),
        (["{recipe}", "--set", "training.device=abacus"], "training.device is 'abacus', which cannot be used"),
    ],
)
def test_impossible_option_is_reported(
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


def test_attempt_that_failed_on_data_can_be_repeated(regard: Regard, corpus: Path, tmp_path: Path) -> None:
    run, recipe = tmp_path / "run", corpus / "transformer.toml"
    few = ["--set", "training.steps=2", "--set", "tokenizer.model_type=char", "--set", "training.threads=1"]
    failed = regard("train", recipe, "--run", run, "--set", "data.max_tokens=1", "--set", "training.steps=2")
    assert failed.code == 2
    assert (run / "tokenizer" / "source.spm").exists()
    ended = regard("train", recipe, "--run", run, *few)
    assert ended.code == 0, ended.err
    assert json.loads(regard("info", run, "--json").out)["tokenizer"] == "char"  # and not the words of the first try


def test_run_resumes_from_anywhere_and_after_moving(
    regard: Regard, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    shutil.copytree(corpus, home / "data", ignore=shutil.ignore_patterns("runs"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(home)
    files = {f"data.{name}": [f"data/{name}.en", f"data/{name}.ko"] for name in ("train", "valid")}
    wish = [word for key, paths in files.items() for word in ("--set", f"{key}={paths}")]
    begun = regard("train", "data/transformer.toml", *wish, "--run", "runs/mine", *FEW_STEPS)
    assert begun.code == 0, begun.err
    assert Config.load(home / "runs" / "mine" / "config.toml").data.train == files["data.train"]

    moved = home.rename(tmp_path / "moved")
    for steps, place in ((3, moved), (4, tmp_path / "elsewhere"), (5, moved / "runs")):
        monkeypatch.chdir(place)
        ended = regard("train", "--run", moved / "runs" / "mine", "--resume", "--set", f"training.steps={steps}")
        assert ended.code == 0, ended.err
        assert f"resuming from step {steps - 1}" in ended.out
    found = Config.load(moved / "runs" / "mine" / "config.toml").data.train
    assert [Path(path).resolve() for path in found] == [moved / path for path in files["data.train"]]

    (moved / "data" / "train.en").unlink()
    failed = regard("train", "--run", moved / "runs" / "mine", "--resume")
    assert failed.code == 2
    assert f"{moved / 'data' / 'train.en'} cannot be read: there is no such file" in failed.err


def test_only_paths_of_a_captioner_are_resolved(scenes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    overrides = (
        "data.train=['scenes', 'train']",
        f"data.valid=['{scenes}', 'valid']",
        "data.image_folder=pictures",
        "training.probes=['one.png']",
        "model.image_encoder={kind='efficientnet-lite0', weights='encoder'}",
    )
    for name in ("scenes", "pictures", "encoder", "one.png", "train"):
        (there / name).mkdir(parents=True)
    here.mkdir()
    config = Config.from_toml(picture_config(scenes, model=ATTENDING, steps=1).to_toml(), overrides=overrides)
    (there / CONFIG_FILE).write_text(config.to_toml(), encoding="utf-8")
    monkeypatch.chdir(there)
    record_working_directory(there)
    monkeypatch.chdir(here)
    resolved = load_run_config(there)
    assert resolved.data.train == [str(there / "scenes"), "train"]
    assert resolved.data.valid == [str(scenes), "valid"]
    assert (resolved.data.image_folder, resolved.data.image_store) == (str(there / "pictures"), "")
    assert resolved.training.probes == [str(there / "one.png")]
    assert isinstance(resolved.model, AttentionRNNCaptionerConfig)
    assert isinstance(resolved.model.image_encoder, EfficientNetConfig)
    assert resolved.model.image_encoder.weights == str(there / "encoder")


def test_a_resumed_run_keeps_its_model(regard: Regard, attending: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(attending, run)
    ended = regard("train", "--run", run, "--resume", "--set", "model.embedding_width=8")
    assert ended.code == 2
    assert "the section(s) model differ" in ended.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--source", "train.ko", "--target", "train.en"], "translates en to ko, but the data are ko to en"),
        (["--text", "train.en"], "is a transformer model, which needs --source and --target, or --pairs"),
        (["--source", "train.en", "--target", "train.ko", "--languages", "en,de"], "but the data are en to de"),
    ],
)
def test_fine_tuning_refuses_data_that_contradict(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    given = [corpus / one if one.startswith("train.") else one for one in options]
    ended = regard("train", "--from", transformer, "--run", tmp_path / "run", *given)
    assert ended.code == 2
    assert message in ended.err
    assert not (tmp_path / "run").exists()


def test_fine_tuning_prints_where_it_started(regard: Regard, transformer: Path, corpus: Path, tmp_path: Path) -> None:
    options = ["--set", "training.steps=2", "--set", "training.threads=1"]
    ended = regard("train", "--from", transformer, "--run", tmp_path / "run", *text_files(corpus), *options)
    assert ended.code == 0
    assert f"fine-tuning {transformer}" in ended.out
    assert "step 0/2  validation" in ended.out
    assert f"tensors loaded from {transformer}; none initialised" in ended.out


def test_three_old_pairs_are_replayed_for_each_new(
    regard: Regard, transformer: Path, corpus: Path, tmp_path: Path
) -> None:
    lines = [(corpus / f"train.{code}").read_text(encoding="utf-8").splitlines() for code in ("en", "ko")]
    rows = ["\t".join(pair) for pair in zip(*lines, strict=True)]
    (tmp_path / "new.tsv").write_text("\n".join(rows[:10]) + "\n", encoding="utf-8")
    old = ["--replay", corpus / "train.en", "--replay", corpus / "train.ko", "--old-valid", corpus / "valid.en"]
    ended = regard(
        *("train", "--from", transformer, "--pairs", tmp_path / "new.tsv", "--valid-pairs", tmp_path / "new.tsv"),
        *(*old, "--old-valid", corpus / "valid.ko", "--run", tmp_path / "run"),
        *("--set", "training.steps=2", "--set", "training.threads=1", "--skip-language-check"),
    )
    assert ended.code == 0, ended.err
    assert "old data  loss" in ended.out
    config = Config.load(tmp_path / "run" / CONFIG_FILE)
    new, replayed = config.data.sources
    assert new.weight == 1.0
    assert replayed.weight == pytest.approx(3 * 10 / len(rows), abs=0.001)
    assert config.training.learning_rate == fine_tuning_rate(config.model, is_replay=True)
    assert config.training.learning_rate < fine_tuning_rate(config.model)  # the old data are to be kept


@pytest.mark.parametrize("option", ["--replay", "--old-valid"])
def test_old_data_need_a_start_model(regard: Regard, corpus: Path, option: str) -> None:
    ended = regard("train", *text_files(corpus), option, corpus / "train.en")
    assert ended.code == 2
    assert "are for fine-tuning. Give the model with --from" in ended.err
