"""`regard serve`: what can be asked."""

import os
from pathlib import Path

import click

from regard.cli.options import PATH, engine_option

KEYS = "REGARD_API_KEYS"


def _with_blank(_context: click.Context, _parameter: click.Parameter, keys: tuple[str, ...]) -> tuple[str, ...]:
    """The keys; a blank one where the variable holds none, so that it is refused: whoever set it meant to have one."""
    return keys if keys or KEYS not in os.environ else ("",)


@click.command(
    name="serve",
    epilog="""\b
Examples:
  regard serve runs/world-transformer/model
  regard serve runs --gold runs/world/data/test
  regard serve --run runs/world-transformer        (a run that is still being trained)
  REGARD_API_KEYS=SECRET regard serve MODEL --host 0.0.0.0 --allow-host translate.example.org""",
)
@click.argument("models", type=PATH, nargs=-1)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port; 0: any free one.")
@click.option(
    "--api-key",
    "keys",
    multiple=True,
    envvar=KEYS,
    callback=_with_blank,
    show_envvar=True,
    help="Key that opens the APIs; repeatable. The variable takes several parted by spaces; `ps` does not show it.",
)
@click.option("--allow-host", "allowed_hosts", multiple=True, help="Host name that requests may use, or *; repeatable.")
@click.option(
    "--allow-origin",
    "allowed_origins",
    multiple=True,
    help="Origin of pages that may call, such as https://example.org, or *; repeatable.",
)
@click.option(
    "--trust-proxy",
    "trusted_proxies",
    multiple=True,
    metavar="ADDRESS",
    help="Address or network of a proxy that says for whom it asks (X-Forwarded-For, -Proto); repeatable.",
)
@click.option("--run", "runs", type=PATH, multiple=True, help="Run to show while it trains; repeatable.")
@click.option("--gold", type=PATH, metavar="PREFIX", help="Sentences with links: PREFIX.en, PREFIX.ko, PREFIX.align.")
@click.option("--quality", type=PATH, metavar="FILE", help="What `regard compare --quality FILE` wrote.")
@engine_option
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Batches decoded at once.")
@click.option(
    "--limit", "limits", multiple=True, metavar="NAME=NUMBER", help="Change a limit, as in rate=0; repeatable."
)
def command(models: tuple[Path, ...], runs: tuple[Path, ...], limits: tuple[str, ...], **settings: object) -> None:
    """Serve MODELS over HTTP: the page, and APIs that clients of LibreTranslate, DeepL and others speak already.

    MODELS are directories such as runs/NAME/model, runs, or folders of runs; without any, the page has what needs no
    model: the worked example of attention, and positions. Everything stays on this machine unless
    --host says otherwise. SIGTERM and Ctrl-C finish what was accepted, then stop.
    """
    from regard.cli.running.serve import run_server

    click.get_current_context().exit(run_server(limits, models=models, runs=runs, **settings))
