"""A saved model: config, vocabularies, weights, and a manifest of hashes. Loading one runs no code from the file."""

from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor, nn

from regard.config import Config, max_source_tokens
from regard.errors import RegardError
from regard.files import (
    CONFIG_FILE,
    MODEL,
    MODEL_VERSION,
    SOURCE_TOKENIZER_FILE,
    TARGET_TOKENIZER_FILE,
    WEIGHTS_FILE,
    atomic_directory,
    read_verified_with_manifest,
    write_manifest,
)
from regard.models.factory import build_model
from regard.tokenization.tokenizer import TokenizerPair


@dataclass(frozen=True)
class Bundle:
    """A model with its config and vocabularies."""

    config: Config
    tokenizers: TokenizerPair
    model: nn.Module
    digest: str = ""  # SHA-256 of the file that the weights were loaded from; empty: from no file

    @property
    def languages(self) -> tuple[str, str]:
        """The codes of source and target; empty where the recipe does not name them, as for an image."""
        return self.config.data.language_pair

    @property
    def num_parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.model.parameters())

    @property
    def max_source_tokens(self) -> int:
        """How many tokens of a text the model reads; a longer text is truncated."""
        return max_source_tokens(self.model.max_positions)  # type: ignore[arg-type]


def new_bundle(config: Config, tokenizers: TokenizerPair) -> Bundle:
    """An untrained model for these vocabularies."""
    sizes = {"source_vocabulary": tokenizers.source.vocab_size, "target_vocabulary": tokenizers.target.vocab_size}
    return Bundle(config, tokenizers, build_model(config.model, **sizes))


def save_bundle(directory: str | PathLike[str], bundle: Bundle) -> None:
    """Write the bundle; it appears complete or not at all, and replaces an older one only when it is complete."""
    with atomic_directory(Path(directory)) as staging:
        (staging / CONFIG_FILE).write_text(bundle.config.to_toml(), encoding="utf-8")
        (staging / SOURCE_TOKENIZER_FILE).write_bytes(bundle.tokenizers.source.to_bytes())
        (staging / TARGET_TOKENIZER_FILE).write_bytes(bundle.tokenizers.target.to_bytes())
        (staging / WEIGHTS_FILE).write_bytes(save_tensors(named_tensors(bundle.model)))
        write_manifest(staging, MODEL, MODEL_VERSION)


def load_bundle(directory: str | PathLike[str], *, device: str = "cpu") -> Bundle:
    """The bundle in a directory, each file checked against its hash."""
    directory = Path(directory)
    files, manifest = read_verified_with_manifest(directory, MODEL, MODEL_VERSION)
    missing = sorted({CONFIG_FILE, SOURCE_TOKENIZER_FILE, TARGET_TOKENIZER_FILE, WEIGHTS_FILE} - set(files))
    if missing:
        raise RegardError(f"{directory} has no {', '.join(missing)}. Restore it from a copy.")
    config = Config.from_toml(files[CONFIG_FILE].decode(), origin=str(directory / CONFIG_FILE))
    tokenizers = TokenizerPair.from_bytes(files[SOURCE_TOKENIZER_FILE], files[TARGET_TOKENIZER_FILE])
    bundle = replace(new_bundle(config, tokenizers), digest=manifest.files[WEIGHTS_FILE])
    weights = directory / WEIGHTS_FILE
    load_weights(bundle.model, read_tensors(files[WEIGHTS_FILE], weights), origin=str(weights))
    bundle.model.eval().to(device)
    return bundle


def named_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Every parameter and buffer by name; one that is shared inside a model is written once."""
    named = [*model.named_parameters(), *model.named_buffers()]
    return {name: tensor.detach().cpu().contiguous() for name, tensor in named}


def read_tensors(content: bytes, path: Path) -> dict[str, Tensor]:
    """Tensors of a safetensors file in memory (a mapped file that shrinks would kill the process)."""
    try:
        return load_tensors(content)
    except (SafetensorError, ValueError, KeyError) as error:
        raise RegardError(f"{path} is damaged: {error}. Restore it from a copy.") from None


@torch.no_grad()
def load_weights(model: nn.Module, tensors: dict[str, Tensor], *, origin: str) -> None:
    """Copy the tensors into the model; one error names all that do not fit."""
    own = dict([*model.named_parameters(), *model.named_buffers()])
    problems = [f"{name} is missing" for name in own.keys() - tensors.keys()]
    problems += [f"{name} is not part of this model" for name in tensors.keys() - own.keys()]
    problems += [
        f"{name} is {tuple(tensors[name].shape)}, not {tuple(own[name].shape)}"
        for name in own.keys() & tensors.keys()
        if tensors[name].shape != own[name].shape
    ]
    if problems:
        raise RegardError(f"{origin} does not fit the model that its config describes: {'; '.join(sorted(problems))}.")
    for name, tensor in tensors.items():
        own[name].copy_(tensor)
