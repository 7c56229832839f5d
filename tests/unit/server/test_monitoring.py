"""The log: an error that repeats is one line, and then one line with the count."""

import logging
from types import SimpleNamespace

import pytest

from regard.server import monitoring
from regard.server.monitoring import REPETITION_SECONDS, RepetitionFilter


def record(message: str, level: int = logging.ERROR, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("regard.server", level, "", 0, message, (), None)
    made.fields = fields
    return made


def test_repeated_errors_pass_once_and_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(monitoring, "time", SimpleNamespace(monotonic=lambda: now[0]))
    repetitions = RepetitionFilter()
    passed = [repetitions.filter(record(f"no room\nsocket {number}")) for number in range(5)]
    assert passed == [True, False, False, False, False]
    assert repetitions.filter(record("another"))
    assert repetitions.pop_counts() == {}
    now[0] += REPETITION_SECONDS + 1
    assert repetitions.pop_counts() == {"no room": 4, "another": 0}
    assert repetitions.filter(record("no room"))


def test_requests_and_plain_lines_always_pass() -> None:
    repetitions = RepetitionFilter()
    for _ in range(3):
        assert repetitions.filter(record("a request failed", request="an-id"))
        assert repetitions.filter(record("request", logging.INFO))
