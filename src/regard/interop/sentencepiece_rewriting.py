"""A foreign sentencepiece model with its pieces in our order, so that its ids are the rows of the imported tables.

A sentencepiece model is a protocol buffer (sentencepiece_model.proto): field 1 repeats the pieces, whose ids are their
places; field 2 has the ids of the special pieces. The numbers from 200 are free for extensions: there we keep the
original ids, which an export back to the original program needs. sentencepiece itself ignores them.
"""

import math
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from regard.errors import RegardError
from regard.special_tokens import BEGIN, END, PADDING, RESERVED, UNKNOWN
from regard.tokenization.text import WORD_MARK

EULER = 0.5772  # the sum of 1 / rank is log(ranks) and this
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types
NORMAL, UNKNOWN_TYPE, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6  # types of a piece
PIECES, TRAINER_SPEC, NORMALIZER_SPEC, ORIGINAL_IDS, ORIGINAL_MODEL = 1, 2, 3, 200, 201  # fields of the model
ADD_DUMMY_PREFIX, TREAT_WHITESPACE_AS_SUFFIX = 3, 24  # of the normalizer's and of the trainer's spec
SPECIAL_FIELDS = {40: UNKNOWN, 41: BEGIN, 42: END, 43: PADDING}  # of the trainer's spec: unk_id and so on
SPECIAL_NAME_FIELDS = {45: UNKNOWN, 46: BEGIN, 47: END, 48: PADDING}


class Piece(NamedTuple):
    """One piece of a sentencepiece model."""

    text: str
    score: float
    type: int = NORMAL


class Field(NamedTuple):
    """One field of a protocol buffer."""

    number: int
    wire_type: int
    value: int | bytes


def read_pieces(model: bytes) -> list[Piece]:
    """The pieces of a model, in the order of their ids."""
    return [_parse_piece(field.value) for field in _fields(model) if field.number == PIECES]


def made_pieces(model: bytes) -> list[str]:
    """The pieces that this model makes from text."""
    return [piece.text for piece in read_pieces(model) if piece.type in (NORMAL, USER_DEFINED, BYTE)]


def misfits(model: bytes) -> list[str]:
    """What about this model our tokenizer cannot do: it encodes word by word, each with the mark before it."""
    found = []
    if any(WORD_MARK in piece.text[1:] and piece.text.strip(WORD_MARK) for piece in read_pieces(model)):
        found.append("the sentencepiece model has pieces that cross a space; supported: pieces inside a word")
    specs = {field.number: field.value for field in _fields(model) if field.number in (TRAINER_SPEC, NORMALIZER_SPEC)}
    trainer, normalizer = ({one.number: one.value for one in _fields(specs.get(number, b""))} for number in (2, 3))
    if trainer.get(TREAT_WHITESPACE_AS_SUFFIX):
        found.append("the sentencepiece model has the mark after a word; supported: before a word")
    if normalizer.get(ADD_DUMMY_PREFIX, 1) == 0:
        found.append("the sentencepiece model has no mark before the first word; supported: a mark before every word")
    return found


def arrange_model(model: bytes, pieces: Sequence[str], original_ids: Sequence[int]) -> bytes:
    """The model with these pieces, ours first; those that it does not have are never made from text."""
    own = {piece.text: piece for piece in read_pieces(model)}
    lowest = min((piece.score for piece in own.values()), default=0.0)
    arranged = [
        own[text]._replace(type=NORMAL if own[text].type in (UNKNOWN_TYPE, CONTROL) else own[text].type)
        if text in own
        else Piece(text, lowest - 1.0, USER_DEFINED if is_language_code(text) else UNUSED)
        for text in pieces
    ]
    return _with_pieces(model, arranged, original_ids)


def rank_model(model: bytes, pieces: Sequence[str], original_ids: Sequence[int]) -> bytes:
    """A unigram model of all these pieces with the probabilities of Zipf's law: one over the rank.

    For a vocabulary that is sorted by frequency and comes without a sentencepiece model of its own.
    """
    total = math.log(len(pieces)) + EULER
    ranked = [Piece(text, -math.log((rank + 1) * total)) for rank, text in enumerate(pieces)]
    return _with_pieces(model, ranked, original_ids)


def read_original_ids(model: bytes) -> list[int] | None:
    """The id that each piece had in the program that the model was imported from; None for our own models."""
    for field in _fields(model):
        if field.number == ORIGINAL_IDS and isinstance(field.value, bytes):
            return [value - 1 for value in struct.unpack(f"<{len(field.value) // 4}I", field.value)]
    return None


def keep_original(model: bytes, original: bytes) -> bytes:
    """The model with the whole original inside, for programs that need it as it was."""
    return model + _bytes_field(ORIGINAL_MODEL, original)


def read_original(model: bytes) -> bytes | None:
    """The original that was kept; None if there is none."""
    kept = (field.value for field in _fields(model) if field.number == ORIGINAL_MODEL)
    return next((value for value in kept if isinstance(value, bytes)), None)


def is_language_code(text: str) -> bool:
    """Whether a piece is that of a target language, such as >>fra<<, which the source begins with."""
    return text.startswith(f"{WORD_MARK}>>") and text.endswith("<<")


def _with_pieces(model: bytes, pieces: Sequence[Piece], original_ids: Sequence[int]) -> bytes:
    reserved = {PADDING: CONTROL, UNKNOWN: UNKNOWN_TYPE, BEGIN: CONTROL, END: CONTROL}
    written = []
    for identity, piece in enumerate(pieces):
        kind = reserved.get(identity, CONTROL) if identity < len(RESERVED) else piece.type
        content = _bytes_field(1, piece.text.encode()) + _key(2, FIXED32) + struct.pack("<f", piece.score)
        written.append(_bytes_field(PIECES, content + _key(3, VARINT) + _varint(kind)))
    for field in _fields(model):
        if field.number == TRAINER_SPEC and isinstance(field.value, bytes):
            written.append(_bytes_field(TRAINER_SPEC, _trainer_spec(field.value, len(pieces))))
        elif field.number not in (PIECES, ORIGINAL_IDS):
            written.append(_encode(field))
    ids = struct.pack(f"<{len(original_ids)}I", *(identity + 1 for identity in original_ids))
    return b"".join([*written, _bytes_field(ORIGINAL_IDS, ids)])


def _trainer_spec(spec: bytes, vocab_size: int) -> bytes:
    """The spec with our special ids and names."""
    replaced = {4, *SPECIAL_FIELDS, *SPECIAL_NAME_FIELDS}
    names = {identity: piece for piece, identity in RESERVED.items()}
    kept = b"".join(_encode(field) for field in _fields(spec) if field.number not in replaced)
    kept += _key(4, VARINT) + _varint(vocab_size)
    for number, identity in SPECIAL_FIELDS.items():
        kept += _key(number, VARINT) + _varint(identity)
    return kept + b"".join(_bytes_field(number, names[one].encode()) for number, one in SPECIAL_NAME_FIELDS.items())


# --- protocol buffers ------------------------------------------------------------------------------------------------


def _fields(message: int | bytes) -> Iterator[Field]:
    """The fields of a message in their order."""
    if not isinstance(message, bytes):
        raise _damaged_error()
    position = 0
    while position < len(message):
        key, position = _read_varint(message, position)
        number, wire_type = key >> 3, key & 7
        if wire_type == VARINT:
            value, position = _read_varint(message, position)
            yield Field(number, wire_type, value)
            continue
        length = {FIXED64: 8, FIXED32: 4}.get(wire_type)
        if wire_type == BYTES:
            length, position = _read_varint(message, position)
        if length is None or position + length > len(message):
            raise _damaged_error()
        yield Field(number, wire_type, message[position : position + length])
        position += length


def _read_varint(message: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(message):
            break
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise _damaged_error()


def _parse_piece(content: int | bytes) -> Piece:
    parts = {field.number: field.value for field in _fields(content)}
    text, score, kind = parts.get(1, b""), parts.get(2, b"\0" * 4), parts.get(3, NORMAL)
    if not (isinstance(text, bytes) and isinstance(score, bytes) and isinstance(kind, int)):
        raise _damaged_error()
    return Piece(text.decode(errors="replace"), struct.unpack("<f", score)[0], kind)


def _damaged_error() -> RegardError:
    return RegardError("the sentencepiece model cannot be read: it is another file, or it is damaged. Get it again.")


def _encode(field: Field) -> bytes:
    if isinstance(field.value, int):
        return _key(field.number, VARINT) + _varint(field.value)
    if field.wire_type == BYTES:
        return _bytes_field(field.number, field.value)
    return _key(field.number, field.wire_type) + field.value


def _bytes_field(number: int, value: bytes) -> bytes:
    return _key(number, BYTES) + _varint(len(value)) + value


def _key(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
