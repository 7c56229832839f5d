"""The command line: parse, call, and turn a failure into one clear line and an exit code.

    0    success
    1    a failure at run time: a full disk, too little memory, a bug
    2    a wrong command or wrong input
    130, 143, 129    stopped by Ctrl-C, SIGTERM or a closed terminal; 141: the reader of the output is gone

Each command has a module of its own, which is imported when the command is used. Neither this module nor those modules
import torch at the top level, and what few commands need is imported there, so `--help` starts fast. All signal
handling is here.
"""

import errno
import os
import signal
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, Self

import click

from regard import __version__
from regard.errors import RegardError, shorten_message, suggest
from regard.process import open_standard_streams

if TYPE_CHECKING:
    import socket
    import subprocess

EXIT_FAILED, EXIT_WRONG_INPUT = 1, 2
DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT)
WRONG_PATH_ERRORS = (
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP),
    *(errno.EACCES, errno.EPERM, errno.EROFS),
)
DEBUG_VARIABLE = "REGARD_DEBUG"
NOT_UTF8 = "has bytes that are not UTF-8. Rename the file, or give the text in UTF-8."
OUT_OF_MEMORY = "there is not enough memory. Use a smaller batch, beam or model."
MEMORY_SIGNS = ("can't allocate memory", "out of memory", "not enough memory", "bad_alloc")  # of torch's RuntimeErrors

SUMMARIES = {
    "demo": "Open the page and train every model of the lineage.",
    "train": "Train a model from a recipe or from text files.",
    "distill": "Train a small, fast student on the translations of teachers.",
    "translate": "Translate lines of text.",
    "caption": "Describe images.",
    "complete": "Continue texts with a decoder-only model.",
    "fill": "Fill masks in texts with an encoder-only model.",
    "classify": "Classify texts or images.",
    "evaluate": "Measure a model: BLEU, chrF and TER, caption metrics, perplexity, or accuracy.",
    "align": "Align the words of sentence pairs by attention.",
    "show": "Show the attention of a model in the terminal, as an image, or as a page.",
    "ablate": "Measure a translator without each of its heads.",
    "probe": "Measure what each layer of a model encodes about its words.",
    "prune": "Remove the heads that a translator needs least.",
    "compare": "Measure several models on the same data: quality, length, speed, size.",
    "info": "Show the config and size of a model, and verify its files.",
    "schema": "Print the JSON schema of a recipe.",
    "export": "Write a model for CTranslate2, Hugging Face transformers, Marian or Argos.",
    "serve": "Serve models: the page that shows their attention, and HTTP APIs.",
    "import": "Import a model of another program, such as OPUS-MT, CTranslate2, BERT or GPT-2.",
    "data": "Inspect a corpus, extract the images of IDX files, or generate corpora.",
}
MODULES = {"import": "import_model"}  # commands that do not have a module of the same name


class OutputClosed(Exception):  # noqa: N818  (not an error: the reader has enough)
    """The reader of standard output is gone, as after `| head`."""


@contextmanager
def closed_output_raised() -> Iterator[None]:
    """Raise OutputClosed for a broken pipe, for which click would exit with 1."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise OutputClosed from None


class LazyGroup(click.Group):
    """A group that lists its commands by name and imports one when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(SUMMARIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in SUMMARIES:
            return None
        module = import_module(f"regard.cli.{MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in SUMMARIES and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"No such command {args[0]!r}{suggest(args[0], SUMMARIES)}.", ctx)
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            refuse_repeated_options(command, ctx, rest)
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))

    def make_context(self, *arguments: Any, **settings: Any) -> click.Context:  # also prints --help
        with closed_output_raised():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        with closed_output_raised():
            return super().invoke(ctx)


def refuse_repeated_options(command: click.Command, ctx: click.Context, arguments: list[str]) -> None:
    """An error if an option with one value is given twice; click would use the last one and drop the others."""
    try:
        _, rest, given = command.make_parser(ctx).parse_args(list(arguments))
    except click.UsageError:
        return  # the command itself reports it
    counts = Counter(one for one in given if isinstance(one, click.Option))
    for option, count in counts.items():
        if count > 1 and not (option.multiple or option.is_flag or option.count):
            raise click.UsageError(f"{option.opts[0]} is given {count} times, but has one value. Give it once.", ctx)
    if isinstance(command, click.Group) and rest and (nested := command.get_command(ctx, rest[0])):
        refuse_repeated_options(nested, ctx, rest[1:])


@click.group(cls=LazyGroup, name="regard", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="regard", message="%(prog)s %(version)s")
def root() -> None:
    """Train models of the attention lineage on translations, images or text; measure them; see their attention.

    Shell completion: eval "$(_REGARD_COMPLETE=bash_source regard)" in ~/.bashrc, or zsh_source in ~/.zshrc; for fish,
    _REGARD_COMPLETE=fish_source regard | source
    """


def main() -> NoReturn:
    """Run the command of this process and exit with its code."""
    open_standard_streams()
    handler = ExitHandler()
    signal.signal(signal.SIGTERM, handler)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # and not ignored, as under nohup
        signal.signal(signal.SIGINT, handler)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    code = run(sys.argv[1:])
    handler.is_exiting = True  # nothing is left to clean up; Python would print what a handler raises while it ends
    try:
        sys.stdout.flush()
    except OSError:
        _discard_unwritten_output()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run a command in this process; returns its exit code."""
    try:
        return root.main(list(arguments), prog_name="regard", standalone_mode=False, obj=list(arguments)) or 0
    except click.ClickException as problem:
        if isinstance(problem, click.MissingParameter) and isinstance(problem.param, click.Option):
            option = problem.param
            advice = f"Give {option.opts[0]} {option.metavar or 'VALUE'}: {option.help}"
            problem = click.MissingParameter(advice, ctx=problem.ctx, param=option)
        problem.message = shorten_message(problem.message)  # type: ignore[misc]  # may repeat a value
        with suppress(OSError):
            problem.show()
        return problem.exit_code
    except OutputClosed:
        _discard_unwritten_output()
        return 128 + BROKEN_PIPE
    except (click.Abort, KeyboardInterrupt):
        return 128 + signal.SIGINT
    except RegardError as error:
        return _print_error(f"error: {error}", EXIT_WRONG_INPUT)
    except OSError as error:
        code = EXIT_WRONG_INPUT if error.errno in WRONG_PATH_ERRORS else EXIT_FAILED
        return _print_error(f"error: {_describe_os_error(error)}", code)
    except MemoryError:
        return _print_error(f"error: {OUT_OF_MEMORY}", EXIT_FAILED)
    except UnicodeEncodeError as error:  # only arguments and file names have bytes that are not UTF-8
        return _print_error(f"error: {ascii(error.object)[:200]} {NOT_UTF8}", EXIT_WRONG_INPUT)
    except Exception as error:
        return _print_error(f"error: {_describe_unexpected(error)}", EXIT_FAILED)


def _describe_os_error(error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.errno == errno.EBADF and not error.filename:
        return "standard output is closed. Redirect it to a file, or to /dev/null."
    if error.errno in DISK_FULL_ERRORS:  # a failed write to standard output has no file name
        return f"{error.filename or 'the output'} cannot be written: {reason}. Free some space, or write elsewhere."
    advice = ". Give another path, or change its permissions." if error.errno in WRONG_PATH_ERRORS else ""
    return f"{error.filename}: {reason}{advice}" if error.filename else reason


def _describe_unexpected(error: Exception) -> str:
    """A shortage that torch or Python reports as an ordinary error; anything else is a defect, and how to report it."""
    reason = (str(error) or "no reason given").splitlines()[0][:500]
    if any(sign in reason for sign in MEMORY_SIGNS):
        return OUT_OF_MEMORY
    if "can't start new thread" in reason:
        return "the system allows no more threads. Stop other programs, or raise the limit (ulimit -u)."
    import platform

    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(last.filename)}:{last.lineno}"
    system = f"regard {__version__}, Python {platform.python_version()}, {platform.platform()}"
    return (
        f"{type(error).__name__}: {reason} ({place})\nThis is a defect of regard. Report it as an issue of regard's "
        f"repository: the command, these lines, and the traceback, which {DEBUG_VARIABLE}=1 prints ({system})."
    )


def _print_error(message: str, code: int) -> int:
    with suppress(OSError):  # the reader of standard error may be gone as well
        if os.environ.get(DEBUG_VARIABLE) == "1":
            traceback.print_exc()
        click.echo(shorten_message(message), err=True)
    return code


def _discard_unwritten_output() -> None:
    """Redirect standard output to the null device: Python flushes it at exit, and would report the failure again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# --- signals

FORCE_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)  # a second one stops at once
# A closed terminal sends SIGHUP twice, once from the shell and once from the system; Windows has no SIGHUP.
STOP_SIGNALS = (*FORCE_STOP_SIGNALS, signal.SIGHUP) if hasattr(signal, "SIGHUP") else FORCE_STOP_SIGNALS
BROKEN_PIPE: int = getattr(signal, "SIGPIPE", 13)  # Windows has no SIGPIPE


class ExitHandler:
    """Ctrl-C and SIGTERM: the first one cleans up and exits; another one during the clean-up exits at once."""

    def __init__(self) -> None:
        self.is_exiting = False

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        if self.is_exiting:
            os._exit(128 + number)
        self.is_exiting = True
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + number)


class StopRequest:
    """The signal after which training stops at the end of the current step."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def requested(self) -> int | None:
        """The first signal that arrived; SIGPIPE if the output cannot be written."""
        return self.signal

    @contextmanager
    def stop_on_closed_output(self) -> Iterator[None]:
        """A failure to write within the block requests a stop instead of raising an error."""
        try:
            yield
        except OSError as error:
            if self.signal is None:
                with suppress(OSError):
                    click.echo(f"the output cannot be written ({error.strerror}): stopping after this step", err=True)
            self.signal = self.signal or BROKEN_PIPE


def stop_signals() -> list[signal.Signals]:
    """The signals that stop a run, without those that this process ignores, as under nohup."""
    return [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def deferred_signals() -> Iterator[StopRequest]:
    """Within the block the first signal is recorded, so that a step can end and be saved; a second one stops at once.

    The second SIGHUP of a closed terminal may arrive after the block; it is ignored.
    """
    request = StopRequest()
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}

    def record(number: int, _frame: FrameType | None) -> None:
        request.signal = request.signal or number
        if number in FORCE_STOP_SIGNALS:
            for each in FORCE_STOP_SIGNALS:
                signal.signal(each, before[each])
        else:
            before[signal.Signals(number)] = signal.SIG_IGN

    for number in stop_signals():
        signal.signal(number, record)
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def acknowledged_signals() -> Iterator[None]:
    """Within the block a signal is acknowledged at once, and a second one ends the process.

    Python runs a signal handler only when the current C call returns, and training a vocabulary is one such call.
    """
    import socket

    reading, writing = socket.socketpair()
    writing.setblocking(False)
    before = signal.set_wakeup_fd(writing.fileno())
    thread = threading.Thread(target=_acknowledge, args=(reading,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        writing.close()
        thread.join()
        reading.close()


def _acknowledge(signals: "socket.socket") -> None:
    is_acknowledged = False
    while number := signals.recv(1):
        if number[0] not in FORCE_STOP_SIGNALS:
            continue
        if is_acknowledged:
            os._exit(128 + number[0])
        click.echo("stopping after this step of the preprocessing; a second signal stops at once", err=True)
        is_acknowledged = True


class ChildStopper:
    """Ctrl-C and SIGTERM, recorded and forwarded to the child process that is waited for."""

    def __init__(self) -> None:
        self.received: list[int] = []
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._forward) for number in FORCE_STOP_SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def wait_for(self, process: "subprocess.Popen[bytes]") -> int:
        """The exit code of a process, which receives the signals that arrive meanwhile."""
        self._process = process
        code = process.wait()
        self._process = None
        return code

    def _forward(self, number: int, _frame: object) -> None:
        self.received.append(number)
        if self._process is not None:
            self._process.send_signal(number)
