"""Both READMEs start with two Makefile targets and show the same commands, which exist."""

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest

from regard.cli import MODULES

ROOT = Path(__file__).parents[2]
READMES = [ROOT / "README.md", ROOT / "README.ko.md"]


def commands(page: Path) -> list[str]:
    """The command lines of a page, without their comments."""
    lines = re.findall(r"^    (\S.*)$", page.read_text(encoding="utf-8").split("```")[0], re.MULTILINE)
    return [line.split("  #")[0].strip() for line in lines]


@pytest.mark.parametrize("page", READMES, ids=lambda page: page.name)
def test_readme_starts_with_demo_and_test(page: Path) -> None:
    assert commands(page)[:2] == ["make demo", "make test"]
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {"demo", "test"} <= set(targets)


def test_both_languages_have_the_same_commands() -> None:
    assert commands(READMES[0]) == commands(READMES[1])
    code = [re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL) for page in READMES]
    stripped = [[re.sub(r" *#.*", "", block) for block in blocks] for blocks in code]
    assert stripped[0] == stripped[1]


@pytest.mark.parametrize("line", [line for line in commands(READMES[0]) if "regard " in line])
def test_every_option_of_a_command_exists(line: str) -> None:
    program, name, *arguments = shlex.split(line)
    assert program == ".venv/bin/regard"
    command = import_module(f"regard.cli.{MODULES.get(name, name)}").command
    while hasattr(command, "commands"):  # a group, such as `data generate sentences`
        command = command.commands[arguments.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {argument for argument in arguments if argument.startswith("--")} <= known
    for recipe in (argument for argument in arguments if argument.endswith(".toml")):
        assert (ROOT / recipe).exists()
