"""From a recipe, text files or a run to a checked config and a run directory; and `train`, which runs the plan.

for event in regard.train("world-transformer", run="runs/x"):
    print(event)
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from regard.config import (
    Config,
    DataConfig,
    LanguageModelStyle,
    ModelConfig,
    SourceConfig,
    Task,
    check_overrides,
    merge_tables,
    read_table,
    task_of,
)
from regard.errors import RegardError
from regard.files import CONFIG_FILE, atomic_file, find_model_directory, model_name
from regard.training import plan_checks
from regard.training.default_config import (
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
from regard.training.plan_checks import LANGUAGE_KINDS
from regard.training.recipes import find_recipe
from regard.training.run_directory import (
    check_run_directory,
    load_run_config,
    locked_run_directory,
    record_working_directory,
    recorded_working_directory,
)

if TYPE_CHECKING:
    from regard.training.corpora import Corpus
    from regard.training.fine_tuning import StartModel


@dataclass(frozen=True)
class TextFiles:
    """Corpora to train on without a recipe, and files to validate on; without the latter some examples are held out."""

    corpora: tuple[tuple[Path, ...], ...]
    valid: tuple[Path, ...] = ()
    languages: tuple[str, ...] = ()
    is_by_endings: bool = False  # the languages come from the endings of the file names
    kind: ExampleKind = "pairs"
    replay: tuple[Path, ...] = ()  # fine-tuning: a corpus like that of the start model, used beside the others
    replay_weight: float | None = None  # None: three examples for each of the other corpora
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
    as a run without interruption. `checks_languages` refuses a corpus whose sources and targets are swapped. For
    example, after `regard data generate sentences --out runs/world/data`::

        for event in regard.train("world-transformer", run="runs/mine", overrides=["training.steps=500"]):
            print(event)
    """
    from regard.training import loop

    directory, changes = Path(run), check_overrides(overrides)
    if isinstance(recipe, Config) and not start_from and not recipe.training.start_from:
        check_run_directory(directory, resume)
        table = msgspec.to_builtins(recipe)
        config = Config.from_dict(table, overrides=changes) if changes else recipe
        plan = check_plan(TrainingPlan(config, directory, []), is_resumed=resume, checks_languages=checks_languages)
    else:
        plan = make_plan(
            TrainOptions(
                _recipe_table(recipe) if isinstance(recipe, Config | Mapping) else find_recipe(Path(recipe)),
                start_from=str(start_from or ""),
                overrides=changes,
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

    config, notes = plan_checks.with_labels(plan.config), list(plan.notes)
    is_translator = task_of(config.model) == "translation"
    plan_checks.check_names(config, plan.run)
    plan_checks.check_metric(config)
    if is_resumed and (plan.run / CONFIG_FILE).exists():
        plan_checks.check_same_run(config, load_run_config(plan.run), plan.run)
    else:  # a run that started before a check was added can be resumed
        config.check_consistency(origin=origin)
        if is_translator:
            plan_checks.check_file_roles(config.data)
        notes += plan_checks.plan_warnings(config)
    started_in = recorded_working_directory(plan.run)
    plan_checks.check_files(config, started_in, has_training_files=has_training_files)
    if is_translator and has_training_files and not is_resumed and checks_languages:
        plan_checks.check_column_languages(config.data)
    choose_device(config.training.device)
    return TrainingPlan(config, plan.run, notes, plan.start)


def prepare_run(
    plan: TrainingPlan, *, resume: bool, is_rank0: bool = True, progress: Callable[[str, int], None] = lambda *_: None
) -> "Corpus":
    """Vocabularies and tokens; the config is written after them, so that a failure here does not start a run."""
    from regard.training.corpora import prepare_corpus
    from regard.training.preprocessing import HELD_OUT_FILE, VALIDATION_DIGEST_FILE

    if is_rank0 and not resume:  # files of an attempt that failed may be of other data or options
        for name in ("tokenizer/source.spm", "tokenizer/target.spm", HELD_OUT_FILE, VALIDATION_DIGEST_FILE):
            (plan.run / name).unlink(missing_ok=True)
        if plan.start is not None:
            from regard.training.fine_tuning import copy_start_model

            copy_start_model(plan.start, plan.run, plan.config.training.start_digest)
    corpus = prepare_corpus(plan.config, plan.run, progress=progress)
    if is_rank0:
        record_working_directory(plan.run)
        with atomic_file(plan.run / CONFIG_FILE) as file:
            file.write(plan.config.to_toml().encode())
    return corpus


# --- the config


def _find_start_model(options: TrainOptions, run: Path) -> "StartModel | None":
    """The model to fine-tune, if one is given; that of a run to resume is its own copy."""
    from regard.training.fine_tuning import START_FOLDER, read_start_model

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
    from regard.training.fine_tuning import check_data_kind, check_same_kind, check_same_languages

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
    is_replay = files is not None and bool(files.replay)
    defaults = fine_tuning_config(start.config, data, size, is_replay=is_replay)
    config = _with_overrides(defaults, options)
    if config.training.steps < defaults.training.steps:  # warm-up and validations have to fit into fewer steps
        shorter = fine_tuning_config(start.config, data, size, steps=config.training.steps, is_replay=is_replay)
        config = _with_overrides(shorter, options)
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
    from regard.training.fine_tuning import check_same_architecture

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
        name += f"-from-{model_name(Path(options.start_from))}"
    return Path("runs") / name
