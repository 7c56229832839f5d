"""A family of models of the transformers library, declared once: settings, tensors and special tokens; and its import.

Import and export follow from the declaration, so that an export restores the tensors that were imported.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch

from regard.config import Config, DecoderOnlyConfig, EncoderOnlyConfig
from regard.errors import RegardError
from regard.interop.foreign import (
    ForeignModel,
    ForeignVocabulary,
    Misfits,
    Tensors,
    read_huggingface_tensors,
    read_json,
    read_optional_json,
)
from regard.special_tokens import BEGIN, END, MASK, PADDING, UNKNOWN
from regard.tokenization.tokenizer import HuggingFaceTokenizer, TokenizerPair
from regard.tokenization.tokenizer_json import make_tokenizer

Settings = dict[str, Any]
LanguageModel = EncoderOnlyConfig | DecoderOnlyConfig
ACTIVATION_NAMES = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new", "silu": "silu"}  # for the library


class Rule(NamedTuple):
    """One foreign tensor: our tensors, stacked by rows; perhaps transposed; perhaps with a row for each token."""

    theirs: str
    ours: tuple[str, ...]
    is_transposed: bool = False
    has_tokens: bool = False
    skipped_rows: int = 0  # of learned positions that no input reaches (RoBERTa)


@dataclass(frozen=True)
class Family:
    """One architecture of the transformers library."""

    model_type: str
    architecture: str
    read: Callable[[Settings, Misfits], Settings]  # the model section of our config
    write: Callable[[LanguageModel], Settings]
    rules: Callable[[LanguageModel], Iterator[Rule]]
    special_tokens: Callable[[Settings], dict[int, Any]]  # by our id: a token's text, or its id
    adds_begin: bool
    prefix: str = ""  # of all tensors in a checkpoint with a head
    head_tensors: tuple[str, ...] = ()  # how the names of a masked-token head begin
    ignored: tuple[str, ...] = ()  # tensors that have no place here, and do not change hidden states or logits

    def class_name(self, model: LanguageModel) -> str:
        """The class of the transformers library: with the head for tokens or classes, or without one."""
        if isinstance(model, EncoderOnlyConfig) and model.classes:
            return self.architecture.replace("ForMaskedLM", "ForSequenceClassification")
        has_head = not isinstance(model, EncoderOnlyConfig) or model.masked_head
        return self.architecture if has_head else self.architecture.replace("ForMaskedLM", "Model")


def weight_and_bias(theirs: str, ours: str) -> Iterator[Rule]:
    for part in ("weight", "bias"):
        yield Rule(f"{theirs}.{part}", (f"{ours}.{part}",))


def causal_tokens(special: Settings) -> dict[int, Any]:
    """A text begins with the token that the model declares for it, or with the one that ends a text."""
    end = special.get("eos_token") or special.get("eos_token_id")
    return {
        PADDING: special.get("pad_token"),
        UNKNOWN: special.get("unk_token"),
        BEGIN: special.get("bos_token") or special.get("bos_token_id") or end,
        END: end if not isinstance(end, list) else end[0],
    }


# --- import ----------------------------------------------------------------------------------------------------------


def import_huggingface(directory: Path, family: Family) -> ForeignModel:
    """A directory of one of the families."""
    settings, misfits = read_json(directory / "config.json"), Misfits(directory)
    table = family.read(settings, misfits)
    size = misfits.integer(settings, "vocab_size")
    misfits.raise_if_any()
    tensors = read_huggingface_tensors(directory)
    names, vocabulary, tokenizer = read_tokenizer(directory, family, settings, size)
    return assemble(directory, family, table, tensors, vocabulary, tokenizer, misfits, names)


def assemble(
    origin: Path,
    family: Family,
    table: Settings,
    tensors: Tensors,
    vocabulary: ForeignVocabulary,
    tokenizer: HuggingFaceTokenizer,
    misfits: Misfits,
    names: list[str],
) -> ForeignModel:
    """The model, after all of its tensors have a place."""
    notes = []
    if table["kind"] == "encoder-only" and not any(name.startswith(family.head_tensors) for name in tensors):
        table |= {"masked_head": False}
        notes.append("it has no masked-token head: it gives hidden states and attention, and fills no masks")
    if table["kind"] == "decoder-only":
        table |= {"output_mask": True}
    config = Config.from_dict(
        {"model": table, "tokenizer": {"vocab_size": len(names), "shared": True}}, origin=str(origin / "config.json")
    )
    ours = _import_tensors(family, cast(LanguageModel, config.model), tensors, vocabulary, misfits)
    if isinstance(config.model, DecoderOnlyConfig):
        ours["output_mask"] = vocabulary.output_bias(torch.zeros(len(names)))
    description = f"Hugging Face, {family.class_name(cast(LanguageModel, config.model))}"
    return ForeignModel(description, config, TokenizerPair(tokenizer, tokenizer), ours, notes)


def _import_tensors(
    family: Family, model: LanguageModel, theirs: Tensors, vocabulary: ForeignVocabulary, misfits: Misfits
) -> Tensors:
    bare = {name.removeprefix(family.prefix): tensor for name, tensor in theirs.items()}
    ours: Tensors = {}
    rules = list(family.rules(model))
    for rule in rules:
        name = rule.theirs.removeprefix(family.prefix)
        if name not in bare:
            misfits.require(False, f"{rule.theirs} is missing")
            continue
        tensor = bare.pop(name)
        tensor = tensor.T if rule.is_transposed else tensor
        tensor = vocabulary.rows(tensor) if rule.has_tokens else tensor[rule.skipped_rows :]
        ours |= dict(zip(rule.ours, tensor.chunk(len(rule.ours)), strict=True))
    strange = [name for name in bare if not name.endswith(family.ignored)] if family.ignored else list(bare)
    misfits.found += [f"{name} is not part of {family.architecture} here" for name in sorted(strange)]
    misfits.raise_if_any()
    return {name: tensor.contiguous() for name, tensor in ours.items()}


def read_tokenizer(
    directory: Path, family: Family, settings: Settings, size: int
) -> tuple[list[str], ForeignVocabulary, HuggingFaceTokenizer]:
    """The tokens by their original ids, our order of them, and the tokenizer in that order."""
    path = directory / "tokenizer.json"
    if not path.exists():
        raise RegardError(f"{directory} has no tokenizer.json. Save the tokenizer with a recent transformers library.")
    tokenizer = read_json(path)
    special = settings | read_optional_json(directory / "special_tokens_map.json")
    special = read_optional_json(directory / "tokenizer_config.json") | special
    return arrange_tokenizer(tokenizer, family, special, size, str(path))


def arrange_tokenizer(
    tokenizer: Settings, family: Family, special: Settings, size: int, origin: str
) -> tuple[list[str], ForeignVocabulary, HuggingFaceTokenizer]:
    """A tokenizer.json in our order of the ids."""
    kind = tokenizer.get("model", {}).get("type")
    if kind not in ("WordPiece", "BPE"):
        raise RegardError(f"{origin} is a tokenizer of type {kind!r}; supported: WordPiece and BPE.")
    ids = dict(tokenizer["model"]["vocab"])
    ids |= {one["content"]: one["id"] for one in tokenizer.get("added_tokens", [])}
    by_id = {identity: name for name, identity in ids.items()}
    if len(by_id) != len(ids) or max(by_id) >= size:
        raise RegardError(f"{origin} has ids that repeat, or that reach the model's vocab_size of {size:,}.")
    names = [by_id.get(identity, f"<unused_{identity}>") for identity in range(size)]
    special_ids = {}
    for own, given in family.special_tokens(special).items():
        text = given.get("content") if isinstance(given, dict) else given
        if isinstance(text, str) and text in ids:
            special_ids[own] = ids[text]
        elif isinstance(text, int) and 0 <= text < size:
            special_ids[own] = text
    for other in (PADDING, UNKNOWN):  # a token that also ends or begins a text is that one
        if special_ids.get(other, -1) in (special_ids.get(END), special_ids.get(BEGIN)):
            del special_ids[other]
    if END not in special_ids:
        raise RegardError(f"{origin} names no token that ends a text. Get the whole model again.")
    special_ids.setdefault(BEGIN, special_ids[END])  # GPT-2 separates texts by one token
    vocabulary = ForeignVocabulary.arrange(names, special_ids)
    mask = names[special_ids[MASK]] if MASK in special_ids else None
    arranged = make_tokenizer(tokenizer, names, vocabulary.original_ids, adds_begin=family.adds_begin, mask=mask)
    return names, vocabulary, arranged
