"""From a recipe, text files or a run to a checked config and a run directory; and `train`, which runs the plan.

for event in regard.train("world-transformer", run="runs/x"):
    print(event)
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from regard.config import (
    CaptionerConfig,
    Config,
    DataConfig,
    EfficientNetConfig,
    LanguageModelConfig,
    ModelConfig,
    merge_tables,
    read_table,
)
from regard.data.readers import check_monolingual, read_pairs
from regard.data.readers.text import read_monolingual
from regard.errors import RegardError
from regard.files import CONFIG_FILE, atomic_file, lock_run
from regard.languages import languages_from_names, languages_swapped
from regard.training.defaults import CorpusSize, default_config, describe_defaults, measure_corpus
from regard.training.events import TrainingEvent

if TYPE_CHECKING:
    from regard.training.corpora import Corpus

WORKING_DIRECTORY_FILE = "cwd.txt"
LANGUAGE_KINDS = ("decoder-only", "encoder-only")
TRAINABLE = (
    "rnn",
    "rnn-attention",
    "transformer",
    "captioner-rnn",
    "captioner-rnn-attention",
    "captioner-transformer",
    *LANGUAGE_KINDS,
)
PAIR_OPTIONS = (("data", "max_length_ratio"), ("data", "deduplicate"), ("tokenizer", "shared"))
_GENERATED_FILE_NAME = re.compile(r"(train|valid|test)\.(en|ko)")
_PACKAGE = Path(__file__).parents[1]
# A wheel has the recipes inside the package (see pyproject.toml); a checkout has them at its root.
_RECIPE_FOLDERS = (_PACKAGE / "recipes", _PACKAGE.parents[1] / "recipes")


@dataclass(frozen=True)
class TextFiles:
    """Files to train on without a recipe, and to validate on; without the latter some examples are held out."""

    train: tuple[Path, ...]
    valid: tuple[Path, ...] = ()
    languages: tuple[str, ...] = ()
    is_by_endings: bool = False  # the languages come from the endings of the file names
    is_text: bool = False  # plain text for a language model

    def data(self) -> DataConfig:
        """The data section that names the files."""
        train, valid = ([str(path) for path in files] for files in (self.train, self.valid))
        return DataConfig(train=train, valid=valid, languages=list(self.languages))


@dataclass(frozen=True)
class TrainOptions:
    """What to train: a recipe, or text files, or a run to resume; overrides are SECTION.KEY=VALUE."""

    recipe: Path | None = None
    files: TextFiles | None = None
    overrides: tuple[str, ...] = ()
    probes: tuple[str, ...] = ()
    run: Path | None = None
    resume: bool = False

    @property
    def origin(self) -> str:
        """The name of the config in error messages."""
        return str(self.recipe or "the defaults for these files")

    @property
    def table(self) -> dict[str, Any]:
        """The recipe as a table; empty without one."""
        return read_table(self.recipe) if self.recipe else {}

    @property
    def overridden(self) -> set[str]:
        """The keys of the overrides."""
        return {override.partition("=")[0].strip() for override in self.overrides}


@dataclass(frozen=True)
class TrainingPlan:
    """What is trained, in which directory, and notes for the user."""

    config: Config
    run: Path
    notes: list[str]


def train(
    recipe: Config | str | Path, *, run: str | Path, overrides: Sequence[str] = (), resume: bool = False
) -> Iterator[TrainingEvent]:
    """Train a model from a recipe (a config, a file, or the name of a recipe that comes with regard) to the end.

    Every event is written to the run's directory and yielded. With `resume` training continues from the latest
    checkpoint, and gives the same model as a run without interruption.
    """
    from regard.training import loop

    directory = Path(run)
    if isinstance(recipe, Config):
        check_run_directory(directory, resume)
        table = msgspec.to_builtins(recipe)
        config = Config.from_dict(table, overrides=tuple(overrides)) if overrides else recipe
        plan = check_plan(TrainingPlan(config, directory, []), is_resumed=resume)
    else:
        plan = make_plan(
            TrainOptions(find_recipe(Path(recipe)), overrides=tuple(overrides), run=directory, resume=resume)
        )
    with locked_run_directory(directory):
        corpus = prepare_run(plan, resume=resume)
        yield from loop.train(plan.config, plan.run, corpus, resume=resume)


def make_plan(options: TrainOptions, *, has_training_files: bool = True) -> TrainingPlan:
    """The config and a run directory in which nothing is overwritten.

    Everything that is cheap to check is checked. Without `has_training_files` they are generated later.
    """
    run = _run_directory(options)
    check_run_directory(run, options.resume)
    config, notes = _plan_config(options, run, has_training_files=has_training_files)
    if options.probes:
        training = msgspec.structs.replace(config.training, probes=list(options.probes))
        config = msgspec.structs.replace(config, training=training)
    return check_plan(
        TrainingPlan(config, run, notes),
        is_resumed=options.resume,
        has_training_files=has_training_files,
        origin=options.origin,
    )


def check_plan(
    plan: TrainingPlan, *, is_resumed: bool, has_training_files: bool = True, origin: str = "the recipe"
) -> TrainingPlan:
    """The plan with warnings added to its notes; an error if it cannot be trained."""
    from regard.training.step import choose_device

    config, notes = plan.config, list(plan.notes)
    _check_trainable(config)
    if is_resumed and (plan.run / CONFIG_FILE).exists():
        _check_same_model(config, plan.run)
    else:  # a run that started before a check was added can be resumed
        config.check_consistency(origin=origin)
        if not isinstance(config.model, CaptionerConfig | LanguageModelConfig):
            _check_file_roles(config.data)
        notes += [*_languages_warning(config), *_unused_options_warning(config), *_overlap_warning(config.data)]
    _check_files(config, plan.run, has_training_files=has_training_files)
    choose_device(config.training.device)
    return TrainingPlan(config, plan.run, notes)


@contextmanager
def locked_run_directory(run: Path) -> Iterator[None]:
    """Create the run's directory and lock it."""
    try:
        run.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RegardError(f"{run} cannot be created: {error.strerror}. Choose another directory with --run.") from None
    with lock_run(run):
        yield


def prepare_run(
    plan: TrainingPlan, *, resume: bool, is_rank0: bool = True, progress: Callable[[str, int], None] = lambda *_: None
) -> "Corpus":
    """Vocabularies and tokens; the config is written after them, so that a failure here does not start a run."""
    from regard.training.corpora import prepare_corpus
    from regard.training.preprocessing import HELD_OUT_FILE

    if is_rank0 and not resume:  # files of an attempt that failed may be of other data or options
        for name in ("tokenizer/source.spm", "tokenizer/target.spm", HELD_OUT_FILE):
            (plan.run / name).unlink(missing_ok=True)
    corpus = prepare_corpus(plan.config, plan.run, progress=progress)
    if is_rank0:
        record_working_directory(plan.run)
        with atomic_file(plan.run / CONFIG_FILE) as file:
            file.write(plan.config.to_toml().encode())
    return corpus


# --- recipes


def packaged_recipes() -> Path:
    """The directory of the recipes that come with regard."""
    return next((folder for folder in _RECIPE_FOLDERS if folder.is_dir()), _RECIPE_FOLDERS[0])


def recipe_names() -> list[str]:
    """The names of the recipes that come with regard."""
    return sorted(path.stem for path in packaged_recipes().glob("*.toml"))


def find_recipe(given: Path) -> Path:
    """The given file or, if it does not exist, the recipe of this name that comes with regard."""
    if given.exists():
        return given
    packaged = packaged_recipes() / given.with_suffix(".toml")
    if given.name == str(given) and packaged.is_file():
        return packaged
    raise RegardError(
        f"{given} cannot be read: there is no such file. Give the path of a TOML recipe, or the name of one that comes "
        f"with regard: {', '.join(recipe_names())}."
    )


# --- the config


def _plan_config(options: TrainOptions, run: Path, *, has_training_files: bool) -> tuple[Config, list[str]]:
    names_model = "model" in options.table or bool(options.overridden & {"model", "model.kind"})
    if options.recipe and names_model:
        return Config.load(options.recipe, overrides=options.overrides), []
    if options.resume and (run / CONFIG_FILE).exists():
        return _resumed_config(options, run), []
    return _config_with_defaults(options, has_training_files=has_training_files)


def _resumed_config(options: TrainOptions, run: Path) -> Config:
    """The config that the run started with, and what was given now over it."""
    config, files = load_run_config(run), options.files
    if files:
        given = files.data()
        data = msgspec.structs.replace(
            config.data,
            train=given.train,
            valid=given.valid or config.data.valid,
            languages=([] if files.is_by_endings else given.languages) or config.data.languages,
        )
        config = msgspec.structs.replace(config, data=data)
    return _with_overrides(config, options)


def _config_with_defaults(options: TrainOptions, *, has_training_files: bool) -> tuple[Config, list[str]]:
    """Defaults that fit the size of the corpus, what was given over them, and notes about both."""
    files = options.files
    data, is_text = _data_section(options), files is not None and files.is_text
    if not is_text:
        Config(data=data).check_consistency(origin=options.origin)  # before the corpus is read
    if not data.train:
        raise RegardError("data.train is empty. Name a file of pairs, or a source and a target file.")
    size = measure_corpus(data, is_text=is_text) if has_training_files else CorpusSize(0, 0)
    defaults = default_config(data, size)
    config = _with_overrides(defaults, options)
    if config.training.steps < defaults.training.steps:  # warm-up and validations have to fit into fewer steps
        config = _with_overrides(default_config(data, size, steps=config.training.steps), options)
    notes = describe_defaults(config, size)
    if files and files.is_by_endings and config.data.languages == list(files.languages):
        notes.append(f"  data.languages={list(files.languages)}: the endings of --source and --target")
    return config, notes


def _with_overrides(config: Config, options: TrainOptions) -> Config:
    """The config with the recipe, if there is one, and the overrides over it."""
    below: dict[str, Any] = msgspec.to_builtins(config)
    given = [override.partition("=") for override in options.overrides]
    kinds = [value.strip().strip("'\"") for key, _, value in given if key.strip() == "model.kind"]
    named = {below["model"]["kind"], *kinds[-1:]}
    if len(named) > 1 and not named <= set(LANGUAGE_KINDS):  # another kind of model has other options
        below |= {"model": {}}
    return Config.from_dict(merge_tables(below, options.table), overrides=options.overrides, origin=options.origin)


def _data_section(options: TrainOptions) -> DataConfig:
    """The data section alone, because the model is not chosen yet."""
    given = options.files.data() if options.files else DataConfig()
    table = {"data": merge_tables(msgspec.to_builtins(given), options.table.get("data", {}))}
    own = [one for one in options.overrides if one.split("=")[0].split(".")[0].strip() == "data"]
    return Config.from_dict(table, overrides=tuple(own), origin=options.origin).data


# --- the run directory


def check_run_directory(run: Path, resume: bool) -> None:
    """An error if the directory holds a run that is not to be resumed."""
    from regard.training.checkpoint import checkpoint_step, list_checkpoints

    saved = list_checkpoints(run / "checkpoints")
    if resume or not (saved or (run / CONFIG_FILE).exists()):
        return
    state = f"with checkpoints up to step {checkpoint_step(saved[-1])}" if saved else "without a checkpoint yet"
    raise RegardError(
        f"{run} holds a run already, {state}. Continue it with `regard train --run {run} --resume`, "
        "choose another directory with --run DIR, or remove the directory."
    )


def _run_directory(options: TrainOptions) -> Path:
    is_new = bool(options.recipe or options.files or options.overridden & {"data", "data.train"})
    if options.run and (is_new or (options.resume and (options.run / CONFIG_FILE).is_file())):
        return options.run
    if options.run and options.resume:
        raise RegardError(f"{options.run} is not a run: it has no {CONFIG_FILE}. Give its recipe or another run.")
    if is_new:
        return Path("runs") / _run_name(options)
    raise RegardError(
        "there is nothing to train. Give a recipe; or --source and --target; or --pairs with one file of pairs; "
        "or --run DIR --resume to continue a run."
    )


def _run_name(options: TrainOptions) -> str:
    """The name of the recipe, of the given languages, or of the first training file."""
    if options.recipe:
        return options.recipe.stem
    if options.files and options.files.languages and not options.files.is_by_endings:
        return "-".join(options.files.languages)
    data = _data_section(options)
    return Path(data.train[0]).stem if data.train else "train"


def record_working_directory(run: Path) -> None:
    """Record the current directory, from which the relative paths of the run's config start."""
    with atomic_file(run / WORKING_DIRECTORY_FILE) as file:
        file.write(str(Path.cwd()).encode(errors="surrogateescape"))


def recorded_working_directory(run: Path) -> Path | None:
    """The directory in which the run was last started; None if it is not recorded."""
    path = run / WORKING_DIRECTORY_FILE
    return Path(path.read_bytes().decode(errors="surrogateescape")) if path.is_file() else None


def load_run_config(run: Path) -> Config:
    """The config of a run; a path that does not exist from here is taken from where the run was last started."""
    config, started = Config.load(run / CONFIG_FILE), recorded_working_directory(run)
    if started is None or started == Path.cwd():
        return config

    def resolve(path: str) -> str:
        is_elsewhere = bool(path) and not Path(path).exists() and (started / path).exists()
        return str(started / path) if is_elsewhere else path

    data, is_captioner = config.data, isinstance(config.model, CaptionerConfig)
    # The second word of a captioner's files is the name of a split, and the probes of other models are sentences.
    train, valid = (
        [resolve(path) for path in own[:1]] + own[1:] if is_captioner else list(map(resolve, own))
        for own in (data.train, data.valid)
    )
    probes = config.training.probes
    return msgspec.structs.replace(
        config,
        model=_resolve_weights(config.model, resolve),
        data=msgspec.structs.replace(
            data,
            train=train,
            valid=valid,
            image_folder=resolve(data.image_folder),
            image_store=resolve(data.image_store),
        ),
        training=msgspec.structs.replace(
            config.training, probes=[resolve(path) for path in probes] if is_captioner else probes
        ),
    )


def _resolve_weights(model: ModelConfig, resolve: Callable[[str], str]) -> ModelConfig:
    if not isinstance(model, CaptionerConfig) or not isinstance(model.image_encoder, EfficientNetConfig):
        return model
    encoder = msgspec.structs.replace(model.image_encoder, weights=resolve(model.image_encoder.weights))
    return msgspec.structs.replace(model, image_encoder=encoder)


# --- checks


def _check_trainable(config: Config) -> None:
    kind, metric = str(type(config.model).__struct_config__.tag), config.training.validation_metric
    if kind not in TRAINABLE:
        raise RegardError(f"model.kind is {kind!r}, which cannot be trained here. Choose {', '.join(TRAINABLE)}.")
    if classes := getattr(config.model, "classes", 0):
        raise RegardError(
            f"model.classes is {classes}, but the texts have no classes. Set model.classes=0 to train on masked tokens."
        )
    if metric != "loss" and isinstance(config.model, LanguageModelConfig):
        raise RegardError(
            f"training.validation_metric is {metric!r}, which needs references, but model.kind is {kind!r}, which has "
            "none. Set training.validation_metric=loss."
        )
    if metric == "cider" and not isinstance(config.model, CaptionerConfig):
        raise RegardError(
            f"training.validation_metric is 'cider', which is for captions, but model.kind is {kind!r}. "
            "Choose loss, bleu or chrf."
        )


def _check_same_model(config: Config, run: Path) -> None:
    saved = load_run_config(run)
    changed = [name for name in ("model", "tokenizer") if getattr(config, name) != getattr(saved, name)]
    if changed:
        raise RegardError(
            f"the section(s) {', '.join(changed)} differ from {run / CONFIG_FILE}, so its checkpoints do not fit. "
            "Undo the change, or start another run with --run DIR."
        )


def _check_file_roles(data: DataConfig) -> None:
    """An error if one file is both source and target, or if the endings of their names are swapped."""
    direction = data.languages or (languages_from_names(*map(Path, data.train)) if len(data.train) == 2 else ())
    for name, files in (("data.train", data.train), ("data.valid", data.valid)):
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


def _check_files(config: Config, run: Path, *, has_training_files: bool) -> None:
    """An error if a file does not exist, or if a validation file cannot be read, before the long work."""
    data, is_captioner = config.data, isinstance(config.model, CaptionerConfig)
    if not data.valid and is_captioner:
        raise RegardError("data.valid is empty. Name a file of captions to validate on.")
    if not data.valid and not has_training_files:  # held-out translations of a teacher measure similarity to it
        raise RegardError("data.valid is empty. Name a file of pairs, or a source and a target file, to validate on.")
    sets = [data.train, data.valid] if has_training_files else [data.valid]
    for path in (Path(name) for one in sets for name in (one[:1] if is_captioner else one)):  # then comes the split
        if not path.exists():
            raise _missing_file_error(path, run, is_captioner)
    if isinstance(config.model, LanguageModelConfig):
        for path in (Path(name) for one in sets for name in one):
            check_monolingual(path)
        pairs = read_monolingual(data.valid)
    else:
        pairs = read_pairs(data.valid, languages=data.languages) if data.valid and not is_captioner else iter(())
    for _ in pairs:
        pass  # a line without a partner, or that is not UTF-8, is an error


def _missing_file_error(path: Path, run: Path, is_captioner: bool) -> RegardError:
    started = recorded_working_directory(run)
    elsewhere = f" nor in {started}" if started not in (None, Path.cwd()) else ""
    where = "" if path.is_absolute() else f" in {Path.cwd()}{elsewhere}"
    if is_captioner:
        is_generated, corpus, folder = "scenes" in path.parts, "scenes", path.parent if path.suffix else path
    else:
        is_generated, corpus, folder = bool(_GENERATED_FILE_NAME.fullmatch(path.name)), "sentences", path.parent
    hint = f"\nTo generate it: regard data generate {corpus} --out {folder}" if is_generated else ""
    return RegardError(f"{path} cannot be read: there is no such file{where}. Check data.train and data.valid.{hint}")


def _languages_warning(config: Config) -> list[str]:
    if config.data.languages or isinstance(config.model, CaptionerConfig | LanguageModelConfig):
        return []
    return [
        "warning: data.languages is empty: the LibreTranslate and DeepL APIs of `regard serve` cannot offer the model, "
        "and BLEU is tokenised for English in training. Set --languages en,ko, or data.languages in the recipe."
    ]


def _unused_options_warning(config: Config) -> list[str]:
    """A warning of options for pairs that have no effect on a captioner or a language model."""
    if not isinstance(config.model, CaptionerConfig | LanguageModelConfig):
        return []
    is_captioner, defaults = isinstance(config.model, CaptionerConfig), Config()
    changed = [
        f"{section}.{name}"
        for section, name in PAIR_OPTIONS
        if getattr(getattr(config, section), name) != getattr(getattr(defaults, section), name)
        and (is_captioner or name != "deduplicate")  # lines of text can be deduplicated too
    ]
    kind = "a captioner" if is_captioner else "a language model"
    return [f"warning: without effect on {kind}, which has text on one side only: {', '.join(changed)}"] * bool(changed)


def _overlap_warning(data: DataConfig) -> list[str]:
    """A warning if the model is validated on its training data."""
    if not data.valid or [Path(path).resolve() for path in data.train] != [Path(path).resolve() for path in data.valid]:
        return []
    return [
        f"warning: data.valid is the same as data.train ({', '.join(data.valid)}): the scores measure "
        "memorisation, and the best checkpoint is chosen by them. Give other data to validate on."
    ]
