"""Every command in a page or a recipe parses, and the options, files and recipes that it names exist."""

import re
import shlex
from pathlib import Path

import click
import pytest

from regard.cli import SUMMARIES, root

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
RECIPES = sorted((ROOT / "recipes").glob("*.toml"))
PLACEHOLDERS = {"recipes/x.toml"}  # stands for a user's own recipe
_LINE = re.compile(r"^(?: {4}|#   )(?:\w+=\S+ )?(?:\.venv/bin/|torchrun [^\n]*-m )?regard (.+)$", re.MULTILINE)
_INLINE = re.compile(rf"`(?:\.venv/bin/)?(?:regard )?((?:{'|'.join(SUMMARIES)})(?: [^`]*)?)`")


def text_of(path: Path) -> str:
    """A page, or the comment at the top of a recipe, with continued lines joined."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".toml":
        text = re.match(r"(?:#.*\n)+", text)[0]  # type: ignore[index]
    return re.sub(r"\\\n#?\s*", "", text)


def lines_of(path: Path) -> list[str]:
    """Complete commands: what follows `regard` on a line of its own."""
    return [line.split("  #")[0].strip() for line in _LINE.findall(text_of(path))]


def mentions_of(path: Path) -> list[str]:
    """Commands or parts of commands inside a sentence."""
    return _INLINE.findall(text_of(path))


def find_command(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command or subcommand at the start of the words, and the remaining words."""
    context = click.Context(root)
    command = root.get_command(context, words[0])
    words = words[1:]
    while isinstance(command, click.Group) and words:
        command, words = command.commands.get(words[0]), words[1:]
    assert command is not None, "no such command"
    return command, words


def check_line(line: str) -> None:
    """Parse a complete command without running it."""
    command, words = find_command(shlex.split(re.split(r" [|>] ", line)[0]))
    try:
        command.make_context(str(command.name), words)
    except click.ClickException as problem:
        raise AssertionError(problem.format_message()) from None
    check_files(line)


def check_mention(mention: str) -> None:
    """Check that a command has the options that a sentence names."""
    command, words = find_command(mention.split())
    known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {"--help"}
    unknown = {word.split("=")[0].rstrip(",.") for word in words if word.startswith("--")} - known
    assert not unknown, f"{mention}: {unknown}"
    check_files(mention)


def check_files(text: str) -> None:
    for name in set(re.findall(r"(?:recipes|benchmarks)/[\w-]+\.(?:toml|py)", text)) - PLACEHOLDERS:
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("path", [*PAGES, *RECIPES], ids=lambda path: path.name)
def test_every_command_exists(path: Path) -> None:
    for line in lines_of(path):
        check_line(line)
    for mention in mentions_of(path):
        check_mention(mention)
    check_files(text_of(path))


def test_commands_are_read_from_pages_and_recipes() -> None:
    assert len(lines_of(ROOT / "docs" / "page.md")) >= 10
    assert len(mentions_of(ROOT / "docs" / "page.md")) >= 8
    of_a_recipe = lines_of(ROOT / "recipes" / "multi30k-transformer.toml")
    assert any(
        line.startswith("evaluate") and "--reference" in line for line in of_a_recipe
    )  # continued on a second line
    assert any(line.startswith("train recipes/x.toml --run-directory") for line in lines_of(ROOT / "docs" / "scale.md"))
    assert sum(len(lines_of(path)) for path in [*PAGES, *RECIPES]) > 100


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("trian recipes/world-rnn.toml", "no such command"),
        ("data generate sentence --out x", "no such command"),
        ("train recipes/world-rnn.toml --step 5", "No such option"),
        ("serve MODEL --engine quick", "is not one of"),
        ("fill", "Missing argument"),
        ("train recipes/world-rnm.toml", "recipes/world-rnm.toml"),
    ],
)
def test_a_wrong_command_is_detected(line: str, problem: str) -> None:
    with pytest.raises(AssertionError, match=problem):
        check_line(line)
    if "option" in problem:
        with pytest.raises(AssertionError, match="--step"):
            check_mention(line)
