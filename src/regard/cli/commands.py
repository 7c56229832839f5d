"""The tree of commands: each is declared in a module of its own, which is imported when the command is asked for."""

import sys
from importlib import import_module
from typing import Any

import click

SUMMARIES = {
    "demo": "Open the page, and train the lineage before your eyes.",
    "train": "Train a model from a recipe, or from text files.",
    "distill": "Train a small, fast student on what teachers translate.",
    "translate": "Translate lines of text.",
    "caption": "Describe pictures.",
    "complete": "Go on with a text, by a decoder-only model.",
    "fill": "Fill the blanks of a text, by an encoder-only model.",
    "evaluate": "Measure a model: BLEU, chrF and TER, or perplexity.",
    "align": "Say which words belong together, as read off the attention.",
    "show": "Show what a model looks at: in the terminal, as a picture, or as a page.",
    "compare": "Measure several models on the same text: quality, length, speed, size.",
    "info": "Show what a model is, and check that its files are whole.",
    "export": "Write a model for CTranslate2, or for Hugging Face's Marian classes.",
    "serve": "Serve models: the page that shows their attention, and APIs over HTTP.",
    "import": "Take over the weights of a published network.",
    "data": "Make the corpora that regard generates itself.",
}
MODULES = {"import": "import_weights"}  # Python keeps the word for itself


class OutputClosed(Exception):  # noqa: N818  (not an error: the reader has seen enough)
    """Whoever read our output has gone, as `head` does."""


class LazyGroup(click.Group):
    """A group whose commands are known by name, and imported one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(SUMMARIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in SUMMARIES:
            return None
        module = MODULES.get(cmd_name, cmd_name)
        command: click.Command = import_module(f"regard.cli.{module}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            raise OutputClosed from None
        return result


@click.group(cls=LazyGroup, name="regard", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="regard", message="%(prog)s %(version)s")
def root() -> None:
    """Train models of the attention lineage on translations, pictures or text; measure them; see what they look at."""
