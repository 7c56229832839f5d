"""`regard info`: what a model is; `regard schema`: the options of a recipe as a JSON schema."""

from pathlib import Path

import click
import msgspec

from regard.cli.console import echo, print_json, print_table
from regard.cli.options import json_option, model_argument
from regard.config import Config
from regard.files import MANIFEST_NAME, MODEL, MODEL_VERSION, find_model_directory, read_manifest


@click.command(name="info")
@model_argument
@json_option
def command(model: Path, as_json: bool) -> None:
    """Show MODEL's languages, vocabularies, size and config; every file is checked against its SHA-256."""
    from regard.bundle import load_bundle

    directory = find_model_directory(model)
    bundle = load_bundle(directory)
    names = sorted([*read_manifest(directory, MODEL, MODEL_VERSION).files, MANIFEST_NAME])
    files = {name: (directory / name).stat().st_size for name in names}
    both, languages = bundle.tokenizers, [code for code in bundle.languages if code]
    source, target = both.source.vocab_size, both.target.vocab_size
    facts = {
        "kind": str(type(bundle.config.model).__struct_config__.tag),
        "languages": languages,
        "tokenizer": both.source.model_type,
        "vocabulary": {"source": source, "target": target, "shared": both.shared},
        "parameters": bundle.num_parameters,
    }
    if as_json:
        print_json(facts | {"files": files, "config": msgspec.to_builtins(bundle.config)})
        return
    shown = {
        "languages": " → ".join(languages) or "not named",
        "vocabulary": f"{source:,} pieces, shared" if both.shared else f"{source:,} source, {target:,} target pieces",
        "parameters": f"{bundle.num_parameters:,}",
    }
    print_table(["", str(directory)], [[name, str(shown.get(name, value))] for name, value in facts.items()])
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
