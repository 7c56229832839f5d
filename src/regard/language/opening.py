"""Whichever language model a bundle holds."""

from regard.bundle import Bundle
from regard.config import EncoderOnlyConfig
from regard.language.reader import Reader
from regard.language.writer import Writer

LanguageModel = Writer | Reader


def language_model(bundle: Bundle) -> LanguageModel:
    """The writer or the reader of a bundle."""
    return Reader(bundle) if isinstance(bundle.config.model, EncoderOnlyConfig) else Writer(bundle)
