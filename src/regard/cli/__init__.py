"""The command line: parses, calls, and turns what went wrong into one clear line and an exit code.

    0    all is well
    1    something failed while running: a full disk, too little memory, a defect of ours
    2    the command or its input was wrong
    130, 143, 129    stopped by Ctrl-C, by SIGTERM, by a closed terminal; 141: nobody reads the output any more

Nothing here or in the commands' declarations imports torch, so that `--help` answers at once.
"""

import errno
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

import click

from regard.cli.commands import OutputClosed, root
from regard.errors import RegardError

FAILED, WRONG_INPUT = 1, 2
FULL = (errno.ENOSPC, errno.EDQUOT)
DEBUG = "REGARD_DEBUG"
BROKEN_PIPE: int = getattr(signal, "SIGPIPE", 13)  # Windows has none


class Interruption:
    """What Ctrl-C does: the first one cleans up and leaves; one that comes meanwhile leaves at once, without a word."""

    def __init__(self) -> None:
        self.is_last_word = False

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        if self.is_last_word:
            os._exit(128 + number)
        self.is_last_word = True
        raise KeyboardInterrupt


def main() -> NoReturn:
    """Run the command of this process, and leave with its exit code."""
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    interruption = Interruption()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # and not ignored, as behind nohup
        signal.signal(signal.SIGINT, interruption)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    code = run(sys.argv[1:])
    interruption.is_last_word = True  # nothing is left to clean up
    try:
        sys.stdout.flush()
    except OSError:
        _forget_what_was_not_written()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """The exit code of a command."""
    try:
        return root.main(list(arguments), prog_name="regard", standalone_mode=False, obj=list(arguments)) or 0
    except click.ClickException as problem:
        problem.show()
        return problem.exit_code
    except OutputClosed:
        _forget_what_was_not_written()
        return 128 + BROKEN_PIPE
    except (click.Abort, KeyboardInterrupt):
        return 128 + signal.SIGINT
    except RegardError as error:
        return _tell(f"error: {error}", WRONG_INPUT)
    except OSError as error:
        return _tell(f"error: {_described(error)}", FAILED)
    except MemoryError:
        return _tell("error: there is not enough memory. Try a smaller batch, beam or model.", FAILED)
    except Exception as error:
        reason = (str(error) or "no reason given").splitlines()[0]
        advice = f"This is a defect of regard, or of this machine: {DEBUG}=1 shows where."
        return _tell(f"error: {type(error).__name__}: {reason}\n{advice}", FAILED)


def _described(error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.errno in FULL:  # a failed write to standard output does not say where it was to go
        return f"{error.filename or 'the output'} cannot be written: {reason}. Make room, or write to another place."
    return f"{error.filename}: {reason}" if error.filename else reason


def _tell(message: str, code: int) -> int:
    if os.environ.get(DEBUG) == "1":
        traceback.print_exc()
    click.echo(message, err=True)
    return code


def _forget_what_was_not_written() -> None:
    """Point standard output at nothing: Python flushes it as it leaves, and would complain once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
