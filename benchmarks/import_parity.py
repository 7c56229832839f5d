"""Published models, imported, against the programs that they were published for: how many outputs are equal.

    python -m tests.support.published_weights
    .venv/bin/python -m benchmarks.import_parity --lines 1000

OPUS-MT zh-en (an Argos package, int8) against CTranslate2, which computes in float32, as imported and exported again:
the same tokens, greedy. MiniLM against transformers: the largest difference of the hidden states. SmolLM2 (GGUF, Q4_1)
against transformers on the same dequantised weights: the same greedy text. One JSON line for each; the exit code is 1
if fewer than 99.5 % of the translations are equal, a hidden state differs by more than 1e-4, or a text differs.
Firefox's models are compared in benchmarks/bergamot.py.
"""

import argparse
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import ctranslate2
import sentencepiece
import torch
from transformers import AutoTokenizer, BertModel, LlamaForCausalLM

from regard.batch import encode_source_rows
from regard.inference.ctranslate2_engine import CTranslate2Engine
from regard.inference.open import read_export
from regard.inference.text_generator import TextGenerator
from regard.inference.translator import Translator
from regard.interop.argos import Archive
from regard.interop.ctranslate2 import export_ctranslate2
from regard.interop.huggingface import export_family
from regard.interop.import_model import detect
from regard.special_tokens import BEGIN, END
from tests.support.published_weights import FOLDER

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
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--models", nargs="+", choices=COMPARISONS, default=list(COMPARISONS))
    given = parser.parse_args()
    held = []
    for name in given.models:
        with TemporaryDirectory() as folder, torch.inference_mode():
            held.append(COMPARISONS[name](Path(folder), given.lines))
    return 0 if all(held) else 1


def tell(model: str, **figures: object) -> None:
    print(json.dumps({"model": model} | figures), flush=True)


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


def compare_opus(folder: Path, lines: int) -> bool:
    """The tokens of the original, of the import, and of the import's export."""
    path, texts = FOLDER / "zh-en.argosmodel", news(lines)
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
        tell("OPUS-MT zh-en", compared=name, sentences=len(texts), equal=equal, share=equal / len(texts))
    return held


def compare_minilm(folder: Path, lines: int) -> bool:  # noqa: ARG001
    """The largest difference of a hidden state."""
    theirs, backend = (
        BertModel.from_pretrained(FOLDER / "minilm").eval(),
        AutoTokenizer.from_pretrained(FOLDER / "minilm"),
    )
    bundle = detect(FOLDER / "minilm").load().to_bundle()
    tokenizer, largest = bundle.tokenizers.target, 0.0
    for text in SENTENCES:
        row, given = tokenizer.encode(text), backend(text)["input_ids"]
        if [tokenizer.original_ids[token] for token in (*row, END)] != given:  # type: ignore[attr-defined]
            tell("MiniLM", text=text, problem="other tokens")
            return False
        hidden = bundle.model.encode(encode_source_rows([row]))
        largest = max(largest, float((hidden - theirs(torch.tensor([given])).last_hidden_state).abs().max()))
    tell("MiniLM", texts=len(SENTENCES), largest_difference=largest)
    return largest <= MAX_DIFFERENCE


def compare_smollm2(folder: Path, lines: int) -> bool:  # noqa: ARG001
    """The greedy continuations of some prompts."""
    bundle = detect(FOLDER / "smollm2.gguf").load().to_bundle()
    export_family(bundle, folder / "llama")
    theirs = LlamaForCausalLM.from_pretrained(folder / "llama").eval()
    tokenizer = bundle.tokenizers.target
    ids: list[int] = tokenizer.original_ids  # type: ignore[attr-defined]
    equal = 0
    for prompt in PROMPTS:
        given = [ids[token] for token in (BEGIN, *tokenizer.encode(prompt))]
        expected = theirs.generate(torch.tensor([given]), max_new_tokens=NEW_TOKENS, do_sample=False, pad_token_id=0)
        [output] = TextGenerator(bundle).generate([prompt], beam_size=1, max_length_extra=NEW_TOKENS)
        own = [ids[token] for token in output.tokens]
        equal += own == expected[0].tolist()[1 : len(own) + 1]
    tell("SmolLM2", prompts=len(PROMPTS), new_tokens=NEW_TOKENS, equal=equal)
    return equal == len(PROMPTS)


COMPARISONS = {"opus": compare_opus, "minilm": compare_minilm, "smollm2": compare_smollm2}

if __name__ == "__main__":
    sys.exit(main())
