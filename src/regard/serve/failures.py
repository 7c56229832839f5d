"""What has failed and is tried again: soon at first, then ever later, a new version at once; a reason is told once."""

import time

FIRST, LONGEST = 1.0, 60.0  # seconds until the next try
Version = tuple[int, int]


class Failures:
    """The failures of one thing since it last went well."""

    def __init__(self) -> None:
        self._wait, self._next = FIRST, 0.0
        self._version: Version | None = None  # that failed
        self._reason: str | None = None  # an error may have no words, as where memory ran out

    def __bool__(self) -> bool:
        return self._reason is not None

    def are_past(self, version: Version) -> bool:
        """Whether it is time to try this version, for the first time or again."""
        return version != self._version or time.monotonic() >= self._next

    def add(self, reason: str, version: Version | None) -> bool:
        """Put the next try of the version off; whether the reason is another than before."""
        if version != self._version:
            self._wait, self._version = FIRST, version
        self._next = time.monotonic() + self._wait
        self._wait = min(LONGEST, 2 * self._wait)
        before, self._reason = self._reason, reason
        return reason != before
