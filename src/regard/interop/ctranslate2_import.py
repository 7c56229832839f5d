"""A CTranslate2 directory as trainable weights: int8, int16, float16 and float32 variables back to float32.

CTranslate2 keeps a Transformer in model.bin, its vocabularies beside it, and its special tokens in config.json. An
encoder-decoder model of Marian, OpenNMT or fairseq differs from ours in names, in the order of the width (all sines
before all cosines), and in the start of the decoder, which may be a vector of zeros.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.config import Config, DataConfig, DecodingConfig, TokenizerConfig, TransformerConfig, TransformerStackConfig
from regard.errors import RegardError
from regard.interop import sentencepiece_rewriting as spm
from regard.interop.ctranslate2_file import Array, read_model_file
from regard.interop.foreign import ForeignModel, ForeignVocabulary, Misfits, Tensors, parse_json
from regard.interop.marian import PUBLISHED_BASE, halves_to_pairs, marian_base, reorder_width
from regard.layers.positions import sinusoidal
from regard.special_tokens import BEGIN, END, MASK, PADDING, UNKNOWN
from regard.tokenization.tokenizer import Tokenizer, TokenizerPair

MODEL_FILE, CONFIG_FILE = "model.bin", "config.json"
ACTIVATIONS = {0: "relu", 1: "gelu_tanh", 2: "silu", 3: "gelu"}
COMPUTED_POSITIONS = 1024  # rows of a table that CTranslate2 would compute
SHARED_COVERAGE = 0.9  # of the target pieces by the only sentencepiece model: it is for both sides
TABLE_TOLERANCE = 1e-4  # between a stored table of sinusoids and ours
IGNORED = {"alignment_heads", "alignment_layer", "embeddings_merge", "alibi_use_positive_positions", "scale_alibi"}

ReadFile = Callable[[str], bytes | None]  # a file of the directory or archive; None: there is none


class Variables:
    """The variables of a model.bin by name; each must be used once, so that nothing is dropped silently."""

    def __init__(self, arrays: dict[str, Array], aliases: dict[str, str], spec: str, dtype: str) -> None:
        self.arrays, self.aliases, self.spec, self.dtype = arrays, aliases, spec, dtype
        self._unused = set(arrays)

    @classmethod
    def parse(cls, content: bytes, origin: str) -> "Variables":
        """Read model.bin; every length is checked against the file before it is used."""
        spec, arrays, aliases = read_model_file(content, origin)
        kinds = [str(array.dtype) for name, array in arrays.items() if name.endswith("weight")]
        return cls(arrays, aliases, spec, max(kinds, key=kinds.count, default="float32"))

    def __contains__(self, name: str) -> bool:
        return self.aliases.get(name, name) in self.arrays

    def value(self, name: str, default: float) -> float:
        """A single number."""
        return float(self._take(name).reshape(-1)[0]) if name in self else default

    def tensor(self, name: str) -> Tensor:
        """A variable as float32: a quantised row was multiplied by its scale and rounded."""
        array = self._take(name)
        if array.dtype in (np.int8, np.int16):
            scale = self._take(f"{self.aliases.get(name, name)}_scale").astype(np.float32)
            rows = scale.reshape(-1, *[1] * (array.ndim - 1)) if scale.size > 1 else scale
            return torch.from_numpy(array.astype(np.float32) / rows)
        return torch.from_numpy(array.astype(np.float32))

    def unused(self) -> list[str]:
        """The names of all variables that were not read, but for switches that are off."""
        unread = {name for name in self._unused if name.rpartition("/")[2] not in IGNORED}
        return sorted(name for name in unread if self.arrays[name].ndim or self.arrays[name].any())

    def _take(self, name: str) -> Array:
        own = self.aliases.get(name, name)
        if own not in self.arrays:
            raise RegardError(f"the model has no variable {name}. It is incomplete: get it again.")
        self._unused.discard(own)
        return self.arrays[own]


# --- the model -------------------------------------------------------------------------------------------------------


class Sources(NamedTuple):
    """Where the parts of a CTranslate2 model are: in a directory, or in an archive."""

    origin: str
    read: ReadFile
    source_spm: bytes
    target_spm: bytes | None  # None: the vocabulary's order gives the scores
    languages: tuple[str, str] = ("", "")


def import_ctranslate2(sources: Sources) -> ForeignModel:
    """An encoder-decoder Transformer of CTranslate2."""
    misfits = Misfits(sources.origin)
    variables = Variables.parse(_required(sources, MODEL_FILE), f"{sources.origin}/{MODEL_FILE}")
    settings = parse_json(sources.read(CONFIG_FILE) or b"{}", f"{sources.origin}/{CONFIG_FILE}")
    misfits.require(
        variables.spec == "TransformerSpec", f"the architecture is {variables.spec}; supported: TransformerSpec"
    )
    misfits.require(not settings.get("add_source_bos"), "add_source_bos is true; supported: false")
    for model in filter(None, (sources.source_spm, sources.target_spm)):
        misfits.found += [one for one in spm.misfits(model) if one not in misfits.found]
    misfits.raise_if_any()
    vocabularies = _vocabularies(sources, settings, variables.value("decoder/start_from_zero_embedding", 0) > 0)
    config, tensors = _model(variables, settings, vocabularies, misfits)
    for name in variables.unused():
        misfits.require(False, f"{name} belongs to an architecture that is not supported")
    misfits.raise_if_any()
    source, target = vocabularies
    tokenizers, notes = _tokenizers(sources, source, target)
    full = Config(
        model=config,
        tokenizer=TokenizerConfig(vocab_size=len(target.pieces), shared=source is target),
        data=DataConfig(languages=list(sources.languages) if all(sources.languages) else []),
        decoding=DecodingConfig(beam_size=4),
    )
    description = f"CTranslate2, {variables.spec}, {variables.dtype}"
    return ForeignModel(description, full, tokenizers, tensors, notes)


def _tokenizers(
    sources: Sources, source: ForeignVocabulary, target: ForeignVocabulary
) -> tuple[TokenizerPair, list[str]]:
    """Both tokenizers; a package may have a sentencepiece model for both sides, or for the source alone."""
    first = Tokenizer(spm.arrange_model(sources.source_spm, source.pieces, source.original_ids))
    processor = sources.target_spm
    if processor is None:
        made = set(spm.made_pieces(sources.source_spm))
        covered = sum(piece in made for piece in target.pieces) / len(target.pieces)
        processor = sources.source_spm if covered > SHARED_COVERAGE else None
    if processor is not None:
        second = Tokenizer(spm.arrange_model(processor, target.pieces, target.original_ids))
        return TokenizerPair(first, first if second == first else second), []
    note = (
        "it has no sentencepiece model of the target: translations are exact; for training, target text is segmented "
        "with scores from the order of the vocabulary"
    )
    second = Tokenizer(spm.rank_model(sources.source_spm, target.pieces, target.original_ids))
    return TokenizerPair(first, second), [note]


def _required(sources: Sources, name: str) -> bytes:
    content = sources.read(name)
    if content is None:
        raise RegardError(f"{sources.origin} has no {name}. It is incomplete: get it again.")
    return content


def _vocabularies(
    sources: Sources, settings: dict[str, Any], zero_start: bool
) -> tuple[ForeignVocabulary, ForeignVocabulary]:
    """Those of source and target; the same object if they are shared."""
    shared = _read_vocabulary(sources, "shared_vocabulary")
    pieces = [shared or _read_vocabulary(sources, f"{side}_vocabulary") for side in ("source", "target")]
    if not all(pieces):
        raise RegardError(f"{sources.origin} has no vocabulary. It is incomplete: get it again.")
    made = [spm.made_pieces(model) for model in (sources.source_spm, sources.target_spm) if model is not None]
    if shared:
        both = list(dict.fromkeys(piece for side in made for piece in side))
        one = _arrange(shared, both, settings, zero_start)
        return one, one
    source, target = pieces
    return (
        _arrange(source or [], made[0], settings, zero_start),
        _arrange(target or [], made[1] if len(made) > 1 else [], settings, zero_start),
    )


def _arrange(pieces: list[str], made: list[str], settings: dict[str, Any], zero_start: bool) -> ForeignVocabulary:
    ids = {piece: identity for identity, piece in enumerate(pieces)}
    names = {UNKNOWN: settings.get("unk_token") or "<unk>", END: settings.get("eos_token") or "</s>"}
    missing = [name for name in names.values() if name not in ids]
    if missing:
        raise RegardError(f"the vocabulary has no {', '.join(missing)}. It is incomplete: get it again.")
    special = {identity: ids[name] for identity, name in names.items()}
    start = settings.get("decoder_start_token") or "<s>"
    if start in ids and not zero_start:
        special[BEGIN] = ids[start]
    for identity, name in ((PADDING, "<blank>"), (PADDING, "<pad>"), (MASK, "<mask>")):
        if name in ids:
            special[identity] = ids[name]
    return ForeignVocabulary.arrange(pieces, special, unknown_pieces=[piece for piece in made if piece not in ids])


def _read_vocabulary(sources: Sources, name: str) -> list[str] | None:
    if (content := sources.read(f"{name}.json")) is not None:
        pieces = parse_json(content, f"{sources.origin}/{name}.json", list)
        if all(isinstance(piece, str) for piece in pieces):
            return list(pieces)
        raise RegardError(f"{sources.origin}/{name}.json is not a list of pieces. Get the file again.")
    content = sources.read(f"{name}.txt")
    return None if content is None else content.decode(errors="replace").removesuffix("\n").split("\n")


def _model(
    variables: Variables,
    settings: dict[str, Any],
    vocabularies: tuple[ForeignVocabulary, ForeignVocabulary],
    misfits: Misfits,
) -> tuple[TransformerConfig, Tensors]:
    source, target = vocabularies
    for vocabulary, name in ((source, "encoder/embeddings_0/weight"), (target, "decoder/embeddings/weight")):
        rows, pieces = len(variables.tensor(name)), len(set(vocabulary.original_ids) - {-1})
        misfits.require(rows == pieces, f"{name} has {rows:,} rows for a vocabulary of {pieces:,} pieces")
    misfits.raise_if_any()
    tables = [
        rows.rows(variables.tensor(name))
        for rows, name in ((source, "encoder/embeddings_0/weight"), (target, "decoder/embeddings/weight"))
    ]
    share = source is target and torch.equal(*tables)
    tensors: Tensors = {"source_embedding.tokens.weight": tables[0]}
    if not share:
        tensors["target_embedding.tokens.weight"] = tables[1]
    weight, bias_name = variables.tensor("decoder/projection/weight"), "decoder/projection/bias"
    output = target.rows(weight)
    tie = torch.equal(output, tables[1])
    bias = target.output_bias(variables.tensor(bias_name) if bias_name in variables else torch.zeros(len(weight)))
    tensors |= {"output_bias": bias} if tie else {"output.weight": output, "output.bias": bias}
    for side in ("encoder", "decoder"):
        tensors |= _stack(variables, side)
    positions, base, order, position_tensors = _positions(variables, tables[0].shape[1], tables[1].shape[1])
    if order is not None:
        tensors = reorder_width(tensors, order)
    is_pre = [variables.value(f"{side}/pre_norm", 1) > 0 for side in ("encoder", "decoder")]
    kinds = [variables.value(f"{side}/activation", 0) for side in ("encoder", "decoder")]
    scaled = [variables.value(f"{side}/scale_embeddings", 1) for side in ("encoder", "decoder")]
    for name, values in (("pre_norm", is_pre), ("activation", kinds), ("scale_embeddings", scaled)):
        misfits.require(values[0] == values[1], f"{name} differs between encoder and decoder; supported: the same")
    for side in ("encoder", "decoder"):
        misfits.require(variables.value(f"{side}/alibi", 0) == 0, f"{side}/alibi is set; supported: absolute positions")
    config = TransformerConfig(
        encoder=_sizes(variables, "encoder", tables[0]),
        decoder=_sizes(variables, "decoder", tables[1]),
        norm="pre" if is_pre[0] else "post",
        norm_epsilon=settings.get("layer_norm_epsilon") or 1e-5,
        activation=misfits.choose("activation", int(kinds[0]), ACTIVATIONS),
        positions=positions,
        sinusoidal_base=base,
        max_position_embeddings=len(next(iter(position_tensors.values()))) if position_tensors else 1024,
        share_embeddings=share,
        tie_word_embeddings=tie,
        output_bias=tie,
        scale_embeddings=scaled[0] > 0,
        source_end=bool(settings.get("add_source_eos", False)),
    )
    return config, tensors | position_tensors


def _sizes(variables: Variables, side: str, table: Tensor) -> TransformerStackConfig:
    layers = 0
    while f"{side}/layer_{layers}/ffn/linear_0/weight" in variables:
        layers += 1
    inner = variables.tensor(f"{side}/layer_0/ffn/linear_0/weight").shape[0]
    heads = int(variables.value(f"{side}/num_heads", 8))
    return TransformerStackConfig(layers=layers, width=table.shape[1], heads=heads, ffn_width=inner)


def _stack(variables: Variables, side: str) -> Tensors:
    tensors, index = Tensors(), 0
    while f"{side}/layer_{index}/ffn/linear_0/weight" in variables:
        theirs, own = f"{side}/layer_{index}", f"{side}.blocks.{index}"
        attention = f"{own}.self_attention.attention"
        tensors |= _linear(variables, f"{theirs}/self_attention/linear_0", attention, "query", "key", "value")
        tensors |= _linear(variables, f"{theirs}/self_attention/linear_1", attention, "output")
        tensors |= _norm(variables, f"{theirs}/self_attention/layer_norm", f"{own}.self_attention_residual.norm")
        if f"{theirs}/attention/linear_0/weight" in variables:
            cross = f"{own}.cross_attention"
            for number, parts in enumerate((("query",), ("key", "value"), ("output",))):
                tensors |= _linear(variables, f"{theirs}/attention/linear_{number}", cross, *parts)
            tensors |= _norm(variables, f"{theirs}/attention/layer_norm", f"{own}.cross_attention_residual.norm")
        for number, part in enumerate(("fc1", "fc2")):
            tensors |= _linear(variables, f"{theirs}/ffn/linear_{number}", f"{own}.feed_forward", part)
        tensors |= _norm(variables, f"{theirs}/ffn/layer_norm", f"{own}.feed_forward_residual.norm")
        index += 1
    if f"{side}/layer_norm/gamma" in variables:
        tensors |= _norm(variables, f"{side}/layer_norm", f"{side}.norm")
    return tensors


def _linear(variables: Variables, theirs: str, own: str, *parts: str) -> Tensors:
    """Projections of the same input are one matrix there, stacked by rows."""
    weight = variables.tensor(f"{theirs}/weight")
    bias = variables.tensor(f"{theirs}/bias") if f"{theirs}/bias" in variables else torch.zeros(len(weight))
    found: Tensors = {}
    for name, rows, biases in zip(parts, weight.chunk(len(parts)), bias.chunk(len(parts)), strict=True):
        found |= {f"{own}.{name}.weight": rows, f"{own}.{name}.bias": biases}
    return found


def _norm(variables: Variables, theirs: str, own: str) -> Tensors:
    return {f"{own}.weight": variables.tensor(f"{theirs}/gamma"), f"{own}.bias": variables.tensor(f"{theirs}/beta")}


# --- positions -------------------------------------------------------------------------------------------------------


def _positions(variables: Variables, *widths: int) -> tuple[Any, float, Tensor | None, Tensors]:
    """The kind of positions, their base, the order of the width and the table, the last two if they are other ones."""
    tables = []
    for side, width in zip(("encoder", "decoder"), widths, strict=True):
        name = f"{side}/position_encodings/encodings"
        tables.append(variables.tensor(name) if name in variables else _computed_positions(width))
    for base in (PUBLISHED_BASE, marian_base(widths[0])):
        pairs = [sinusoidal(torch.arange(len(table)), table.shape[1], base).float() for table in tables]
        if all(_is_same(*both) for both in zip(tables, pairs, strict=True)):
            return "sinusoidal", base, None, {}
        order = halves_to_pairs(widths[0])
        if widths[0] == widths[1] and all(
            _is_same(table[:, order], pair) for table, pair in zip(tables, pairs, strict=True)
        ):
            return "sinusoidal", base, order, {}
    length = min(map(len, tables))
    names = ("source_embedding.positions.weight", "target_embedding.positions.weight")
    return "learned", PUBLISHED_BASE, None, {name: table[:length] for name, table in zip(names, tables, strict=True)}


def _is_same(table: Tensor, expected: Tensor) -> bool:
    return bool((table - expected).abs().max() < TABLE_TOLERANCE)


def _computed_positions(width: int) -> Tensor:
    """What CTranslate2 computes for a model without a table (OpenNMT-tf): positions from 1, sines, then cosines."""
    half = width // 2
    scales = torch.exp(torch.arange(half, dtype=torch.float64) * -(np.log(10_000) / max(half - 1, 1)))
    angles = torch.arange(1, COMPUTED_POSITIONS + 1)[:, None] * scales
    return torch.cat([angles.sin(), angles.cos()], dim=1).float()
