"""What stops a run, and what does not end the process before it is saved."""

import os
import signal
from collections.abc import Iterator

import pytest

from regard.cli.running.stopping import Stopping, noted_signals


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    before = signal.getsignal(signal.SIGHUP)
    yield
    signal.signal(signal.SIGHUP, before)


def test_a_closed_terminal_may_send_its_second_signal_when_all_is_saved() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with noted_signals() as stopping:
        os.kill(os.getpid(), signal.SIGHUP)
        assert stopping.asked() == signal.SIGHUP
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    with noted_signals() as stopping:
        os.kill(os.getpid(), signal.SIGHUP)
        assert stopping.asked() is None


@pytest.mark.parametrize("before", [signal.SIG_DFL, signal.SIG_IGN])
def test_a_terminal_that_was_not_closed_may_be_closed_later(before: signal.Handlers) -> None:
    signal.signal(signal.SIGHUP, before)
    with noted_signals():
        pass
    assert signal.getsignal(signal.SIGHUP) is before


def test_output_that_is_lost_is_a_reason_to_stop_where_no_signal_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "SIGPIPE")
    stopping = Stopping()
    with stopping.if_untold():
        raise BrokenPipeError(32, "Broken pipe")
    assert stopping.asked() == 13
