"""From what the user gave (a recipe, two text files, or a run to go on with) to a config and a run directory."""

import re
from dataclasses import dataclass
from pathlib import Path

import msgspec

from regard.config import CaptionerConfig, Config, DataConfig, from_toml, load, to_toml
from regard.errors import RegardError
from regard.training.checkpoint import checkpoints, step_of
from regard.training.defaults import default_config

CONFIG = "config.toml"
TRAINABLE = ("rnn", "rnn-attention", "transformer", "captioner-rnn", "captioner-attention", "captioner-transformer")
_OF_THE_WORLD = re.compile(r"(train|valid|test)\.(en|ko)")


@dataclass(frozen=True)
class TextFiles:
    """The files of a run without a recipe."""

    train: tuple[Path, Path]
    valid: tuple[Path, Path]
    languages: tuple[str, ...]

    @classmethod
    def given(cls, languages: str | None, **files: Path | None) -> "TextFiles | None":
        """The files if any was given; all four are needed then."""
        missing = [f"--{name.replace('_', '-')}" for name, path in files.items() if path is None]
        if len(missing) == len(files):
            return None
        if missing:
            raise RegardError(f"{', '.join(missing)} is missing. Without a recipe, give all four files.")
        source, target, valid_source, valid_target = (
            Path(str(files[name])) for name in ("source", "target", "valid_source", "valid_target")
        )
        codes = tuple(code.strip() for code in languages.split(",")) if languages else ()
        return cls((source, target), (valid_source, valid_target), codes)

    def data(self) -> DataConfig:
        """The data section that names the files."""
        train, valid = ([str(path) for path in pair] for pair in (self.train, self.valid))
        return DataConfig(train=train, valid=valid, languages=list(self.languages))


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


def plan(wish: Wish) -> Plan:
    """The config that was wished for and a run directory in which nothing will be lost."""
    run = _run_directory(wish)
    refuse_to_overwrite(run, wish.resume)
    config, notes = _config(wish, run)
    if wish.probes:
        training = msgspec.structs.replace(config.training, probes=list(wish.probes))
        config = msgspec.structs.replace(config, training=training)
    _check_trainable(config)
    _check_files(config)
    if wish.resume:
        _check_same_model(config, run)
    return Plan(config, run, notes)


def _config(wish: Wish, run: Path) -> tuple[Config, list[str]]:
    if wish.recipe and wish.files:
        raise RegardError("a recipe and text files were given. Give one or the other; --set changes a recipe's data.")
    if wish.recipe:
        return load(wish.recipe, settings=wish.settings), []
    if wish.files:
        config, notes = default_config(wish.files.data())
        return from_toml(to_toml(config), settings=wish.settings, origin="the defaults with --set"), notes
    return load(run / CONFIG, settings=wish.settings), []


def _run_directory(wish: Wish) -> Path:
    if wish.run:
        if wish.recipe or wish.files or (wish.resume and (wish.run / CONFIG).is_file()):
            return wish.run
        if wish.resume:
            raise RegardError(f"{wish.run} is not a run: it has no {CONFIG}. Give its recipe, or another directory.")
    if wish.recipe:
        return Path("runs") / wish.recipe.stem
    if wish.files:
        return Path("runs") / ("-".join(wish.files.languages) or wish.files.train[0].stem)
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


def _check_files(config: Config) -> None:
    """Look for every file before hours are spent on the first of them."""
    data = config.data
    is_captioner = isinstance(config.model, CaptionerConfig)
    named = [*data.train[:1], *data.valid[:1]] if is_captioner else [*data.train, *data.valid]  # then comes the split
    for path in map(Path, named):
        if not path.exists():
            hint = _how_to_generate(path, is_captioner)
            raise RegardError(f"{path} cannot be read: there is no such file. Check data.train and data.valid.{hint}")


def _how_to_generate(path: Path, is_captioner: bool) -> str:
    if is_captioner:
        is_world, world, place = "scenes" in path.parts, "scenes", path.parent if path.suffix else path
    else:
        is_world, world, place = bool(_OF_THE_WORLD.fullmatch(path.name)), "sentences", path.parent
    return f"\nTo generate it: regard data world {world} --out {place}" if is_world else ""


def _check_same_model(config: Config, run: Path) -> None:
    if not (run / CONFIG).exists():
        return
    saved = load(run / CONFIG)
    changed = [name for name in ("model", "tokens") if getattr(config, name) != getattr(saved, name)]
    if changed:
        raise RegardError(
            f"the section(s) {', '.join(changed)} differ from {run / CONFIG}, so the run's checkpoints do not fit. "
            "Undo the change, or begin another run with --run DIR."
        )
