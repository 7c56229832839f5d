"""A tokenizer of Hugging Face's `tokenizers` package: WordPiece or byte-level BPE of an imported model.

Its file has the tokenizer.json with the ids in our order, the pieces as we write them (`▁` before a word), and the
original ids, which an export needs.
"""

import json
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from regard.errors import RegardError
from regard.special_tokens import BEGIN, END, MASK, PADDING, RESERVED
from regard.tokenization.text import WORD_MARK, normalize
from regard.tokenization.tokenizer import Tokenizer
from regard.tokenization.vocabulary import ModelType

INSTALL_HINT = "pip install 'regard[hf]'"
SKIPPED = {PADDING, BEGIN, END, MASK}  # by `decode`


@dataclass(frozen=True)
class HuggingFaceTokenizer(Tokenizer):
    """A tokenizer.json; two are equal exactly if their bytes are."""

    _settings: dict[str, Any] = field(init=False, repr=False, compare=False)
    _backend: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            from tokenizers import Tokenizer as Backend
        except ImportError:
            raise RegardError(f"this model's tokenizer needs the package tokenizers: {INSTALL_HINT}") from None
        try:
            settings = json.loads(self.model)
            backend = Backend.from_str(json.dumps(settings["tokenizer"]))
            pieces: list[str] = settings["pieces"]
        except Exception as error:  # the package raises Exception itself
            raise RegardError(f"the tokenizer cannot be read: {error}. Restore the file from a copy.") from None
        if pieces[: len(RESERVED)] != list(RESERVED) or len(set(pieces)) != len(pieces):
            raise RegardError("the tokenizer's pieces do not begin with the reserved ones, or repeat. Import it again.")
        backend.no_truncation()
        backend.no_padding()
        object.__setattr__(self, "_settings", settings)
        object.__setattr__(self, "_backend", backend)
        object.__setattr__(self, "_pieces", pieces)

    @property
    def original_ids(self) -> list[int]:
        """The id of each piece in the program that the model was imported from; -1: it has none there."""
        return list(self._settings["original_ids"])

    @property
    def original_json(self) -> dict[str, Any]:
        """The tokenizer.json that was imported, with its own ids."""
        return restore_ids(self._settings["tokenizer"], self.original_ids)

    @property
    def model_type(self) -> ModelType:
        return "bpe"

    @property
    def mask_text(self) -> str | None:
        """The text that stands for MASK; None if the model has no such token."""
        return self._settings["mask"]  # type: ignore[no-any-return]

    def encode(self, text: str) -> list[int]:
        normalize(text)  # one half of a surrogate pair is an error
        ids: list[int] = self._backend.encode(text, add_special_tokens=False).ids
        return [BEGIN, *ids] if self._settings["adds_begin"] else ids

    def encode_to_bytes(self, texts: Iterable[str]) -> list[bytes]:
        return [struct.pack(f"<{len(ids)}i", *ids) for ids in map(self.encode, texts)]

    def encode_sampled(self, text: str, seed: int) -> list[int]:  # noqa: ARG002  (it has one segmentation)
        return self.encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        plain = [identity for identity in self._check_ids(ids) if identity not in SKIPPED]
        return " ".join(self._backend.decode(plain, skip_special_tokens=False).split())

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self._pieces[identity] for identity in self._check_ids(ids)]


def make_tokenizer(
    tokenizer: dict[str, Any], names: Sequence[str], original_ids: Sequence[int], *, adds_begin: bool, mask: str | None
) -> HuggingFaceTokenizer:
    """A tokenizer.json with its ids in our order; `names` are its tokens by their original ids."""
    own_ids: dict[int, int] = {}
    for index, identity in enumerate(original_ids):
        if identity >= 0 and (identity not in own_ids or index == END):  # one token may begin and end a text
            own_ids[identity] = index
    ids = {name: own_ids[identity] for identity, name in enumerate(names)}
    arranged = json.loads(json.dumps(tokenizer))
    arranged["model"]["vocab"] = ids  # added tokens too: else the package would give them ids of its own
    arranged["added_tokens"] = [one | {"id": ids[one["content"]]} for one in tokenizer.get("added_tokens", [])]
    arranged |= {"post_processor": None, "truncation": None, "padding": None}
    pieces = _written_pieces(tokenizer, [names[identity] if identity >= 0 else "" for identity in original_ids])
    record = {"tokenizer": arranged, "pieces": pieces, "original_ids": list(original_ids)}
    record |= {"adds_begin": adds_begin, "mask": mask, "post_processor": tokenizer.get("post_processor")}
    return HuggingFaceTokenizer(json.dumps(record, ensure_ascii=False).encode())


def restore_ids(tokenizer: dict[str, Any], original_ids: Sequence[int]) -> dict[str, Any]:
    """A tokenizer.json with its original ids."""
    restored: dict[str, Any] = json.loads(json.dumps(tokenizer))
    vocab = tokenizer["model"]["vocab"]
    restored["model"]["vocab"] = dict(
        sorted(((name, original_ids[index]) for name, index in vocab.items()), key=lambda pair: pair[1])
    )
    restored["added_tokens"] = sorted(
        (one | {"id": original_ids[one["id"]]} for one in tokenizer["added_tokens"]), key=lambda one: one["id"]
    )
    return restored


def _written_pieces(tokenizer: dict[str, Any], names: list[str]) -> list[str]:
    """The tokens with `▁` before a word; a name that would repeat stays as it is."""
    model, bytes_of = tokenizer["model"], _byte_alphabet()
    special = {one["content"] for one in tokenizer.get("added_tokens", [])}
    prefix = model.get("continuing_subword_prefix") or "##"
    pieces, seen = list(RESERVED), set(RESERVED)
    for name in names[len(RESERVED) :]:
        if name in special:
            piece = name
        elif model["type"] == "WordPiece":
            piece = name.removeprefix(prefix) if name.startswith(prefix) else WORD_MARK + name
        else:
            piece = _written_bytes(bytes(bytes_of[letter] for letter in name)) if set(name) <= bytes_of.keys() else name
        while piece in seen or not piece:
            piece = f"{piece}<{len(seen)}>"
        pieces.append(piece)
        seen.add(piece)
    return pieces


def _written_bytes(content: bytes) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return "".join(f"<0x{byte:02X}>" for byte in content)
    return text.replace(" ", WORD_MARK)


def _byte_alphabet() -> dict[str, int]:
    """The letter of each byte in a byte-level vocabulary (GPT-2): printable bytes are themselves, others follow 255."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(others)}
