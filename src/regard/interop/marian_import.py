"""MarianMTModel of the transformers library as an ordinary model: the directories of OPUS-MT.

The decoder starts with <pad>; the output layer is the embedding table with a bias; sines come before cosines. A piece
that sentencepiece makes and the vocabulary does not have is <unk> there: here it has the vector of <unk>.
"""

import re
from pathlib import Path
from typing import Any

import torch

from regard.config import Config, TransformerConfig
from regard.errors import RegardError
from regard.interop import sentencepiece_rewriting as spm
from regard.interop.foreign import (
    ACTIVATIONS,
    MAX_LAYERS,
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
from regard.interop.marian import halves_to_pairs, reorder_width, tensor_names
from regard.special_tokens import BEGIN, END, UNKNOWN
from regard.tokenization.text import WORD_MARK
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair

COMPUTED_TENSORS = re.compile(r"model\.(encoder|decoder)\.embed_positions\.weight")  # sinusoids
EMBEDDINGS = ("model.shared.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")


def import_marian(directory: Path) -> ForeignModel:
    """A Hugging Face directory of OPUS-MT, or of another MarianMTModel."""
    settings, misfits = read_json(directory / "config.json"), Misfits(directory)
    generation = read_optional_json(directory / "generation_config.json")
    check_settings(settings, generation, misfits)
    misfits.expect(settings, is_encoder_decoder=True, is_causal=True)
    misfits.expect(settings, eos_token_id=generation.get("eos_token_id", settings.get("eos_token_id")))
    model = _model_table(settings, misfits)
    processors = [read_file(directory / name) for name in ("source.spm", "target.spm")]
    for processor in processors:
        misfits.found += [one for one in spm.misfits(processor) if one not in misfits.found]
    misfits.raise_if_any()
    source, target = _vocabularies(directory, settings, processors)
    codes = read_optional_json(directory / "tokenizer_config.json")
    languages = [codes.get("source_lang") or "", codes.get("target_lang") or ""]
    beam_size = generation.get("num_beams") or settings.get("num_beams") or 4
    table = {
        "model": model,
        "tokenizer": {"vocab_size": len(target.pieces), "shared": source is target},
        "data": {"languages": languages if all(languages) else []},
        "decoding": {"beam_size": beam_size, "length_penalty": generation.get("length_penalty") or 1.0},
    }
    config = Config.from_dict(table, origin=str(directory / "config.json"))
    tensors = _tensors(read_huggingface_tensors(directory), config, source, target, misfits)
    tokenizers = TokenizerPair(
        Tokenizer(spm.arrange_model(processors[0], source.pieces, source.original_ids)),
        Tokenizer(spm.arrange_model(processors[1], target.pieces, target.original_ids)),
    )
    return ForeignModel("Hugging Face, Marian (OPUS-MT)", config, tokenizers, tensors)


def _model_table(settings: dict[str, Any], misfits: Misfits) -> dict[str, Any]:
    """The model section of a config, from Marian's settings."""
    width = misfits.integer(settings, "d_model")
    misfits.require(width % 2 == 0, f"d_model is {width}; supported: an even width")
    stacks = {
        side: {
            "layers": misfits.integer(settings, f"{side}_layers", most=MAX_LAYERS),
            "width": width,
            "heads": misfits.integer(settings, f"{side}_attention_heads"),
            "ffn_width": misfits.integer(settings, f"{side}_ffn_dim"),
        }
        for side in ("encoder", "decoder")
    }
    for name in ("vocab_size", "decoder_start_token_id", "eos_token_id"):
        misfits.integer(settings, name, least=0)
    is_tied = settings.get("tie_word_embeddings", True)
    return stacks | {
        "kind": "transformer",
        "activation": misfits.choose("activation_function", settings.get("activation_function"), ACTIVATIONS),
        "share_embeddings": settings.get("share_encoder_decoder_embeddings", True),
        "tie_word_embeddings": is_tied,
        "output_bias": is_tied,
        "scale_embeddings": settings.get("scale_embedding", False),
        "dropout": settings.get("dropout", 0.1),
        "attention_dropout": settings.get("attention_dropout", 0.0),
    }


def _vocabularies(
    directory: Path, settings: dict[str, Any], processors: list[bytes]
) -> tuple[ForeignVocabulary, ForeignVocabulary]:
    """Those of source and target; the same object if they are shared."""
    special = {END: settings["eos_token_id"], BEGIN: settings["decoder_start_token_id"]}
    made = [spm.made_pieces(processor) for processor in processors]
    target_file = directory / "target_vocab.json"
    if settings.get("share_encoder_decoder_embeddings", True) or not target_file.exists():
        both = list(dict.fromkeys([*made[0], *made[1]]))
        one = _arranged(directory / "vocab.json", special, both, settings["vocab_size"])
        return one, one
    target_size = settings.get("decoder_vocab_size") or settings["vocab_size"]
    return (
        _arranged(directory / "vocab.json", special, made[0], settings["vocab_size"]),
        _arranged(target_file, special, made[1], target_size),
    )


def _arranged(path: Path, special: dict[int, int], made: list[str], size: int) -> ForeignVocabulary:
    ids = read_json(path)
    pieces = {identity: piece for piece, identity in ids.items()}
    is_valid = all(isinstance(one, int) and 0 <= one < size for one in pieces) and len(pieces) == len(ids)
    if not is_valid or not {"<unk>"} <= ids.keys() or max(special.values()) >= size:
        raise RegardError(f"{path} does not fit the model: it needs <unk> and ids from 0 to {size - 1}. Get it again.")
    names = [pieces.get(identity, f"<unused_{identity}>") for identity in range(size)]
    words = [names[identity] for identity in special.values() if names[identity] in made]
    if words:
        raise RegardError(
            f"eos_token_id or decoder_start_token_id is the id of {words[0]!r}, which the tokenizer makes from text; "
            "supported: a token of its own."
        )
    names = [WORD_MARK + piece if spm.is_language_code(WORD_MARK + piece) else piece for piece in names]
    unknown_pieces = [piece for piece in made if piece not in ids]
    return ForeignVocabulary.arrange(names, special | {UNKNOWN: ids["<unk>"]}, unknown_pieces=unknown_pieces)


def _tensors(
    theirs: Tensors, config: Config, source: ForeignVocabulary, target: ForeignVocabulary, misfits: Misfits
) -> Tensors:
    """Our tensors; all that are missing and all that have no place are reported at once."""
    model = config.model
    assert isinstance(model, TransformerConfig)  # noqa: S101  (for the type checker)
    names = tensor_names(model)
    expected = {*names.values(), "final_logits_bias"} | (set() if model.tie_word_embeddings else {"lm_head.weight"})
    given = [theirs[name] for name in EMBEDDINGS if name in theirs]
    if model.share_embeddings:
        is_same = all(torch.equal(given[0], table) for table in given)
        misfits.require(is_same, "share_encoder_decoder_embeddings is true, and the tables of tokens differ")
        source_table = target_table = given[0] if given else None
    else:
        source_table, target_table = (theirs.get(name) for name in EMBEDDINGS[1:])
    output = theirs.get("lm_head.weight")
    is_tied = output is None or target_table is None or torch.equal(output, target_table)
    misfits.require(is_tied or not model.tie_word_embeddings, "tie_word_embeddings is true, and lm_head.weight differs")
    misfits.found += [f"{name} is missing" for name in sorted(expected - theirs.keys())]
    missing = "model.shared.weight" if model.share_embeddings else " or ".join(EMBEDDINGS[1:])
    misfits.require(source_table is not None and target_table is not None, f"{missing} is missing")
    strange = sorted(theirs.keys() - expected - {*EMBEDDINGS, "lm_head.weight"})
    misfits.found += [f"{name} is not part of Marian" for name in strange if not COMPUTED_TENSORS.fullmatch(name)]
    misfits.raise_if_any()
    assert source_table is not None and target_table is not None  # noqa: S101, PT018  (for the type checker)
    ours = {own: theirs[their] for own, their in names.items()}
    ours["source_embedding.tokens.weight"] = source.rows(source_table)
    if not model.share_embeddings:
        ours["target_embedding.tokens.weight"] = target.rows(target_table)
    bias = target.output_bias(theirs["final_logits_bias"].flatten())
    if model.tie_word_embeddings:
        ours["output_bias"] = bias
    else:
        ours |= {"output.weight": target.rows(theirs["lm_head.weight"]), "output.bias": bias}
    return reorder_width(ours, halves_to_pairs(model.encoder.width))
