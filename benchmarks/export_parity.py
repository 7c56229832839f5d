"""Does an export give the same output as the model? Strings in float32, BLEU in int8, strings of Hugging Face's Marian.

    .venv/bin/python benchmarks/export_parity.py --model runs/multi30k-transformer/model \
        --source data/multi30k/test2016.lc.tok.en --reference data/multi30k/test2016.lc.tok.de

One JSON line for each comparison. The exit code is 1 if a target is missed: 99.5 % of the strings for float32 and
for Marian, at most 0.3 BLEU lost in int8. A model that Marian does not support is compared
without it; the line has the reason.
"""

import argparse
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from regard.inference.open import load
from regard.inference.translator import Translator
from regard.interop.ctranslate2 import export_ctranslate2
from regard.interop.marian import unsupported_features
from regard.metrics.text import evaluate, tokenization_for

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.peers import huggingface

SAME, WITHIN = 0.995, 0.3


def main() -> int:
    given = _arguments()
    sources = given.source.read_text(encoding="utf-8").splitlines()[: given.lines]
    references = given.reference.read_text(encoding="utf-8").splitlines()[: given.lines]
    translator = load(given.model, task="translation", engine="torch")
    all_hold = True
    for beam in given.beams:
        ours = [output.text for output in translator.translate(sources, beam_size=beam, nbest=1)]
        with TemporaryDirectory() as directory:
            for row in compare(translator, Path(directory), (sources, ours, references), beam):
                all_hold = all_hold and bool(row["holds"])
                print(json.dumps(row, ensure_ascii=False), flush=True)
    return 0 if all_hold else 1


def compare(translator: Translator, directory: Path, texts: tuple[list[str], list[str], list[str]], beam: int):  # type: ignore[no-untyped-def]
    """A row for each export."""
    sources, ours, references = texts
    tokenize = tokenization_for(translator.languages[1])
    bleu = {"torch": _bleu(ours, references, tokenize)}
    for quantization in ("float32", "int8"):
        export_ctranslate2(translator.bundle, directory / quantization, quantization=quantization)
        theirs = [
            output.text
            for output in load(directory / quantization, task="translation").translate(sources, beam_size=beam)
        ]
        same, score = _same(ours, theirs), _bleu(theirs, references, tokenize)
        is_near = score >= bleu["torch"] - WITHIN
        holds = same >= SAME if quantization == "float32" else is_near
        yield _row(f"ctranslate2 {quantization}", beam, same, score - bleu["torch"], holds, len(ours))
    marian = huggingface(translator.bundle, directory / "marian")
    if marian is None:
        reasons = unsupported_features(translator.bundle.config, translator.tokenizers)
        yield {"export": "huggingface", "beam": beam, "refused": reasons, "holds": True}
        return
    theirs = marian(sources, beam)
    same, score = _same(ours, theirs), _bleu(theirs, references, tokenize)
    yield _row("huggingface", beam, same, score - bleu["torch"], same >= SAME, len(ours))


def _row(export: str, beam: int, same: float, difference: float, holds: bool, lines: int) -> dict[str, object]:
    return {
        "export": export,
        "beam": beam,
        "lines": lines,
        "same_strings": round(same, 4),
        "bleu_difference": round(difference, 3),
        "holds": holds,
    }


def _same(ours: list[str], theirs: list[str]) -> float:
    return sum(own == other for own, other in zip(ours, theirs, strict=True)) / len(ours)


def _bleu(outputs: list[str], references: list[str], tokenize: str) -> float:
    [bleu] = [one for one in evaluate(outputs, references, resamples=1, tokenize=tokenize) if one.name == "BLEU"]  # type: ignore[arg-type]
    return bleu.value


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--source", type=Path, default=Path("data/multi30k/test2016.lc.tok.en"))
    parser.add_argument("--reference", type=Path, default=Path("data/multi30k/test2016.lc.tok.de"))
    parser.add_argument("--lines", type=int, default=None)
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
