"""The directory of a run: its lock, its config and validation pairs, and where its relative paths start."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from regard.config import CaptionerConfig, Config, EfficientNetConfig, ImageClassifierConfig, task_of
from regard.errors import RegardError
from regard.files import CONFIG_FILE, MEBIBYTE, atomic_file, read_input
from regard.locks import lock_run

if TYPE_CHECKING:
    from regard.data.pair_readers.text import Pair


WORKING_DIRECTORY_FILE = "cwd.txt"


@contextmanager
def locked_run_directory(run: Path) -> Iterator[None]:
    """Create the run's directory and lock it."""
    try:
        run.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RegardError(f"{run} cannot be created: {error.strerror}. Choose another directory with --run.") from None
    with lock_run(run):
        yield


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
    from regard.data.pair_readers import read_pairs
    from regard.training.preprocessing import HELD_OUT_FILE

    if not (run / CONFIG_FILE).is_file():
        return []
    data = load_run_config(run).data
    files = [Path(path) for path in data.valid] or [run / HELD_OUT_FILE]
    if not all(path.is_file() for path in files):
        return []
    return [pair for pair in read_pairs(files, languages=data.languages) if pair.source.strip()]
