"""BERT, DistilBERT and RoBERTa: encoders that differ in names, in token types, and in where positions begin."""

from collections.abc import Callable, Iterator
from typing import Any

from regard.config import EncoderOnlyConfig
from regard.interop.foreign import ACTIVATIONS, MAX_LAYERS, Misfits
from regard.interop.huggingface_family import ACTIVATION_NAMES, Family, FamilyConfig, Rule, Settings, weight_and_bias
from regard.special_tokens import BEGIN, END, MASK, PADDING, UNKNOWN


def _read_bert(settings: Settings, misfits: Misfits) -> Settings:
    kind = settings.get("position_embedding_type", "absolute")
    misfits.require(kind == "absolute", f"position_embedding_type is {kind!r}; supported: absolute")
    misfits.expect(settings, is_decoder=False, add_cross_attention=False)
    is_roberta = settings.get("model_type") == "roberta"
    offset = ROBERTA_OFFSET if is_roberta else 0
    if is_roberta:
        misfits.expect(settings, pad_token_id=ROBERTA_OFFSET - 1)
    activation = settings.get("hidden_act", "gelu")
    is_known = not is_roberta or activation == "gelu"  # its head has GELU whatever the blocks have
    misfits.require(is_known, f"hidden_act is {activation!r}; supported for RoBERTa: gelu")
    return {
        "kind": "encoder-only",
        "transformer": {
            "layers": misfits.integer(settings, "num_hidden_layers", most=MAX_LAYERS),
            "width": misfits.integer(settings, "hidden_size"),
            "heads": misfits.integer(settings, "num_attention_heads"),
            "ffn_width": misfits.integer(settings, "intermediate_size"),
        },
        "activation": misfits.choose("hidden_act", activation, ACTIVATIONS),
        "norm_epsilon": settings.get("layer_norm_eps", 1e-12),
        "max_position_embeddings": misfits.integer(settings, "max_position_embeddings") - offset,
        "token_types": misfits.integer(settings, "type_vocab_size"),
        "dropout": settings.get("hidden_dropout_prob", 0.1),
        "attention_dropout": settings.get("attention_probs_dropout_prob", 0.1),
    }


def _write_bert(model: FamilyConfig) -> Settings:
    assert isinstance(model, EncoderOnlyConfig)  # noqa: S101  (for the type checker)
    return {
        "num_hidden_layers": model.transformer.layers,
        "hidden_size": model.transformer.width,
        "num_attention_heads": model.transformer.heads,
        "intermediate_size": model.transformer.ffn_width,
        "hidden_act": ACTIVATION_NAMES[model.activation],
        "layer_norm_eps": model.norm_epsilon,
        "max_position_embeddings": model.max_position_embeddings,
        "type_vocab_size": model.token_types,
        "hidden_dropout_prob": model.dropout,
        "attention_probs_dropout_prob": model.attention_dropout,
    }


BERT_BLOCK = {
    "self_attention.attention.query": "attention.self.query",
    "self_attention.attention.key": "attention.self.key",
    "self_attention.attention.value": "attention.self.value",
    "self_attention.attention.output": "attention.output.dense",
    "self_attention_residual.norm": "attention.output.LayerNorm",
    "feed_forward.fc1": "intermediate.dense",
    "feed_forward.fc2": "output.dense",
    "feed_forward_residual.norm": "output.LayerNorm",
}
DISTILBERT_BLOCK = {
    "self_attention.attention.query": "attention.q_lin",
    "self_attention.attention.key": "attention.k_lin",
    "self_attention.attention.value": "attention.v_lin",
    "self_attention.attention.output": "attention.out_lin",
    "self_attention_residual.norm": "sa_layer_norm",
    "feed_forward.fc1": "ffn.lin1",
    "feed_forward.fc2": "ffn.lin2",
    "feed_forward_residual.norm": "output_layer_norm",
}


def _encoder_rules(
    prefix: str, layer: str, block: dict[str, str], head: dict[str, str], skipped_rows: int = 0
) -> Callable[[FamilyConfig], Iterator[Rule]]:
    """The rules of a BERT-like family: only the names differ."""

    def rules(model: FamilyConfig) -> Iterator[Rule]:
        assert isinstance(model, EncoderOnlyConfig)  # noqa: S101  (for the type checker)
        embeddings = f"{prefix}embeddings"
        yield Rule(f"{embeddings}.word_embeddings.weight", ("embedding.tokens.weight",), has_tokens=True)
        positions = ("embedding.positions.weight",)
        yield Rule(f"{embeddings}.position_embeddings.weight", positions, skipped_rows=skipped_rows)
        if model.token_types:
            yield Rule(f"{embeddings}.token_type_embeddings.weight", ("embedding.positions.token_types",))
        yield from weight_and_bias(f"{embeddings}.LayerNorm", "norm")
        for index in range(model.transformer.layers):
            for own, their in block.items():
                yield from weight_and_bias(f"{prefix}{layer}.{index}.{their}", f"encoder.blocks.{index}.{own}")
        if model.classes:
            yield from weight_and_bias(head["pooler"], "head.dense")
            yield from weight_and_bias(head["classifier"], "head.output")
        elif model.masked_head:
            yield from weight_and_bias(head["transform"], "head.transform")
            yield from weight_and_bias(head["norm"], "head.norm")
            yield Rule(head["bias"], ("head.bias",), has_tokens=True)

    return rules


def _write_roberta(model: FamilyConfig) -> Settings:
    return _write_bert(model) | {"max_position_embeddings": model.max_position_embeddings + ROBERTA_OFFSET}


def _write_distilbert(model: FamilyConfig) -> Settings:
    settings = _write_bert(model)
    renamed = {name: settings[own] for own, name in DISTILBERT_NAMES.items()}
    return renamed | {"max_position_embeddings": model.max_position_embeddings}


def _read_distilbert(settings: Settings, misfits: Misfits) -> Settings:
    sinusoidal = settings.get("sinusoidal_pos_embds", False)
    misfits.require(not sinusoidal, "sinusoidal_pos_embds is true; supported: learned positions")
    renamed = {own: settings[name] for own, name in DISTILBERT_NAMES.items() if name in settings}
    found = Misfits(misfits.origin)
    table = _read_bert(settings | renamed | {"type_vocab_size": 1, "layer_norm_eps": 1e-12}, found)
    for own, name in DISTILBERT_NAMES.items():
        found.found = [one.replace(f"{own} is", f"{name} is") for one in found.found]
    misfits.found += found.found
    return table | {"token_types": 0, "pooler_activation": "relu"}


DISTILBERT_NAMES = {
    "num_hidden_layers": "n_layers",
    "hidden_size": "dim",
    "num_attention_heads": "n_heads",
    "intermediate_size": "hidden_dim",
    "hidden_act": "activation",
    "hidden_dropout_prob": "dropout",
    "attention_probs_dropout_prob": "attention_dropout",
}
ROBERTA_OFFSET = 2  # its positions begin after the id of <pad>, which is 1


def _bert_tokens(special: Settings) -> dict[int, Any]:
    names = {PADDING: "pad_token", UNKNOWN: "unk_token", BEGIN: "cls_token", END: "sep_token", MASK: "mask_token"}
    defaults = {PADDING: "[PAD]", UNKNOWN: "[UNK]", BEGIN: "[CLS]", END: "[SEP]", MASK: "[MASK]"}
    return {own: special.get(name) or defaults[own] for own, name in names.items()}


def _roberta_tokens(special: Settings) -> dict[int, Any]:
    names = {PADDING: "pad_token", UNKNOWN: "unk_token", BEGIN: "bos_token", END: "eos_token", MASK: "mask_token"}
    defaults = {PADDING: "<pad>", UNKNOWN: "<unk>", BEGIN: "<s>", END: "</s>", MASK: "<mask>"}
    return {own: special.get(name) or defaults[own] for own, name in names.items()}


BERT_HEAD = {
    "transform": "cls.predictions.transform.dense",
    "norm": "cls.predictions.transform.LayerNorm",
    "bias": "cls.predictions.bias",
    "pooler": "bert.pooler.dense",
    "classifier": "classifier",
}
ROBERTA_HEAD = {
    "transform": "lm_head.dense",
    "norm": "lm_head.layer_norm",
    "bias": "lm_head.bias",
    "pooler": "classifier.dense",
    "classifier": "classifier.out_proj",
}
DISTILBERT_HEAD = {
    "transform": "vocab_transform",
    "norm": "vocab_layer_norm",
    "bias": "vocab_projector.bias",
    "pooler": "pre_classifier",
    "classifier": "classifier",
}
BERT_IGNORED: tuple[str, ...] = (
    "pooler.dense.weight",
    "pooler.dense.bias",
    "position_ids",
    "seq_relationship.weight",
    "seq_relationship.bias",
)
TOKENS = "embeddings.word_embeddings.weight"
BERT_COPIES = {"cls.predictions.decoder.weight": TOKENS, "cls.predictions.decoder.bias": "cls.predictions.bias"}
ROBERTA_COPIES = {"lm_head.decoder.weight": TOKENS, "lm_head.decoder.bias": "lm_head.bias"}
BERT = Family(
    "bert", "BertForMaskedLM", _read_bert, _write_bert,
    _encoder_rules("bert.", "encoder.layer", BERT_BLOCK, BERT_HEAD),
    _bert_tokens, True, "bert.", ("cls.predictions.transform",), BERT_IGNORED, BERT_COPIES,
    class_tensor="classifier.weight",
)  # fmt: skip
ROBERTA = Family(
    "roberta", "RobertaForMaskedLM", _read_bert, _write_roberta,
    _encoder_rules("roberta.", "encoder.layer", BERT_BLOCK, ROBERTA_HEAD, ROBERTA_OFFSET),
    _roberta_tokens, True, "roberta.", ("lm_head.dense",), BERT_IGNORED, ROBERTA_COPIES,
    class_tensor="classifier.out_proj.weight",
)  # fmt: skip
DISTILBERT = Family(
    "distilbert", "DistilBertForMaskedLM", _read_distilbert, _write_distilbert,
    _encoder_rules("distilbert.", "transformer.layer", DISTILBERT_BLOCK, DISTILBERT_HEAD),
    _bert_tokens, True, "distilbert.", ("vocab_transform",), BERT_IGNORED, {"vocab_projector.weight": TOKENS},
    class_tensor="classifier.weight",
)  # fmt: skip
