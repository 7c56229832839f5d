"""A distilled student against its teacher, both in CTranslate2: BLEU and speed, greedy and with a beam of five.

    .venv/bin/python benchmarks/student.py --teacher runs/multi30k-transformer/model --student runs/multi30k-student

Both are int8, with a worker of one thread for each core, and sentences sorted by length; the student runs with and
without its shortlist. Turns are interleaved. It prints a JSON line for each timing, then one for each setup of the
student: its BLEU minus the teacher's, and its speed divided by the teacher's with a beam of five. The exit code is 1 if
no setup is within 0.3 BLEU at three times the speed.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import ctranslate2
from sentencepiece import SentencePieceProcessor

from regard.bundle import Bundle, load_bundle
from regard.interop.ctranslate2 import export_ctranslate2
from regard.metrics.text import evaluate

BATCH_TOKENS = 1024  # source tokens at once, over the beam's width: best for both here
LONGEST = 256
BEAMS = (1, 5)
LEAST_TIMES, MOST_BLEU = 3.0, 0.3
Way = Callable[[], list[str]]


def main() -> int:
    given = _arguments()
    with TemporaryDirectory() as directory:
        ways = make_ways(given, Path(directory))
        bleu = {name: _bleu(way(), given.reference) for name, way in ways.items()}
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for repetition in range(given.repetitions):
            for name, way in ways.items():
                seconds[name].append(_seconds_of(way))
                _tell(who=name, repetition=repetition, seconds=seconds[name][-1], bleu=bleu[name])
    held = [_compare(name, bleu, seconds) for name in ways if name.startswith("student")]
    return 0 if any(held) else 1


def make_ways(given: argparse.Namespace, directory: Path) -> dict[str, Way]:
    """Every setup, by name, ready to run."""
    teacher, student = load_bundle(given.teacher), load_bundle(given.student / "model")
    export_ctranslate2(teacher, directory / "teacher", quantization="int8")
    lines = given.source.read_text(encoding="utf-8").splitlines()
    ways = {}
    for beam in BEAMS:
        ways[f"teacher, beam {beam}"] = _way(teacher, directory / "teacher", lines, beam=beam)
        for use_vmap in (False, True):
            name = f"student, beam {beam}" + ", shortlist" * use_vmap
            ways[name] = _way(student, given.student / "ctranslate2-int8", lines, beam=beam, use_vmap=use_vmap)
    return ways


def _way(bundle: Bundle, directory: Path, lines: list[str], *, beam: int, use_vmap: bool = False) -> Way:
    """CTranslate2 as its documentation calls it, from lines to lines."""
    both, cores = bundle.tokenizers, len(os.sched_getaffinity(0))
    translator = ctranslate2.Translator(str(directory), inter_threads=cores, intra_threads=1)
    source, target = (SentencePieceProcessor(model_proto=side.to_bytes()) for side in (both.source, both.target))

    def translate() -> list[str]:
        results = translator.translate_batch(
            source.encode(lines, out_type=str),
            beam_size=beam,
            max_batch_size=BATCH_TOKENS // beam,
            batch_type="tokens",
            max_decoding_length=LONGEST,
            use_vmap=use_vmap,
        )
        return list(target.decode([result.hypotheses[0] for result in results]))

    return translate


def _compare(name: str, bleu: dict[str, float], seconds: dict[str, list[float]]) -> bool:
    """The student in this setup against the teacher with its beam."""
    whom = f"teacher, beam {max(BEAMS)}"
    times = [theirs / own for own, theirs in zip(seconds[name], seconds[whom], strict=True)]
    less, middle = bleu[whom] - bleu[name], statistics.median(times)
    holds = less <= MOST_BLEU and middle >= LEAST_TIMES
    _tell(ratio=f"{name} / {whom}", bleu_less=less, median=middle, low=min(times), high=max(times), holds=holds)
    return holds


def _bleu(outputs: list[str], reference: Path) -> float:
    references = reference.read_text(encoding="utf-8").splitlines()
    bleu, *_ = evaluate(outputs, references, tokenize="none", resamples=1)
    return bleu.value


def _seconds_of(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _tell(**row: object) -> None:
    print(json.dumps({key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--teacher", type=Path, required=True, help="a model's directory")
    parser.add_argument("--student", type=Path, required=True, help="the run's directory that `regard distill` made")
    parser.add_argument("--source", type=Path, default=Path("data/multi30k/test2016.lc.tok.en"))
    parser.add_argument("--reference", type=Path, default=Path("data/multi30k/test2016.lc.tok.de"))
    parser.add_argument("--repetitions", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
