"""The command line: parses, calls, and turns what went wrong into one clear line and an exit code.

    0    all is well
    1    something failed while running: a full disk, too little memory, a defect of ours
    2    the command or its input was wrong
    130, 143    stopped by Ctrl-C, by SIGTERM; 141: nobody reads the output any more

Nothing here or in the commands' declarations imports torch, so that `--help` answers at once.
"""

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

import click

from regard.cli.commands import OutputClosed, root
from regard.errors import RegardError

FAILED, WRONG_INPUT = 1, 2
DEBUG = "REGARD_DEBUG"


def main() -> NoReturn:
    """Run the command of this process, and leave with its exit code."""
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    code = run(sys.argv[1:])
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
        return 128 + signal.SIGPIPE
    except (click.Abort, KeyboardInterrupt):
        return 128 + signal.SIGINT
    except RegardError as error:
        return _tell(f"error: {error}", WRONG_INPUT)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _tell(f"error: {where}{error.strerror or error}", FAILED)
    except MemoryError:
        return _tell("error: there is not enough memory. Try a smaller batch, beam or model.", FAILED)
    except Exception as error:
        reason = (str(error) or "no reason given").splitlines()[0]
        advice = f"This is a defect of regard, or of this machine: {DEBUG}=1 shows where."
        return _tell(f"error: {type(error).__name__}: {reason}\n{advice}", FAILED)


def _tell(message: str, code: int) -> int:
    if os.environ.get(DEBUG) == "1":
        traceback.print_exc()
    click.echo(message, err=True)
    return code


def _forget_what_was_not_written() -> None:
    """Point standard output at nothing: Python flushes it as it leaves, and would complain once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
