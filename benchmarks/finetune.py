"""Fine-tuning against training from scratch, on new and on old data, scored side by side.

    python -m benchmarks.finetune en-fr --data ../shared/data --out runs/finetune
    python -m benchmarks.finetune en-fr --data ../shared/data --out runs/finetune --rates 1e-4 3e-4 1e-3 --steps 100
    python -m benchmarks.finetune en-fr --data ../shared/data --out runs/finetune --settings 8e-4,0.168 3e-4,0.5,cosine
    python -m benchmarks.finetune en-fr --data ../shared/data --out runs/finetune --test

A model trained on Tatoeba (English to French) is fine-tuned on Multi30k's 29,000 captions:

    start     the model as it is
    scratch   a new model of the same size, its vocabulary and weights from Multi30k alone
    tuned     the model fine-tuned on Multi30k
    replay    fine-tuned on Multi30k and some pairs of Tatoeba, by default as `regard train --replay` does

Every run takes the same number of steps with the same batches. BLEU is greedy on both validation sets and, with --test,
with the model's beam on both test sets: everything is chosen without it. A run that was stopped continues exactly.
"""

import argparse
from pathlib import Path
from typing import Any

import msgspec

import regard
from regard.inference.open import load
from regard.training.default_config import default_replay_weight, fine_tuning_rate
from regard.training.events import StepsLogged, Validated

NEW, OLD = "multi30k/{part}.{language}", "tatoeba/enfr.{part}.{language}"
SCRATCH_RATE, SCRATCH_WARMUP = 2e-3, 0.3  # `regard train` has this rate for small models; a share of the steps
Files = list[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path, help="an English-French model trained on Tatoeba")
    parser.add_argument("--data", type=Path, required=True, help="the folder with multi30k/ and tatoeba/")
    parser.add_argument("--out", type=Path, default=Path("runs/finetune"), help="[default: %(default)s]")
    parser.add_argument("--steps", type=int, default=300, help="[default: %(default)s]")
    parser.add_argument("--batch-tokens", type=int, default=1024, help="[default: %(default)s]")
    parser.add_argument("--valid-lines", type=int, default=200, help="during training [default: %(default)s]")
    parser.add_argument("--rate", type=float, help="of `tuned` and `replay` [default: that of regard train --from]")
    parser.add_argument("--rates", type=float, nargs="+", help="compare learning rates of `tuned` instead")
    parser.add_argument("--scratch-rates", type=float, nargs="+", help="compare learning rates of `scratch` instead")
    parser.add_argument("--settings", nargs="+", help="compare RATE,WEIGHT or RATE,WEIGHT,SCHEDULE of `replay` instead")
    parser.add_argument(
        "--runs", nargs="+", choices=("scratch", "tuned", "replay"), default=["scratch", "tuned", "replay"]
    )
    parser.add_argument("--test", action="store_true", help="score the test sets too, once, at the end")
    given = parser.parse_args()
    if given.settings:
        runs = {one: train(given, "replay", setting=one) for one in given.settings}
    elif given.rates or given.scratch_rates:
        name, rates = ("tuned", given.rates) if given.rates else ("scratch", given.scratch_rates)
        runs = {f"{name}-{rate:g}": train(given, name, rate) for rate in rates}
    else:
        runs = {name: train(given, name, None if name == "scratch" else given.rate) for name in given.runs}
    parts = ("val", *(("test",) if given.test else ()))
    print(f"\n{given.steps} steps of {given.batch_tokens} tokens; BLEU")
    print("  ".join([f"{'':14}", *(f"{title:>14}" for part in parts for title in titles(part))]), flush=True)
    for name, model in ({"start": given.model} | runs).items():
        scores = [score(model, files, is_greedy=part == "val") for part in parts for files in sets(given.data, part)]
        print("  ".join([f"{name:14}", *(f"{value:14.2f}" for value in scores)]), flush=True)


def titles(part: str) -> tuple[str, str]:
    return ("Multi30k val", "Tatoeba val") if part == "val" else ("test2016", "enfr.test")


def sets(data: Path, part: str) -> tuple[Files, Files]:
    """The new and the old files of a part."""
    return pair_of(data, NEW, {"test": "test2016"}.get(part, part)), pair_of(data, OLD, part)


def pair_of(data: Path, pattern: str, part: str) -> Files:
    return [str(data / pattern.format(part=part, language=language)) for language in ("en", "fr")]


def train(given: argparse.Namespace, name: str, rate: float | None = None, setting: str = "") -> Path:
    """Train, or continue, one of the runs; returns its directory."""
    run = given.out / f"{name}-{setting or (f'{rate:g}' if rate else 'default')}-{given.steps}"
    new, old = sets(given.data, "train")
    new_valid, old_valid = (first_lines(files, given) for files in sets(given.data, "val"))
    options: dict[str, Any] = {"steps": given.steps, "batch_tokens": given.batch_tokens, "threads": 1}
    options |= {"validate_every": given.steps, "checkpoint_every": max(1, given.steps // 12)}
    data: dict[str, Any] = {"train": new, "valid": new_valid, "old_valid": old_valid, "languages": ["en", "fr"]}
    if name == "replay":
        del data["train"]
        weight = default_replay_weight(new=len(read(new[0])), old=len(read(old[0])))
        data["sources"] = [{"files": new}, {"files": old, "weight": weight}]
        rate = rate or fine_tuning_rate(load(given.model, task="translation").config.model, is_replay=True)
    if setting:
        given_rate, weight, *schedule = setting.split(",")
        rate, data["sources"][1]["weight"] = float(given_rate), float(weight)
        options |= {"schedule": schedule[0]} if schedule else {}
    recipe: dict[str, Any] = {"data": data, "training": options | ({"learning_rate": rate} if rate else {})}
    if name == "scratch":
        config = load(given.model, task="translation", engine="torch").config
        options |= {"learning_rate": rate or SCRATCH_RATE, "warmup_steps": int(SCRATCH_WARMUP * given.steps)}
        del data["old_valid"]
        model, tokenizer = (msgspec.to_builtins(one) for one in (config.model, config.tokenizer))
        recipe = {"model": model, "tokenizer": tokenizer, "data": data, "training": options}
    start = None if name == "scratch" else given.model
    for event in regard.train(recipe, start_from=start, run=run, resume=(run / "config.toml").exists()):
        if isinstance(event, Validated):
            old_score = "" if event.old_bleu is None else f"  old {event.old_bleu:.2f}"
            print(f"{run.name} step {event.step}: BLEU {event.bleu:.2f}{old_score}", flush=True)
        elif isinstance(event, StepsLogged):
            print(f"{run.name} step {event.step}: loss {event.loss:.3f}", flush=True)
    return run


def first_lines(files: Files, given: argparse.Namespace) -> Files:
    """Short validation files, because the runs are scored on the whole ones in the end."""
    given.out.mkdir(parents=True, exist_ok=True)
    paths = [given.out / f"{Path(path).parent.name}.{Path(path).name}" for path in files]
    for path, short in zip(files, paths, strict=True):
        short.write_text("\n".join(read(path)[: given.valid_lines]) + "\n", encoding="utf-8")
    return [str(path) for path in paths]


def score(model: Path, files: Files, *, is_greedy: bool) -> float:
    sources, references = map(read, files)
    options: Any = {"beam_size": 1} if is_greedy else {}
    translator = load(model, task="translation")
    report = regard.evaluate(translator, sources, references, resamples=1, **options)
    return next(one.value for one in report.scores if one.name == "BLEU")


def read(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    main()
