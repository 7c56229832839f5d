"""Every setting of a foreign model is obeyed as the transformers library obeys it, or refused by its name."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from regard.errors import RegardError
from regard.interop.huggingface import export_family
from regard.interop.import_model import detect
from tests.support.family_logits import expected_logits, original_ids, own_logits
from tests.support.foreign_models import LINES, write_family, write_marian

pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
Table = dict[str, Any]
LINEAR = {"rope_type": "linear", "rope_theta": 50.0, "factor": 2.0}
ENCODER: list[Table] = [
    {"hidden_act": "gelu_pytorch_tanh"},
    {"hidden_act": "quick_gelu"},
    {"layer_norm_eps": 1e-2},
    {"tie_word_embeddings": False},
    {"position_embedding_type": "relative_key"},
    {"is_decoder": True},
    {"add_cross_attention": True},
    {"pad_token_id": 0},
    {"quantization_config": {"quant_method": "fp8"}},
]
CASES: dict[str, list[Table]] = {
    "bert": ENCODER,
    "roberta": ENCODER,
    "distilbert": [
        *ENCODER,
        {"activation": "relu"},
        {"activation": "tanh"},
        {"num_hidden_layers": 9},
        {"sinusoidal_pos_embds": True},
    ],
    "gpt2": [
        {"activation_function": "relu"},
        {"activation_function": "quick_gelu"},
        {"layer_norm_epsilon": 1e-2},
        {"scale_attn_weights": False},
        {"scale_attn_by_inverse_layer_idx": True},
        {"reorder_and_upcast_attn": True},
        {"is_causal": False},
        {"tie_word_embeddings": True},
        {"tie_word_embeddings": False},
        {"num_hidden_layers": 9},
        {"n_head": 1},
    ],
    "llama": [
        {"hidden_act": "gelu"},
        {"hidden_act": "tanh"},
        {"rms_norm_eps": 1e-2},
        {"rope_parameters": {"rope_type": "default", "rope_theta": 50.0}},
        {"rope_parameters": LINEAR},
        {"rope_scaling": LINEAR},
        {"rope_scaling": None},
        {"attention_bias": True},
        {"mlp_bias": True},
        {"is_causal": False},
        {"sliding_window": 2},
        {"attention_multiplier": 0.1},
        {"partial_rotary_factor": 0.5},
        {"num_key_value_heads": 3},
        {"head_dim": 2},
        {"tie_word_embeddings": True},
    ],
    "t5": [
        {"feed_forward_proj": "relu"},
        {"feed_forward_proj": "gated-silu"},
        {"dense_act_fn": "silu"},
        {"is_gated_act": False},
        {"is_gated_act": True},
        {"layer_norm_epsilon": 1e-2},
        {"relative_attention_max_distance": 9},
        {"tie_word_embeddings": False},
        {"scale_decoder_outputs": False},
        {"scale_decoder_outputs": True},
        {"is_encoder_decoder": False},
        {"is_causal": False},
        {"num_hidden_layers": 9},
        {"forced_bos_token_id": 4},
    ],
    "marian": [
        {"activation_function": "gelu"},
        {"activation_function": "tanh"},
        {"scale_embedding": False},
        {"normalize_before": True},
        {"add_bias_logits": True},
        {"tie_word_embeddings": True},
        {"share_encoder_decoder_embeddings": True},
        {"share_encoder_decoder_embeddings": False},
        {"is_causal": False},
        {"num_hidden_layers": 9},
        {"decoder_start_token_id": 3},
        {"eos_token_id": 3},
        {"forced_bos_token_id": 4},
        {"suppress_tokens": [4]},
        {"bad_words_ids": [[4]]},
    ],
}


def write_model(directory: Path, name: str, seed: int) -> Any:
    if name != "marian":
        return write_family(directory, name, seed)
    untied = {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False}
    model = write_marian(directory, seed, **(untied if seed else {}))
    (directory / "generation_config.json").unlink()  # it is stronger than config.json
    return model


def change_json(path: Path, changes: Table) -> None:
    table = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(table | changes))


@pytest.mark.parametrize(
    ("name", "changes"), [(name, case) for name, cases in CASES.items() for case in cases], ids=str
)
@pytest.mark.parametrize("seed", range(2))
@torch.inference_mode()
def test_setting_is_obeyed_or_refused(name: str, changes: Table, seed: int, tmp_path: Path) -> None:
    kind = type(write_model(tmp_path, name, seed))
    change_json(tmp_path / "config.json", changes)
    try:
        bundle = detect(tmp_path).load().to_bundle()
    except RegardError as error:
        assert any(word in str(error) for word in (*changes, "weight")), error  # noqa: PT017
        return
    theirs = kind.from_pretrained(tmp_path, dtype=torch.float32).eval()
    for text in (LINES[0], "kamo"):
        torch.testing.assert_close(
            own_logits(bundle, text), expected_logits(theirs, bundle, text), atol=1e-4, rtol=1e-4
        )


def double(name: str) -> Callable[[dict[str, torch.Tensor]], None]:
    """A copy of the tokens' table that is none."""

    def change(tensors: dict[str, torch.Tensor]) -> None:
        table = next(one for key, one in tensors.items() if key.endswith(("word_embeddings.weight", "shared.weight")))
        tensors[name] = 2 * table

    return change


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("bert", "cls.predictions.decoder.weight"),
        ("roberta", "lm_head.decoder.weight"),
        ("distilbert", "vocab_projector.weight"),
        ("t5", "decoder.embed_tokens.weight"),
        ("marian", "model.decoder.embed_tokens.weight"),
        ("marian", "lm_head.weight"),
    ],
)
def test_copy_that_differs_is_refused(name: str, tensor: str, tmp_path: Path) -> None:
    write_model(tmp_path, name, 0)
    tensors = load_file(tmp_path / "model.safetensors")
    double(tensor)(tensors)
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(RegardError, match="differ"):
        detect(tmp_path).load()


@torch.inference_mode()
def test_names_of_tensorflow_are_read(tmp_path: Path) -> None:
    theirs = write_family(tmp_path, "bert", 0)
    tensors = load_file(tmp_path / "model.safetensors")
    names = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    for own, old in names.items():
        tensors = {name.replace(own, old): tensor for name, tensor in tensors.items()}
    save_file(tensors, tmp_path / "model.safetensors")
    bundle = detect(tmp_path).load().to_bundle()
    torch.testing.assert_close(own_logits(bundle, "kamo"), expected_logits(theirs, bundle, "kamo"))


def test_begin_token_may_have_id_0(tmp_path: Path) -> None:
    write_family(tmp_path, "llama", 0)
    change_json(tmp_path / "config.json", {"bos_token_id": 0, "eos_token_id": 5})
    assert original_ids(detect(tmp_path).load().tokenizers.target)[2:4] == [0, 5]


@pytest.mark.parametrize(
    ("name", "file", "changes"),
    [
        ("bert", "tokenizer_config.json", {"do_lower_case": False}),
        ("bert", "tokenizer_config.json", {"strip_accents": False}),
        ("bert", "tokenizer_config.json", {"tokenize_chinese_chars": False}),
        ("gpt2", "tokenizer_config.json", {"add_prefix_space": True}),
        ("bert", "tokenizer_config.json", {"additional_special_tokens": ["kamo"]}),
        ("bert", "tokenizer_config.json", {"added_tokens_decoder": {"5": {"content": "kamo"}}}),
        ("bert", "added_tokens.json", {"kamo": 9}),
    ],
)
def test_tokenizer_options_must_agree(name: str, file: str, changes: Table, tmp_path: Path) -> None:
    write_family(tmp_path, name, 0)
    detect(tmp_path).load()
    change_json(tmp_path / file, changes)
    with pytest.raises(RegardError, match="kamo" if "kamo" in str(changes) else next(iter(changes))):
        detect(tmp_path).load()


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("bert", {"unk_token": "none"}, "unk_token"),
        ("gpt2", {"dropout": 0.5}, "dropout"),
        ("gpt2", {"continuing_subword_prefix": "@@"}, "cannot be read"),  # a panic of the package
    ],
)
def test_unusable_tokenizer_is_refused(name: str, changes: Table, message: str, tmp_path: Path) -> None:
    write_family(tmp_path, name, 0)
    model = json.loads((tmp_path / "tokenizer.json").read_text())["model"]
    change_json(tmp_path / "tokenizer.json", {"model": model | changes})
    with pytest.raises(RegardError, match=message):
        detect(tmp_path).load()


@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2", "t5"])
def test_exported_tokenizer_gives_the_same_ids(name: str, tmp_path: Path) -> None:
    write_family(tmp_path / "theirs", name, 0)
    tokenizer = json.loads((tmp_path / "theirs/tokenizer.json").read_text())
    if name == "bert":
        tokenizer["normalizer"] |= {"lowercase": False}
        change_json(tmp_path / "theirs/tokenizer.json", tokenizer)
    export_family(detect(tmp_path / "theirs").load().to_bundle(), tmp_path / "back")
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "theirs/tokenizer.json"))
    again = transformers.AutoTokenizer.from_pretrained(tmp_path / "back")
    text = "Ba Q, Bé be! kamo"
    assert again(text)["input_ids"] == theirs(text)["input_ids"]
    assert again.eos_token is not None
    assert detect(tmp_path / "back").load().tokenizers.target.encode(text)
