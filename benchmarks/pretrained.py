"""Train the models that come with regard again, and compare their figures with the shipped ones.

    .venv/bin/python benchmarks/pretrained.py                               # `make pretrained`: all, about three hours
    .venv/bin/python benchmarks/pretrained.py world-en-ko scenes            # some of them
    .venv/bin/python benchmarks/pretrained.py en-fr --tatoeba ~/tatoeba     # the text is elsewhere
    .venv/bin/python benchmarks/pretrained.py --evaluate-only               # the shipped models, without training
    .venv/bin/python benchmarks/pretrained.py --runs runs --ship            # replace the shipped models by trained ones

A run that was stopped is resumed, and a finished one is not trained again. Each figure is a JSON line: the shipped
value, the new one with its 95 % interval, and whether the shipped value is inside.
"""

import argparse
import dataclasses
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch

import regard
from regard import pretrained
from regard.bundle import load_bundle, save_bundle
from regard.data.captions import read_captioned
from regard.data.labelled_examples import read_labelled_texts
from regard.data.text_lines import read_lines
from regard.files import CONFIG_FILE
from regard.inference.evaluation import EvaluationReport, TranslationReport
from regard.tokenization.known_words import KnownWords
from regard.training.events import EVENT_LOG, EventLog, TrainingEnded
from regard.training.recipes import find_recipe

TATOEBA = Path("data/tatoeba")  # as the recipes name it
WORLD, LABELS, SCENES = Path("runs/world/data"), Path("runs/world/labels"), Path("runs/scenes/data")
GENERATIONS = ("en-fr", "en-fr-rnn-attention", "en-fr-rnn")
WHERE_TO_GET_IT = """{folder} has no {file}.
The everyday sentences are those of tatoeba.org (CC-BY 2.0 FR), in English and French. Download them from
https://www.manythings.org/anki/ (fra-eng.zip) or https://tatoeba.org/downloads, and write enfr.train.en, enfr.train.fr,
enfr.val.en, enfr.val.fr, enfr.test.en and enfr.test.fr: one sentence per line, line n of both languages a pair, no
sentence in two parts. Give their folder with --tatoeba. To train only the models that need no download, name them:
{others}"""

OWN_LICENCE = "MIT, as regard itself"
OWN_ATTRIBUTION = "Trained on text and images that regard generates."
TATOEBA_LICENCE = "CC-BY 2.0 FR (https://creativecommons.org/licenses/by/2.0/fr/)"
TATOEBA_ATTRIBUTION = "Trained on sentences from https://tatoeba.org, through https://www.manythings.org/anki/."


@dataclass(frozen=True)
class Subject:
    """A model to ship: what its card says, apart from the figures."""

    summary: str
    data: str
    test_set: str
    needs_tatoeba: bool = False

    def card(self, name: str, figures: dict[str, float]) -> pretrained.ModelCard:
        """The card with these figures."""
        return pretrained.ModelCard(
            summary=self.summary,
            recipe=f"pretrained/{name}",
            data=self.data,
            licence=TATOEBA_LICENCE if self.needs_tatoeba else OWN_LICENCE,
            attribution=TATOEBA_ATTRIBUTION if self.needs_tatoeba else OWN_ATTRIBUTION,
            test_set=self.test_set,
            figures=figures,
        )


def everyday(summary: str) -> Subject:
    """A translator of everyday sentences."""
    data = "172,225 pairs of everyday sentences from Tatoeba"
    return Subject(summary, data, "1,000 pairs from Tatoeba, beam 5", needs_tatoeba=True)


SENTENCES, IMAGES = "60,000 pairs of generated sentences", "40,000 generated images"
CLASSIFIER, LABELLED = "world-classifier", "60,000 generated sentences with labels"
SUBJECTS = {
    "en-fr": everyday("English to French, everyday sentences: Transformer"),
    "fr-en": everyday("French to English, everyday sentences: Transformer"),
    "en-fr-rnn-attention": everyday("English to French, everyday sentences: RNN with attention (Bahdanau et al.)"),
    "en-fr-rnn": everyday("English to French, everyday sentences: RNN with a fixed context"),
    "world-en-ko": Subject("English to Korean, generated world: Transformer", SENTENCES, "1,000 generated pairs"),
    "world-ko-en": Subject("Korean to English, generated world: Transformer", SENTENCES, "1,000 generated pairs"),
    "scenes": Subject("English captions of generated scenes: RNN with attention", IMAGES, "1,000 generated images"),
    "world-decoder-only": Subject("continues Korean text of the generated world", SENTENCES, "1,000 sentences"),
    "world-encoder-only": Subject("fills masks in Korean text of the generated world", SENTENCES, "1,000 sentences"),
    CLASSIFIER: Subject("which of two people acts, generated world: RNN with attention", LABELLED, "1,000 sentences"),
}


# --- training --------------------------------------------------------------------------------------------------------


def run_regard(*arguments: object) -> None:
    """Run a command of a user, whose output is shown."""
    print("regard", *arguments, flush=True)
    subprocess.run([sys.executable, "-m", "regard", *map(str, arguments)], check=True)


def generate_data(names: list[str]) -> None:
    """The generated corpora, where they do not exist yet."""
    if any(name.startswith("world") and name != CLASSIFIER for name in names) and not (WORLD / "README.txt").exists():
        run_regard("data", "generate", "sentences", "--out", WORLD)
    if CLASSIFIER in names and not (LABELS / "README.txt").exists():
        run_regard("data", "generate", "sentences", "--out", LABELS, "--labels", "who-acts")
    if "scenes" in names and not (SCENES / "README.txt").exists():
        run_regard("data", "generate", "scenes", "--out", SCENES, "--train", 40_000)


def train(name: str, runs: Path, tatoeba: Path) -> None:
    """Train a model by its recipe, from where an earlier call stopped."""
    run = runs / name
    events = EventLog(run / EVENT_LOG).read()
    if events and isinstance(events[-1], TrainingEnded):
        return
    if (run / CONFIG_FILE).exists():
        run_regard("train", "--run", run, "--resume")
        return
    options = []
    if SUBJECTS[name].needs_tatoeba and tatoeba != TATOEBA:
        sides = name.split("-")[:2]
        for option, part in (("train", "train"), ("valid", "val")):
            files = json.dumps([str(tatoeba / f"enfr.{part}.{side}") for side in sides])
            options.append(f"--set=data.{option}={files}")
    run_regard("train", f"pretrained/{name}", "--run", run, *options)


# --- figures ---------------------------------------------------------------------------------------------------------


def evaluate(name: str, model: Any, tatoeba: Path) -> Any:
    """The report of a model on its test set."""
    if name == "scenes":
        captioned = read_captioned(SCENES, split="test")
        return regard.evaluate(model, [one.image for one in captioned], [one.captions for one in captioned])
    if name == CLASSIFIER:
        pairs = list(read_labelled_texts([LABELS / "test.en.tsv"], labels=model.labels))
        return regard.evaluate(model, [pair.target for pair in pairs], [pair.source for pair in pairs])
    prefix = tatoeba / "enfr.test" if SUBJECTS[name].needs_tatoeba else WORLD / "test"
    languages = [code for code in model.languages if code]
    texts = [list(read_lines(prefix.with_name(f"{prefix.name}.{code}"))) for code in languages]
    return regard.evaluate(model, *texts)


def figures_of(report: Any) -> dict[str, tuple[float, float, float]]:
    """The figures of a card: value, low and high end of the 95 % interval."""
    names = ("BLEU", "BLEU-4", "chrF2", "chrF", "accuracy", "macro F1")
    kept = [one for one in report.scores if one.name in names or "per word" in one.name]
    found = {one.name: (round(one.value, 1), round(one.low, 1), round(one.high, 1)) for one in kept}
    exact = getattr(report, "exact_match", None)
    if exact is not None:  # of images: a standard error of the fraction
        error = 1.96 * (exact * (1 - exact) / report.images) ** 0.5
        found = {"exact match %": tuple(round(100 * one, 1) for one in (exact, exact - error, exact + error))} | found
    return found


def compare_with_shipped(name: str, measured: dict[str, tuple[float, float, float]]) -> bool:
    """Print each figure beside the shipped one; whether all shipped ones are inside the intervals."""
    shipped = pretrained.card(name).figures if name in pretrained.names() else {}
    are_inside = True
    for figure, (value, low, high) in measured.items():
        before = shipped.get(figure)
        line: dict[str, Any] = {
            "model": name,
            "figure": figure,
            "shipped": before,
            "now": value,
            "interval": [low, high],
        }
        if before is not None:
            line |= {"difference": round(value - before, 1), "inside": low <= before <= high}
            are_inside &= low <= before <= high
        print(json.dumps(line), flush=True)
    return are_inside


# --- shipping --------------------------------------------------------------------------------------------------------


def ship(name: str, trained: Path, tatoeba: Path) -> TranslationReport | None:
    """Write a trained model into the package, in float16 and with its card; the report of a translator."""
    bundle = load_bundle(trained)
    place, recipe = pretrained.directory(name), regard.Config.load(find_recipe(Path("pretrained") / name))
    # The paths and threads of the recipe, not those of this machine.
    training = msgspec.structs.replace(bundle.config.training, threads=recipe.training.threads)
    config = msgspec.structs.replace(bundle.config, training=training, data=recipe.data)
    corpora = {TATOEBA: tatoeba}  # where the recipe's folders are here
    train = [corpora.get(path.parent, path.parent) / path.name for path in map(Path, recipe.data.train)]
    has_words = name != "scenes" and "rnn" not in name  # en-fr has the words of all its generations: 50 kB
    known = KnownWords.from_lines(read_lines(train[0])) if has_words else None
    bundle = dataclasses.replace(bundle, config=config, known_words=known)
    save_bundle(place, bundle, dtype=torch.float16)
    report = evaluate(name, regard.load(place), tatoeba)  # of the rounded weights
    figures = {figure: value for figure, (value, _, _) in figures_of(report).items()}
    card = msgspec.json.format(msgspec.json.encode(SUBJECTS[name].card(name, figures)), indent=2) + b"\n"
    save_bundle(place, bundle, dtype=torch.float16, more_files={pretrained.CARD_FILE: card})
    size = sum(path.stat().st_size for path in place.iterdir())
    print(json.dumps({"model": name, "parameters": bundle.num_parameters, "bytes": size} | figures), flush=True)
    return report if isinstance(report, TranslationReport) else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="MODEL", help=f"of {', '.join(SUBJECTS)} [default: all]")
    parser.add_argument("--tatoeba", type=Path, default=TATOEBA, help="folder of enfr.{train,val,test}.{en,fr}")
    parser.add_argument("--runs", type=Path, default=Path("runs/pretrained"), help="folder of the runs")
    parser.add_argument("--evaluate-only", action="store_true", help="evaluate the shipped models")
    parser.add_argument("--ship", action="store_true", help="write the trained models into the package")
    options = parser.parse_args()
    names = options.names or list(SUBJECTS)
    if unknown := [name for name in names if name not in SUBJECTS]:
        sys.exit(f"{unknown[0]} is not one of {', '.join(SUBJECTS)}.")
    missing = options.tatoeba / "enfr.test.en"
    if any(SUBJECTS[name].needs_tatoeba for name in names) and not missing.is_file():
        others = " ".join(name for name, subject in SUBJECTS.items() if not subject.needs_tatoeba)
        sys.exit(WHERE_TO_GET_IT.format(folder=options.tatoeba, file=missing.name, others=others))
    generate_data(names)
    are_inside, reports = True, {}
    for name in names:
        if not options.evaluate_only:
            train(name, options.runs, options.tatoeba)
        trained = options.runs / name / "model"
        if options.ship:
            reports[name] = ship(name, trained, options.tatoeba)
            continue
        place = pretrained.directory(name) if options.evaluate_only else trained
        report = evaluate(name, regard.load(place), options.tatoeba)
        are_inside &= compare_with_shipped(name, figures_of(report))
    if any(name in reports for name in GENERATIONS):
        places = {name: pretrained.directory(name) for name in GENERATIONS}
        all_reports = [
            reports.get(name) or evaluate(name, regard.load(place), options.tatoeba) for name, place in places.items()
        ]
        # Without sentences: they are not ours to ship.
        figures = [msgspec.structs.replace(one, outputs=[], truncated=[]) for one in all_reports]
        EvaluationReport(models=figures).write(pretrained.EVALUATION_FILE)
    sys.exit(0 if are_inside else 1)


if __name__ == "__main__":
    main()
