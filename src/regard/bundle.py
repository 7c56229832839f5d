"""A saved model: config, vocabularies, weights, and a manifest of hashes. Loading one runs no code from the file."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from regard.config import Config, max_source_tokens
from regard.errors import RegardError
from regard.files import (
    CONFIG_FILE,
    MODEL,
    MODEL_VERSION,
    SOURCE_TOKENIZER_FILE,
    TARGET_TOKENIZER_FILE,
    WEIGHTS_FILE,
    VerifiedFiles,
    atomic_directory,
    check_replaceable,
    read_while_unchanged,
    write_manifest,
)
from regard.models.factory import build_model
from regard.process import available_memory
from regard.safetensors_header import TensorInfo
from regard.struct_decoding import MAX_SHOWN_PROBLEMS, shorten
from regard.tokenization.known_words import KnownWords, words_of
from regard.tokenization.tokenizer import TokenizerPair

KNOWN_WORDS_FILE = "words.bin"
BUNDLE_FILES = (CONFIG_FILE, SOURCE_TOKENIZER_FILE, TARGET_TOKENIZER_FILE, WEIGHTS_FILE)


@dataclass(frozen=True)
class Bundle:
    """A model with its config and vocabularies."""

    config: Config
    tokenizers: TokenizerPair
    model: nn.Module
    digest: str = ""  # SHA-256 of the file that the weights were loaded from; empty: from no file
    known_words: KnownWords | None = None  # of the source texts that it was trained on, where they were recorded

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

    def unknown_words(self, text: str) -> list[str]:
        """The words of a source text that the model does not know, each once.

        Where the words of its training text were recorded, they are those that are not among them; else those that the
        vocabulary has no pieces for.
        """
        if self.known_words is None:
            return self.tokenizers.source.unknown_words(text)
        return [word for word in dict.fromkeys(words_of(text)) if word not in self.known_words]


class SkipInitialization(TorchFunctionMode):
    """Within, a model is built without random weights: they are read from a file, or only the shapes are needed."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is torch.randn:
            return torch.empty(*args, **kwargs)
        is_initializer = getattr(func, "__module__", "") == "torch.nn.init"
        if is_initializer or getattr(func, "__name__", "") in ("uniform_", "normal_", "div", "mul"):
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def _build(config: Config, tokenizers: TokenizerPair) -> nn.Module:
    sizes = {"source_vocabulary": tokenizers.source.vocab_size, "target_vocabulary": tokenizers.target.vocab_size}
    return build_model(config.model, **sizes)


def _named(model: nn.Module) -> dict[str, Tensor]:
    return dict([*model.named_parameters(), *model.named_buffers()])


def describe_tensors(config: Config, tokenizers: TokenizerPair) -> dict[str, Tensor]:
    """The parameters and buffers of a model by name, with shapes and without memory; refused if they cannot fit."""
    try:
        with torch.device("meta"), SkipInitialization():
            tensors = _named(_build(config, tokenizers))
        required = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    except (RuntimeError, OverflowError):  # the number of bytes has more than 63 bits
        required = 1 << 63
    if required > (available := available_memory()):
        raise RegardError(
            f"the model needs {required:,} bytes for its weights, and {available:,} are available. Reduce the widths "
            "or layers in its config, or use a machine with more memory."
        )
    return tensors


def new_bundle(config: Config, tokenizers: TokenizerPair) -> Bundle:
    """An untrained model for these vocabularies."""
    describe_tensors(config, tokenizers)
    return Bundle(config, tokenizers, _build(config, tokenizers))


def save_bundle(
    directory: str | PathLike[str],
    bundle: Bundle,
    *,
    dtype: torch.dtype | None = None,
    more_files: Mapping[str, bytes] | None = None,
) -> None:
    """Write the bundle; it appears complete or not at all, and replaces an older one only when it is complete.

    `dtype` is that of the weights in the file: float16 halves it. A loaded model computes in float32 all the same.
    """
    check_replaceable(Path(directory))
    tensors = named_tensors(bundle.model)
    if dtype is not None:
        tensors = {name: one.to(dtype) if one.is_floating_point() else one for name, one in tensors.items()}
    with atomic_directory(Path(directory)) as staging:
        (staging / CONFIG_FILE).write_text(bundle.config.to_toml(), encoding="utf-8")
        (staging / SOURCE_TOKENIZER_FILE).write_bytes(bundle.tokenizers.source.to_bytes())
        (staging / TARGET_TOKENIZER_FILE).write_bytes(bundle.tokenizers.target.to_bytes())
        (staging / WEIGHTS_FILE).write_bytes(save_tensors(tensors))
        if bundle.known_words is not None:
            (staging / KNOWN_WORDS_FILE).write_bytes(bundle.known_words.to_bytes())
        for name, content in (more_files or {}).items():
            (staging / name).write_bytes(content)
        write_manifest(staging, MODEL, MODEL_VERSION)


def load_bundle(directory: str | PathLike[str], *, device: str = "cpu") -> Bundle:
    """The bundle in a directory, each file checked against its hash. Nothing is built before everything fits."""
    bundle = read_while_unchanged(Path(directory), MODEL, MODEL_VERSION, _read_bundle)
    try:
        bundle.model.eval().to(device)
    except (RuntimeError, AssertionError) as error:  # torch has no type of its own for either
        reason = str(error).partition("\n")[0][:100]
        raise RegardError(
            f"the device {device!r} cannot be used: {reason}. Give one of this machine, as cpu."
        ) from None
    return bundle


def _read_bundle(files: VerifiedFiles) -> Bundle:
    files.require(*BUNDLE_FILES)
    config = Config.from_toml(files.read(CONFIG_FILE), origin=str(files.directory / CONFIG_FILE))
    vocabularies = files.read(SOURCE_TOKENIZER_FILE), files.read(TARGET_TOKENIZER_FILE)
    with _named_problems(files.directory):
        tokenizers = TokenizerPair.from_bytes(*vocabularies)
    weights = files.directory / WEIGHTS_FILE

    def check_header(header: dict[str, TensorInfo]) -> None:
        stacks = [getattr(config.model, name, None) for name in ("encoder", "decoder", "transformer")]
        layers = sum(getattr(stack, "layers", 0) for stack in stacks)
        if layers > len(header):  # known without the time to build them
            raise RegardError(f"{weights} has {len(header)} tensors, and its config describes {layers} layers.")
        _check_fit(describe_tensors(config, tokenizers), header, origin=str(weights))

    content = files.read(WEIGHTS_FILE, check_header)
    known = files.read(KNOWN_WORDS_FILE) if KNOWN_WORDS_FILE in files.digests else None
    files.verify(*sorted(files.digests.keys() - {*BUNDLE_FILES, KNOWN_WORDS_FILE}))
    with SkipInitialization():
        model = _build(config, tokenizers)
    tensors = read_tensors(content, weights)
    if broken := [name for name, tensor in tensors.items() if not bool(tensor.float().isfinite().all())]:
        raise RegardError(
            f"{weights} has weights that are not finite numbers: {broken[0]}, and {len(broken) - 1} more tensors. Its "
            "training diverged: train it again with a lower training.learning_rate, or use another checkpoint."
        )
    load_weights(model, tensors, origin=str(weights))
    with _named_problems(files.directory / KNOWN_WORDS_FILE):
        known_words = None if known is None else KnownWords.from_bytes(known)
    return Bundle(config, tokenizers, model, digest=files.digests[WEIGHTS_FILE], known_words=known_words)


@contextmanager
def _named_problems(path: Path) -> Iterator[None]:
    """Add a path to an error about content that was read from it."""
    try:
        yield
    except RegardError as error:
        raise RegardError(f"{path}: {error}") from None


def named_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Every parameter and buffer by name; one that is shared inside a model is written once."""
    return {name: tensor.detach().cpu().contiguous() for name, tensor in _named(model).items()}


def read_tensors(content: bytes, path: Path) -> dict[str, Tensor]:
    """Tensors of a safetensors file in memory (a mapped file that shrinks would kill the process)."""
    try:
        return load_tensors(content)
    except (SafetensorError, ValueError, KeyError) as error:
        raise RegardError(f"{path} is damaged: {error}. Restore it from a copy.") from None


@torch.no_grad()
def load_weights(model: nn.Module, tensors: dict[str, Tensor], *, origin: str) -> None:
    """Copy the tensors into the model; one error names all that do not fit."""
    own = _named(model)
    _check_fit(own, tensors, origin=origin)
    for name, tensor in tensors.items():
        own[name].copy_(tensor)


def _check_fit(own: Mapping[str, Tensor], given: Mapping[str, Tensor | TensorInfo], *, origin: str) -> None:
    """Refuse tensors whose names, shapes or types are not those of the model."""
    problems = [f"{name} is missing" for name in own.keys() - given.keys()]
    problems += [f"{shorten(name)[1:-1]} is not part of this model" for name in given.keys() - own.keys()]
    for name in own.keys() & given.keys():
        tensor = given[name]
        is_float = tensor.is_float if isinstance(tensor, TensorInfo) else tensor.is_floating_point()
        if tuple(tensor.shape) != tuple(own[name].shape):
            problems.append(f"{name} is {shorten(tuple(tensor.shape))}, not {tuple(own[name].shape)}")
        elif is_float != own[name].is_floating_point():
            problems.append(f"{name} has the type {tensor.dtype}, not {own[name].dtype}")
    if problems:
        shown = "; ".join(sorted(problems)[:MAX_SHOWN_PROBLEMS])
        more = f"; and {len(problems) - MAX_SHOWN_PROBLEMS} more" if len(problems) > MAX_SHOWN_PROBLEMS else ""
        raise RegardError(f"{origin} does not fit the model that its config describes: {shown}{more}.")
