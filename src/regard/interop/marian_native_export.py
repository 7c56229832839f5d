"""Models for Marian itself and Bergamot: a `.bin` with its options, the vocabularies and a config.yml beside it."""

from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from regard.bundle import Bundle, named_tensors
from regard.config import Config, TransformerConfig
from regard.decoding.loop import SUPPRESSED_TOKENS
from regard.errors import RegardError
from regard.files import atomic_directory
from regard.interop.ctranslate2 import SUPPRESSED_LOGIT, raise_unsupported, require_finite_weights, uncommon_layers
from regard.interop.foreign import Tensors
from regard.interop.marian import marian_base, pairs_to_halves, reorder_width
from regard.interop.marian_files import Array, write_bin
from regard.interop.marian_native_arrays import ACTIVATIONS, NORM_EPSILON, POST_NORM, array_names, table_of
from regard.tokenization.tokenizer import Tokenizer

QUANTIZATIONS = ("float32", "int8")
INT8_MULTIPLE = 8  # the engine multiplies int8 matrices in groups of so many rows and columns


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
    sizes = [table_of(side, arrays).shape[0] for side in ("encoder", "decoder")]
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
