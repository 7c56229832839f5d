"""Checks before a run starts: what can be trained, which files are read, and that a resumed run stays the same run."""

import filecmp
import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

import msgspec

from regard.config import Config, DataConfig, ImageClassifierConfig, MetricName, Task, task_of
from regard.data.inspection import MAX_CHECKED_PAIRS, are_columns_swapped
from regard.data.labelled_examples import find_labels, list_labels, read_labelled_images, read_labelled_texts
from regard.data.pair_readers import check_monolingual, read_pairs
from regard.data.pair_readers.text import read_monolingual
from regard.errors import RegardError
from regard.files import CONFIG_FILE
from regard.languages import is_known_code, languages_from_names, languages_swapped, suggest_code
from regard.metrics.text import tokenization_for, tokenization_note

LANGUAGE_KINDS = ("decoder-only", "encoder-only")
METRICS: dict[Task, tuple[MetricName, ...]] = {
    "translation": ("loss", "bleu", "chrf"),
    "image-to-text": ("loss", "bleu", "chrf", "cider"),
    "text-generation": ("loss",),
    "fill-mask": ("loss",),
    "classification": ("loss", "accuracy", "macro_f1"),
}  # what a validation measures
PAIR_OPTIONS = (("data", "max_length_ratio"), ("data", "deduplicate"), ("tokenizer", "shared"))
_GENERATED_FILE_NAME = re.compile(r"(train|valid|test)\.(en|ko)")


def check_metric(config: Config) -> None:
    """An error if the validation does not measure the metric that chooses the best model."""
    task, metric = task_of(config.model), config.training.validation_metric
    if metric not in METRICS[task]:
        kind = type(config.model).__struct_config__.tag
        raise RegardError(
            f"training.validation_metric is {metric!r}, which is not measured for {task}, the task of model.kind "
            f"{kind!r}. Choose {', '.join(METRICS[task])}."
        )


def with_labels(config: Config) -> Config:
    """The config of a classifier with the labels of its training files, and a class for each; others are unchanged."""
    model, data = config.model, config.data
    if task_of(model) != "classification" or not all(Path(path).exists() for path in data.train_files):
        return config  # a missing file is reported with the others
    labels = data.labels or find_labels(
        [corpus.files for corpus in data.corpora],
        is_image=isinstance(model, ImageClassifierConfig),
        image_folder=data.image_folder,
    )
    classes = model.classes  # type: ignore[union-attr]
    if classes not in (0, len(labels)):
        raise RegardError(
            f"model.classes is {classes}, but there are {len(labels)} labels: {list_labels(labels)}. "
            f"Set model.classes={len(labels)}, or name the labels in data.labels."
        )
    return msgspec.structs.replace(
        config,
        model=msgspec.structs.replace(model, classes=len(labels)),
        data=msgspec.structs.replace(data, labels=list(labels)),
    )


def check_same_run(config: Config, saved: Config, run: Path) -> None:
    """An error if a resumed run would get another model, other languages, another direction or other pairs."""
    changed = [name for name in ("model", "tokenizer") if getattr(config, name) != getattr(saved, name)]
    if changed:
        raise RegardError(
            f"the section(s) {', '.join(changed)} differ from {run / CONFIG_FILE}, so its checkpoints do not fit. "
            "Undo the change, or start another run with --run DIR."
        )
    if config.training.start_digest != saved.training.start_digest:
        origin = saved.training.start_from or "random weights"
        raise RegardError(f"{run} started from {origin}. Resume it with `regard train --run {run} --resume`.")
    before, now = saved.data, config.data
    problems = []
    if before.languages and before.languages != now.languages:
        problems.append(f"data.languages was {before.languages} and is now {now.languages}")
    if not _are_same_files([one.files for one in before.corpora], [one.files for one in now.corpora]):
        problems.append(f"the training files were {before.train_files} and are now {now.train_files}")
    if not _are_same_files([before.valid], [now.valid]):
        problems.append(f"data.valid was {before.valid or 'held out of the training files'} and is now {now.valid}")
    if problems:
        raise RegardError(
            f"{run} cannot be resumed with other data: {'; '.join(problems)}. A run keeps its languages, its direction "
            "and its validation pairs: it would train on pairs that it is validated on. Remove the option to resume "
            "the run as it is, or train on other data in a new run with --run DIR."
        )


def _are_same_files(before: list[list[str]], now: list[list[str]]) -> bool:
    """Whether both name the same files in the same order; a file that was moved has the same name or content."""
    if [len(files) for files in before] != [len(files) for files in now]:
        return False
    for old, new in zip(map(Path, chain(*before)), map(Path, chain(*now)), strict=True):
        if not old.is_file():
            is_same = old.name == new.name
        else:
            is_same = new.is_file() and (old.samefile(new) or filecmp.cmp(old, new, shallow=False))
        if not is_same:
            return False
    return True


def check_file_roles(data: DataConfig) -> None:
    """An error if one file is both source and target, or if the endings of their names are swapped."""
    named = [("the training files", corpus.files) for corpus in data.corpora] + [("data.valid", data.valid)]
    first = next((files for _, files in named if len(files) == 2), None)
    direction = data.languages or (languages_from_names(*map(Path, first)) if first else ())
    for name, files in named:
        if len(files) != 2:
            continue
        source, target = map(Path, files)
        if source.is_file() and target.is_file() and source.samefile(target):
            raise RegardError(f"{name}: {target} is both source and target. Give the translations as target.")
        if ending := languages_swapped(source, target, direction):
            raise RegardError(
                f"{name}: {source} and {target} are {' to '.join(ending)} by their endings, but the model translates "
                f"{' to '.join(direction)}. Swap the files, or name other languages with --languages or data.languages."
            )


def check_column_languages(data: DataConfig) -> None:
    """An error if the sources of a corpus are in the target language, and its targets in the source language."""
    if len(data.languages) != 2:
        return
    source, target = data.languages
    for files in [*(corpus.files for corpus in data.corpora), *([data.valid] if data.valid else [])]:
        pairs = islice(read_pairs(files, languages=data.languages), MAX_CHECKED_PAIRS)
        if are_columns_swapped(pairs, source, target):
            raise RegardError(
                f"{', '.join(files)}: the sources are {target} and the targets are {source}, but the languages are "
                f"{source} to {target}. Swap the columns or files, or train in the other direction with --languages "
                f"{target},{source}. If the languages are right, add --skip-language-check."
            )


def check_names(config: Config, run: Path) -> None:
    """An error if a path of the run cannot be written to its files, which are UTF-8."""
    data = config.data
    for name in (*data.train_files, *data.valid, *data.old_valid, data.image_folder, data.image_store, str(run)):
        try:
            name.encode()
        except UnicodeEncodeError:
            raise RegardError(f"the name {name!a} is not UTF-8, as the config of a run is. Rename it.") from None


def check_files(config: Config, started_in: Path | None, *, has_training_files: bool) -> None:
    """An error if a file does not exist, or if a validation file cannot be read, before the long work."""
    data, task = config.data, task_of(config.model)
    if not data.valid and task == "image-to-text":
        raise RegardError("data.valid is empty. Name a file of captions to validate on.")
    if not data.valid and not has_training_files:  # held-out translations of a teacher measure similarity to it
        raise RegardError("data.valid is empty. Name a file of pairs, or a source and a target file, to validate on.")
    sets = [*([corpus.files for corpus in data.corpora] if has_training_files else []), data.valid, data.old_valid]
    paths = [Path(name) for one in sets for name in (one[:1] if task == "image-to-text" else one)]  # then the split
    for path in paths:
        if not path.exists():
            raise _missing_file_error(path, started_in, task == "image-to-text")
    if task in ("text-generation", "fill-mask"):
        for path in paths:
            check_monolingual(path)
    for files in (data.valid, data.old_valid):
        for _ in _read_examples(config, files) if files else ():
            pass  # a line without a partner, or that is not UTF-8, is an error


def _read_examples(config: Config, files: list[str]) -> Iterable[object]:
    data = config.data
    match task_of(config.model):
        case "translation":
            return read_pairs(files, languages=data.languages)
        case "text-generation" | "fill-mask":
            return read_monolingual(files)
        case "classification" if isinstance(config.model, ImageClassifierConfig):
            return read_labelled_images(files[0], images=data.image_folder or None, labels=data.labels)
        case "classification":
            return read_labelled_texts(files, labels=data.labels)
    return ()


def _missing_file_error(path: Path, started_in: Path | None, is_captioner: bool) -> RegardError:
    elsewhere = f" nor in {started_in}" if started_in not in (None, Path.cwd()) else ""
    where = "" if path.is_absolute() else f" in {Path.cwd()}{elsewhere}"
    if is_captioner:
        is_generated, corpus, folder = "scenes" in path.parts, "scenes", path.parent if path.suffix else path
    else:
        is_generated, corpus, folder = bool(_GENERATED_FILE_NAME.fullmatch(path.name)), "sentences", path.parent
    hint = f"\nTo generate it: regard data generate {corpus} --out {folder}" if is_generated else ""
    return RegardError(f"{path} cannot be read: there is no such file{where}. Check data.train and data.valid.{hint}")


def plan_warnings(config: Config) -> Iterator[str]:
    """Warnings of options that have no effect, or that make scores meaningless."""
    data, defaults = config.data, Config()
    task = task_of(config.model)
    if not data.languages and task == "translation":
        yield (
            "warning: data.languages is empty: the LibreTranslate and DeepL APIs of `regard serve` cannot offer the "
            "model, BLEU is tokenised for English in training, and swapped columns cannot be found. "
            "Set --languages SOURCE,TARGET, such as en,ko, or data.languages in the recipe."
        )
    for code in data.languages:
        if code and not is_known_code(code):
            near = f" (did you mean {suggested!r}?)" if (suggested := suggest_code(code)) else ""
            yield (
                f"warning: data.languages has {code!r}{near}, which is no code of ISO 639-1: wrong languages and "
                "swapped columns cannot be found, and BLEU is tokenised as for English."
            )
    if note := tokenization_note(data.language_pair[1], tokenization_for(data.language_pair[1])):
        yield f"note: {note}"
    unused = [
        f"{section}.{name}"
        for section, name in PAIR_OPTIONS
        if getattr(getattr(config, section), name) != getattr(getattr(defaults, section), name)
        and task != "translation"
        and (name != "deduplicate" or hasattr(config.model, "image_encoder"))  # texts can be deduplicated too
    ]
    if unused:
        yield f"warning: without effect on a model for {task}, which has text on one side only: {', '.join(unused)}"
    train, valid = ([os.path.realpath(path) for path in files] for files in (data.train_files, data.valid))
    if valid and train == valid:
        yield (
            f"warning: data.valid is the same as data.train ({', '.join(data.valid)}): the scores measure "
            "memorisation, and the best checkpoint is chosen by them. Give other data to validate on."
        )
