r"""CTranslate2 directories: a Transformer written through CTranslate2's spec API, and read without torch.

The directory of `regard export MODEL --to ctranslate2 DIR` has CTranslate2's own files and ours (recipe, vocabularies,
origin, hashes), so that both `ctranslate2.Translator(DIR)` and `regard translate DIR` need nothing else.

It may hold a shortlist, which CTranslate2 calls a vocabulary map: the target pieces that may translate a source piece,
so that the decoder computes fewer logits. A line has source pieces, a tab, and target pieces; no source piece: always.
It is learned by IBM Model 1 (Brown et al., 1993), which aligns by co-occurrence alone: each target piece is explained
by the source pieces of its sentence, in proportion to t(target | source), and t is estimated again from these shares.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from regard.config import Config, TransformerConfig, TransformerStackConfig
from regard.errors import RegardError
from regard.files import (
    CONFIG_FILE,
    EXPORT,
    EXPORT_VERSION,
    SOURCE_TOKENIZER_FILE,
    TARGET_TOKENIZER_FILE,
    atomic_directory,
    write_manifest,
)
from regard.special_tokens import BEGIN, END, RESERVED, UNKNOWN
from regard.struct_decoding import decode_json, shorten
from regard.tokenization.tokenizer import TokenizerPair

if TYPE_CHECKING:
    from torch import Tensor

    from regard.bundle import Bundle

EXPORT_INFO_FILE, SHORTLIST_FILE = "export.json", "vmap.txt"

Quantization = Literal["int8", "int8_float32", "int16", "float16", "float32"]
QUANTIZATIONS: tuple[Quantization, ...] = get_args(Quantization)

INSTALL_HINT = "pip install 'regard[ctranslate2]'"
MAX_POSITIONS = 2304  # in the table that is written: a source of 1,025 tokens, and an output of 2 * 1,025 + 20
SUPPRESSED_LOGIT = -1e4  # added to the logits of padding, BEGIN and MASK: their probability is exactly 0 in float32

Arrays = dict[str, NDArray[np.float32]]


class ExportInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where an export comes from, and its limits."""

    weights: str  # SHA-256 of the weights' file that it was made from; empty: from no file
    quantization: str
    num_parameters: int
    max_positions: int  # of the source with END and of an output with END


@dataclass(frozen=True)
class ExportedModel:
    """An export in memory."""

    config: Config
    tokenizers: TokenizerPair
    info: ExportInfo
    files: dict[str, bytes]  # CTranslate2's own, by name

    @property
    def num_parameters(self) -> int:
        """Of the model that was exported."""
        return self.info.num_parameters


# --- what CTranslate2 can run ----------------------------------------------------------------------------------------


def is_installed() -> bool:
    """Whether the ctranslate2 package is installed."""
    return find_spec("ctranslate2") is not None


def require_installed() -> None:
    """Raise an error that says how to install it."""
    if not is_installed():
        raise RegardError(f"CTranslate2 is not installed. Install it with: {INSTALL_HINT}")


def unsupported_features(config: Config) -> list[str]:
    """Everything about a model that CTranslate2 cannot represent; empty if it can be exported."""
    model = config.model
    if not isinstance(model, TransformerConfig):
        kind = str(type(model).__struct_config__.tag)
        return [f"model.kind is {kind!r}: CTranslate2 has encoder-decoder Transformers, and no such model"]
    found = {
        'model.decoder_autoregression is "ssru": CTranslate2 has self-attention in its decoder, no recurrence': (
            model.decoder_autoregression == "ssru"
        ),
    }
    return [reason for reason, holds in (found | uncommon_layers(model)).items() if holds]


def uncommon_layers(model: TransformerConfig) -> dict[str, bool]:
    """Layers that no exported encoder-decoder model has here, each with whether this model has it."""
    has_groups = bool(model.encoder.key_value_heads or model.decoder.key_value_heads)
    is_pruned = model.encoder.is_pruned or model.decoder.is_pruned
    return {
        "heads were pruned: an exported model has as many heads in every layer": is_pruned,
        'model.norm_type is "rms_norm": an exported model has layer norms': model.norm_type == "rms_norm",
        "model.gated_ffn is true: an exported model has plain feed-forward networks": model.gated_ffn,
        "model.linear_bias is false: an exported model has biases": not model.linear_bias,
        "key_value_heads is set: an exported model has as many heads of keys as of queries": has_groups,
        'model.positions is "relative": an exported model has no bias of scores': model.positions == "relative",
        "model.scale_scores is false: an exported model divides its scores": not model.scale_scores,
        "model.scale_output is true: an exported model has a plain output layer": model.scale_output,
        "model.output_mask is true: an exported model has a learned bias, or none": model.output_mask,
        "head_width is set: an exported model divides its width among the heads": (
            model.encoder.head_width > 0 or model.decoder.head_width > 0
        ),
    }


def raise_unsupported(reasons: list[str], program: str, *, settings: Iterable[str] = ()) -> None:
    """One error that lists all reasons, if there are any; `settings` are those of a recipe without them."""
    if reasons:
        lines = "\n".join(f"  {reason}" for reason in reasons)
        changed = "".join(f" --set {setting}" for setting in settings)
        another = f"Train another one with{changed}" if changed else "Train another one"
        raise RegardError(f"{program} cannot represent this model:\n{lines}\n{another}, or use the torch engine.")


def require_finite_weights(tensors: "dict[str, Tensor]") -> None:
    """Refuse the weights of a training that diverged: their outputs are nonsense, and no other program reports it."""
    broken = [name for name, tensor in tensors.items() if not bool(tensor.isfinite().all())]
    if broken:
        more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
        raise RegardError(
            f"the model has weights that are not finite numbers: {broken[0]}{more}. Its training diverged: train it "
            "again with a lower training.learning_rate, or export the model of another run."
        )


# --- reading ---------------------------------------------------------------------------------------------------------


def parse_export(files: dict[str, bytes], directory: Path) -> ExportedModel:
    """The export that these files of a directory are."""
    missing = sorted({CONFIG_FILE, SOURCE_TOKENIZER_FILE, TARGET_TOKENIZER_FILE, EXPORT_INFO_FILE} - set(files))
    if missing:
        raise RegardError(f"{directory} has no {', '.join(missing)}. Export the model again.")
    config = Config.from_toml(files.pop(CONFIG_FILE), origin=str(directory / CONFIG_FILE))
    raise_unsupported(unsupported_features(config), "CTranslate2")  # and so cannot have exported it
    tokenizers = TokenizerPair.from_bytes(files.pop(SOURCE_TOKENIZER_FILE), files.pop(TARGET_TOKENIZER_FILE))
    return ExportedModel(config, tokenizers, parse_export_info(files.pop(EXPORT_INFO_FILE), directory), files)


def parse_export_info(content: bytes, directory: Path) -> ExportInfo:
    """Where the export in a directory comes from."""
    try:
        return decode_json(content, ExportInfo)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RegardError(f"{directory / EXPORT_INFO_FILE} is damaged: {error}. Export the model again.") from None


def check_engine_files(export: ExportedModel, directory: Path) -> None:
    """Refuse files for CTranslate2 that name other tokens than the vocabularies: it would read beyond its tables."""
    names = ["source_vocabulary.json", "target_vocabulary.json"]
    names = ["shared_vocabulary.json"] * 2 if "shared_vocabulary.json" in export.files else names
    sides = zip(names, (export.tokenizers.source, export.tokenizers.target), strict=True)
    pieces = {identity: piece for piece, identity in RESERVED.items()}
    tokens = {"unk_token": UNKNOWN, "bos_token": BEGIN, "eos_token": END, "decoder_start_token": BEGIN}
    model = cast(TransformerConfig, export.config.model)
    expected: dict[str, Any] = {name: pieces[identity] for name, identity in tokens.items()}
    expected |= {"add_source_bos": False, "add_source_eos": model.source_end, "multi_query_attention": False}
    expected |= {"layer_norm_epsilon": model.norm_epsilon}
    try:
        wrong = [name for name in export.files if "vocabulary" in name and name not in names]
        wrong += [name for name, one in sides if decode_json(export.files[name]) != one.vocabulary]
        found = decode_json(export.files["config.json"], dict[str, Any])
        wrong += [name for name, value in expected.items() if repr(found.get(name)) != repr(value)]  # 0 is not False
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        wrong = [str(error)]
    if wrong:
        raise RegardError(f"{directory} does not fit its vocabularies: {wrong[0][:200]}. Export the model again.")


# --- writing ---------------------------------------------------------------------------------------------------------


def export_ctranslate2(
    bundle: "Bundle", directory: Path, *, quantization: str = "int8", shortlist: bytes | None = None
) -> None:
    """Write the bundle's model for CTranslate2; the directory appears complete or not at all."""
    from regard.bundle import named_tensors

    config = _require_transformer(bundle)
    require_installed()
    if shortlist is not None:
        check_shortlist(shortlist, bundle.tokenizers)
    if quantization not in QUANTIZATIONS:
        raise RegardError(f"the quantization is {quantization!r}; choose one of {', '.join(QUANTIZATIONS)}.")
    require_finite_weights(named_tensors(bundle.model))
    spec = make_spec(bundle)
    spec.validate()
    spec.optimize(quantization=quantization)
    max_positions = config.max_position_embeddings if config.positions == "learned" else MAX_POSITIONS
    info = ExportInfo(bundle.digest, quantization, bundle.num_parameters, max_positions)
    with atomic_directory(directory) as staging:
        spec.save(str(staging))
        (staging / CONFIG_FILE).write_text(bundle.config.to_toml(), encoding="utf-8")
        (staging / SOURCE_TOKENIZER_FILE).write_bytes(bundle.tokenizers.source.to_bytes())
        (staging / TARGET_TOKENIZER_FILE).write_bytes(bundle.tokenizers.target.to_bytes())
        (staging / EXPORT_INFO_FILE).write_bytes(msgspec.json.encode(info))
        if shortlist is not None:
            (staging / SHORTLIST_FILE).write_bytes(shortlist)
        write_manifest(staging, EXPORT, EXPORT_VERSION)


def make_spec(bundle: "Bundle") -> Any:
    """CTranslate2's description of the model, with its weights."""
    from ctranslate2.specs import TransformerSpec, common_spec, transformer_spec

    from regard.bundle import named_tensors
    from regard.decoding.loop import SUPPRESSED_TOKENS

    config = _require_transformer(bundle)
    activation = common_spec.Activation
    names = {"relu": activation.RELU, "gelu": activation.GELU, "silu": activation.SWISH}
    names |= {"gelu_tanh": activation.GELUTanh}
    style = {"pre_norm": config.norm == "pre", "activation": names[config.activation]}
    if config.positions == "rotary":
        style |= {"rotary_dim": 0, "rotary_interleave": False}  # of all of a head's width; pairs (i, i + D/2)
        style |= {"rotary_base": config.rotary_base}
    encoder = transformer_spec.TransformerEncoderSpec(config.encoder.layers, config.encoder.heads, **style)
    decoder = transformer_spec.TransformerDecoderSpec(config.decoder.layers, config.decoder.heads, **style)
    spec = TransformerSpec(encoder, decoder)
    # Copies: CTranslate2 quantises in place, and these would be the model's own weights.
    arrays = {name: tensor.float().numpy().copy() for name, tensor in named_tensors(bundle.model).items()}
    arrays.setdefault("target_embedding.tokens.weight", arrays["source_embedding.tokens.weight"])
    if config.zero_begin:
        arrays["target_embedding.tokens.weight"][BEGIN] = 0.0
    spec.config.layer_norm_epsilon = config.norm_epsilon
    spec.config.add_source_eos = config.source_end
    spec.encoder.scale_embeddings = spec.decoder.scale_embeddings = config.scale_embeddings
    pieces = {identity: piece for piece, identity in RESERVED.items()}
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = pieces[UNKNOWN], pieces[BEGIN], pieces[END]
    spec.config.decoder_start_token = pieces[BEGIN]
    spec.register_source_vocabulary(bundle.tokenizers.source.vocabulary)
    spec.register_target_vocabulary(bundle.tokenizers.target.vocabulary)
    _fill_stack(spec.encoder, arrays, "encoder", config)
    _fill_stack(spec.decoder, arrays, "decoder", config)
    projection = spec.decoder.projection
    projection.weight = arrays.get("output.weight", arrays["target_embedding.tokens.weight"])  # its own, or tied
    no_bias = np.zeros(len(projection.weight), dtype=np.float32)
    projection.bias = arrays.get("output.bias", arrays.get("output_bias", no_bias)).copy()
    projection.bias[SUPPRESSED_TOKENS] = SUPPRESSED_LOGIT
    return spec


def _require_transformer(bundle: "Bundle") -> TransformerConfig:
    raise_unsupported(unsupported_features(bundle.config), "CTranslate2")
    return cast(TransformerConfig, bundle.config.model)


def _fill_stack(spec: Any, arrays: Arrays, side: str, config: TransformerConfig) -> None:
    """An encoder or a decoder: embeddings, positions, blocks, and the last norm of pre-norm stacks."""
    embedding = "source_embedding" if side == "encoder" else "target_embedding"
    embeddings = spec.embeddings[0] if side == "encoder" else spec.embeddings
    embeddings.weight = arrays[f"{embedding}.tokens.weight"]
    if hasattr(spec, "position_encodings"):
        spec.position_encodings.encodings = _position_table(arrays, embedding, config, getattr(config, side))
    for index, layer in enumerate(spec.layer):
        name = f"{side}.blocks.{index}"
        _fill_attention(layer.self_attention, arrays, f"{name}.self_attention.attention", [("query", "key", "value")])
        _fill_norm(layer.self_attention.layer_norm, arrays, f"{name}.self_attention_residual.norm")
        if hasattr(layer, "attention"):
            _fill_attention(layer.attention, arrays, f"{name}.cross_attention", [("query",), ("key", "value")])
            _fill_norm(layer.attention.layer_norm, arrays, f"{name}.cross_attention_residual.norm")
        _fill_linear(layer.ffn.linear_0, arrays, [f"{name}.feed_forward.fc1"])
        _fill_linear(layer.ffn.linear_1, arrays, [f"{name}.feed_forward.fc2"])
        _fill_norm(layer.ffn.layer_norm, arrays, f"{name}.feed_forward_residual.norm")
    if hasattr(spec, "layer_norm"):
        _fill_norm(spec.layer_norm, arrays, f"{side}.norm")


def _position_table(
    arrays: Arrays, embedding: str, config: TransformerConfig, stack: TransformerStackConfig
) -> NDArray[np.float32]:
    """The table that is added to the embeddings: zeros for rotary positions, and for none."""
    import torch

    from regard.layers.positions import sinusoidal

    if config.positions == "learned":
        return arrays[f"{embedding}.positions.weight"]
    if config.positions == "sinusoidal":
        table = sinusoidal(torch.arange(MAX_POSITIONS), stack.width, config.sinusoidal_base)
        return table.float().numpy()
    return np.zeros((MAX_POSITIONS, stack.width), dtype=np.float32)


def _fill_attention(spec: Any, arrays: Arrays, name: str, joined: list[tuple[str, ...]]) -> None:
    """Projections of the same input are one matrix here, stacked by rows."""
    for linear, parts in zip(spec.linear, [*joined, ("output",)], strict=True):
        _fill_linear(linear, arrays, [f"{name}.{part}" for part in parts])


def _fill_linear(spec: Any, arrays: Arrays, names: list[str]) -> None:
    spec.weight = np.concatenate([arrays[f"{name}.weight"] for name in names])
    spec.bias = np.concatenate([arrays[f"{name}.bias"] for name in names])


def _fill_norm(spec: Any, arrays: Arrays, name: str) -> None:
    spec.gamma, spec.beta = arrays[f"{name}.weight"], arrays[f"{name}.bias"]


# --- the shortlist ---------------------------------------------------------------------------------------------------

SHORTLIST_PAIRS = 100_000  # to learn from; more take more memory
EM_ITERATIONS = 5
TARGETS_PER_SOURCE = 50  # target pieces for a source piece; twice as many gained no BLEU on Multi30k
ALWAYS_ALLOWED = 300  # the most frequent target pieces, for every source
MAX_SHORTLIST_TOKENS = 100  # of a pair's side; longer pairs carry little information about single pieces

TokenIds = NDArray[np.int64]
TokenRowPair = tuple[list[int], list[int]]


def check_shortlist(content: bytes, tokenizers: TokenizerPair) -> None:
    """Refuse a vocabulary map of another model: CTranslate2 ignores what it does not know, without an error."""
    allowed: list[str] = []
    for number, line in enumerate(content.removesuffix(b"\n").split(b"\n"), start=1):
        _source, *targets = line.decode(errors="replace").split("\t")
        if len(targets) != 1:
            raise RegardError(
                f"line {number} of the vocabulary map is {shorten(line)}. Write source pieces, a tab, and the target "
                "pieces that may translate them."
            )
        allowed += targets[0].split()
    strays = set(allowed) - set(tokenizers.target.vocabulary)
    if 2 * len(strays) > len(set(allowed)):
        raise RegardError(
            f"{len(strays):,} of the {len(set(allowed)):,} target pieces of the vocabulary map, such as "
            f"{shorten(min(strays))}, are no pieces of the model. Give the map of this model."
        )


def learn_shortlist(pairs: Iterable[TokenRowPair], tokenizers: TokenizerPair) -> bytes:
    """A vocabulary map learned from pairs of token rows."""
    short = (pair for pair in pairs if max(map(len, pair)) <= MAX_SHORTLIST_TOKENS)
    rows = list(islice(short, SHORTLIST_PAIRS))
    targets = tokenizers.target.vocabulary
    counts = np.bincount([token for _, target in rows for token in target], minlength=len(targets))
    always = np.argsort(-counts, kind="stable")[:ALWAYS_ALLOWED]
    lines = ["\t" + " ".join(targets[token] for token in always if counts[token])]
    source_ids, target_ids, probabilities = _model_1(rows, len(targets))
    order = np.lexsort((target_ids, -probabilities, source_ids))  # by source piece, then the most likely first
    bounds = np.flatnonzero(np.diff(source_ids[order], prepend=-1))
    for own in np.split(order, bounds[1:]) if len(order) else []:
        likeliest = " ".join(targets[token] for token in target_ids[own[:TARGETS_PER_SOURCE]])
        lines.append(f"{tokenizers.source.vocabulary[source_ids[own[0]]]}\t{likeliest}")
    return ("\n".join(lines) + "\n").encode()


def _model_1(rows: list[TokenRowPair], vocabulary: int) -> tuple[TokenIds, TokenIds, NDArray[np.float64]]:
    """Every source and target that occur in one pair, and t(target | source)."""
    pair_codes, target_positions, next_position = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], 0
    for source, target in rows:  # each source piece with each target piece of its pair, as one number
        codes_of_pair = np.asarray(source, dtype=np.int64)[:, None] * vocabulary + np.asarray(target, dtype=np.int64)
        pair_codes.append(codes_of_pair.ravel())
        target_positions.append(np.tile(np.arange(next_position, next_position + len(target)), len(source)))
        next_position += len(target)
    codes, code_index = np.unique(np.concatenate(pair_codes), return_inverse=True)
    _, source_of_code = np.unique(codes // vocabulary, return_inverse=True)
    position_of_pair, probabilities = np.concatenate(target_positions), np.ones(len(codes))
    for _ in range(EM_ITERATIONS):
        weights = probabilities[code_index]
        shares = weights / np.bincount(position_of_pair, weights=weights)[position_of_pair]
        expected = np.bincount(code_index, weights=shares, minlength=len(codes))
        probabilities = expected / np.bincount(source_of_code, weights=expected)[source_of_code]
    return codes // vocabulary, codes % vocabulary, probabilities
