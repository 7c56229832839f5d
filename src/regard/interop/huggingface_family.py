"""A family of models of the transformers library, declared once: settings, tensors and special tokens; and its import.

Import and export follow from the declaration, so that an export restores the tensors that were imported.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from regard.config import Config, DecoderOnlyConfig, EncoderOnlyConfig, TransformerConfig
from regard.errors import RegardError
from regard.interop import sentencepiece_rewriting as spm
from regard.interop.foreign import (
    ForeignModel,
    ForeignVocabulary,
    Misfits,
    Tensors,
    check_settings,
    read_file,
    read_huggingface_tensors,
    read_json,
    read_optional_json,
)
from regard.special_tokens import BEGIN, END, MASK, PADDING, UNKNOWN
from regard.struct_decoding import shorten
from regard.tokenization.tokenizer import HuggingFaceTokenizer, Tokenizer, TokenizerPair
from regard.tokenization.tokenizer_json import make_tokenizer

Settings = dict[str, Any]
FamilyConfig = EncoderOnlyConfig | DecoderOnlyConfig | TransformerConfig
TOKENIZER_OPTIONS = {  # of tokenizer_config.json, with the step of tokenizer.json that has them, and their name there
    "do_lower_case": ("BertNormalizer", "lowercase"),
    "strip_accents": ("BertNormalizer", "strip_accents"),
    "tokenize_chinese_chars": ("BertNormalizer", "handle_chinese_chars"),
    "add_prefix_space": ("ByteLevel", "add_prefix_space"),
}
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
    write: Callable[[FamilyConfig], Settings]
    rules: Callable[[FamilyConfig], Iterator[Rule]]
    special_tokens: Callable[[Settings], dict[int, Any]]  # by our id: a token's text, or its id
    adds_begin: bool
    prefix: str = ""  # of all tensors in a checkpoint with a head
    head_tensors: tuple[str, ...] = ()  # how the names of a masked-token head begin
    ignored: tuple[str, ...] = ()  # tensors that have no place here, and do not change hidden states or logits
    copies: Mapping[str, str] = field(default_factory=dict)  # tensors that may be in a file twice; without the prefix
    class_tensor: str = ""  # the matrix of its head for classes, with a row for each
    sentencepiece: str = ""  # the name of its sentencepiece model, for directories without tokenizer.json

    def class_name(self, model: FamilyConfig) -> str:
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
    begin = special.get("bos_token"), special.get("bos_token_id")
    end = special.get("eos_token") or special.get("eos_token_id")
    return {
        PADDING: special.get("pad_token"),
        UNKNOWN: special.get("unk_token"),
        BEGIN: next((one for one in begin if one is not None), end),
        END: end if not isinstance(end, list) else end[0],
    }


# --- import ----------------------------------------------------------------------------------------------------------


def import_huggingface(directory: Path, family: Family) -> ForeignModel:
    """A directory of one of the families."""
    settings, misfits = read_json(directory / "config.json"), Misfits(directory)
    check_settings(settings, read_optional_json(directory / "generation_config.json"), misfits)
    table = family.read(settings, misfits)
    size = misfits.integer(settings, "vocab_size")
    misfits.raise_if_any()
    tensors = read_huggingface_tensors(directory)
    has_table = any(tensor.dim() and len(tensor) == size for tensor in tensors.values())
    misfits.require(has_table, f"vocab_size is {size:,}; no tensor has as many rows")
    labels = class_labels(settings, tensors.get(family.class_tensor), misfits)
    if family.head_tensors and any(name.startswith(family.head_tensors) for name in tensors):
        misfits.expect(settings, tie_word_embeddings=True)
    misfits.raise_if_any()
    names, vocabulary, tokenizer = read_tokenizer(directory, family, settings, size)
    return assemble(directory, family, table, tensors, vocabulary, tokenizer, misfits, names, labels)


def class_labels(settings: Settings, weight: Tensor | None, misfits: Misfits) -> list[str]:
    """The names of a classifier's classes; empty without the matrix that has a row for each."""
    if weight is None:
        return []
    kind, classes = settings.get("problem_type") or "single_label_classification", len(weight)
    misfits.require(
        kind == "single_label_classification" and classes > 1,
        f"its head has {classes} outputs for {kind}; supported: one class of several (single_label_classification)",
    )
    given = settings.get("id2label") or {}
    misfits.require(len(given) in (0, classes), f"id2label has {len(given)} entries; the head has {classes} classes")
    labels: list[str] = []
    for number in range(classes):
        name = str(given.get(str(number), f"LABEL_{number}"))
        labels.append(f"{name} ({number})" if name in labels else name)  # ImageNet has two classes "crane"
    return labels


def assemble(
    origin: Path,
    family: Family,
    table: Settings,
    tensors: Tensors,
    vocabulary: ForeignVocabulary,
    tokenizer: Tokenizer,
    misfits: Misfits,
    names: list[str],
    labels: Sequence[str] = (),
) -> ForeignModel:
    """The model, after all of its tensors have a place; with labels, a classifier."""
    tensors = {name.removeprefix(family.prefix): tensor for name, tensor in tensors.items()}
    notes = []
    if labels:
        table |= {"classes": len(labels)}
    elif table["kind"] == "encoder-only" and not any(name.startswith(family.head_tensors) for name in tensors):
        table |= {"masked_head": False}
        notes.append("it has no masked-token head: it gives hidden states and attention, and fills no masks")
    if (output := tensors.get("lm_head.weight")) is not None and (tokens := family.copies.get("lm_head.weight")):
        is_copy = tokens in tensors and torch.equal(output, tensors[tokens])
        table |= {"tie_word_embeddings": is_copy and table.get("tie_word_embeddings", True)}
    if table["kind"] == "transformer":
        notes.append("it needs its task before each text, such as 'translate English to German: '")
    if table["kind"] in ("decoder-only", "transformer"):
        table |= {"output_mask": True}
    config = Config.from_dict(
        {
            "model": table,
            "tokenizer": {"vocab_size": len(names), "shared": True},
            "data": {"labels": list(labels)},
        },
        origin=str(origin / "config.json"),
    )
    ours = _import_tensors(family, cast(FamilyConfig, config.model), tensors, vocabulary, misfits)
    if not isinstance(config.model, EncoderOnlyConfig):
        ours["output_mask"] = vocabulary.output_bias(torch.zeros(len(names)))
    description = f"Hugging Face, {family.class_name(cast(FamilyConfig, config.model))}"
    return ForeignModel(description, config, TokenizerPair(tokenizer, tokenizer), ours, notes)


def _import_tensors(
    family: Family, model: FamilyConfig, theirs: Tensors, vocabulary: ForeignVocabulary, misfits: Misfits
) -> Tensors:
    ours: Tensors = {}
    left = dict(theirs)
    for rule in family.rules(model):
        name = rule.theirs.removeprefix(family.prefix)
        if name not in left:
            misfits.require(False, f"{rule.theirs} is missing")
            continue
        tensor = left.pop(name)
        tensor = tensor.T if rule.is_transposed else tensor
        tensor = vocabulary.rows(tensor) if rule.has_tokens else tensor[rule.skipped_rows :]
        ours |= dict(zip(rule.ours, tensor.chunk(len(rule.ours)), strict=True))
    for name in sorted(left):
        if (original := family.copies.get(name)) in theirs:
            misfits.require(
                torch.equal(left[name], theirs[original]), f"{name} differs from {original}; supported: a copy"
            )
        elif not (family.ignored and name.endswith(family.ignored)):
            misfits.require(False, f"{name} is not part of {family.architecture} here")
    misfits.raise_if_any()
    return {name: tensor.contiguous() for name, tensor in ours.items()}


def read_tokenizer(
    directory: Path, family: Family, settings: Settings, size: int
) -> tuple[list[str], ForeignVocabulary, Tokenizer]:
    """The tokens by their original ids, our order of them, and the tokenizer in that order."""
    options = read_optional_json(directory / "tokenizer_config.json")
    special = options | settings | read_optional_json(directory / "special_tokens_map.json")
    path = directory / "tokenizer.json"
    if path.exists():
        added = read_optional_json(directory / "added_tokens.json")
        check_options(read_json(path), options, added, Misfits(path))
        return arrange_tokenizer(read_json(path), family, special, size, str(path))
    path = directory / (family.sentencepiece or "tokenizer.json")
    if not path.exists():
        raise RegardError(f"{directory} has no {path.name}. Save the tokenizer with a recent transformers library.")
    return _arrange_sentencepiece(read_file(path), family, special, size, path)


def check_options(tokenizer: Settings, options: Settings, added: Settings, misfits: Misfits) -> None:
    """Options in tokenizer_config.json, and tokens beside it, that change what is in tokenizer.json."""
    parts = [part for name in ("normalizer", "pre_tokenizer") for part in _parts(tokenizer.get(name))]
    for option, (kind, name) in TOKENIZER_OPTIONS.items():
        for part in (one for one in parts if option in options and one.get("type") == kind):
            is_same = part.get(name) == options[option]
            misfits.require(is_same, f"its {name} is {part.get(name)}, and {option} beside it is {options[option]}")
    misfits.expect(tokenizer["model"], dropout=None)
    given = [options.get(name) or [] for name in ("additional_special_tokens", "extra_special_tokens")]
    given += [(options.get("added_tokens_decoder") or {}), dict(enumerate(added))]
    tokens = [one for some in given for one in (some.values() if isinstance(some, dict) else some)]
    names = {one["content"] if isinstance(one, dict) else one for one in tokens}
    missing = sorted(names - {one["content"] for one in tokenizer.get("added_tokens", [])})
    misfits.require(not missing, f"its added_tokens lack {shorten(missing)}, which the files beside it name")
    misfits.raise_if_any()


def _parts(part: Settings | None) -> list[Settings]:
    """A normalizer or pre-tokenizer as a list of its steps."""
    steps = (part or {}).get("normalizers") or (part or {}).get("pretokenizers")
    return [one for step in steps for one in _parts(step)] if steps else [part or {}]


def _arrange_sentencepiece(
    model: bytes, family: Family, special: Settings, size: int, path: Path
) -> tuple[list[str], ForeignVocabulary, Tokenizer]:
    """A sentencepiece model in our order of the ids; after its pieces follow T5's sentinels, the last one first."""
    misfits = Misfits(path)
    misfits.found += spm.misfits(model)
    sentinels = misfits.integer({"extra_ids": 100} | special, "extra_ids", least=0)
    misfits.raise_if_any()
    names = [piece.text for piece in spm.read_pieces(model)]
    names += [f"<extra_id_{number}>" for number in reversed(range(sentinels)) if len(names) + sentinels <= size]
    if len(names) > size:
        raise RegardError(f"{path} has {len(names):,} pieces; the model's vocab_size is {size:,}. Get both again.")
    names += [f"<unused_{identity}>" for identity in range(len(names), size)]
    vocabulary = ForeignVocabulary.arrange(names, _special_ids(family, special, names, str(path)))
    arranged = spm.arrange_model(model, vocabulary.pieces, vocabulary.original_ids)
    return names, vocabulary, Tokenizer(spm.keep_original(arranged, model))


def arrange_tokenizer(
    tokenizer: Settings, family: Family, special: Settings, size: int, origin: str
) -> tuple[list[str], ForeignVocabulary, HuggingFaceTokenizer]:
    """A tokenizer.json in our order of the ids."""
    kind = tokenizer.get("model", {}).get("type")
    if kind not in ("WordPiece", "BPE", "Unigram"):
        raise RegardError(f"{origin} is a tokenizer of type {kind!r}; supported: WordPiece, BPE and Unigram.")
    if kind == "WordPiece" and tokenizer["model"].get("unk_token") not in tokenizer["model"]["vocab"]:
        raise RegardError(f"{origin} has no token for unknown words (model.unk_token). Get the file again.")
    vocab = tokenizer["model"]["vocab"]
    ids = {piece: index for index, (piece, _) in enumerate(vocab)} if kind == "Unigram" else dict(vocab)
    ids |= {one["content"]: one["id"] for one in tokenizer.get("added_tokens", [])}
    by_id = {identity: name for name, identity in ids.items()}
    if len(by_id) != len(ids) or max(by_id) >= size:
        raise RegardError(f"{origin} has ids that repeat, or that reach the model's vocab_size of {size:,}.")
    names = [by_id.get(identity, f"<unused_{identity}>") for identity in range(size)]
    special_ids = _special_ids(family, special, names, origin)
    vocabulary = ForeignVocabulary.arrange(names, special_ids)
    mask = names[special_ids[MASK]] if MASK in special_ids else None
    adds_begin = _adds_begin(tokenizer.get("post_processor"), family)
    arranged = make_tokenizer(tokenizer, names, vocabulary.original_ids, adds_begin=adds_begin, mask=mask)
    return names, vocabulary, arranged


def _adds_begin(post_processor: object, family: Family) -> bool:
    """Whether a text begins with a token of its own: the file's template says so, or else the family."""
    template = post_processor.get("single") if isinstance(post_processor, dict) else None
    if family.adds_begin and isinstance(template, list) and template:
        return "SpecialToken" in template[0]
    return family.adds_begin


def _special_ids(family: Family, special: Settings, names: list[str], origin: str) -> dict[int, int]:
    """The original ids of our special tokens, as far as the model has them."""
    ids = {name: identity for identity, name in enumerate(names)}
    special_ids: dict[int, int] = {}
    for own, given in family.special_tokens(special).items():
        text = given.get("content") if isinstance(given, dict) else given
        if isinstance(text, str) and text in ids:
            special_ids[own] = ids[text]
        elif isinstance(text, int) and 0 <= text < len(names):
            special_ids[own] = text
    for other in (PADDING, UNKNOWN):  # a token that also ends or begins a text is that one
        if special_ids.get(other, -1) in (special_ids.get(END), special_ids.get(BEGIN)):
            del special_ids[other]
    if END not in special_ids:
        raise RegardError(f"{origin} names no token that ends a text. Get the whole model again.")
    special_ids.setdefault(BEGIN, special_ids[END])  # GPT-2 separates texts by one token
    return special_ids
