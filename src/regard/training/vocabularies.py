"""The vocabularies of a run: learnt once, kept beside it, and read again when it goes on."""

from collections.abc import Callable
from pathlib import Path

from regard.staged import staged_file
from regard.tokens import Tokenizer, Tokenizers


def kept_vocabularies(directory: Path, learn: Callable[[], Tokenizers]) -> Tokenizers:
    """The vocabularies in a directory; where there are none yet, they are learnt and written there."""
    paths = [directory / "source.tokens", directory / "target.tokens"]
    if all(path.exists() for path in paths):
        source, target = (Tokenizer.from_bytes(path.read_bytes()) for path in paths)
        return Tokenizers(source, target)
    tokenizers = learn()
    directory.mkdir(parents=True, exist_ok=True)
    for path, content in zip(paths, bytes_of(tokenizers), strict=True):
        with staged_file(path) as file:
            file.write(content)
    return tokenizers


def bytes_of(tokenizers: Tokenizers) -> tuple[bytes, bytes]:
    """Both vocabularies as they are kept."""
    return tokenizers.source.to_bytes(), tokenizers.target.to_bytes()


def sizes_of(tokenizers: Tokenizers) -> str:
    """How large the vocabularies are, in words."""
    if tokenizers.shared:
        return f"one vocabulary of {tokenizers.source.size:,} pieces"
    return f"vocabularies of {tokenizers.source.size:,} and {tokenizers.target.size:,} pieces"
