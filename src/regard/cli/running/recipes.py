"""From what the user gave (a recipe, text files, or a run to go on with) to a config and a run directory."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from regard.cli.running.mix_ups import refuse_mix_ups, warn_of_known_pairs
from regard.cli.running.places import CONFIG, load_seen_from_here
from regard.cli.running.text_files import TextFiles
from regard.config import (
    CaptionerConfig,
    Config,
    DataConfig,
    LanguageConfig,
    check_sections,
    from_table,
    laid_over,
    load,
    read_table,
)
from regard.data import check_one_side, read_pairs, read_texts
from regard.errors import RegardError
from regard.training.checkpoint import checkpoints, step_of
from regard.training.defaults import CorpusSize, config_for, explain, measure_corpus
from regard.training.device import choose_device

LANGUAGE_KINDS = ("decoder-only", "encoder-only")
TRAINABLE = (
    "rnn",
    "rnn-attention",
    "transformer",
    "captioner-rnn",
    "captioner-attention",
    "captioner-transformer",
    *LANGUAGE_KINDS,
)
DEFAULTS = "the defaults for these files"
FOR_TWO_SIDES = (("data", "maximum_ratio"), ("data", "deduplicate"), ("tokens", "shared"))
_OF_THE_WORLD = re.compile(r"(train|valid|test)\.(en|ko)")


@dataclass(frozen=True)
class Wish:
    """All that the user gave."""

    recipe: Path | None
    files: TextFiles | None
    settings: tuple[str, ...] = ()
    probes: tuple[str, ...] = ()
    run: Path | None = None
    resume: bool = False


@dataclass(frozen=True)
class Plan:
    """What will be trained, where, and what the user should know about it."""

    config: Config
    run: Path
    notes: list[str]


def plan(wish: Wish, *, is_train_there: bool = True) -> Plan:
    """The config that was wished for and a run directory in which nothing will be lost.

    All that is cheap to check is checked; `is_train_there` is false where the training files are yet to be made.
    """
    run = _run_directory(wish)
    refuse_to_overwrite(run, wish.resume)
    config, notes = _config(wish, run, is_train_there=is_train_there)
    if wish.probes:
        training = msgspec.structs.replace(config.training, probes=list(wish.probes))
        config = msgspec.structs.replace(config, training=training)
    _check_trainable(config)
    if wish.resume and (run / CONFIG).exists():
        _check_same_model(config, run)
    else:
        _check_new(config, wish)
        notes += [*_missing_languages(config), *_without_effect(config), *warn_of_known_pairs(config.data)]
    _check_files(config, is_train_there=is_train_there)
    choose_device(config.training.device)
    return Plan(config, run, notes)


def _check_new(config: Config, wish: Wish) -> None:
    """Refuse what a run should not begin with; one that began so before there was a rule goes on."""
    check_sections(config, origin=_origin(wish))
    if not isinstance(config.model, CaptionerConfig | LanguageConfig):
        refuse_mix_ups(config.data)


def _config(wish: Wish, run: Path, *, is_train_there: bool) -> tuple[Config, list[str]]:
    if wish.recipe and _names_model(wish):
        return load(wish.recipe, settings=wish.settings), []
    if wish.resume and (run / CONFIG).exists():
        return _as_begun(wish, run), []
    return _config_for(wish, is_train_there=is_train_there)


def _names_model(wish: Wish) -> bool:
    """Whether the recipe or a setting says which model to train; if neither does, one is chosen for the corpus."""
    return "model" in _recipe(wish) or bool(_keys(wish) & {"model", "model.kind"})


def _as_begun(wish: Wish, run: Path) -> Config:
    """The config that the run began with, what was given now over it: what nobody names is not changed on the way."""
    begun, files = load_seen_from_here(run), wish.files
    if files:
        given = files.data()
        languages = [] if files.is_told_by_endings else given.languages
        data = msgspec.structs.replace(
            begun.data,
            train=given.train,
            valid=given.valid or begun.data.valid,
            languages=languages or begun.data.languages,
        )
        begun = msgspec.structs.replace(begun, data=data)
    return _laid_over(begun, wish)


def _config_for(wish: Wish, *, is_train_there: bool) -> tuple[Config, list[str]]:
    """The defaults for the corpus with what was given over them, and what that comes to."""
    files = wish.files
    data = _data(wish)
    if not (files and files.is_text):
        check_sections(Config(data=data), origin=_origin(wish))  # before the corpus is read
    if not data.train:
        raise RegardError("data.train is empty. Name a file of pairs, or a source and a target file.")
    is_text = files is not None and files.is_text
    found = measure_corpus(data, is_text=is_text) if is_train_there else CorpusSize(0, 0)
    chosen = config_for(data, found)
    config = _laid_over(chosen, wish)
    if config.training.steps < chosen.training.steps:  # the warm-up and the validations must fit into fewer steps too
        config = _laid_over(config_for(data, found, steps=config.training.steps), wish)
    notes = explain(config, found)
    if files and files.is_told_by_endings and config.data.languages == list(files.languages):
        notes.append(f"  data.languages={list(files.languages)}: the endings of --source and --target")
    return config, notes


def _laid_over(config: Config, wish: Wish) -> Config:
    """The config with the recipe over it, if there is one, and the settings over both."""
    table = laid_over(_of_kind(msgspec.to_builtins(config), wish), _recipe(wish))
    return from_table(table, settings=wish.settings, origin=_origin(wish))


def _of_kind(table: dict[str, Any], wish: Wish) -> dict[str, Any]:
    """The table without the chosen model's options, where a setting names a model of a kind that has others."""
    named = [value.strip().strip("'\"") for key, _, value in map(_parted, wish.settings) if key.strip() == "model.kind"]
    kinds = {table["model"]["kind"], *named[-1:]}
    return table if len(kinds) == 1 or kinds <= set(LANGUAGE_KINDS) else table | {"model": {}}


def _parted(setting: str) -> tuple[str, str, str]:
    return setting.partition("=")


def _data(wish: Wish) -> DataConfig:
    """The data section alone: which model it is for has yet to be chosen."""
    given = wish.files.data() if wish.files else DataConfig()
    table = {"data": laid_over(msgspec.to_builtins(given), _recipe(wish).get("data", {}))}
    own = tuple(setting for setting in wish.settings if setting.split("=")[0].split(".")[0].strip() == "data")
    return from_table(table, settings=own, origin=_origin(wish)).data


def _recipe(wish: Wish) -> dict[str, Any]:
    return read_table(wish.recipe) if wish.recipe else {}


def _keys(wish: Wish) -> set[str]:
    return {setting.partition("=")[0].strip() for setting in wish.settings}


def _origin(wish: Wish) -> str:
    return str(wish.recipe or DEFAULTS)


def _missing_languages(config: Config) -> list[str]:
    if config.data.languages or isinstance(config.model, CaptionerConfig | LanguageConfig):
        return []
    return [
        "warning: data.languages is not named: the LibreTranslate and DeepL APIs of `regard serve` cannot offer the "
        "model, and BLEU in training is cut as for English. Name them with --languages en,ko, or in the recipe."
    ]


def _without_effect(config: Config) -> list[str]:
    """A warning of options that were set, and that a model with words on one side only makes no use of."""
    if not isinstance(config.model, CaptionerConfig | LanguageConfig):
        return []
    is_captioner = isinstance(config.model, CaptionerConfig)
    defaults = Config()
    changed = [
        f"{section}.{name}"
        for section, name in FOR_TWO_SIDES
        if getattr(getattr(config, section), name) != getattr(getattr(defaults, section), name)
        and (is_captioner or name != "deduplicate")  # lines of text are counted once too, where that is wished for
    ]
    whose = "a captioner" if is_captioner else "a language model"
    told = f"warning: without effect on {whose}, which has words on one side only"
    return [f"{told}: {', '.join(changed)}"] if changed else []


def _run_directory(wish: Wish) -> Path:
    is_new = bool(wish.recipe or wish.files or _keys(wish) & {"data", "data.train"})
    if wish.run and (is_new or (wish.resume and (wish.run / CONFIG).is_file())):
        return wish.run
    if wish.run and wish.resume:
        raise RegardError(f"{wish.run} is not a run: it has no {CONFIG}. Give its recipe, or another directory.")
    if is_new:
        return Path("runs") / _name(wish)
    raise RegardError(
        "there is nothing to train. Give a recipe; or --source and --target; or --pairs with one file of pairs; "
        "or --run DIR --resume to go on with a run."
    )


def _name(wish: Wish) -> str:
    """What a run is called: as its recipe, as the languages that were named, or as the first file to train on."""
    if wish.recipe:
        return wish.recipe.stem
    if wish.files and wish.files.languages and not wish.files.is_told_by_endings:
        return "-".join(wish.files.languages)
    data = _data(wish)
    return Path(data.train[0]).stem if data.train else "train"


def refuse_to_overwrite(run: Path, resume: bool) -> None:
    """A directory that holds a run is only gone on with, when that is asked for."""
    saved = checkpoints(run / "checkpoints")
    if resume or not (saved or (run / CONFIG).exists()):
        return
    state = f"with checkpoints up to step {step_of(saved[-1])}" if saved else "without a checkpoint yet"
    raise RegardError(
        f"{run} holds a run already, {state}. Go on with `regard train --run {run} --resume`, "
        "begin elsewhere with --run DIR, or remove the directory."
    )


def _check_trainable(config: Config) -> None:
    kind = str(type(config.model).__struct_config__.tag)
    if kind not in TRAINABLE:
        raise RegardError(f"model.kind is {kind!r}, which says no sentences. Choose {', '.join(TRAINABLE)}.")
    if getattr(config.model, "classes", 0):
        raise RegardError(
            f"model.classes is {config.model.classes}, and no text here says which class it is of. Set model.classes=0 "  # type: ignore[union-attr]
            "to learn to fill blanks."
        )
    if config.training.metric != "loss" and isinstance(config.model, LanguageConfig):
        raise RegardError(
            f"training.metric is {config.training.metric!r}, which holds an output against a reference, and model.kind "
            f"is {kind!r}, which has none. Set training.metric=loss."
        )
    if config.training.metric == "cider" and not isinstance(config.model, CaptionerConfig):
        raise RegardError(
            f"training.metric is 'cider', which is for captions, and model.kind is {kind!r}. Choose loss, bleu or chrf."
        )


def _check_files(config: Config, *, is_train_there: bool) -> None:
    """Look for every file, and into those to validate on, before hours are spent on the first of them."""
    data = config.data
    is_captioner = isinstance(config.model, CaptionerConfig)
    if not data.valid and is_captioner:
        raise RegardError("data.valid is empty. Name a file of captions, to validate on.")
    if not data.valid and not is_train_there:  # held out of a teacher's translations, it would measure likeness to it
        raise RegardError("data.valid is empty. Name a file of pairs, or a source and a target file, to validate on.")
    sets = [data.train, data.valid] if is_train_there else [data.valid]
    for path in (Path(name) for one in sets for name in (one[:1] if is_captioner else one)):  # then comes the split
        if not path.exists():
            hint, place = _how_to_generate(path, is_captioner), "" if path.is_absolute() else f" in {Path.cwd()}"
            raise RegardError(
                f"{path} cannot be read: there is no such file{place}. Check data.train and data.valid.{hint}"
            )
    if isinstance(config.model, LanguageConfig):
        for path in (Path(name) for one in sets for name in one):
            check_one_side(path)
        pairs = read_texts(data.valid)
    else:
        pairs = read_pairs(data.valid, languages=data.languages) if data.valid and not is_captioner else iter(())
    for _ in pairs:
        pass  # a line without a partner, or that is not text, is told


def _how_to_generate(path: Path, is_captioner: bool) -> str:
    if is_captioner:
        is_world, world, place = "scenes" in path.parts, "scenes", path.parent if path.suffix else path
    else:
        is_world, world, place = bool(_OF_THE_WORLD.fullmatch(path.name)), "sentences", path.parent
    return f"\nTo generate it: regard data world {world} --out {place}" if is_world else ""


def _check_same_model(config: Config, run: Path) -> None:
    saved = load_seen_from_here(run)
    changed = [name for name in ("model", "tokens") if getattr(config, name) != getattr(saved, name)]
    if changed:
        raise RegardError(
            f"the section(s) {', '.join(changed)} differ from {run / CONFIG}, so the run's checkpoints do not fit. "
            "Undo the change, or begin another run with --run DIR."
        )
