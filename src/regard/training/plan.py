"""From a recipe, text files or a run to a checked config and a run directory; and `train`, which runs the plan.

for event in regard.train("world-transformer", run="runs/x"):
    print(event)
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from regard.config import (
    CaptionerConfig,
    Config,
    DataConfig,
    EfficientNetConfig,
    ImageClassifierConfig,
    LanguageModelStyle,
    ModelConfig,
    SourceConfig,
    Task,
    merge_tables,
    read_table,
    task_of,
)
from regard.errors import RegardError
from regard.files import CONFIG_FILE, MEBIBYTE, atomic_file, find_model_directory, read_input
from regard.locks import lock_run
from regard.training import checks
from regard.training.checks import LANGUAGE_KINDS
from regard.training.defaults import (
    CorpusSize,
    ExampleKind,
    default_config,
    describe_defaults,
    describe_fine_tuning,
    fine_tuning_config,
    measure_captions,
    measure_corpus,
    with_replay_weight,
)
from regard.training.events import TrainingEvent

if TYPE_CHECKING:
    from regard.data.readers.text import Pair
    from regard.training.corpora import Corpus
    from regard.training.start_model import StartModel

WORKING_DIRECTORY_FILE = "cwd.txt"
_PACKAGE = Path(__file__).parents[1]
# A wheel has the recipes inside the package (see pyproject.toml); a checkout has them at its root.
_RECIPE_FOLDERS = (_PACKAGE / "recipes", _PACKAGE.parents[1] / "recipes")


@dataclass(frozen=True)
class TextFiles:
    """Corpora to train on without a recipe, and files to validate on; without the latter some examples are held out."""

    corpora: tuple[tuple[Path, ...], ...]
    valid: tuple[Path, ...] = ()
    languages: tuple[str, ...] = ()
    is_by_endings: bool = False  # the languages come from the endings of the file names
    kind: ExampleKind = "pairs"
    replay: tuple[Path, ...] = ()  # fine-tuning: a corpus like that of the start model, used beside the others
    replay_weight: float | None = None  # None: as many examples as of the other corpora
    old_valid: tuple[Path, ...] = ()

    def data(self) -> DataConfig:
        """The data section that names the files; the replay corpus is the last one."""
        valid, old_valid = ([str(path) for path in files] for files in (self.valid, self.old_valid))
        corpora = [[str(path) for path in files] for files in (*self.corpora, *([self.replay] if self.replay else []))]
        shared = DataConfig(valid=valid, old_valid=old_valid, languages=list(self.languages))
        if len(corpora) == 1:
            return msgspec.structs.replace(shared, train=corpora[0])
        return msgspec.structs.replace(shared, sources=[SourceConfig(files=files) for files in corpora])


@dataclass(frozen=True)
class TrainOptions:
    """What to train: a recipe, or text files, or a run to resume; overrides are SECTION.KEY=VALUE."""

    recipe: Path | Mapping[str, Any] | None = None  # a file, or its contents as a table
    files: TextFiles | None = None
    overrides: tuple[str, ...] = ()
    start_from: str = ""  # the model to fine-tune
    probes: tuple[str, ...] = ()
    run: Path | None = None
    resume: bool = False
    checks_languages: bool = True

    @property
    def origin(self) -> str:
        """The name of the config in error messages."""
        if isinstance(self.recipe, Mapping):
            return "the recipe"
        return str(self.recipe or "the defaults for these files")

    @property
    def table(self) -> dict[str, Any]:
        """The recipe as a table; empty without one."""
        if isinstance(self.recipe, Path):
            return read_table(self.recipe)
        return dict(self.recipe or {})

    @property
    def overridden(self) -> set[str]:
        """The keys of the overrides."""
        return {override.partition("=")[0].strip() for override in self.overrides}

    def section(self, name: str) -> Config:
        """A config of this section alone, before the others are known."""
        own = tuple(one for one in self.overrides if one.split("=")[0].split(".")[0].strip() == name)
        return Config.from_dict({name: self.table.get(name, {})}, overrides=own, origin=self.origin)


@dataclass(frozen=True)
class TrainingPlan:
    """What is trained, in which directory, and notes for the user."""

    config: Config
    run: Path
    notes: list[str]
    start: Path | None = None  # directory of the model to start from


def train(
    recipe: Config | Mapping[str, Any] | str | Path,
    *,
    run: str | Path,
    start_from: str | Path | None = None,
    overrides: Sequence[str] = (),
    resume: bool = False,
    checks_languages: bool = True,
) -> Iterator[TrainingEvent]:
    """Train a model from a recipe (a config, a table, a file, or a recipe that comes with regard) to the end.

    Every event is written to the run's directory and yielded. With `start_from` a saved model is fine-tuned: it keeps
    its architecture and vocabulary, and the recipe has the data and the training options. A table such as
    `{"data": {"train": ["train.tsv"]}}` gets the defaults of fine-tuning; the training section of a `Config` is
    complete and used as it is. With `resume` training continues from the latest checkpoint, and gives the same model
    as a run without interruption. `checks_languages` refuses a corpus whose sources and targets are swapped.
    """
    from regard.training import loop

    directory = Path(run)
    if isinstance(recipe, Config) and not start_from and not recipe.training.start_from:
        check_run_directory(directory, resume)
        table = msgspec.to_builtins(recipe)
        config = Config.from_dict(table, overrides=tuple(overrides)) if overrides else recipe
        plan = check_plan(TrainingPlan(config, directory, []), is_resumed=resume, checks_languages=checks_languages)
    else:
        plan = make_plan(
            TrainOptions(
                _recipe_table(recipe) if isinstance(recipe, Config | Mapping) else find_recipe(Path(recipe)),
                start_from=str(start_from or ""),
                overrides=tuple(overrides),
                run=directory,
                resume=resume,
                checks_languages=checks_languages,
            )
        )
    with locked_run_directory(directory):
        corpus = prepare_run(plan, resume=resume)
        yield from loop.train(plan.config, plan.run, corpus, resume=resume)


def _recipe_table(recipe: Config | Mapping[str, Any]) -> Mapping[str, Any]:
    """A recipe as a table; sections of a `Config` that a start model has itself are left out if they are defaults."""
    if not isinstance(recipe, Config):
        return recipe
    table, defaults = msgspec.to_builtins(recipe), msgspec.to_builtins(Config())
    own = ("model", "tokenizer", "decoding")
    return {name: value for name, value in table.items() if name not in own or value != defaults[name]}


def make_plan(options: TrainOptions, *, has_training_files: bool = True) -> TrainingPlan:
    """The config and a run directory in which nothing is overwritten.

    Everything that is cheap to check is checked. Without `has_training_files` they are generated later.
    """
    run = _run_directory(options)
    check_run_directory(run, options.resume)
    start = _find_start_model(options, run)
    config, notes = _plan_config(options, run, start, has_training_files=has_training_files)
    if options.probes:
        training = msgspec.structs.replace(config.training, probes=list(options.probes))
        config = msgspec.structs.replace(config, training=training)
    return check_plan(
        TrainingPlan(config, run, notes, start.directory if start else None),
        is_resumed=options.resume,
        has_training_files=has_training_files,
        checks_languages=options.checks_languages,
        origin=options.origin,
    )


def check_plan(
    plan: TrainingPlan,
    *,
    is_resumed: bool,
    has_training_files: bool = True,
    checks_languages: bool = True,
    origin: str = "the recipe",
) -> TrainingPlan:
    """The plan with warnings added to its notes; an error if it cannot be trained."""
    from regard.training.step import choose_device

    config, notes = checks.with_labels(plan.config), list(plan.notes)
    is_translator = task_of(config.model) == "translation"
    checks.check_metric(config)
    if is_resumed and (plan.run / CONFIG_FILE).exists():
        checks.check_same_run(config, load_run_config(plan.run), plan.run)
    else:  # a run that started before a check was added can be resumed
        config.check_consistency(origin=origin)
        if is_translator:
            checks.check_file_roles(config.data)
        notes += checks.plan_warnings(config)
    started_in = recorded_working_directory(plan.run)
    checks.check_files(config, started_in, has_training_files=has_training_files)
    if is_translator and has_training_files and not is_resumed and checks_languages:
        checks.check_column_languages(config.data)
    choose_device(config.training.device)
    return TrainingPlan(config, plan.run, notes, plan.start)


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
        if plan.start is not None:
            from regard.training.start_model import copy_start_model

            copy_start_model(plan.start, plan.run, plan.config.training.start_digest)
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
    folder = packaged_recipes()
    return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.toml"))


def find_recipe(given: Path) -> Path:
    """The given file or, if it does not exist, the recipe of this name that comes with regard."""
    if given.exists():
        return given
    packaged = packaged_recipes() / given.with_suffix(".toml")
    if given.with_suffix("").as_posix() in recipe_names():
        return packaged
    raise RegardError(
        f"{given} cannot be read: there is no such file. Give the path of a TOML recipe, or the name of one that comes "
        f"with regard: {', '.join(recipe_names())}."
    )


# --- the config


def _find_start_model(options: TrainOptions, run: Path) -> "StartModel | None":
    """The model to fine-tune, if one is given; that of a run to resume is its own copy."""
    from regard.training.start_model import START_FOLDER, read_start_model

    given = options.start_from or options.section("training").training.start_from
    if not options.resume or not (run / START_FOLDER).is_dir():
        return read_start_model(given) if given else None
    start = replace(read_start_model(str(run / START_FOLDER)), name=load_run_config(run).training.start_from)
    if given and find_model_directory(Path(given)).exists() and read_start_model(given).digest != start.digest:
        raise RegardError(
            f"{run} started from {start.name}, whose weights are not those of {given}. Remove --from to continue the "
            "run, or start another one with --run DIR."
        )
    return start


def _plan_config(
    options: TrainOptions, run: Path, start: "StartModel | None", *, has_training_files: bool
) -> tuple[Config, list[str]]:
    """The config and notes: a recipe with a model; that of the run to resume; or defaults that fit the corpus."""
    names_model = "model" in options.table or bool(options.overridden & {"model", "model.kind"})
    if options.recipe and names_model and start is None:
        return Config.from_dict(options.table, overrides=options.overrides, origin=options.origin), []
    if not options.resume or not (run / CONFIG_FILE).exists():
        if start is not None:
            return _fine_tuning_config(options, start)
        return _config_with_defaults(options, has_training_files=has_training_files)
    config, files = load_run_config(run), options.files
    if files:  # they must be those of the run, which may have been moved
        given, saved = files.data(), config.data
        weights = [one.weight for one in saved.sources] or [1.0]
        data = msgspec.structs.replace(
            saved,
            train=given.train,
            sources=[msgspec.structs.replace(one, weight=weight) for one, weight in zip(given.sources, cycle(weights))],
            valid=given.valid or saved.valid,
            old_valid=given.old_valid or saved.old_valid,
            languages=([] if files.is_by_endings else given.languages) or saved.languages,
        )
        config = msgspec.structs.replace(config, data=data)
    resumed = _with_overrides(config, options)
    return resumed if start is None else _with_start_model(resumed, start), []


def _fine_tuning_config(options: TrainOptions, start: "StartModel") -> tuple[Config, list[str]]:
    """The model, vocabulary and decoding of the start model; training defaults that fit the data; what was given."""
    from regard.training.start_model import check_data_kind, check_same_kind, check_same_languages

    files, model = options.files, start.config.model
    check_same_kind(options.table, options.overrides, start)
    if files:
        check_data_kind(start, files.kind)
    data = _data_section(options)
    kind = _kind_of_examples(options, data, model)
    are_by_endings = files is not None and files.is_by_endings and data.languages == list(files.languages)
    data = msgspec.structs.replace(
        data, languages=check_same_languages(data.languages, start, are_by_endings=are_by_endings)
    )
    if kind != "labels":
        Config(data=data, model=model).check_consistency(origin=options.origin)  # before the corpus is read
    if not data.corpora:
        raise RegardError("data.train is empty. Name the files to fine-tune on.")
    if files and files.replay:
        data = with_replay_weight(data, files.replay_weight, kind)
    size = measure_captions(data) if kind == "captions" else measure_corpus(data, kind)
    defaults = fine_tuning_config(start.config, data, size)
    config = _with_overrides(defaults, options)
    if config.training.steps < defaults.training.steps:  # warm-up and validations have to fit into fewer steps
        config = _with_overrides(fine_tuning_config(start.config, data, size, steps=config.training.steps), options)
    config = msgspec.structs.replace(config, data=msgspec.structs.replace(config.data, languages=data.languages))
    config = _with_start_model(config, start)
    return config, describe_fine_tuning(config, size)


def _kind_of_examples(options: TrainOptions, data: DataConfig, model: ModelConfig) -> ExampleKind:
    """What a model is fine-tuned on; an encoder-only model that fills masks may get a class head."""
    if options.files:
        return options.files.kind
    has_classes = bool(data.labels or options.table.get("model", {}).get("classes"))
    task = "classification" if has_classes or "model.classes" in options.overridden else task_of(model)
    kinds: dict[Task, ExampleKind] = {"translation": "pairs", "image-to-text": "captions", "classification": "labels"}
    return kinds.get(task, "text")


def _with_start_model(config: Config, start: "StartModel") -> Config:
    """The config with a record of the start model, whose architecture and vocabulary it must have."""
    from regard.training.start_model import check_same_architecture

    check_same_architecture(config, start)
    training = msgspec.structs.replace(config.training, start_from=start.name, start_digest=start.digest)
    return msgspec.structs.replace(config, training=training)


def _config_with_defaults(options: TrainOptions, *, has_training_files: bool) -> tuple[Config, list[str]]:
    """Defaults that fit the size of the corpus, what was given over them, and notes about both."""
    files = options.files
    data, kind = _data_section(options), files.kind if files else "pairs"
    if kind == "pairs":
        Config(data=data).check_consistency(origin=options.origin)  # before the corpus is read
    if not data.corpora:
        raise RegardError("data.train is empty. Name a file of pairs, or a source and a target file.")
    size = measure_corpus(data, kind) if has_training_files else CorpusSize(0, 0)
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
    if len(named) > 1:  # another kind of model has other options; language models share those of their base struct
        shared = LanguageModelStyle.__struct_fields__ if named <= set(LANGUAGE_KINDS) else ()
        below["model"] = {name: value for name, value in below["model"].items() if name in shared}
    return Config.from_dict(merge_tables(below, options.table), overrides=options.overrides, origin=options.origin)


def _data_section(options: TrainOptions) -> DataConfig:
    """The data section alone, because the model is not chosen yet."""
    given = options.files.data() if options.files else DataConfig()
    table = {"data": merge_tables(msgspec.to_builtins(given), options.table.get("data", {}))}
    return replace(options, recipe=table).section("data").data


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
    """The given directory, or runs/ with the name of the recipe, of the given languages, or of the first file."""
    is_new = bool(options.recipe or options.files or options.overridden & {"data", "data.train", "data.sources"})
    if options.run and (is_new or (options.resume and (options.run / CONFIG_FILE).is_file())):
        return options.run
    if options.run and options.resume:
        raise RegardError(f"{options.run} is not a run: it has no {CONFIG_FILE}. Give its recipe or another run.")
    if not is_new:
        raise RegardError(
            "there is nothing to train. Give a recipe; or --source and --target; or --pairs with one file of pairs; "
            "or --text; or --labels; or --run DIR --resume to continue a run."
        )
    files = _data_section(options).train_files
    name = Path(files[0]).stem if files else "train"
    if isinstance(options.recipe, Path):
        name = options.recipe.stem
    elif options.files and options.files.languages and not options.files.is_by_endings:
        name = "-".join(options.files.languages)
    if options.start_from:
        own = Path(options.start_from).resolve()
        name += f"-from-{own.parent.name if own.name == 'model' else own.name}"
    return Path("runs") / name


def record_working_directory(run: Path) -> None:
    """Record the current directory, from which the relative paths of the run's config start."""
    with atomic_file(run / WORKING_DIRECTORY_FILE) as file:
        file.write(str(Path.cwd()).encode(errors="surrogateescape"))


def recorded_working_directory(run: Path) -> Path | None:
    """The directory in which the run was last started; None if it is not recorded."""
    path = run / WORKING_DIRECTORY_FILE
    if not path.is_file():
        return None
    return Path(read_input(path, max_bytes=MEBIBYTE).decode(errors="surrogateescape"))


def load_run_config(run: Path) -> Config:
    """The config of a run; a path that does not exist from here is taken from where the run was last started."""
    config, started = Config.load(run / CONFIG_FILE), recorded_working_directory(run)
    if started is None or started == Path.cwd():
        return config

    def resolve(path: str) -> str:
        is_elsewhere = bool(path) and not Path(path).exists() and (started / path).exists()
        return str(started / path) if is_elsewhere else path

    data, reads_images = config.data, hasattr(config.model, "image_encoder")
    # The second word of a captioner's files is the name of a split, and the probes of other models are sentences.
    has_splits = task_of(config.model) == "image-to-text"
    train, valid, old_valid = (
        [resolve(path) for path in own[:1]] + own[1:] if has_splits else list(map(resolve, own))
        for own in (data.train, data.valid, data.old_valid)
    )
    sources = [msgspec.structs.replace(one, files=list(map(resolve, one.files))) for one in data.sources]
    probes, model = config.training.probes, config.model
    if isinstance(model, CaptionerConfig | ImageClassifierConfig) and isinstance(
        model.image_encoder, EfficientNetConfig
    ):
        encoder = msgspec.structs.replace(model.image_encoder, weights=resolve(model.image_encoder.weights))
        model = msgspec.structs.replace(model, image_encoder=encoder)
    return msgspec.structs.replace(
        config,
        model=model,
        data=msgspec.structs.replace(
            data,
            train=train,
            sources=sources,
            valid=valid,
            old_valid=old_valid,
            image_folder=resolve(data.image_folder),
            image_store=resolve(data.image_store),
        ),
        training=msgspec.structs.replace(
            config.training, probes=[resolve(path) for path in probes] if reads_images else probes
        ),
    )


def validation_pairs(run: Path) -> "list[Pair]":
    """The validation pairs of a run; none if it has no config or its files are gone."""
    from regard.data.readers import read_pairs
    from regard.training.preprocessing import HELD_OUT_FILE

    if not (run / CONFIG_FILE).is_file():
        return []
    data = load_run_config(run).data
    files = [Path(path) for path in data.valid] or [run / HELD_OUT_FILE]
    if not all(path.is_file() for path in files):
        return []
    return [pair for pair in read_pairs(files, languages=data.languages) if pair.source.strip()]
