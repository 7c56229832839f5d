"""What a directory holds, loaded and warmed up: whatever it does, it has done it once before anybody asks."""

from pathlib import Path

import numpy as np

from regard.bundle import load_bundle
from regard.captioning.captioner import Captioner, pictures_of
from regard.config import CaptionerConfig, LanguageConfig
from regard.config import load as load_config
from regard.export.opening import EngineName, Opened, open_translator
from regard.language.blanks import BLANK
from regard.language.opening import LanguageModel, language_model
from regard.language.writer import Writer
from regard.manifest import kind_of
from regard.serve.finding import CONFIG
from regard.translation.exported import KIND as EXPORT

WARM_UP = "AI changes the world"


def loaded_and_warm(directory: Path, engine: EngineName | None) -> Opened | Captioner | LanguageModel:
    """What the directory holds; a model has its weights at hand for looking inside, whichever engine translates."""
    model = None if kind_of(directory) == EXPORT else load_config(directory / CONFIG).model
    if isinstance(model, CaptionerConfig):
        return _that_described(Captioner(load_bundle(directory)))
    if isinstance(model, LanguageConfig):
        return _that_spoke(language_model(load_bundle(directory)))
    opened = open_translator(directory, engine=engine, is_looked_into=True)
    opened.translator.translate([WARM_UP])
    return opened


def _that_described(captioner: Captioner) -> Captioner:
    grey = np.full((1, 3, captioner.eye.size, captioner.eye.size), 128, np.uint8)
    captioner.describe(pictures_of(grey), captioner.settings(beam=1, nbest=1))
    return captioner


def _that_spoke(language: LanguageModel) -> LanguageModel:
    if isinstance(language, Writer):
        language.complete([""], beam=1, sample=False)
    else:
        language.fill([BLANK])
    return language
