"""From what the user gave (a recipe, two text files, or a run to go on with) to a config and a run directory."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from regard.cli.running.endings import languages_by_ending
from regard.config import CaptionerConfig, Config, DataConfig, check_sections, from_toml, load, to_toml
from regard.data import read_pairs
from regard.errors import RegardError
from regard.training.checkpoint import checkpoints, step_of
from regard.training.defaults import config_for, explain, measure_corpus
from regard.training.device import choose_device

CONFIG = "config.toml"
TRAINABLE = ("rnn", "rnn-attention", "transformer", "captioner-rnn", "captioner-attention", "captioner-transformer")
DEFAULTS = "the defaults for these files"
_OF_THE_WORLD = re.compile(r"(train|valid|test)\.(en|ko)")


@dataclass(frozen=True)
class TextFiles:
    """The files of a run without a recipe."""

    train: tuple[Path, Path]
    valid: tuple[Path, Path]
    languages: tuple[str, ...]
    is_told_by_endings: bool = False  # nobody named the languages: they are read off the names of the training files

    @classmethod
    def given(cls, languages: str | None, *, recipe: Path | None, **files: Path | None) -> "TextFiles | None":
        """The files if any was given; all four are needed then, and no recipe."""
        given = {f"--{name.replace('_', '-')}": path for name, path in files.items()}
        if not any(given.values()):
            _refuse_languages_alone(languages)
            return None
        _refuse_files_in_part(given, recipe)
        source, target, valid_source, valid_target = (
            Path(str(files[name])) for name in ("source", "target", "valid_source", "valid_target")
        )
        if languages:
            codes = tuple(code.strip() for code in languages.split(","))
            return cls((source, target), (valid_source, valid_target), codes)
        codes = languages_by_ending(source, target)
        return cls((source, target), (valid_source, valid_target), codes, is_told_by_endings=bool(codes))

    def data(self) -> DataConfig:
        """The data section that names the files."""
        train, valid = ([str(path) for path in pair] for pair in (self.train, self.valid))
        return DataConfig(train=train, valid=valid, languages=list(self.languages))


def _refuse_languages_alone(languages: str | None) -> None:
    if languages:
        raise RegardError(
            f"--languages {languages} goes with --source and --target. With a recipe, change its own: "
            '--set \'data.languages=["en", "ko"]\'.'
        )


def _refuse_files_in_part(given: dict[str, Path | None], recipe: Path | None) -> None:
    present, missing = ([name for name, path in given.items() if bool(path) == is_there] for is_there in (True, False))
    if recipe is not None:
        raise RegardError(
            f"a recipe ({recipe}) and text files ({', '.join(present)}) exclude each other. Leave one of them out; "
            "--set data.train=... and --set data.valid=... change a recipe's files."
        )
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise RegardError(f"{', '.join(missing)} {verb} missing. Without a recipe, give all four files.")


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
    config, notes = _config(wish, run)
    if wish.probes:
        training = msgspec.structs.replace(config.training, probes=list(wish.probes))
        config = msgspec.structs.replace(config, training=training)
    _check_trainable(config)
    if wish.resume and (run / CONFIG).exists():
        _check_same_model(config, run)
    else:
        check_sections(config, origin=str(wish.recipe or DEFAULTS))
        notes += _missing_languages(config)
    _check_files(config, is_train_there=is_train_there)
    choose_device(config.training.device)
    return Plan(config, run, notes)


def _config(wish: Wish, run: Path) -> tuple[Config, list[str]]:
    if wish.recipe:
        return load(wish.recipe, settings=wish.settings), []
    if wish.files:
        return _config_for(_as_begun(wish.files, wish, run), wish.settings)
    return load(run / CONFIG, settings=wish.settings), []


def _as_begun(files: TextFiles, wish: Wish, run: Path) -> TextFiles:
    """The files in the languages that the run to go on with began with: what nobody named is not changed on the way."""
    if not (wish.resume and files.is_told_by_endings and (run / CONFIG).exists()):
        return files
    return replace(files, languages=tuple(load(run / CONFIG).data.languages), is_told_by_endings=False)


def _config_for(files: TextFiles, settings: tuple[str, ...]) -> tuple[Config, list[str]]:
    """The defaults for the files with the settings over them, and what that comes to."""
    data = files.data()
    check_sections(Config(data=data), origin="--languages")  # before the corpus is read
    found = measure_corpus(data)
    chosen = config_for(data, found)
    config = _laid_over(chosen, settings)
    if config.training.steps < chosen.training.steps:  # the warm-up and the validations must fit into fewer steps too
        config = _laid_over(config_for(data, found, steps=config.training.steps), settings)
    notes = explain(config, found)
    if files.is_told_by_endings and config.data.languages == data.languages:
        notes.append(f"  data.languages={list(files.languages)}: the endings of --source and --target")
    return config, notes


def _laid_over(config: Config, settings: tuple[str, ...]) -> Config:
    return from_toml(to_toml(config), settings=settings, origin=DEFAULTS)


def _missing_languages(config: Config) -> list[str]:
    if config.data.languages or isinstance(config.model, CaptionerConfig):
        return []
    return [
        "warning: data.languages is not named: the LibreTranslate and DeepL APIs of `regard serve` cannot offer the "
        "model, and BLEU in training is cut as for English. Name them with --languages en,ko, or in the recipe."
    ]


def _run_directory(wish: Wish) -> Path:
    if wish.run:
        if wish.recipe or wish.files or (wish.resume and (wish.run / CONFIG).is_file()):
            return wish.run
        if wish.resume:
            raise RegardError(f"{wish.run} is not a run: it has no {CONFIG}. Give its recipe, or another directory.")
    if wish.recipe:
        return Path("runs") / wish.recipe.stem
    if wish.files:
        named = () if wish.files.is_told_by_endings else wish.files.languages
        return Path("runs") / ("-".join(named) or wish.files.train[0].stem)
    raise RegardError(
        "there is nothing to train. Give a recipe; or --source, --target, --valid-source and --valid-target; "
        "or --run DIR --resume to go on with a run."
    )


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
    if config.training.metric == "cider" and not isinstance(config.model, CaptionerConfig):
        raise RegardError(
            f"training.metric is 'cider', which is for captions, and model.kind is {kind!r}. Choose loss, bleu or chrf."
        )


def _check_files(config: Config, *, is_train_there: bool) -> None:
    """Look for every file, and into those to validate on, before hours are spent on the first of them."""
    data = config.data
    is_captioner = isinstance(config.model, CaptionerConfig)
    if not data.valid:
        wanted = "a file of captions" if is_captioner else "a file of pairs, or a source and a target file"
        raise RegardError(f"data.valid is empty. Name {wanted}, to validate on.")
    sets = [data.train, data.valid] if is_train_there else [data.valid]
    for path in (Path(name) for one in sets for name in (one[:1] if is_captioner else one)):  # then comes the split
        if not path.exists():
            hint = _how_to_generate(path, is_captioner)
            raise RegardError(f"{path} cannot be read: there is no such file. Check data.train and data.valid.{hint}")
    if not is_captioner:
        for _ in read_pairs(data.valid, languages=data.languages):
            pass  # a line without a partner, or that is not text, is told


def _how_to_generate(path: Path, is_captioner: bool) -> str:
    if is_captioner:
        is_world, world, place = "scenes" in path.parts, "scenes", path.parent if path.suffix else path
    else:
        is_world, world, place = bool(_OF_THE_WORLD.fullmatch(path.name)), "sentences", path.parent
    return f"\nTo generate it: regard data world {world} --out {place}" if is_world else ""


def _check_same_model(config: Config, run: Path) -> None:
    saved = load(run / CONFIG)
    changed = [name for name in ("model", "tokens") if getattr(config, name) != getattr(saved, name)]
    if changed:
        raise RegardError(
            f"the section(s) {', '.join(changed)} differ from {run / CONFIG}, so the run's checkpoints do not fit. "
            "Undo the change, or begin another run with --run DIR."
        )
