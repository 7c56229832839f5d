"""The whole command line: help at once, exit codes, and one clear line where something went wrong."""

import os
import signal
import subprocess
import sys
from types import ModuleType

import click
import pytest

from regard import cli
from regard.cli import ExitHandler
from tests.support.commands import Regard, command, environment, run_command

HEAVY = ("torch", "sacrebleu", "numpy", "sentencepiece", "rich")
EVERY_COMMAND = [[], *([name] for name in cli.SUMMARIES), ["data", "generate"], ["data", "generate", "sentences"]]


def test_help_of_every_command_imports_nothing_heavy() -> None:
    code = (
        "import sys; from regard.cli import run\n"
        f"for words in {EVERY_COMMAND!r}: assert run([*words, '--help']) == 0\n"
        f"print('heavy:', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment(), timeout=300
    )
    assert ended.stdout.splitlines()[-1] == "heavy: []"
    assert ended.stdout.count("Usage: ") == len(EVERY_COMMAND)


def test_help_takes_little_computing() -> None:
    # Processor time, not the clock: other programs may be running.
    code = "import time; from regard.cli import run; run(['--help']); print(time.process_time())"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert float(ended.stdout.splitlines()[-1]) < 0.3


def test_every_command_is_listed_with_its_summary() -> None:
    ended = run_command("--help")
    assert ended.code == 0
    assert all(f"  {name} " in ended.out for name in cli.SUMMARIES)


def all_commands(group: click.Group) -> list[click.Command]:
    """Every command that does something, those of groups included."""
    found: list[click.Command] = []
    for name in group.list_commands(click.Context(group)):
        one = group.get_command(click.Context(group), name)
        assert one is not None
        found += all_commands(one) if isinstance(one, click.Group) else [one]
    return found


@pytest.mark.parametrize("one", all_commands(cli.root), ids=lambda one: one.name)
def test_every_command_has_examples_and_a_whole_summary(one: click.Command) -> None:
    assert "Example" in (one.epilog or "")
    assert one.name in cli.SUMMARIES or not one.get_short_help_str(60).endswith("...")


@pytest.mark.parametrize("words", [["trane"], ["translate"], ["info", "x", "--no-such-option"], ["compare"]])
def test_wrong_usage_exits_two_with_the_usage(regard: Regard, words: list[str]) -> None:
    ended = regard(*words)
    assert ended.code == 2
    assert "Usage: regard" in ended.err
    assert not ended.out


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["traslate"], "(did you mean 'translate'?)"),
        (["train", "--epochs", "3"], "--set training.steps=N"),
        (["train", "--learning-rate=1"], "--set training.learning_rate=VALUE"),
        (["train", "--tgt", "x"], "Use --target."),
        (["train", "world-transfomer"], "(did you mean 'world-transformer'?)"),
        (["serve", "en-rf"], "(did you mean 'en-fr'?)"),
    ],
)
def test_misspelt_name_suggests_the_intended_one(regard: Regard, words: list[str], hint: str) -> None:
    ended = regard(*words)
    assert ended.code == 2
    assert hint in ended.err


def test_missing_option_names_its_choices(regard: Regard) -> None:
    ended = regard("export", "en-fr", "x")
    assert ended.code == 2
    assert "Give --to FORMAT PATH: ctranslate2, huggingface" in ended.err


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that fails as the option says."""
    failures = {
        "disk": OSError(28, "No space left on device", "x.bin"),
        "other": OSError(5, "Input/output error", "x.bin"),
        "memory": MemoryError(),
        "defect": KeyError("k"),
    }

    @click.command()
    @click.argument("kind")
    def fail(kind: str) -> None:
        raise failures[kind]

    module = ModuleType("regard.cli.broken")
    module.command = fail  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "regard.cli.broken", module)
    monkeypatch.setitem(cli.SUMMARIES, "broken", "")


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("disk", "error: x.bin cannot be written: No space left on device. Free some space, or write elsewhere."),
        ("other", "error: x.bin: Input/output error"),
        ("memory", "error: there is not enough memory"),
        ("defect", "error: KeyError: 'k'"),
    ],
)
def test_runtime_failure_exits_one_without_traceback(regard: Regard, kind: str, line: str) -> None:
    ended = regard("broken", kind)
    assert ended.code == 1
    assert ended.err.startswith(line)
    assert "Traceback" not in ended.err


@pytest.mark.usefixtures("broken")
def test_traceback_is_shown_on_request(regard: Regard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_DEBUG", "1")
    assert "Traceback" in regard("broken", "defect").err


def test_a_full_standard_output_is_one_line() -> None:
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(command("--version"), stdout=full, stderr=subprocess.PIPE, check=False, timeout=300)
    assert ended.returncode == 1
    assert ended.stderr == (
        b"error: the output cannot be written: No space left on device. Free some space, or write elsewhere.\n"
    )


@pytest.mark.parametrize(("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_a_second_signal_exits_at_once(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals, raised: type[BaseException]
) -> None:
    exited: list[int] = []
    monkeypatch.setattr(os, "_exit", exited.append)
    handler = ExitHandler()
    with pytest.raises(raised):
        handler(number, None)
    assert exited == []
    with pytest.raises(raised):  # only because here the process goes on
        handler(number, None)
    assert exited == [128 + number]


AT_EXIT = """
import atexit, os, signal, time
from regard.cli import main

def stop_at_exit():
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(10)

atexit.register(stop_at_exit)
main()
"""


def test_sigterm_while_python_exits_prints_nothing() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", AT_EXIT, "--version"], capture_output=True, text=True, check=False, timeout=300
    )
    assert ended.stderr == ""
    assert ended.returncode == 128 + signal.SIGTERM
