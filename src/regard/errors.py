"""The error for mistakes that a user can correct: what was given, what is allowed, what to do."""

from collections.abc import Iterable

MAX_MESSAGE_CHARACTERS = 4_000
_END_CHARACTERS = 1_000  # what to do is at the end


class RegardError(Exception):
    """Raised for bad input, never for a defect of regard; the command line prints its message and exits with 2."""

    def __init__(self, message: str) -> None:
        super().__init__(shorten_message(message))


def suggest(word: str, allowed: Iterable[str]) -> str:
    """The nearest of the allowed words as a question in brackets; empty if none is near.

    A key without its section is near: `steps` suggests `training.steps`.
    """
    import difflib

    choices = list(allowed)
    near = [one for one in choices if one.endswith(f".{word}")] or difflib.get_close_matches(word, choices, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def shorten_message(message: str) -> str:
    """The message without its middle if it is very long: it may repeat a file name or a text of any length."""
    if len(message) <= MAX_MESSAGE_CHARACTERS:
        return message
    return f"{message[: MAX_MESSAGE_CHARACTERS - _END_CHARACTERS]} [...] {message[-_END_CHARACTERS:]}"
