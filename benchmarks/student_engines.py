"""The student of Multi30k in torch, CTranslate2, Bergamot and Marian: BLEU, speed and equality, in one table.

    npm install --prefix benchmarks/bergamot_node --no-package-lock
    python -m venv build/pymarian && build/pymarian/bin/pip install pymarian==1.12.42    # optional: 604 MB
    python -m benchmarks.student_engines --data ../shared/data/multi30k --out runs/student-engines

Two students are trained, or continued, by the same recipe (multi30k-student-ssru, with fewer steps): one with an SSRU
in the decoder, which CTranslate2 cannot run, and one with self-attention, which all engines run. Every engine has one
thread, searches greedily and translates test2016 from text to text. Seconds are the median of some repetitions without
loading; `same` counts the sentences with the words that torch gives in float32. With 300 steps the students hardly ever
end a sentence, so that each engine ends it at its own limit; with 3,000 they do (10 and 12 BLEU).
"""

import argparse
import statistics
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import ctranslate2
import torch
from sentencepiece import SentencePieceProcessor

import regard
from regard.bundle import Bundle, load_bundle
from regard.inference.translator import Translator
from regard.interop.ctranslate2 import export_ctranslate2
from regard.interop.marian_native_export import export_marian
from regard.metrics.text import evaluate
from regard.training.events import StepsLogged, Validated
from tests.support import bergamot, pymarian

RECIPE = Path(__file__).parents[1] / "recipes" / "multi30k-student-ssru.toml"
DECODERS = ("ssru", "self-attention")
LANGUAGES = ("en", "de")
CT2_BATCH_TOKENS, LONGEST = 1024, 256


class Result(NamedTuple):
    """What one engine made of one student."""

    decoder: str
    engine: str
    texts: list[str]
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of Multi30k")
    parser.add_argument("--out", type=Path, default=Path("runs/student-engines"), help="[default: %(default)s]")
    parser.add_argument("--steps", type=int, default=3000, help="of training [default: %(default)s]")
    parser.add_argument("--batch-tokens", type=int, default=2048, help="[default: %(default)s]")
    parser.add_argument("--lines", type=int, default=1000, help="of test2016 [default: %(default)s]")
    parser.add_argument("--repetitions", type=int, default=3, help="[default: %(default)s]")
    parser.add_argument("--train-only", action="store_true", help="train, or continue, and end")
    given = parser.parse_args()
    torch.set_num_threads(1)
    bundles = {decoder: train(given, decoder) for decoder in DECODERS}
    if given.train_only:
        return
    sources, references = (read(given.data, "test2016", language)[: given.lines] for language in LANGUAGES)
    print(f"\n| decoder | engine | BLEU | sentences/s | same as torch, of {len(sources):,} |\n|---|---|---|---|---|")
    with TemporaryDirectory() as folder:
        for decoder in DECODERS:
            expected: list[str] = []  # of torch, which is the first engine
            for one in run_engines(decoder, bundles[decoder], sources, Path(folder) / decoder, given.repetitions):
                expected = expected or one.texts
                print_row(one, references, expected)


def read(data: Path, part: str, language: str) -> list[str]:
    return path_of(data, part, language).read_text(encoding="utf-8").splitlines()


def path_of(data: Path, part: str, language: str) -> Path:
    return data / f"{part}.lc.tok.{language}"


def train(given: argparse.Namespace, decoder: str) -> Bundle:
    """Train, or continue, one student."""
    recipe = tomllib.loads(RECIPE.read_text(encoding="utf-8"))
    recipe["model"]["decoder_autoregression"] = decoder
    recipe["data"] |= {"train": [str(path_of(given.data, "train", one)) for one in LANGUAGES]}
    recipe["data"] |= {"valid": [str(path_of(given.data, "val", one)) for one in LANGUAGES]}
    training = {"steps": given.steps, "batch_tokens": given.batch_tokens, "warmup_steps": given.steps // 4}
    training |= {"validate_every": given.steps, "checkpoint_every": 50, "average_checkpoints": 0, "threads": 1}
    recipe["training"] |= training
    run = given.out / f"{decoder}-{given.steps}"
    events = regard.train(recipe, run=run, resume=(run / "config.toml").exists())
    for event in events:
        if isinstance(event, StepsLogged | Validated):
            print(f"{run.name} step {event.step}: {type(event).__name__} loss {event.loss:.3f}", flush=True)
    return load_bundle(run / "model")


def run_engines(decoder: str, bundle: Bundle, sources: list[str], folder: Path, repetitions: int) -> Iterator[Result]:
    """Every engine that can run the student; its exports are written to the folder."""

    def timed(engine: str, translate: Callable[[], list[str]]) -> Result:
        seconds = []
        for _ in range(repetitions):
            start = time.perf_counter()
            texts = translate()
            seconds.append(time.perf_counter() - start)
        return Result(decoder, engine, texts, statistics.median(seconds))

    def measured(engine: str, output: bergamot.Translated) -> Result:
        return Result(decoder, engine, output.texts, statistics.median(output.seconds))

    translator, options = Translator(bundle), {"repetitions": repetitions}
    yield timed("torch float32", lambda: [one.text for one in translator.translate(sources, beam_size=1)])
    for numbers in ("float32", "int8"):
        directory = folder / numbers
        if decoder == "self-attention":
            export_ctranslate2(bundle, directory / "ctranslate2", quantization=numbers)
            yield timed(f"CTranslate2 {numbers}", ctranslate2_call(bundle, directory / "ctranslate2", sources))
        export_marian(bundle, directory / "marian", quantization=numbers)
        precision = {"float32": "float32", "int8": "int8shiftAll"}[numbers]
        output = bergamot.translate_with_bergamot(directory / "marian", sources, precision=precision, **options)
        yield measured(f"Bergamot wasm {numbers}", output)
        if pymarian.is_installed() and numbers == "float32":
            output = pymarian.translate_with_pymarian(directory / "marian", sources, **options)
            yield measured(f"pymarian {numbers}", output)


def ctranslate2_call(bundle: Bundle, directory: Path, sources: list[str]) -> Callable[[], list[str]]:
    """CTranslate2 as its documentation calls it, from lines to lines."""
    both = bundle.tokenizers
    translator = ctranslate2.Translator(str(directory), inter_threads=1, intra_threads=1)
    source, target = (SentencePieceProcessor(model_proto=side.to_bytes()) for side in (both.source, both.target))
    options: dict[str, Any] = {"beam_size": 1, "max_batch_size": CT2_BATCH_TOKENS, "batch_type": "tokens"}
    options |= {"max_decoding_length": LONGEST}

    def translate() -> list[str]:
        results = translator.translate_batch(source.encode(sources, out_type=str), **options)
        return list(target.decode([result.hypotheses[0] for result in results]))

    return translate


def print_row(one: Result, references: list[str], expected: list[str]) -> None:
    bleu, *_ = evaluate(one.texts, references, tokenize="none", resamples=1)
    same = sum(text.split() == other.split() for text, other in zip(one.texts, expected, strict=True))
    speed = len(references) / one.seconds
    print(f"| {one.decoder} | {one.engine} | {bleu.value:.2f} | {speed:,.0f} | {same:,} |", flush=True)


if __name__ == "__main__":
    main()
