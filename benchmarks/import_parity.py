"""Imported models against the programs that they were made for: how close logits are, how many outputs are equal.

    python -m tests.support.published_weights
    .venv/bin/python -m benchmarks.import_parity                                   # all, in some minutes on one core
    .venv/bin/python -m benchmarks.import_parity --models opus --lines 1000

Families of the transformers library, each with several random small configs (`--configs`): the largest difference of a
logit, and whether the export has the same tensors. OPUS-MT zh-en (an Argos package, int8) against CTranslate2, which
computes in float32, as imported and exported again: the same tokens, greedy. MiniLM against transformers: the largest
difference of the hidden states. SmolLM2 (GGUF, Q4_1) against transformers on the same dequantised weights: the same
greedy text.

One JSON line for each, with the seconds since its start. The exit code is 1 if a logit or hidden state differs by more
than 1e-4, a tensor differs at all, fewer than 99.5 % of the translations are equal, or a text differs. Firefox's models
are compared in benchmarks/bergamot.py.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ctranslate2
import sentencepiece
import torch
import transformers
from safetensors.torch import load_file
from transformers import AutoTokenizer, BertModel, LlamaForCausalLM

from regard.batch import Images, encode_source_rows
from regard.bundle import Bundle
from regard.inference.ctranslate2_engine import CTranslate2Engine
from regard.inference.open import read_export
from regard.inference.text_generator import TextGenerator
from regard.inference.translator import Translator
from regard.interop.argos import Archive
from regard.interop.ctranslate2 import export_ctranslate2
from regard.interop.export_model import EXPORT_FORMATS
from regard.interop.huggingface import FAMILIES, export_family
from regard.interop.import_model import detect
from regard.special_tokens import BEGIN, END
from tests.support.family_logits import expected_logits, own_logits
from tests.support.foreign_models import MARIAN_OPTIONS, TEXTS, write_family, write_marian, write_vit
from tests.support.published_weights import FOLDER

CLASS_FAMILIES, LABELS = ("bert", "distilbert", "roberta"), ("good", "bad", "so so")
LEAST_EQUAL, MAX_DIFFERENCE, NEW_TOKENS = 0.995, 1e-4, 24
PROMPTS = [
    "The capital of France is",
    "Once upon a time, a small",
    "def fibonacci(n):",
    "Water boils at",
    "Translate to German: good morning",
    "1, 2, 3, 4,",
]
SENTENCES = ["The cat sat on the mat.", "Unbelievably naïve café-goers, aren't they?", "A", "두 문장. Mixed 文字 too."]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1000, help="Sentences for OPUS-MT. [default: 1000]")
    parser.add_argument("--configs", type=int, default=6, help="Random configs of each family. [default: 6]")
    parser.add_argument("--models", nargs="+", choices=COMPARISONS, default=list(COMPARISONS))
    given = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    held = []
    for name in given.models:
        with TemporaryDirectory() as folder, torch.inference_mode():
            held.append(COMPARISONS[name](Path(folder), given))
    return 0 if all(held) else 1


def tell(model: str, start: float, **figures: object) -> None:
    print(json.dumps({"model": model} | figures | {"seconds": round(time.monotonic() - start, 1)}), flush=True)


def compare_families(folder: Path, given: argparse.Namespace) -> bool:
    """The largest difference of a logit, and the tensors after an export, of random models of every family."""
    makers: dict[str, Callable[[Path, int], Any]] = {
        "marian": lambda path, seed: write_marian(path, seed, **MARIAN_OPTIONS[seed % len(MARIAN_OPTIONS)])
    }
    makers |= {name: partial(_write_named, name) for name in FAMILIES}
    makers |= {f"{name}, classes": partial(_write_named, name, labels=LABELS) for name in CLASS_FAMILIES}
    held = []
    for name, make in [*makers.items(), ("vit, classes", write_vit)]:
        start, largest, changed = time.monotonic(), 0.0, 0
        for seed in range(given.configs):
            place = folder / name.replace(", ", "-") / str(seed)
            with torch.inference_mode(False):
                theirs = make(place / "theirs", seed)
            bundle = detect(place / "theirs").load().to_bundle()
            difference = image_difference if name.startswith("vit") else text_difference
            largest = max(largest, difference(theirs, bundle))
            EXPORT_FORMATS["huggingface"].write(bundle, place / "back", "float32", None)
            changed += not same_tensors(place)
        tell(name, start, configs=given.configs, largest_difference=largest, exports_with_other_tensors=changed)
        held.append(largest <= MAX_DIFFERENCE and not changed)
    return all(held)


def _write_named(name: str, path: Path, seed: int, **options: Any) -> Any:
    return write_family(path, name, seed, **options)


def text_difference(theirs: Any, bundle: Bundle) -> float:
    """The largest difference of a logit over some texts."""
    pairs = ((own_logits(bundle, text), expected_logits(theirs, bundle, text)) for text in TEXTS)
    return max(float((own - other).abs().max()) for own, other in pairs)


def image_difference(theirs: Any, bundle: Bundle) -> float:
    """The same over random images."""
    encoder: Any = bundle.config.model.image_encoder  # type: ignore[union-attr]
    images = Images(torch.randint(0, 256, (3, 3, encoder.image_size, encoder.image_size)).float())
    mean, std = (torch.tensor(one).view(3, 1, 1) for one in (encoder.pixel_mean, encoder.pixel_std))
    return float((bundle.model(images) - theirs((images.pixels - mean) / std).logits).abs().max())


def same_tensors(place: Path) -> bool:
    """Whether an export has the tensors of the original; two rows of RoBERTa's positions are reached by no input."""
    before, after = (load_file(place / name / "model.safetensors") for name in ("theirs", "back"))
    unused = {name: 2 if "roberta.embeddings.position_embeddings" in name else 0 for name in before}
    return before.keys() == after.keys() and all(
        torch.equal(before[name][skipped:], after[name][skipped:]) for name, skipped in unused.items()
    )


def news(count: int) -> list[str]:
    """Sentences of the People's Daily (January 1998), whose words have tags that are removed."""
    found: list[str] = []
    with (FOLDER / "peoples-daily.txt").open(encoding="utf-8") as lines:
        for line in lines:
            words = (word.rpartition("/")[0].lstrip("[") for word in line.split())
            found += [f"{one}。" for one in "".join(words).split("。") if 8 <= len(one) <= 60]
            if len(found) >= count:
                break
    return found[:count]


def compare_opus(folder: Path, given: argparse.Namespace) -> bool:
    """The tokens of the original, of the import, and of the import's export."""
    start, path, texts = time.monotonic(), FOLDER / "zh-en.argosmodel", news(given.lines)
    archive = Archive(path)
    for name in ("model.bin", "config.json", "shared_vocabulary.json"):
        (folder / name).write_bytes(archive.read(f"model/{name}") or b"")
    processor = sentencepiece.SentencePieceProcessor(model_proto=archive.read("sentencepiece.model"))
    original = ctranslate2.Translator(str(folder), compute_type="float32")
    rows = [processor.encode_as_pieces(text) for text in texts]
    options = {"beam_size": 1, "max_decoding_length": 200, "max_batch_size": 64}
    expected = [one.hypotheses[0] for one in original.translate_batch(rows, **options)]
    bundle = detect(path).load().to_bundle()
    export_ctranslate2(bundle, folder / "back", quantization="float32")
    target, held = bundle.tokenizers.target, True
    for name, translator in {
        "imported, torch": Translator(bundle),
        "exported again, CTranslate2": Translator(bundle, engine=CTranslate2Engine(read_export(folder / "back"))),
    }.items():
        outputs = [target.pieces(output.tokens) for output in translator.translate(texts, beam_size=1)]
        equal = sum(own == other for own, other in zip(outputs, expected, strict=True))
        held = held and equal / len(texts) >= LEAST_EQUAL
        tell("OPUS-MT zh-en", start, compared=name, sentences=len(texts), equal=equal, share=equal / len(texts))
    return held


def compare_minilm(folder: Path, given: argparse.Namespace) -> bool:  # noqa: ARG001
    """The largest difference of a hidden state."""
    start = time.monotonic()
    theirs, backend = (
        BertModel.from_pretrained(FOLDER / "minilm").eval(),
        AutoTokenizer.from_pretrained(FOLDER / "minilm"),
    )
    bundle = detect(FOLDER / "minilm").load().to_bundle()
    tokenizer, largest = bundle.tokenizers.target, 0.0
    for text in SENTENCES:
        row, ids = tokenizer.encode(text), backend(text)["input_ids"]
        if [tokenizer.original_ids[token] for token in (*row, END)] != ids:  # type: ignore[attr-defined]
            tell("MiniLM", start, text=text, problem="other tokens")
            return False
        hidden = bundle.model.encode(encode_source_rows([row]))
        largest = max(largest, float((hidden - theirs(torch.tensor([ids])).last_hidden_state).abs().max()))
    tell("MiniLM", start, texts=len(SENTENCES), largest_difference=largest)
    return largest <= MAX_DIFFERENCE


def compare_smollm2(folder: Path, given: argparse.Namespace) -> bool:  # noqa: ARG001
    """The greedy continuations of some prompts."""
    start = time.monotonic()
    bundle = detect(FOLDER / "smollm2.gguf").load().to_bundle()
    export_family(bundle, folder / "llama")
    theirs = LlamaForCausalLM.from_pretrained(folder / "llama").eval()
    tokenizer = bundle.tokenizers.target
    ids: list[int] = tokenizer.original_ids  # type: ignore[attr-defined]
    equal = 0
    for prompt in PROMPTS:
        row = [ids[token] for token in (BEGIN, *tokenizer.encode(prompt))]
        expected = theirs.generate(torch.tensor([row]), max_new_tokens=NEW_TOKENS, do_sample=False, pad_token_id=0)
        [output] = TextGenerator(bundle).generate([prompt], beam_size=1, max_length_extra=NEW_TOKENS)
        own = [ids[token] for token in output.tokens]
        equal += own == expected[0].tolist()[1 : len(own) + 1]
    tell("SmolLM2", start, prompts=len(PROMPTS), new_tokens=NEW_TOKENS, equal=equal)
    return equal == len(PROMPTS)


COMPARISONS = {"families": compare_families, "opus": compare_opus, "minilm": compare_minilm, "smollm2": compare_smollm2}

if __name__ == "__main__":
    sys.exit(main())
