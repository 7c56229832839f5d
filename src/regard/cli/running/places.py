"""The paths in a run's config: seen from the directory where its last command was given, wherever the next one is.

That directory is kept as seen from the run, so that a run and its data can be moved together, and by its own name, so
that a run can be moved alone.
"""

import os
from pathlib import Path

import msgspec

from regard.config import CaptionerConfig, Config, EfficientNetEye, ModelConfig, load
from regard.staged import staged_file

CONFIG, PLACE = "config.toml", "seen-from.txt"
_BETWEEN = b"\0"  # which no path holds


def note_place(run: Path) -> None:
    """Keep the directory that we are in as the one that the run's paths are seen from."""
    with staged_file(run / PLACE) as file:
        file.write(_BETWEEN.join([os.fsencode(_relative(Path.cwd(), run.resolve())), os.fsencode(Path.cwd())]))


def load_seen_from_here(run: Path) -> Config:
    """The run's config, its paths as they are seen from the directory that we are in."""
    config = load(run / CONFIG)
    # Of those where as many of its files are, the first: the data came along, stayed behind, or are here.
    place = max(_places(run), key=lambda one: sum((one / path).exists() for path in _files(config)))
    return config if place == Path.cwd() else seen_from(place, config)


def _places(run: Path) -> list[Path]:
    """Where the run's paths may begin."""
    kept = (run / PLACE).read_bytes().split(_BETWEEN) if (run / PLACE).is_file() else []
    return [*((run.resolve() / os.fsdecode(one)).resolve() for one in kept), Path.cwd()]


def _files(config: Config) -> list[str]:
    """The files to train and to validate on; a captioner's second word is the name of a split."""
    is_captioner = isinstance(config.model, CaptionerConfig)
    return [path for own in (config.data.train, config.data.valid) for path in (own[:1] if is_captioner else own)]


def seen_from(place: Path, config: Config) -> Config:
    """The config with its paths, which begin in that place, as they are seen from the directory that we are in."""
    is_captioner = isinstance(config.model, CaptionerConfig)
    data, probes = config.data, config.training.probes
    # A captioner's second word is the name of a split, and a translator's probes are sentences.
    train, valid = (
        [*_seen(place, own[:1]), *own[1:]] if is_captioner else _seen(place, own) for own in (data.train, data.valid)
    )
    [folder, store] = _seen(place, [data.pictures.folder, data.pictures.store])
    pictures = msgspec.structs.replace(data.pictures, folder=folder, store=store)
    return msgspec.structs.replace(
        config,
        model=_with_eye_seen(place, config.model),
        data=msgspec.structs.replace(data, train=train, valid=valid, pictures=pictures),
        training=msgspec.structs.replace(config.training, probes=_seen(place, probes) if is_captioner else probes),
    )


def _with_eye_seen(place: Path, model: ModelConfig) -> ModelConfig:
    if not isinstance(model, CaptionerConfig) or not isinstance(model.eye, EfficientNetEye):
        return model
    [weights] = _seen(place, [model.eye.weights])
    return msgspec.structs.replace(model, eye=msgspec.structs.replace(model.eye, weights=weights))


def _seen(place: Path, paths: list[str]) -> list[str]:
    """What is empty, or says itself where it is, stays as it is."""
    return [path if not path or Path(path).is_absolute() else _relative(place / path, Path.cwd()) for path in paths]


def _relative(path: Path, start: Path) -> str:
    """The path from there; its own name where none leads there, as between two drives of Windows."""
    try:
        return os.path.relpath(path, start)
    except ValueError:
        return str(path)
