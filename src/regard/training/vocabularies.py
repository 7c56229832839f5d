"""The vocabularies of a run: learnt once, kept beside it, and read again when it goes on."""

from collections.abc import Callable
from pathlib import Path

from regard.staged import staged_file
from regard.tokens import Tokenizers

MOST_UNKNOWN = 0.01  # of the training tokens


def kept_vocabularies(directory: Path, learn: Callable[[], Tokenizers]) -> Tokenizers:
    """The vocabularies in a directory; where there are none yet, they are learnt and written there."""
    paths = [directory / "source.tokens", directory / "target.tokens"]
    if all(path.exists() for path in paths):
        return Tokenizers.from_bytes(*(path.read_bytes() for path in paths))
    tokenizers = learn()
    directory.mkdir(parents=True, exist_ok=True)
    for path, content in zip(paths, bytes_of(tokenizers), strict=True):
        with staged_file(path) as file:
            file.write(content)
    return tokenizers


def bytes_of(tokenizers: Tokenizers) -> tuple[bytes, bytes]:
    """Both vocabularies as they are kept."""
    return tokenizers.source.to_bytes(), tokenizers.target.to_bytes()


def warn_of_unknown(share: float) -> list[str]:
    """A warning where this share of the training tokens is too much to be left unknown."""
    if share <= MOST_UNKNOWN:
        return []
    return [
        f"warning: {share:.0%} of the training tokens are unknown to the vocabulary: the model reads and says ⁇ for "
        "them. Raise tokens.size; or set tokens.kind=unigram with tokens.size=1000 or more, which spells rare words."
    ]


def sizes_of(tokenizers: Tokenizers) -> str:
    """How large the vocabularies are, in words."""
    if tokenizers.shared:
        return f"one vocabulary of {tokenizers.source.size:,} pieces"
    return f"vocabularies of {tokenizers.source.size:,} and {tokenizers.target.size:,} pieces"
