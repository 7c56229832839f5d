"""A toy language, recipes for two small models of it, and how to run a command in a process of its own."""

import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from regard.bundle import load_bundle, new_bundle, save_bundle
from regard.config import Config

WORDS = {
    "one": "하나",
    "two": "둘",
    "red": "빨간",
    "cat": "고양이",
    "dog": "개",
    "sees": "본다",
    "big": "큰",
    "runs": "달린다",
}
STACK = "{layers = 2, width = 32, heads = 2, ffn_width = 64}"
MODELS = {
    "transformer": f'[model]\nkind = "transformer"\nencoder = {STACK}\ndecoder = {STACK}\ndropout = 0.0\n',
    "attending": (
        '[model]\nkind = "rnn-attention"\nembedding_width = 24\nencoder = {width = 32}\ndecoder = {width = 32}\n'
    ),
}
TRAINING = (
    "steps = 60\nbatch_tokens = 250\nwarmup_steps = 10\nlearning_rate = 5e-3\n"
    "validate_every = 30\ncheckpoint_every = 30\n"
    'precision = "float32"\n'  # whatever the processor has, so that a test is the same everywhere
)


@dataclass(frozen=True)
class Finished:
    """What a command left behind."""

    code: int
    out: str
    err: str


Regard = Callable[..., Finished]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", **more}


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-W", "error", "-m", "regard", *map(str, arguments)]


def in_a_process(*arguments: object, given: bytes = b"", **more: str) -> Finished:
    """Run a command as a user does."""
    ended = subprocess.run(
        command(*arguments), input=given, capture_output=True, env=environment(**more), check=False, timeout=600
    )
    return Finished(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def renamed(model: Path, copy: Path, languages: str) -> Path:
    """A copy of a model that names other languages."""
    bundle = load_bundle(model / "model")
    config = Config.from_toml(bundle.config.to_toml(), overrides=(f"data.languages={languages}",))
    save_bundle(copy, replace(bundle, config=config))
    return copy


def fixed_context(place: Path, vocabularies: Path) -> Path:
    """A model whose target cannot look at its source, not trained; its vocabularies are another's."""
    model = {"kind": "rnn", "embedding_width": 16, "encoder": {"width": 24}, "decoder": {"width": 24}}
    table = {"model": model, "data": {"languages": ["en", "ko"]}}
    save_bundle(place, new_bundle(Config.from_dict(table), load_bundle(vocabularies / "model").tokenizers))
    return place


def write_corpus(directory: Path) -> None:
    """Every word has one translation, in the same place, so that the gold links are 0-0 1-1 2-2."""
    chance = random.Random(3)
    for name, count in (("train", 200), ("valid", 10), ("test", 24)):
        rows = [[chance.choice(list(WORDS)) for _ in range(chance.randint(2, 6))] for _ in range(count)]
        lines = {
            "en": [" ".join(row) for row in rows],
            "ko": [" ".join(WORDS[word] for word in row) for row in rows],
            "align": [" ".join(f"{place}-{place}" for place in range(len(row))) for row in rows],
        }
        for kind, content in lines.items():
            (directory / f"{name}.{kind}").write_text("".join(f"{line}\n" for line in content), encoding="utf-8")
    for name, model in MODELS.items():
        (directory / f"{name}.toml").write_text(model + _sections(directory), encoding="utf-8")


def _sections(directory: Path) -> str:
    train, valid = ([str(directory / f"{split}.{code}") for code in ("en", "ko")] for split in ("train", "valid"))
    data = f'[data]\ntrain = {train}\nvalid = {valid}\nlanguages = ["en", "ko"]\n'
    return (
        f'[tokenizer]\nmodel_type = "word"\nvocab_size = 40\nshared = false\n{data}[training]\n{TRAINING}threads = 1\n'
    )
