"""OPUS-MT zh-en, fine-tuned for 50 steps on 1,000 messages of Sphinx, and exported to CTranslate2 again.

    python -m tests.support.published_weights
    python -m benchmarks.finetune_opus build/weights/zh-en.argosmodel --out runs/finetune-opus

The pairs are Sphinx's own translations into Chinese, simplified and traditional, which come with the package (extra
`docs`), read backwards. It prints greedy BLEU on some of the training pairs and on others, before and after, and how
many lines the export translates as the fine-tuned model does. A run that was stopped continues.
"""

import argparse
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import regard
from regard.bundle import load_bundle
from regard.data.pair_readers.po import read_po
from regard.data.pair_readers.text import Pair
from regard.inference.open import load
from regard.interop.ctranslate2 import export_ctranslate2
from regard.interop.import_model import detect, write_model
from regard.training.events import StepsLogged, Validated

CHINESE = re.compile("[\u4e00-\u9fff]")
CATALOGUES = ("zh_CN", "zh_TW")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("weights", type=Path, help="zh-en.argosmodel")
    parser.add_argument("--out", type=Path, default=Path("runs/finetune-opus"), help="[default: %(default)s]")
    parser.add_argument("--steps", type=int, default=50, help="[default: %(default)s]")
    parser.add_argument("--batch-tokens", type=int, default=256, help="[default: %(default)s]")
    parser.add_argument("--rate", type=float, help="[default: that of regard train --from]")
    parser.add_argument("--freeze", nargs="*", default=[], help="parts that are not trained [default: none]")
    parser.add_argument("--scored", type=int, default=100, help="lines of each set [default: %(default)s]")
    given = parser.parse_args()
    start = given.out / "start"
    if not start.exists():
        write_model(detect(given.weights).load(), start)
    pairs = list(sphinx_messages())
    Random(0).shuffle(pairs)
    train, held_out = pairs[:1000], pairs[1000 : 1000 + given.scored]
    print(f"{len(train)} pairs to train on, {len(held_out)} others", flush=True)
    run = tune(given, start, train, held_out)
    print(f"\n{'':8}{'training pairs':>16}{'other pairs':>16}  greedy BLEU of {given.scored} lines each")
    for name, model in (("before", start), ("after", run)):
        translator = load(model, task="translation")
        scores = [bleu(translator, part) for part in (train[: given.scored], held_out)]
        print(f"{name:8}{scores[0]:16.2f}{scores[1]:16.2f}", flush=True)
    export_ctranslate2(load_bundle(run / "model"), given.out / "ctranslate2", quantization="float32")
    sources = [pair.source for pair in held_out[:20]]
    engines = load(run, task="translation", engine="torch"), load(given.out / "ctranslate2", task="translation")
    ours, theirs = ([one.text for one in engine.translate(sources, beam_size=1)] for engine in engines)
    same = sum(one == other for one, other in zip(ours, theirs, strict=True))
    print(f"the export to CTranslate2 (float32) translates {same} of {len(sources)} lines as the model does")


def sphinx_messages() -> Iterator[Pair]:
    """Chinese messages and their English originals, each pair once; messages of several lines are left out."""
    package = find_spec("sphinx")
    if package is None or package.origin is None:
        raise SystemExit("Sphinx is not installed: pip install 'regard[docs]'")
    seen = set()
    for name in CATALOGUES:
        for pair in read_po(Path(package.origin).parent / "locale" / name / "LC_MESSAGES" / "sphinx.po"):
            english, chinese = pair.source.strip(), pair.target.strip()
            if CHINESE.search(chinese) and "\n" not in english + chinese and (english, chinese) not in seen:
                seen.add((english, chinese))
                yield Pair(chinese, english, len(seen))


def tune(given: argparse.Namespace, start: Path, train: list[Pair], held_out: list[Pair]) -> Path:
    """Fine-tune, or continue; returns the run."""
    files = {"train": given.out / "train.tsv", "valid": given.out / "valid.tsv"}
    for path, pairs in zip(files.values(), (train, held_out), strict=True):
        path.write_text("".join(f"{one.source}\t{one.target}\n" for one in pairs), encoding="utf-8")
    options: dict[str, Any] = {"steps": given.steps, "batch_tokens": given.batch_tokens, "freeze": given.freeze}
    options |= {"validate_every": given.steps, "checkpoint_every": 25, "validation_metric": "loss"}
    options |= {"learning_rate": given.rate} if given.rate else {}
    recipe = {"data": {name: [str(path)] for name, path in files.items()}, "training": options}
    run: Path = given.out / "run"
    for event in regard.train(recipe, start_from=start, run=run, resume=(run / "config.toml").exists()):
        if isinstance(event, StepsLogged | Validated):
            print(f"step {event.step}: {type(event).__name__} loss {event.loss:.3f}", flush=True)
    return run


def bleu(translator: Any, pairs: list[Pair]) -> float:
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    report = regard.evaluate(translator, sources, references, resamples=1, beam_size=1)
    return next(one.value for one in report.scores if one.name == "BLEU")


if __name__ == "__main__":
    main()
