"""The whole way of a model, each step as a user runs it: corpus, inspect, train, kill, resume, evaluate, export, serve,
clients, and a new model under a running server.
"""

import json
import shutil
import signal
import subprocess
import time
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import deepl
import pytest
from libretranslatepy import LibreTranslateAPI

from tests.support.commands import command, environment, run_command
from tests.support.server_process import running_server
from tests.support.toy_language import WORDS, write_corpus

STACK = "{layers=2, width=32, heads=2, ffn_width=64}"
SETTINGS = {
    "model": f"{{kind='transformer', encoder={STACK}, decoder={STACK}, dropout=0.0}}",
    "tokenizer.model_type": "word",
    "training.steps": "150",
    "training.batch_tokens": "250",
    "training.warmup_steps": "10",
    "training.learning_rate": "5e-3",
    "training.validate_every": "50",
    "training.checkpoint_every": "10",
    "training.precision": "float32",
    "training.threads": "1",
}
OPTIONS = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]
DEADLINE = 120  # seconds, for what takes a few: a busy machine is no failure
KEY = "a-key"


def run(*arguments: object, given: bytes = b"") -> str:
    """The output of a command that succeeds."""
    ended = run_command(*arguments, given=given)
    assert ended.code == 0, ended.err
    return ended.out


def write_pairs(folder: Path) -> list[object]:
    """Two corpora of the toy language, as the options that name them."""
    write_corpus(folder)
    for split in ("train", "valid", "test"):
        sides = ((folder / f"{split}.{code}").read_text("utf-8").splitlines() for code in ("en", "ko"))
        rows = ["\t".join(row) + "\n" for row in zip(*sides, strict=True)]
        (folder / f"{split}.tsv").write_text("".join(rows), "utf-8")
    messages = [f'msgid "{english}"\nmsgstr "{korean}"\n' for english, korean in WORDS.items()]
    (folder / "words.po").write_text("\n".join(messages), "utf-8")
    pairs = ["--pairs", folder / "train.tsv", "--pairs", folder / "words.po"]
    return [*pairs, "--valid-pairs", folder / "valid.tsv", "--languages", "en,ko"]


def kill_after_a_checkpoint(run_directory: Path, *arguments: object) -> None:
    """Start a command, and send SIGKILL when the run has a checkpoint but no end."""
    process = subprocess.Popen(command(*arguments), stdout=subprocess.DEVNULL, env=environment())
    deadline = time.monotonic() + DEADLINE
    while not list(run_directory.glob("checkpoints/step-????????")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.kill()
    assert process.wait(DEADLINE) == -signal.SIGKILL


def weights_hash(run_directory: Path) -> str:
    return sha256((run_directory / "model" / "model.safetensors").read_bytes()).hexdigest()


@pytest.mark.slow
def test_model_from_corpus_to_hot_swap(tmp_path: Path) -> None:
    data = write_pairs(tmp_path)
    reports = json.loads(run("data", "inspect", *data, "--json"))["data"]["corpora"]
    assert [report["kept"] for report in reports] == [200, len(WORDS)]

    killed, whole = tmp_path / "killed", tmp_path / "whole"
    kill_after_a_checkpoint(killed, "train", *data, *OPTIONS, "--run", killed)
    refused = run_command("train", "--pairs", tmp_path / "test.tsv", "--run", killed, "--resume")
    assert (refused.code, "cannot be resumed with other data" in refused.err) == (2, True)
    assert "resuming from step" in run("train", *data, "--run", killed, "--resume")
    run("train", *data, *OPTIONS, "--run", whole)
    assert weights_hash(killed) == weights_hash(whole)

    model, sources = killed / "model", (tmp_path / "test.en").read_bytes()
    figures = json.loads(run("evaluate", model, "--pairs", tmp_path / "test.tsv", "--json"))
    assert figures["sentences"] == 24
    assert next(score["value"] for score in figures["scores"] if score["name"] == "BLEU") > 50
    translations = run("translate", model, given=sources)
    run("export", model, "--to", "ctranslate2", tmp_path / "exported", "--quantization", "float32")
    assert run("translate", tmp_path / "exported", given=sources) == translations

    run("train", *data, *OPTIONS, "--set", "training.steps=1", "--run", tmp_path / "other")
    [source, *_], [translation, *_] = sources.decode().splitlines(), translations.splitlines()
    other = run("translate", tmp_path / "other" / "model", given=source.encode()).rstrip("\n")
    assert other != translation
    with running_server(tmp_path / "log", killed, key=KEY) as address:
        libre = LibreTranslateAPI(address, api_key=KEY)
        assert libre.translate(source, "en", "ko") == translation
        with closing(deepl.DeepLClient(KEY, server_url=address.rstrip("/"))) as client:
            answer = client.translate_text(source, source_lang="EN", target_lang="KO")
        assert str(answer) == translation
        replace_model(model, tmp_path / "other" / "model")
        deadline, output = time.monotonic() + DEADLINE, translation
        while output == translation:  # every request is answered, by the one model or by the other
            assert time.monotonic() < deadline
            output = libre.translate(source, "en", "ko")
        assert output == other


def replace_model(model: Path, new: Path) -> None:
    """Put another model in the place of one, as the end of a training run does."""
    shutil.copytree(new, staged := model.with_name("model.new"))
    model.rename(model.with_name("model.old"))
    staged.rename(model)
