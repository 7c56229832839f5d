"""The one error a person can act on: what was given, what is allowed, what to do next."""


class RegardError(Exception):
    """Raised for bad input, never for a defect of ours; the command line prints its message and exits with 2."""
