"""Models of Marian itself, such as Firefox's translators, in and out: a `.npz` or `.bin` with sentencepiece models.

Marian's Transformer begins its output with a vector of zeros, has its own sinusoids (sines before cosines) and a layer
norm with an epsilon of 1e-6. Its decoders have self-attention or, in Firefox, an SSRU. The ids of the sentencepiece
model are the rows of the tables.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from regard.bundle import Bundle, named_tensors
from regard.config import Config, TransformerConfig
from regard.decoding.loop import SUPPRESSED_TOKENS
from regard.errors import RegardError
from regard.files import atomic_directory
from regard.interop import sentencepiece_model as spm
from regard.interop.ctranslate2 import SUPPRESSED_LOGIT, raise_unsupported, require_finite_weights, uncommon_layers
from regard.interop.foreign import MAX_LAYERS, ForeignModel, ForeignVocabulary, Misfits, Tensors, read_file
from regard.interop.marian import halves_to_pairs, marian_base, pairs_to_halves, reorder_width
from regard.interop.marian_files import (
    Array,
    Options,
    is_checkpoint,
    parse_options,
    read_checkpoint,
    write_bin,
)
from regard.special_tokens import END, RESERVED, UNKNOWN
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair

NORM_EPSILON = 1e-6
ACTIVATIONS = {"relu": "relu", "swish": "silu"}  # its GELU is another approximation than ours
# Dropout, addition, norm after each sub-layer. With the norm before it, Marian normalises queries, not keys and values.
POST_NORM = {"transformer-preprocess": "", "transformer-postprocess": "dan", "transformer-postprocess-top": ""}
AUTOREGRESSION = {"self-attention": "self-attention", "rnn": "ssru"}
LANGUAGES = re.compile(r"[._-]([a-z]{2})-?([a-z]{2})[._]")  # in model.enpt.intgemm.alphas.bin
DEFAULT_BEAM = 4
INT8_MULTIPLE = 8  # the engine multiplies int8 matrices in groups of so many rows and columns


class Name(NamedTuple):
    """One tensor of ours, and its array in Marian, which is the transpose of a matrix."""

    ours: str
    theirs: str

    def to_ours(self, array: Array) -> Tensor:
        tensor = torch.from_numpy(array)
        return tensor.flatten() if self.is_vector else tensor.T.contiguous()

    def to_theirs(self, tensor: Tensor) -> Array:
        return (tensor.unsqueeze(0) if self.is_vector else tensor.T).contiguous().numpy()

    @property
    def is_vector(self) -> bool:
        return self.ours.endswith("bias") or "norm." in self.ours


def array_names(model: TransformerConfig) -> Iterator[Name]:
    """All tensors inside the blocks."""
    is_ssru = model.decoder_autoregression == "ssru"
    for side in ("encoder", "decoder"):
        for index in range(getattr(model, side).layers):
            own, their = f"{side}.blocks.{index}", f"{side}_l{index + 1}"
            if side == "decoder" and is_ssru:
                yield Name(f"{own}.self_attention.forget.weight", f"{their}_rnn_Wf")
                yield Name(f"{own}.self_attention.forget.bias", f"{their}_rnn_bf")
                yield Name(f"{own}.self_attention.candidate.weight", f"{their}_rnn_W")
                yield from _norm(f"{own}.self_attention_residual.norm", f"{their}_rnn_ffn")
            else:
                yield from _attention(f"{own}.self_attention.attention", f"{their}_self")
                yield from _norm(f"{own}.self_attention_residual.norm", f"{their}_self_Wo")
            if side == "decoder":
                yield from _attention(f"{own}.cross_attention", f"{their}_context")
                yield from _norm(f"{own}.cross_attention_residual.norm", f"{their}_context_Wo")
            for number in (1, 2):
                yield Name(f"{own}.feed_forward.fc{number}.weight", f"{their}_ffn_W{number}")
                yield Name(f"{own}.feed_forward.fc{number}.bias", f"{their}_ffn_b{number}")
            yield from _norm(f"{own}.feed_forward_residual.norm", f"{their}_ffn_ffn")


def _attention(ours: str, theirs: str) -> Iterator[Name]:
    for part in ("query", "key", "value", "output"):
        yield Name(f"{ours}.{part}.weight", f"{theirs}_W{part[0]}")
        yield Name(f"{ours}.{part}.bias", f"{theirs}_b{part[0]}")


def _norm(ours: str, theirs: str) -> Iterator[Name]:
    yield Name(f"{ours}.weight", f"{theirs}_ln_scale")
    yield Name(f"{ours}.bias", f"{theirs}_ln_bias")


# --- import ----------------------------------------------------------------------------------------------------------


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
    sizes = [_table_of(side, checkpoint.arrays).shape[0] for side in ("encoder", "decoder")]
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


def _table_of(side: str, arrays: dict[str, Array]) -> Array:
    return arrays["Wemb"] if "Wemb" in arrays else arrays[f"{side}_Wemb"]


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
    source_table, target_table = (torch.from_numpy(_table_of(side, arrays)) for side in ("encoder", "decoder"))
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


# --- export ----------------------------------------------------------------------------------------------------------

QUANTIZATIONS = ("float32", "int8")


def unsupported_features(bundle: Bundle) -> dict[str, str]:
    """Everything about a model that Marian cannot represent, each with the setting that removes it, if there is one."""
    model = bundle.config.model
    if not isinstance(model, TransformerConfig):
        kind = str(type(model).__struct_config__.tag)
        return {f"model.kind is {kind!r}: this format is for a Transformer of encoder and decoder": ""}
    encoder, decoder, base = model.encoder, model.decoder, marian_base(model.encoder.width)
    found = {
        f'model.positions is "{model.positions}": Marian\'s are sinusoidal': (
            "model.positions=sinusoidal",
            model.positions != "sinusoidal",
        ),
        f"model.sinusoidal_base is {model.sinusoidal_base}: Marian's for this width is {base!r}": (
            f"model.sinusoidal_base={base!r}",
            abs(model.sinusoidal_base - base) > 1e-6 * base,
        ),
        "model.zero_begin is false: Marian begins with a vector of zeros": (
            "model.zero_begin=true",
            not model.zero_begin,
        ),
        f"model.norm_epsilon is {model.norm_epsilon}: Marian's is {NORM_EPSILON}": (
            f"model.norm_epsilon={NORM_EPSILON}",
            model.norm_epsilon != NORM_EPSILON,
        ),
        'model.norm is "pre": Marian normalises after each sub-layer ("post")': (
            "model.norm=post",
            model.norm == "pre",
        ),
        f'model.activation is "{model.activation}": Marian has {", ".join(ACTIVATIONS)}': (
            "model.activation=relu",
            model.activation not in ACTIVATIONS.values(),
        ),
        "model.scale_embeddings is false: Marian scales them": (
            "model.scale_embeddings=true",
            not model.scale_embeddings,
        ),
        "model.source_end is false: Marian reads END after the source": ("model.source_end=true", not model.source_end),
        f"encoder and decoder have widths of {encoder.width} and {decoder.width}: Marian has one": (
            f"model.decoder.width={encoder.width}",
            encoder.width != decoder.width,
        ),
        f"encoder and decoder have {encoder.heads} and {decoder.heads} heads: Marian has one number": (
            f"model.decoder.heads={encoder.heads}",
            encoder.heads != decoder.heads,
        ),
        f"encoder and decoder have inner widths of {encoder.ffn_width} and {decoder.ffn_width}: Marian has one": (
            f"model.decoder.ffn_width={encoder.ffn_width}",
            encoder.ffn_width != decoder.ffn_width,
        ),
    }
    found |= {reason: ("", holds) for reason, holds in uncommon_layers(model).items()}
    return {reason: setting for reason, (setting, holds) in found.items() if holds}


def export_marian(bundle: Bundle, directory: Path, *, quantization: str = "float32") -> None:
    """Write the bundle's model for Marian and Bergamot; the directory appears complete or not at all."""
    obstacles = unsupported_features(bundle)
    raise_unsupported(list(obstacles), "Marian", settings=filter(None, obstacles.values()))
    if quantization not in QUANTIZATIONS:
        raise RegardError(f"the quantization is {quantization!r}; for Marian choose {' or '.join(QUANTIZATIONS)}.")
    model = cast(TransformerConfig, bundle.config.model)
    weights = named_tensors(bundle.model)
    require_finite_weights(weights)
    arrays = _export_arrays(weights, model)
    matrices = frozenset(name for name, array in arrays.items() if min(array.shape) > 1)
    is_quantized = quantization == "int8"
    pair = "".join(bundle.languages) if all(bundle.languages) else ""
    name = ".".join(filter(None, ["model", pair, "intgemm8" if is_quantized else "", "bin"]))
    vocabularies = _vocabulary_files(bundle, pair)
    with atomic_directory(directory) as staging:
        content = write_bin(_options_text(model, arrays), arrays, matrices if is_quantized else frozenset())
        (staging / name).write_bytes(content)
        for file, tokenizer in vocabularies:
            (staging / file).write_bytes(tokenizer.to_bytes())
        names = [file for file, _ in vocabularies]
        (staging / "config.yml").write_text(_config_text(bundle.config, name, names, is_quantized), encoding="utf-8")


def _export_arrays(ours: Tensors, model: TransformerConfig) -> dict[str, Array]:
    """The weights under Marian's names, in Marian's order of the width, with a number of rows that 8 divides."""
    ours = reorder_width({name: tensor.float() for name, tensor in ours.items()}, pairs_to_halves(model.encoder.width))
    arrays = {name.theirs: name.to_theirs(ours[name.ours]) for name in array_names(model)}
    source_table = ours["source_embedding.tokens.weight"]
    target_table = ours.get("target_embedding.tokens.weight", source_table)
    bias = ours.get("output.bias", ours.get("output_bias", torch.zeros(len(target_table))))
    bias = bias.index_fill(0, torch.tensor(SUPPRESSED_TOKENS), SUPPRESSED_LOGIT)
    if model.share_embeddings:
        arrays["Wemb"] = _padded(source_table).numpy()
    else:
        arrays |= {"encoder_Wemb": _padded(source_table).numpy(), "decoder_Wemb": _padded(target_table).numpy()}
    if not model.tie_word_embeddings:
        arrays["decoder_ff_logit_out_W"] = _padded(ours["output.weight"]).T.contiguous().numpy()
    arrays["decoder_ff_logit_out_b"] = _padded(bias, SUPPRESSED_LOGIT).unsqueeze(0).numpy()
    return arrays


def _padded(table: Tensor, value: float = 0.0) -> Tensor:
    return torch.cat([table, table.new_full((-len(table) % INT8_MULTIPLE, *table.shape[1:]), value)])


def _options_text(model: TransformerConfig, arrays: dict[str, Array]) -> str:
    """The options that Marian stores in a checkpoint."""
    sizes = [_table_of(side, arrays).shape[0] for side in ("encoder", "decoder")]
    is_ssru = model.decoder_autoregression == "ssru"
    options: dict[str, Any] = {
        "type": "transformer",
        "dim-emb": model.encoder.width,
        "dim-vocabs": f"\n  - {sizes[0]}\n  - {sizes[1]}",
        "enc-depth": model.encoder.layers,
        "dec-depth": model.decoder.layers,
        "dec-cell": "ssru" if is_ssru else "gru",
        "transformer-decoder-autoreg": "rnn" if is_ssru else "self-attention",
        "transformer-heads": model.encoder.heads,
        "transformer-dim-ffn": model.encoder.ffn_width,
        "transformer-ffn-depth": 2,
        "transformer-ffn-activation": next(key for key, own in ACTIVATIONS.items() if own == model.activation),
        "transformer-postprocess-emb": "d",
        "tied-embeddings": _yes(model.tie_word_embeddings and not model.share_embeddings),
        "tied-embeddings-src": _yes(model.share_embeddings and not model.tie_word_embeddings),
        "tied-embeddings-all": _yes(model.tie_word_embeddings and model.share_embeddings),
    }
    options |= OTHER_OPTIONS | {name: f'"{steps}"' for name, steps in POST_NORM.items()}
    return "".join(f"{name}: {value}\n" for name, value in sorted(options.items()))


OTHER_OPTIONS = {  # what Marian asks for and this format has no choice of
    "enc-type": "bidirectional",
    "enc-cell": "gru",
    "enc-cell-depth": 1,
    "dec-cell-base-depth": 2,
    "dec-cell-high-depth": 1,
    "dim-rnn": 1024,
    "input-types": "[]",
    "layer-normalization": "false",
    "lemma-dim-emb": 0,
    "output-omit-bias": "false",
    "right-left": "false",
    "skip": "false",
    "transformer-aan-activation": "swish",
    "transformer-aan-depth": 2,
    "transformer-aan-nogate": "false",
    "transformer-dim-aan": 2048,
    "transformer-guided-alignment-layer": "last",
    "transformer-no-projection": "false",
    "transformer-pool": "false",
    "transformer-tied-layers": "[]",
    "transformer-train-position-embeddings": "false",
    "ulr": "false",
    "ulr-dim-emb": 0,
    "ulr-trainable-transformation": "false",
    "version": "v1.9.0",
}


def _yes(value: bool) -> str:
    return "true" if value else "false"


def _vocabulary_files(bundle: Bundle, pair: str) -> list[tuple[str, Tokenizer]]:
    """The sentencepiece models by the names that Firefox gives them."""
    suffix, both = f".{pair}.spm" if pair else ".spm", bundle.tokenizers
    if both.source == both.target:
        return [(f"vocab{suffix}", both.source)]
    return [(f"srcvocab{suffix}", both.source), (f"trgvocab{suffix}", both.target)]


def _config_text(config: Config, model: str, vocabularies: list[str], is_quantized: bool) -> str:
    """What `marian-decoder -c config.yml` and Bergamot read."""
    lines = ["relative-paths: true", "models:", f"  - {model}", "vocabs:", f"  - {vocabularies[0]}"]
    lines += [f"  - {vocabularies[-1]}", f"beam-size: {config.decoding.beam_size}"]
    lines += [f"normalize: {config.decoding.length_penalty}", "word-penalty: 0", "max-length-break: 128"]
    lines += [
        "mini-batch-words: 1024",
        "workspace: 128",
        "max-length-factor: 2.0",
        "skip-cost: true",
        "allow-unk: true",
    ]
    lines += [f"gemm-precision: {'int8shiftAll' if is_quantized else 'float32'}"]
    return "\n".join(lines) + "\n"
