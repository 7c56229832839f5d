"""The model that a run starts from (fine-tuning): its config, its copy in the run, its weights, and its frozen parts.

A run keeps its own copy, so that it starts and resumes with the same bits wherever the original is later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import nn

from regard.bundle import load_bundle, named_tensors
from regard.config import (
    AttentionRNNClassifierConfig,
    Config,
    EncoderOnlyConfig,
    ImageClassifierConfig,
    ModelConfig,
    Task,
    task_of,
)
from regard.errors import RegardError
from regard.files import (
    CONFIG_FILE,
    MODEL,
    MODEL_VERSION,
    SOURCE_TOKENIZER_FILE,
    TARGET_TOKENIZER_FILE,
    atomic_file,
    copy_model,
    find_model_directory,
    read_manifest,
    weights_digest,
)
from regard.languages import base_code

START_FOLDER = "start"  # of the copy in a run's directory
# Options of a model that change how it is trained, and not its weights.
TRAINING_ONLY = {"dropout", "attention_dropout", "doubly_stochastic"}
NEW_HEADS: dict[type, tuple[str, ...]] = {  # parts that another task, or other labels, may replace
    EncoderOnlyConfig: ("head.",),
    AttentionRNNClassifierConfig: ("output.",),
    ImageClassifierConfig: ("output.",),
}
HEAD_OPTIONS: dict[type, set[str]] = {
    EncoderOnlyConfig: {"classes", "masked_head", "pooling", "pooler_activation"},
    AttentionRNNClassifierConfig: {"classes"},
    ImageClassifierConfig: {"classes"},
}


@dataclass(frozen=True)
class StartModel:
    """A saved model to start from."""

    name: str  # as it was given
    directory: Path
    config: Config
    digest: str  # SHA-256 of its weights

    @property
    def kind(self) -> str:
        return str(type(self.config.model).__struct_config__.tag)


@dataclass(frozen=True)
class LoadedWeights:
    """Which tensors of a new model were copied from another one, by name."""

    loaded: list[str]
    initialised: list[str]  # not in the other model, or of another shape there: they have new random values
    unused: list[str]  # of the other model, and not part of the new one

    def describe(self, name: str) -> str:
        """For people: counts, and every name that was not copied."""
        parts = [f"{len(self.loaded)} tensors loaded from {name}"]
        parts += [f"initialised: {', '.join(self.initialised)}"] if self.initialised else ["none initialised"]
        return "; ".join(parts + ([f"not used: {', '.join(self.unused)}"] if self.unused else []))


def read_start_model(name: str) -> StartModel:
    """What a run needs to know about a model before it starts; the weights are not read yet."""
    directory = find_model_directory(Path(name))
    read_manifest(directory, MODEL, MODEL_VERSION)
    return StartModel(name, directory, Config.load(directory / CONFIG_FILE), weights_digest(directory))


def copy_start_model(start: Path, run: Path, digest: str) -> None:
    """Copy the model into the run, and its vocabularies to where the run reads them."""
    copy = run / START_FOLDER
    copy_model(start, copy)
    if weights_digest(copy) != digest:
        raise RegardError(f"{start} has changed while the run was prepared. Start it again.")
    (run / "tokenizer").mkdir(exist_ok=True)
    for side, name in (("source", SOURCE_TOKENIZER_FILE), ("target", TARGET_TOKENIZER_FILE)):
        with atomic_file(run / "tokenizer" / f"{side}.spm") as file:
            file.write((copy / name).read_bytes())


@torch.no_grad()
def load_start_weights(model: nn.Module, config: ModelConfig, run: Path) -> LoadedWeights:
    """Copy the weights of the run's start model into a new model, by name and shape.

    Only the head may differ, where another task replaces it: everything else has to fit.
    """
    directory = run / START_FOLDER
    if not directory.is_dir():
        raise RegardError(f"{directory} is missing: the model that the run started from. Restore it, or start over.")
    given = named_tensors(load_bundle(directory).model)
    own = dict([*model.named_parameters(), *model.named_buffers()])
    fitting = {name for name in own if name in given and given[name].shape == own[name].shape}
    initialised, unused = [name for name in own if name not in fitting], [name for name in given if name not in own]
    heads = NEW_HEADS.get(type(config), ())
    if wrong := [name for name in (*initialised, *unused) if not name.startswith(heads)]:
        raise RegardError(f"{directory} does not fit the model of this run: {', '.join(wrong)}.")
    for name in fitting:
        own[name].copy_(given[name])
    return LoadedWeights([name for name in own if name in fitting], initialised, unused)


def freeze_parameters(model: nn.Module, parts: Sequence[str]) -> None:
    """Exclude parts of a model from training: "embeddings", or every parameter whose name begins with a part.

    The statistics of a batch normalisation whose weights are frozen stay as they are, too.
    """
    named = dict(model.named_parameters())
    for part in parts:
        frozen = [name for name in named if is_in_part(name, part)]
        if not frozen:
            choices = sorted({name.split(".")[0] for name in named})
            raise RegardError(
                f"training.freeze has {part!r}, which names no parameter. Choose embeddings, or the beginning of a "
                f"parameter's name: {', '.join(choices)}, or one inside them, as in encoder.blocks.0."
            )
        for name in frozen:
            named[name].requires_grad_(False)
    if not any(parameter.requires_grad for parameter in named.values()):
        raise RegardError(f"training.freeze is {list(parts)}, and nothing is left to train. Remove a part.")
    for module in model.modules():
        is_frozen = not any(parameter.requires_grad for parameter in module.parameters())
        if is_frozen and isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.eval()


def is_in_part(name: str, part: str) -> bool:
    """Whether a parameter belongs to a part of `training.freeze`."""
    if part == "embeddings":
        return any(step.endswith("embedding") for step in name.split("."))
    return f"{name}.".startswith(f"{part}.")


# --- what a run may not change ---------------------------------------------------------------------------------------


def check_same_architecture(config: Config, start: StartModel) -> None:
    """An error if the recipe or an override describes another model or another vocabulary."""
    model, own = (msgspec.to_builtins(one) for one in (config.model, start.config.model))
    free = TRAINING_ONLY | HEAD_OPTIONS.get(type(start.config.model), set())
    problems = [*_differences(model, own, "model", free)]
    tokenizer, own = (msgspec.to_builtins(one) for one in (config.tokenizer, start.config.tokenizer))
    problems += _differences(tokenizer, own, "tokenizer", {"sampling_rate"})
    if problems:
        raise RegardError(
            f"a run from {start.name} keeps its architecture and its vocabulary, but the options differ: "
            f"{'; '.join(problems)}. Remove them, or train a new model without --from."
        )


def check_same_kind(table: Mapping[str, Any], overrides: Sequence[str], start: StartModel) -> None:
    """An error if a recipe or an override names another kind of model."""
    section = table.get("model", {})
    kinds = [section["kind"]] if isinstance(section, Mapping) and "kind" in section else []
    given = [override.partition("=") for override in overrides]
    kinds += [value.strip().strip("'\"") for key, _, value in given if key.strip() == "model.kind"]
    if others := [kind for kind in kinds if kind != start.kind]:
        raise RegardError(
            f"model.kind is {others[0]!r}, but {start.name} is a {start.kind} model. Remove it, or train a new model "
            "without --from."
        )


def _differences(given: dict[str, Any], own: dict[str, Any], path: str, free: set[str]) -> list[str]:
    found: list[str] = []
    for key in sorted(given.keys() | own.keys()):
        here, there = given.get(key), own.get(key)
        if isinstance(here, dict) and isinstance(there, dict):
            found += _differences(here, there, f"{path}.{key}", set())
        elif here != there and key not in free:
            found.append(f"{path}.{key} is {here!r} and the model has {there!r}")
    return found


def check_same_languages(given: list[str], start: StartModel, *, are_by_endings: bool) -> list[str]:
    """The languages of the run: those of the model; an error if others are given."""
    own = start.config.data.languages
    if not own or not given:
        return own or given
    if [base_code(code) for code in given] == [base_code(code) for code in own]:
        return given
    direction = "translates" if len(own) == 2 else "is for"
    by = ", by the endings of the files" if are_by_endings else ""
    advice = f"Give data in {' and '.join(own)}, in this order"
    raise RegardError(
        f"{start.name} {direction} {' to '.join(own)}, but the data are {' to '.join(given)}{by}. {advice}"
        + (f", or --languages {','.join(own)} if the endings mean something else." if are_by_endings else ".")
    )


def check_data_kind(start: StartModel, kind: str) -> None:
    """An error if the examples are not those of the model's task; a masked language model may learn labels, too."""
    task = task_of(start.config.model)
    wanted: dict[Task, dict[str, str]] = {
        "translation": {"pairs": "--source and --target, or --pairs"},
        "text-generation": {"text": "--text FILE"},
        "fill-mask": {"text": "--text FILE", "labels": "--labels FILE"},
        "classification": {"labels": "--labels FILE"},
    }
    if task == "image-to-text":
        raise RegardError(
            f"{start.name} describes images. Name its files of captions in a recipe, or with --set data.train=... and "
            "--set data.valid=..."
        )
    if kind not in wanted[task]:
        raise RegardError(f"{start.name} is a {start.kind} model, which needs {' or '.join(wanted[task].values())}.")
