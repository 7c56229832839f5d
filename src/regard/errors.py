"""The error for mistakes that a user can correct: what was given, what is allowed, what to do."""


class RegardError(Exception):
    """Raised for bad input, never for a defect of regard; the command line prints its message and exits with 2."""
