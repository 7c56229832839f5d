"""`regard schema`: the JSON schema of a recipe."""

import click
import msgspec

from regard.cli.console import echo
from regard.config import Config


@click.command(
    name="schema",
    epilog="""\b
Examples:
  regard schema > recipe.schema.json
  #:schema ./recipe.schema.json     (first line of a recipe: completion in editors with Taplo, such as VS Code)""",
)
def command() -> None:
    """Print the JSON schema of a recipe: every section, option, type and choice, for completion in an editor."""
    echo(msgspec.json.format(msgspec.json.encode(Config.json_schema()), indent=2).decode())
