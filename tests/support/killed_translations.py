"""Translations that are killed at every moment of their saving, in forks of one process; prints what came of it.

    python -m tests.support.killed_translations MODEL DIRECTORY

A fork counts its calls of fsync and rename, and before the chosen one it sends itself SIGKILL. The command is then
repeated, and its outputs are compared with those of an undisturbed run. Forks are safe here, because this process never
loads the model.
"""

import gzip
import json
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from regard.cli import run
from regard.inference import translate_files, translator
from tests.support.toy_language import WORDS

LINES_OF_FILE = {"a.txt": 37, "b.txt.gz": 21, "c.txt": 0}
CHUNK_LINES = 8


def killed_everywhere(model: Path, directory: Path) -> dict[str, Any]:
    """How many kills there were, and how many of the repeated commands ended like the undisturbed one."""
    translator.CHUNK_LINES = translate_files.CHUNK_LINES = CHUNK_LINES
    inputs = directory / "in"
    inputs.mkdir()
    chance = random.Random(1)
    for name, count in LINES_OF_FILE.items():
        rows = [" ".join(chance.choices(list(WORDS), k=chance.randint(0, 6))) for _ in range(count)]
        content = "".join(f"{row}\n" for row in rows).encode()
        (inputs / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)

    def command(output: str) -> int:
        words = ["translate", str(model), "--input", str(inputs / "*"), "--output", str(directory / output)]
        return run([*words, "--beam", "2", "--scores"])

    assert in_a_fork(lambda: command("whole")) == 0
    whole, kills, same = contents(directory / "whole"), 0, 0
    for call in range(1, 1000):
        output = f"killed-{call}"
        if in_a_fork(lambda: killed_at(call, lambda: command(output))) != -signal.SIGKILL:  # noqa: B023
            break  # there is no such call: the run has ended
        kills += 1
        assert in_a_fork(lambda: command(output)) == 0  # noqa: B023
        same += contents(directory / output) == whole
    lines = {name: len(content.splitlines()) for name, content in whole.items()}
    return {"kills": kills, "same": same, "lines": lines}


def in_a_fork(action: Callable[[], int]) -> int:
    """The exit code of the action; negative: the signal that ended it."""
    process = os.fork()
    if process == 0:
        os._exit(action())
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def killed_at(call: int, action: Callable[[], int]) -> int:
    """Run the action in this process, and kill the process before this call of fsync or rename."""
    calls = 0

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def before(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == call:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return before

    os.fsync, os.replace = counted(os.fsync), counted(os.replace)
    return action()


def contents(directory: Path) -> dict[str, bytes]:
    """Every file of a directory; gzip files unpacked and as they are."""
    files = {path.name: path.read_bytes() for path in directory.iterdir()}
    unpacked = {f"{name} unpacked": gzip.decompress(content) for name, content in files.items() if ".gz" in name}
    return files | unpacked


if __name__ == "__main__":
    print(json.dumps(killed_everywhere(Path(sys.argv[1]), Path(sys.argv[2]))))
