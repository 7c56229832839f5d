"""The error for mistakes that a user can correct: what was given, what is allowed, what to do."""

from collections.abc import Iterable


class RegardError(Exception):
    """Raised for bad input, never for a defect of regard; the command line prints its message and exits with 2."""


def suggest(word: str, allowed: Iterable[str]) -> str:
    """The nearest of the allowed words as a question in brackets; empty if none is near.

    A key without its section is near: `steps` suggests `training.steps`.
    """
    import difflib

    choices = list(allowed)
    near = [one for one in choices if one.endswith(f".{word}")] or difflib.get_close_matches(word, choices, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
