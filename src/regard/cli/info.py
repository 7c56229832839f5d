"""`regard info`: what a model is; `regard schema`: the options of a recipe as a JSON schema."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from regard.cli.console import echo, print_json, print_table
from regard.cli.options import json_option, model_argument
from regard.config import Config
from regard.files import find_model_directory

if TYPE_CHECKING:
    from regard.bundle import Bundle


@click.command(name="info")
@model_argument
@json_option
def command(model: Path, as_json: bool) -> None:
    """Show MODEL's languages, vocabularies, size and config; every file is checked against its SHA-256."""
    from regard.bundle import load_bundle

    directory = find_model_directory(model)
    bundle = load_bundle(directory)
    facts, files = _model_facts(bundle), _file_sizes(directory)
    if as_json:
        print_json(facts | {"files": files, "config": msgspec.to_builtins(bundle.config)})
        return
    print_table(["", str(directory)], [[name, _format_value(value)] for name, value in facts.items()])
    print_table(["file (SHA-256 verified)", "bytes"], [[name, f"{size:,}"] for name, size in files.items()])
    echo(bundle.config.to_toml().rstrip())


@click.command(
    name="schema",
    epilog="""\b
Examples:
  regard schema > recipe.schema.json
  #:schema ./recipe.schema.json     (first line of a recipe: completion in editors with Taplo, such as VS Code)""",
)
def schema() -> None:
    """Print the JSON schema of a recipe: every section, option, type and choice, for completion in an editor."""
    echo(msgspec.json.format(msgspec.json.encode(Config.json_schema()), indent=2).decode())


def _model_facts(bundle: "Bundle") -> dict[str, Any]:
    both = bundle.tokenizers
    return {
        "kind": str(type(bundle.config.model).__struct_config__.tag),
        "languages": [code for code in bundle.languages if code],
        "tokenizer": both.source.model_type,
        "vocabulary": {"source": both.source.vocab_size, "target": both.target.vocab_size, "shared": both.shared},
        "parameters": sum(parameter.numel() for parameter in bundle.model.parameters()),
    }


def _file_sizes(directory: Path) -> dict[str, int]:
    return {file.name: file.stat().st_size for file in sorted(directory.iterdir()) if file.is_file()}


def _format_value(value: object) -> str:
    match value:
        case list():
            return " → ".join(value) or "not named"
        case {"source": source, "target": target, "shared": shared}:
            return f"{source:,} pieces, shared" if shared else f"{source:,} source, {target:,} target pieces"
        case int():
            return f"{value:,}"
        case _:
            return str(value)
