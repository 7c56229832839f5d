"""The paths in a run's config: seen from the directory where its last command was given, wherever the next one is.

That directory is kept as seen from the run, so that a run and its data can be moved together.
"""

import os
from pathlib import Path

import msgspec

from regard.config import CaptionerConfig, Config, EfficientNetEye, ModelConfig, load
from regard.staged import staged_file

CONFIG, PLACE = "config.toml", "seen-from.txt"


def note_place(run: Path) -> None:
    """Keep the directory that we are in as the one that the run's paths are seen from."""
    with staged_file(run / PLACE) as file:
        file.write(os.fsencode(os.path.relpath(Path.cwd(), run.resolve())))


def load_seen_from_here(run: Path) -> Config:
    """The run's config, its paths as they are seen from the directory that we are in."""
    config = load(run / CONFIG)
    if not (run / PLACE).is_file():
        return config
    place = (run.resolve() / os.fsdecode((run / PLACE).read_bytes())).resolve()
    return config if place == Path.cwd() else seen_from(place, config)


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
    return [path if not path or Path(path).is_absolute() else os.path.relpath(place / path) for path in paths]
