"""A saved model: config, vocabularies, weights, and a manifest of hashes. Loading one can run no code of its maker."""

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor, nn

from regard.config import Config, from_toml, to_toml
from regard.errors import RegardError
from regard.manifest import read_with_list, write_manifest
from regard.models.catalogue import build
from regard.staged import staged_directory
from regard.tokens import Tokenizers

KIND, VERSION = "model", 1
CONFIG, WEIGHTS, SOURCE, TARGET = "config.toml", "weights.safetensors", "source.tokens", "target.tokens"


@dataclass(frozen=True)
class Bundle:
    """A model with all that is needed to use it."""

    config: Config
    tokenizers: Tokenizers
    model: nn.Module
    digest: str = ""  # SHA-256 of the file that the weights were loaded from; empty: they come from none

    @property
    def languages(self) -> tuple[str, str]:
        """The codes of source and target; empty where the recipe did not name them, as for a picture."""
        *source, target = self.config.data.languages or ("", "")
        return "".join(source), target


def new_bundle(config: Config, tokenizers: Tokenizers) -> Bundle:
    """An untrained model for these vocabularies."""
    sizes = {"source_vocabulary": tokenizers.source.size, "target_vocabulary": tokenizers.target.size}
    return Bundle(config, tokenizers, build(config.model, **sizes))


def save_bundle(directory: Path, bundle: Bundle) -> None:
    """Write the bundle whole or not at all; one that is there already is replaced only by a finished one."""
    with staged_directory(directory) as staging:
        (staging / CONFIG).write_text(to_toml(bundle.config), encoding="utf-8")
        (staging / SOURCE).write_bytes(bundle.tokenizers.source.to_bytes())
        (staging / TARGET).write_bytes(bundle.tokenizers.target.to_bytes())
        (staging / WEIGHTS).write_bytes(save_tensors(tensors_of(bundle.model)))
        write_manifest(staging, KIND, VERSION)


def load_bundle(directory: Path | str, *, device: str = "cpu") -> Bundle:
    """The bundle in a directory, checked file by file, ready to be used."""
    directory = Path(directory)
    files, manifest = read_with_list(directory, KIND, VERSION)
    missing = sorted({CONFIG, SOURCE, TARGET, WEIGHTS} - set(files))
    if missing:
        raise RegardError(f"{directory} has no {', '.join(missing)}. Restore it from a copy.")
    config = from_toml(files[CONFIG].decode(), origin=str(directory / CONFIG))
    tokenizers = Tokenizers.from_bytes(files[SOURCE], files[TARGET])
    bundle = replace(new_bundle(config, tokenizers), digest=manifest.files[WEIGHTS])
    restore(bundle.model, read_tensors(files[WEIGHTS], directory / WEIGHTS), origin=str(directory / WEIGHTS))
    bundle.model.eval().to(device)
    return bundle


def tensors_of(model: nn.Module) -> dict[str, Tensor]:
    """Every parameter and buffer once, by name: what is shared inside a model is not written twice."""
    named = [*model.named_parameters(), *model.named_buffers()]
    return {name: tensor.detach().cpu().contiguous() for name, tensor in named}


def read_tensors(content: bytes, path: Path) -> dict[str, Tensor]:
    """Tensors of a safetensors file that has been read into memory (a mapped file that shrinks kills its reader)."""
    try:
        return load_tensors(content)
    except (SafetensorError, ValueError, KeyError) as error:
        raise RegardError(f"{path} is damaged: {error}. Restore it from a copy.") from None


@torch.no_grad()
def restore(model: nn.Module, tensors: dict[str, Tensor], *, origin: str) -> None:
    """Put the tensors into the model; one error names all that do not fit."""
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
