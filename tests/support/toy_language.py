"""A toy language in which every word has one translation, and recipes for two small models of it."""

import random
from dataclasses import replace
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
    'precision = "float32"\n'  # the same on every processor
)


def with_languages(model: Path, copy: Path, languages: str) -> Path:
    """A copy of a model that names other languages."""
    bundle = load_bundle(model / "model")
    config = Config.from_toml(bundle.config.to_toml(), overrides=(f"data.languages={languages}",))
    save_bundle(copy, replace(bundle, config=config))
    return copy


def untrained_rnn(directory: Path, vocabularies: Path) -> Path:
    """An untrained RNN without attention; its vocabularies are those of another model."""
    model = {"kind": "rnn", "embedding_width": 16, "encoder": {"width": 24}, "decoder": {"width": 24}}
    table = {"model": model, "data": {"languages": ["en", "ko"]}}
    save_bundle(directory, new_bundle(Config.from_dict(table), load_bundle(vocabularies / "model").tokenizers))
    return directory


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
