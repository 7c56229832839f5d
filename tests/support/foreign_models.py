"""Small random models of other programs, as directories that their own programs load."""

import io
import json
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import ctranslate2
import sentencepiece
import torch
from transformers import MarianConfig, MarianMTModel

WORDS = [first + second for first in "bdgklmnprst" for second in "aeiou"]
CHANCE = Random(5)
LINES = [" ".join("".join(CHANCE.choices(WORDS, k=CHANCE.randint(1, 3))) for _ in range(6)) for _ in range(300)]
TEXTS = [*LINES[:10], "ba Q be", "baqqbe", "ba"]


def foreign_sentencepiece(lines: list[str], *, vocab_size: int = 90, **options: Any) -> bytes:
    """A model with the special ids that sentencepiece has by default: <unk> 0, <s> 1, </s> 2, no padding."""
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=writer, vocab_size=vocab_size, minloglevel=2, **options
    )
    return writer.getvalue()


SOURCE_SPM = foreign_sentencepiece(LINES)
TARGET_SPM = foreign_sentencepiece(LINES[::2], vocab_size=80, model_type="bpe")


def pieces_of(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(index) for index in range(3, processor.get_piece_size())]


def randomised(model: Any, seed: int) -> Any:
    """Every weight random, so that no tensor can be dropped or swapped unnoticed."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in [*model.named_parameters(), *model.named_buffers()]:
            if "embed_positions" in name or not parameter.is_floating_point():
                continue
            parameter.normal_(0, 0.1 if parameter.dim() < 2 else 0.4, generator=generator)
            if "norm.weight" in name:
                parameter.add_(1.0)
    return model.eval()


MARIAN_OPTIONS: list[dict[str, Any]] = [
    {},
    {"activation_function": "gelu", "decoder_layers": 2},
    {"share_encoder_decoder_embeddings": False, "encoder_attention_heads": 1},
    {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False, "activation_function": "relu"},
    {"scale_embedding": False, "encoder_ffn_dim": 13, "decoder_attention_heads": 3},
    {"activation_function": "gelu_new", "encoder_layers": 3, "d_model": 12},
]


def write_marian(directory: Path, seed: int = 0, **options: Any) -> Any:
    """A random MarianMTModel as OPUS-MT has it: </s> 0, <unk> 1, <pad> last, which starts the decoder."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "source.spm").write_bytes(SOURCE_SPM)
    (directory / "target.spm").write_bytes(TARGET_SPM)
    source, target = pieces_of(SOURCE_SPM)[:-3], pieces_of(TARGET_SPM)[:-2]  # the last ones are <unk> for the model
    is_shared = options.get("share_encoder_decoder_embeddings", True)
    size = 3 + max(len(source), len(target))  # MarianMTModel's output bias has the size of the target's vocabulary
    vocabularies = [list(dict.fromkeys([">>xy<<", *source, *target]))] * 2 if is_shared else [source, target]
    if is_shared:
        size = 2 + len(vocabularies[0]) + 1
    for name, pieces in zip(("vocab.json", "target_vocab.json"), vocabularies, strict=True):
        ids = {piece: identity for identity, piece in enumerate(["</s>", "<unk>", *pieces])} | {"<pad>": size - 1}
        if name == "vocab.json" or not is_shared:
            (directory / name).write_text(json.dumps(ids))
    tokenizer = {"separate_vocabs": not is_shared, "source_lang": "xx", "target_lang": "yy"}
    (directory / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    sizes = {"d_model": 24, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 17, "decoder_ffn_dim": 19}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "scale_embedding": True}
    special = {"pad_token_id": size - 1, "eos_token_id": 0, "decoder_start_token_id": size - 1, "bos_token_id": None}
    style = {
        "activation_function": "swish",
        "vocab_size": size,
        "decoder_vocab_size": size,
        "forced_eos_token_id": None,
    }
    model = randomised(MarianMTModel(MarianConfig(**(sizes | heads | special | style | options))), seed)
    with torch.no_grad():
        model.final_logits_bias[0, size - 1] = -50.0
    model.generation_config.bad_words_ids = [[size - 1]]
    model.save_pretrained(directory)
    return model


def write_ctranslate2(directory: Path, tmp_path: Path, quantization: str | None = None, **options: Any) -> Path:
    """A MarianMTModel through CTranslate2's own converter, with its sentencepiece models."""
    write_marian(tmp_path / "marian", **options)
    converter = ctranslate2.converters.TransformersConverter(str(tmp_path / "marian"))
    converter.convert(str(directory), quantization=quantization)
    for name in ("source.spm", "target.spm"):
        (directory / name).write_bytes((tmp_path / "marian" / name).read_bytes())
    return directory


def write_argos(path: Path, directory: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("translate-xx_yy-1_0/metadata.json", json.dumps({"from_code": "xx", "to_code": "yy"}))
        archive.writestr("translate-xx_yy-1_0/sentencepiece.model", (directory / "source.spm").read_bytes())
        for file in ("model.bin", "config.json", "shared_vocabulary.json"):
            archive.writestr(f"translate-xx_yy-1_0/model/{file}", (directory / file).read_bytes())
        for name, content in members.items():
            archive.writestr(name, content)
    return path
