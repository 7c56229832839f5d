"""The tokenizer.json of Hugging Face's `tokenizers` package, with its ids in our order, and back."""

import json
from collections.abc import Sequence
from typing import Any

from regard.special_tokens import END, RESERVED, UNKNOWN
from regard.tokenization.text import WORD_MARK
from regard.tokenization.tokenizer import HuggingFaceTokenizer


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
    if tokenizer["model"]["type"] == "Unigram":
        arranged["model"] |= {"vocab": _unigram_vocab(tokenizer, ids, len(original_ids)), "unk_id": UNKNOWN}
    arranged["added_tokens"] = [one | {"id": ids[one["content"]]} for one in tokenizer.get("added_tokens", [])]
    arranged |= {"post_processor": None, "truncation": None, "padding": None}
    pieces = _written_pieces(tokenizer, [names[identity] if identity >= 0 else "" for identity in original_ids])
    record = {"tokenizer": arranged, "pieces": pieces, "original_ids": list(original_ids)}
    record |= {"adds_begin": adds_begin, "mask": mask, "post_processor": tokenizer.get("post_processor")}
    return HuggingFaceTokenizer(json.dumps(record, ensure_ascii=False).encode())


def original_json(own: HuggingFaceTokenizer) -> dict[str, Any]:
    """The tokenizer.json that was imported, with its own ids."""
    tokenizer, original_ids = own.settings["tokenizer"], own.settings["original_ids"]
    restored: dict[str, Any] = json.loads(json.dumps(tokenizer))
    vocab = tokenizer["model"]["vocab"]
    if tokenizer["model"]["type"] == "Unigram":
        entries = sorted((original_ids[index], entry) for index, entry in enumerate(vocab) if original_ids[index] >= 0)
        names = [f"<unused_{identity}>" for identity, _ in entries]  # rows of the model that have no piece
        kept = [entry for (_, entry), unused in zip(entries, names, strict=True) if entry[0] != unused]
        restored["model"] |= {"vocab": kept, "unk_id": original_ids[UNKNOWN]}
    else:
        restored["model"]["vocab"] = dict(
            sorted(((name, original_ids[index]) for name, index in vocab.items()), key=lambda pair: pair[1])
        )
    restored["post_processor"] = own.settings.get("post_processor")
    restored["added_tokens"] = sorted(
        (one | {"id": original_ids[one["id"]]} for one in tokenizer["added_tokens"]), key=lambda one: one["id"]
    )
    return restored


def _unigram_vocab(tokenizer: dict[str, Any], ids: dict[str, int], size: int) -> list[list[Any]]:
    """The pieces of a unigram model with their scores, in our order; a place without a piece has a name of its own."""
    scores = dict(tokenizer["model"]["vocab"])
    lowest = min(scores.values(), default=0.0)  # not lower: the score of an unknown character depends on it
    names = {index: name for name, index in ids.items()}
    placed = [names.get(index, f"<reserved_{index}>") for index in range(size)]
    return [[name, scores.get(name, lowest)] for name in placed]


def _written_pieces(tokenizer: dict[str, Any], names: list[str]) -> list[str]:
    """The tokens with `▁` before a word; a name that would repeat stays as it is."""
    model, bytes_of = tokenizer["model"], _byte_alphabet()
    special = {one["content"] for one in tokenizer.get("added_tokens", [])}
    prefix = model.get("continuing_subword_prefix") or "##"
    pieces, seen = list(RESERVED), set(RESERVED)
    for name in names[len(RESERVED) :]:
        if name in special or model["type"] == "Unigram":
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
