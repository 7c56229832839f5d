"""The programs that we compare with on the same model: CTranslate2 alone, and Hugging Face's generate.

Each is a function from lines to lines, with its fastest settings: lines sorted by length (unless an option says no);
for CTranslate2 one worker of one thread per core.
"""

import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from sentencepiece import SentencePieceProcessor

from regard.bundle import Bundle
from regard.interop.ctranslate2 import export_ctranslate2
from regard.interop.marian import export_huggingface, unsupported_features

os.environ.setdefault("HF_HUB_OFFLINE", "1")

Translate = Callable[[Sequence[str], int], list[str]]  # lines, and the beam's width
BATCH = {1: 64}  # sentences, by the beam's width; 32 for wider ones
LONGEST = 256


def raw_ctranslate2(bundle: Bundle, directory: Path, *, quantization: str, workers: int) -> Translate:
    """CTranslate2 as its documentation calls it."""
    import ctranslate2

    export_ctranslate2(bundle, directory, quantization=quantization)
    translator = ctranslate2.Translator(str(directory), inter_threads=workers, intra_threads=1)
    source = SentencePieceProcessor(model_proto=bundle.tokenizers.source.to_bytes())
    target = SentencePieceProcessor(model_proto=bundle.tokenizers.target.to_bytes())

    def translate(lines: Sequence[str], beam: int) -> list[str]:
        results = translator.translate_batch(
            source.encode(list(lines), out_type=str),
            beam_size=beam,
            max_batch_size=BATCH.get(beam, 32),
            max_decoding_length=LONGEST,
        )
        return list(target.decode([result.hypotheses[0] for result in results]))

    return translate


def huggingface(bundle: Bundle, directory: Path, *, is_sorted: bool = True) -> Translate | None:
    """MarianMTModel and its generate, from an export; None for a model that Marian's classes cannot hold.

    Sorted by length is best for it; its own pipeline takes lines as they come.
    """
    if unsupported_features(bundle.config, bundle.tokenizers):
        return None
    warnings.filterwarnings("ignore", message="Recommended: pip install sacremoses")
    from transformers import MarianMTModel, MarianTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    export_huggingface(bundle, directory)
    model = MarianMTModel.from_pretrained(directory).eval()
    model.generation_config.max_length = None
    tokenizer = MarianTokenizer.from_pretrained(directory)

    def batch(lines: list[str], beam: int) -> list[str]:
        inputs = tokenizer(lines, return_tensors="pt", padding=True)
        with torch.inference_mode():
            outputs = model.generate(**inputs, num_beams=beam, early_stopping=beam > 1, max_new_tokens=LONGEST)
        return list(tokenizer.batch_decode(outputs, skip_special_tokens=True))

    def translate(lines: Sequence[str], beam: int) -> list[str]:
        order = sorted(range(len(lines)), key=lambda place: -len(lines[place]) if is_sorted else place)
        size, found = BATCH.get(beam, 32), dict[int, str]()
        for start in range(0, len(order), size):
            places = order[start : start + size]
            found |= dict(zip(places, batch([lines[place] for place in places], beam), strict=True))
        return [found[place] for place in range(len(lines))]

    return translate
