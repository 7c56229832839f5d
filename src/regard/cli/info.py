"""`regard info`: what can be asked."""

from pathlib import Path

import click

from regard.cli.options import json_option, model_argument


@click.command(name="info")
@model_argument
@json_option
def command(model: Path, as_json: bool) -> None:
    """Show MODEL's languages, vocabularies, size and config; every file is checked against its SHA-256."""
    from regard.cli.running.info import run_info

    run_info(model, as_json=as_json)
