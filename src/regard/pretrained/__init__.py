"""The models that come with regard, each in a directory with its name.

    regard.pretrained.names()             ["en-fr", "fr-en", ...]
    regard.load("en-fr")                  a name is used where no such path exists
    regard.pretrained.card("en-fr")       figures, licence and attribution

`make pretrained` trains them again by recipes/pretrained and compares the figures. docs/pretrained.md judges them.
"""

from pathlib import Path

import msgspec

from regard.errors import RegardError, suggest
from regard.struct_decoding import decode_json

CARD_FILE = "card.json"  # of a model's directory, beside its config and weights
EXAMPLES_FOLDER = Path(__file__).parent / "examples"  # sentences with word alignments, as `regard serve --gold` reads
EVALUATION_FILE = Path(__file__).parent / "evaluation.json"  # the three generations from English to French
# The order in which they are listed and served: the page opens with the first.
ORDER = (
    "en-fr",
    "fr-en",
    "en-fr-rnn-attention",
    "en-fr-rnn",
    "world-en-ko",
    "world-ko-en",
    "scenes",
    "world-decoder-only",
    "world-encoder-only",
    "world-classifier",
)


class ModelCard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model is for, how good it is, and under which terms it may be used."""

    summary: str
    recipe: str  # that trains it: the name of a recipe that comes with regard
    data: str  # what it was trained on
    licence: str
    attribution: str
    test_set: str  # that the figures were measured on
    figures: dict[str, float]  # such as {"BLEU": 48.2}


def names() -> list[str]:
    """The names of the models that come with regard."""
    return [name for name in ORDER if (directory(name) / CARD_FILE).is_file()]


def directory(name: str) -> Path:
    """Where the model of this name is, if it comes with regard."""
    return Path(__file__).parent / name


def find(path: Path) -> Path | None:
    """The directory of the model with this name; None if no model that comes with regard has it."""
    return directory(path.name) if str(path) in names() else None


def is_pretrained(path: Path) -> bool:
    """Whether a directory is that of a model that comes with regard."""
    return path.resolve().parent == Path(__file__).parent.resolve()


def card(name: str) -> ModelCard:
    """The card of the model with this name."""
    if name not in names():
        raise RegardError(
            f"no model that comes with regard is called {name!r}{suggest(name, names())}. Choose one of "
            f"{', '.join(names())}."
        )
    return read_card(directory(name))


def read_card(model: Path) -> ModelCard:
    """The card in a model's directory."""
    path = model / CARD_FILE
    try:
        return decode_json(path.read_bytes(), ModelCard)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RegardError(f"{path} cannot be read: {error}. Install regard again.") from None
