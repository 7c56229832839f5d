"""Models of Marian itself, such as Firefox's translators: a `.npz` or `.bin` with sentencepiece models beside it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from regard.config import Config, TransformerConfig
from regard.errors import RegardError
from regard.interop import sentencepiece_rewriting as spm
from regard.interop.foreign import MAX_LAYERS, ForeignModel, ForeignVocabulary, Misfits, Tensors, read_file
from regard.interop.marian import halves_to_pairs, marian_base, reorder_width
from regard.interop.marian_files import Array, Options, is_checkpoint, parse_options, read_checkpoint
from regard.interop.marian_native_arrays import ACTIVATIONS, NORM_EPSILON, POST_NORM, array_names, table_of
from regard.special_tokens import END, RESERVED, UNKNOWN
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair

AUTOREGRESSION = {"self-attention": "self-attention", "rnn": "ssru"}
LANGUAGES = re.compile(r"[._-]([a-z]{2})-?([a-z]{2})[._]")  # in model.enpt.intgemm.alphas.bin
DEFAULT_BEAM = 4


def find_checkpoint(path: Path) -> Path | None:
    """The checkpoint of Marian that a path is, or the one in a directory; None if there is none."""
    if not path.is_dir():
        return path if is_checkpoint(path) else None
    found = sorted(one for one in path.iterdir() if one.suffix in (".bin", ".npz") and is_checkpoint(one))
    if len(found) > 1:
        names = ", ".join(one.name for one in found)
        raise RegardError(f"{path} has several models of Marian: {names}. Give the path of one of them.")
    return found[0] if found else None


def import_marian_native(path: Path, tokenizers: tuple[Path, ...] = ()) -> ForeignModel:
    """A `.npz` or `.bin`, with the sentencepiece models beside it or given."""
    checkpoint, misfits = read_checkpoint(path), Misfits(path)
    table = _model_table(checkpoint.options, checkpoint.arrays, misfits)
    paths = _vocabulary_paths(path, tokenizers)
    models = [read_file(one) for one in paths]
    for model in models:
        misfits.found += [one for one in spm.misfits(model) if one not in misfits.found]
    misfits.raise_if_any()
    sizes = [table_of(side, checkpoint.arrays).shape[0] for side in ("encoder", "decoder")]
    source = _arrange(models[0], sizes[0], paths[0])
    target = source if len(set(paths)) == 1 else _arrange(models[1], sizes[1], paths[1])
    codes = LANGUAGES.search(path.name)
    config = Config.from_dict(
        {
            "model": table,
            "tokenizer": {"vocab_size": len(target.pieces), "shared": source is target},
            "data": {"languages": list(codes.groups()) if codes else []},
            "decoding": _decoding_table(path.parent),
        },
        origin=f"{path}, {path.name}",
    )
    tensors = _import_tensors(checkpoint.arrays, cast(TransformerConfig, config.model), source, target, misfits)
    both = (Tokenizer(spm.arrange_model(*one)) for one in _arrangements(models, source, target))
    kind = "int8" if checkpoint.is_quantized else "float32"
    description = f"Marian, {kind}, a decoder with {table['decoder_autoregression']}"
    return ForeignModel(description, config, TokenizerPair(*both), tensors, _notes(path, checkpoint.is_quantized))


def _model_table(options: Options, arrays: dict[str, Array], misfits: Misfits) -> dict[str, Any]:
    """The model section of a config, from Marian's options."""
    numbers = {name: int(value) for name, value in options.items() if isinstance(value, str) and value.isdigit()}

    def flag(name: str) -> bool:
        return options.get(name) == "true"

    kind = options.get("type")
    misfits.require(kind == "transformer", f"type is {kind!r}; supported: transformer")
    for name, expected in POST_NORM.items():
        steps = options.get(name) or ""
        misfits.require(steps == expected, f"{name} is {steps!r}; supported: {expected!r}")
    autoregression = options.get("transformer-decoder-autoreg", "self-attention")
    cell = options.get("dec-cell")
    is_known = autoregression != "rnn" or cell == "ssru"
    misfits.require(is_known, f"dec-cell is {cell!r}; supported with transformer-decoder-autoreg rnn: ssru")
    for name in UNSUPPORTED_FLAGS:
        misfits.require(not flag(name), f"{name} is true; supported: false")
    tied = options.get("transformer-tied-layers") or []
    misfits.require(not tied, f"transformer-tied-layers is {tied}; supported: layers of their own")
    depth = numbers.get("transformer-ffn-depth", 2)
    misfits.require(depth == 2, f"transformer-ffn-depth is {depth}; supported: 2")
    width = misfits.integer(numbers, "dim-emb", least=4)
    misfits.require(width % 2 == 0, f"dim-emb is {width}; supported: an even width")
    heads = misfits.integer(numbers, "transformer-heads")
    own_width = numbers.get("transformer-decoder-dim-ffn") or numbers.get("transformer-dim-ffn")
    ffn_widths = {"encoder": numbers.get("transformer-dim-ffn"), "decoder": own_width}
    is_tied = flag("tied-embeddings") or flag("tied-embeddings-all")
    stacks = {
        side: {
            "layers": misfits.integer(numbers, f"{side[:3]}-depth", most=MAX_LAYERS),
            "width": width,
            "heads": heads,
            "ffn_width": misfits.integer({"transformer-dim-ffn": ffn_widths[side]}, "transformer-dim-ffn"),
        }
        for side in ("encoder", "decoder")
    }
    misfits.found += [f"{name} is missing" for name in _table_names(options) if name not in arrays]
    misfits.raise_if_any()
    return stacks | {
        "kind": "transformer",
        "norm": "post",
        "norm_epsilon": NORM_EPSILON,
        "activation": misfits.choose(
            "transformer-ffn-activation", options.get("transformer-ffn-activation"), ACTIVATIONS
        ),
        "sinusoidal_base": marian_base(width),
        "decoder_autoregression": misfits.choose("transformer-decoder-autoreg", autoregression, AUTOREGRESSION),
        "share_embeddings": flag("tied-embeddings-all") or flag("tied-embeddings-src"),
        "tie_word_embeddings": is_tied,
        "output_bias": is_tied,
        "zero_begin": True,
    }


UNSUPPORTED_FLAGS = (
    "transformer-train-positions",
    "transformer-train-position-embeddings",
    "transformer-no-projection",
    "transformer-pool",
    "layer-normalization",
    "right-left",
    "ulr",
)


def _table_names(options: Options) -> list[str]:
    is_shared = "true" in (options.get("tied-embeddings-all"), options.get("tied-embeddings-src"))
    return ["Wemb"] if is_shared else ["encoder_Wemb", "decoder_Wemb"]


def _vocabulary_paths(path: Path, given: tuple[Path, ...]) -> tuple[Path, Path]:
    """The sentencepiece models of source and target."""
    found = list(given) or sorted(one for one in path.parent.iterdir() if one.suffix == ".spm")
    if not given and len(found) == 2:  # srcvocab.enja.spm and trgvocab.enja.spm
        found.sort(key=lambda one: one.name.startswith(("trg", "tgt", "target")))
    if not 1 <= len(found) <= 2:
        raise RegardError(
            f"{path.parent} has {len(found)} sentencepiece models (.spm). Give that of {path.name} with --tokenizer "
            "FILE, and one more --tokenizer FILE if the target has another."
        )
    return found[0], found[-1]


def _arrange(model: bytes, size: int, path: Path) -> ForeignVocabulary:
    """The pieces in our order. A table may have more rows than the model has pieces, so that 8 divides them."""
    pieces = spm.read_pieces(model)
    names = [piece.text for piece in pieces] + [f"<unused_{index}>" for index in range(len(pieces), size)]
    special = {own: names.index(name) for name, own in RESERVED.items() if name in names}
    unknown = [index for index, piece in enumerate(pieces) if piece.type == spm.UNKNOWN_TYPE]
    special |= {UNKNOWN: unknown[0]} if unknown else {}
    if len(pieces) > size or not {UNKNOWN, END} <= special.keys():
        raise RegardError(
            f"{path} does not fit the model: it has {len(pieces):,} pieces for {size:,} rows, and needs <unk> and "
            "</s>. Give the vocabulary of this model with --tokenizer FILE."
        )
    return ForeignVocabulary.arrange(names, special)


def _arrangements(
    models: list[bytes], source: ForeignVocabulary, target: ForeignVocabulary
) -> Iterator[tuple[bytes, list[str], list[int]]]:
    for model, vocabulary in zip(models, (source, target), strict=True):
        yield model, vocabulary.pieces, vocabulary.original_ids


def _decoding_table(directory: Path) -> dict[str, Any]:
    """The search that the files beside the model ask for."""
    files = sorted([*directory.glob("*.yml"), *directory.glob("*.yaml")])
    for path in files:
        options = parse_options(read_file(path, limit=1 << 20).decode(errors="replace"))
        beam = options.get("beam-size")
        if isinstance(beam, str) and beam.isdigit() and 1 <= int(beam) <= 1024:
            return {"beam_size": int(beam)}
    return {"beam_size": DEFAULT_BEAM}


def _notes(path: Path, is_quantized: bool) -> list[str]:
    notes = []
    if is_quantized:
        notes.append("weights are rounded to int8 and inputs of layers are not, so some translations differ from int8")
    if any(one.name.startswith("lex") for one in path.parent.iterdir()):
        notes.append("the shortlist is not imported: every output is searched in the whole vocabulary")
    return notes


def _import_tensors(
    arrays: dict[str, Array],
    model: TransformerConfig,
    source: ForeignVocabulary,
    target: ForeignVocabulary,
    misfits: Misfits,
) -> Tensors:
    names = list(array_names(model))
    tables = {"Wemb", "encoder_Wemb", "decoder_Wemb", "decoder_ff_logit_out_W", "decoder_ff_logit_out_b"}
    expected = {name.theirs for name in names}
    misfits.found += [f"{name} is missing" for name in sorted(expected - arrays.keys())]
    misfits.found += [f"{name} has no place" for name in sorted(arrays.keys() - expected - tables)]
    is_untied = not model.tie_word_embeddings
    misfits.require(not is_untied or "decoder_ff_logit_out_W" in arrays, "decoder_ff_logit_out_W is missing")
    misfits.raise_if_any()
    ours = {name.ours: name.to_ours(arrays[name.theirs]) for name in names}
    source_table, target_table = (torch.from_numpy(table_of(side, arrays)) for side in ("encoder", "decoder"))
    ours["source_embedding.tokens.weight"] = source.rows(source_table)
    if not model.share_embeddings:
        ours["target_embedding.tokens.weight"] = target.rows(target_table)
    bias = arrays.get("decoder_ff_logit_out_b", np.zeros(len(target_table), dtype=np.float32))
    output_bias = target.output_bias(torch.from_numpy(bias).flatten())
    if is_untied:
        weight = torch.from_numpy(arrays["decoder_ff_logit_out_W"]).T
        ours |= {"output.weight": target.rows(weight), "output.bias": output_bias}
    else:
        ours["output_bias"] = output_bias
    return reorder_width(ours, halves_to_pairs(model.encoder.width))
