"""One of our own vocabularies, which is a sentencepiece model, as a tokenizer.json of Hugging Face's `tokenizers`."""

from typing import Any

from regard.interop.sentencepiece_rewriting import Piece, read_pieces
from regard.special_tokens import BEGIN, END, MASK, RESERVED, UNKNOWN
from regard.tokenization.text import WORD_MARK
from regard.tokenization.tokenizer import Tokenizer

WHITE_SPACE = rf"[\s\x1c-\x1f{WORD_MARK}]+"  # what `str.split` takes for white space, and the mark of a word


def tokenizer_json(tokenizer: Tokenizer, *, is_causal: bool) -> dict[str, Any]:
    """The tokenizer.json that gives the same ids: BEGIN and a text for a causal model, else a text and END."""
    names = {identity: piece for piece, identity in RESERVED.items()}
    added = BEGIN if is_causal else END
    parts = [{"SpecialToken": {"id": names[added], "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_special_token(identity, names[identity]) for identity in sorted(names)],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "NFC"},
                {"type": "Replace", "pattern": {"Regex": WHITE_SPACE}, "content": " "},
                {"type": "Strip", "strip_left": True, "strip_right": True},
            ],
        },
        "pre_tokenizer": {"type": "Metaspace", "replacement": WORD_MARK, "prepend_scheme": "always", "split": True},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": parts if is_causal else parts[::-1],
            "pair": [{"Sequence": {"id": name, "type_id": 0}} for name in "AB"],
            "special_tokens": {names[added]: {"id": names[added], "ids": [added], "tokens": [names[added]]}},
        },
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": WORD_MARK}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        "model": _model(tokenizer),
    }


def _special_token(identity: int, content: str) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": identity == MASK, "rstrip": False, "normalized": False, "special": True}
    return {"id": identity, "content": content} | flags


def _model(tokenizer: Tokenizer) -> dict[str, Any]:
    """The algorithm and its pieces."""
    pieces = read_pieces(tokenizer.to_bytes())
    has_bytes = any(piece.text == "<0x00>" for piece in pieces)
    if tokenizer.model_type == "unigram":
        vocab = [[piece.text, piece.score] for piece in pieces]
        return {"type": "Unigram", "unk_id": UNKNOWN, "vocab": vocab, "byte_fallback": has_bytes}
    if tokenizer.model_type == "bpe":
        return {
            "type": "BPE",
            "unk_token": pieces[UNKNOWN].text,
            "fuse_unk": True,
            "byte_fallback": has_bytes,
            "vocab": {piece.text: identity for identity, piece in enumerate(pieces)},
            "merges": _merges(pieces),
        }
    raise ValueError(tokenizer.model_type)  # `unsupported_features` names it before


def _merges(pieces: list[Piece]) -> list[list[str]]:
    """The pairs that BPE joins, the first ones first: every way to make each piece of two others."""
    known = {piece.text for piece in pieces}
    learned = sorted((piece for piece in pieces if len(piece.text) > 1), key=lambda piece: -piece.score)
    pairs = [
        [piece.text[:cut], piece.text[cut:]]
        for piece in learned
        if piece.text not in RESERVED
        for cut in range(1, len(piece.text))
    ]
    return [pair for pair in pairs if known.issuperset(pair)]
