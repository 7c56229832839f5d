"""What stops a run, and what does not end the process before it is saved."""

import os
import signal
from collections.abc import Iterator

import pytest

from regard.cli import StopRequest, deferred_signals


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    before = signal.getsignal(signal.SIGHUP)
    yield
    signal.signal(signal.SIGHUP, before)


def test_second_hangup_after_saving_is_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with deferred_signals() as stopping:
        os.kill(os.getpid(), signal.SIGHUP)
        assert stopping.requested() == signal.SIGHUP
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    with deferred_signals() as stopping:
        os.kill(os.getpid(), signal.SIGHUP)
        assert stopping.requested() is None


@pytest.mark.parametrize("before", [signal.SIG_DFL, signal.SIG_IGN])
def test_open_terminal_may_be_closed_later(before: signal.Handlers) -> None:
    signal.signal(signal.SIGHUP, before)
    with deferred_signals():
        pass
    assert signal.getsignal(signal.SIGHUP) is before


def test_lost_output_stops_without_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "SIGPIPE")
    stopping = StopRequest()
    with stopping.stop_on_closed_output():
        raise BrokenPipeError(32, "Broken pipe")
    assert stopping.requested() == 13
