"""Small random models of other programs, as directories that their own programs load."""

import io
import json
import zipfile
from collections.abc import Sequence
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
            if "embed_positions" in name or "inv_freq" in name or not parameter.is_floating_point():
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


def write_tokenizer(directory: Path, kind: str) -> int:
    """A tokenizer.json for the lines; returns the number of its tokens.

    It is written and not trained: a trained one has other tokens in each process.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    letters = sorted({letter for word in WORDS for letter in word})
    if kind == "WordPiece":
        special = ["[PAD]", "ab", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]  # the special ids are not the first ones
        parts = [*letters, *WORDS]
        pieces = [*special, *parts, *(f"##{part}" for part in parts)]
        tokenizer = Tokenizer(models.WordPiece(_numbered(pieces), unk_token="[UNK]"))  # noqa: S106
        tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
    elif kind == "Unigram":
        special = ["<pad>", "</s>", "<unk>", "<extra_id_0>"]
        scored = [(piece, -3.0) for word in WORDS for piece in (f"▁{word}", word)]
        scored += [(letter, -6.0) for letter in ("▁", *letters)]
        tokenizer = Tokenizer(models.Unigram([(piece, 0.0) for piece in special] + scored, unk_id=2))
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    else:
        special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"] if kind == "roberta" else ["<|endoftext|>"]
        merges = [(word[0], word[1]) for word in WORDS] + [("Ġ", word) for word in WORDS]
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        pieces = [*special, *alphabet, *("".join(pair) for pair in merges)]
        tokenizer = Tokenizer(models.BPE(_numbered(pieces), merges))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([piece for piece in special if piece != "ab"])
    tokenizer.save(str(directory / "tokenizer.json"))
    return int(tokenizer.get_vocab_size())


def _numbered(pieces: Sequence[str]) -> dict[str, int]:
    return {piece: index for index, piece in enumerate(pieces)}


def write_family(directory: Path, name: str, seed: int, *, labels: Sequence[str] = ()) -> Any:
    """A random model of the transformers library with a tokenizer, of sizes drawn by the seed.

    With labels it is a classifier of texts.
    """
    import transformers

    chance = Random(seed)
    directory.mkdir(parents=True, exist_ok=True)
    kinds = {"bert": "WordPiece", "distilbert": "WordPiece", "roberta": "roberta", "t5": "Unigram"}
    tokens = kinds.get(name, "causal")
    size = write_tokenizer(directory, tokens) + chance.choice((0, 3))  # a table may have more rows than tokens
    layers, heads, inner = chance.randint(1, 3), chance.choice((1, 2, 4)), chance.randint(5, 20)
    width, activation = heads * chance.choice((4, 6)), chance.choice(("gelu", "gelu_new", "relu"))
    common = {"vocab_size": size, "pad_token_id": None, "bos_token_id": 0, "eos_token_id": 0}
    bert = common | {
        "num_hidden_layers": layers, "hidden_size": width, "num_attention_heads": heads, "intermediate_size": inner,
        "max_position_embeddings": 64, "hidden_act": activation, "type_vocab_size": chance.choice((1, 2)),
    }  # fmt: skip
    model: Any
    if name == "bert":
        config: Any = transformers.BertConfig(**bert)
        model = transformers.BertForMaskedLM(config)
    elif name == "roberta":
        roberta = bert | {"pad_token_id": 1, "hidden_act": "gelu"}
        config = transformers.RobertaConfig(**roberta)
        model = transformers.RobertaForMaskedLM(config)
    elif name == "distilbert":
        sizes = {"n_layers": layers, "dim": width, "n_heads": heads, "hidden_dim": inner, "activation": activation}
        config = transformers.DistilBertConfig(vocab_size=size, max_position_embeddings=64, **sizes)
        model = transformers.DistilBertForMaskedLM(config)
    elif name == "gpt2":
        sizes = {"n_layer": layers, "n_embd": width, "n_head": heads, "n_inner": inner, "n_positions": 64}
        style = {"activation_function": activation, "tie_word_embeddings": bool(chance.getrandbits(1))}
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**(common | sizes | style)))
    elif name == "t5":
        sizes = {"num_layers": layers, "num_decoder_layers": chance.randint(1, 3), "d_model": width, "d_ff": inner}
        sizes |= {"num_heads": heads, "d_kv": chance.choice((width // heads, 5)), "vocab_size": size}
        buckets = {"relative_attention_num_buckets": 8, "relative_attention_max_distance": chance.choice((6, 20))}
        is_first = seed % 2 == 0  # version 1.0 or 1.1
        style = {"feed_forward_proj": "relu" if is_first else "gated-gelu", "tie_word_embeddings": is_first}
        start = {"decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
        config = transformers.T5Config(**sizes, **buckets, **style, **start)
        model = transformers.T5ForConditionalGeneration(config)
        if not is_first:
            model.lm_head.weight = torch.nn.Parameter(torch.zeros(size, width))
    else:
        groups = chance.choice([one for one in (1, 2, 4) if heads % one == 0])
        style = {
            "num_key_value_heads": groups,
            "hidden_act": "silu",
            "tie_word_embeddings": bool(chance.getrandbits(1)),
        }
        rope = {"rope_type": "default", "rope_theta": chance.choice((10_000.0, 500.0))}
        sizes = {name: value for name, value in bert.items() if name != "type_vocab_size"} | style
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, rope_parameters=rope))
    if labels:
        config.id2label, config.label2id = dict(enumerate(labels)), {label: n for n, label in enumerate(labels)}
        kind = type(model).__name__.replace("ForMaskedLM", "ForSequenceClassification")
        model = getattr(transformers, kind)(config)
    randomised(model, seed)
    model.save_pretrained(directory)
    return model


def write_vit(directory: Path, seed: int) -> Any:
    """A random ViTForImageClassification with the settings of its image processor, of sizes drawn by the seed."""
    import transformers

    chance = Random(seed)
    heads, patch = chance.choice((1, 2, 4)), chance.choice((2, 3, 4))
    labels = ["cat", "dog", "red crane", "grey crane", "tench, Tinca tinca"][: chance.randint(2, 5)]
    config = transformers.ViTConfig(
        num_hidden_layers=chance.randint(1, 3),
        hidden_size=heads * chance.choice((4, 6)),
        num_attention_heads=heads,
        intermediate_size=chance.randint(5, 20),
        hidden_act=chance.choice(("gelu", "gelu_new", "relu")),
        image_size=patch * chance.choice((2, 3, 5)),
        patch_size=patch,
        layer_norm_eps=chance.choice((1e-12, 1e-3)),
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
    )
    model = randomised(transformers.ViTForImageClassification(config), seed)
    model.save_pretrained(directory)
    statistics = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
    processor = {"do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True} | statistics
    (directory / "preprocessor_config.json").write_text(json.dumps(processor))
    return model
