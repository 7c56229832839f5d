"""`regard serve`: serve models over HTTP."""

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard import pretrained
from regard.cli.console import echo, warn
from regard.cli.options import PATH, engine_option, quantization_option
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.server.limits import Limits

KEYS_VARIABLE = "REGARD_API_KEYS"


def _reject_empty_keys(_context: click.Context, _parameter: click.Parameter, keys: tuple[str, ...]) -> tuple[str, ...]:
    """The keys; one blank key if the variable is set but empty, so that the server rejects it instead of being open."""
    return keys if keys or KEYS_VARIABLE not in os.environ else ("",)


@click.command(
    name="serve",
    epilog="""\b
Examples:
  regard serve
  regard serve en-fr fr-en
  regard serve runs/world-transformer/model
  regard serve runs --gold runs/world/data/test
  regard serve --run runs/world-transformer        (a run that is still training)
  REGARD_API_KEYS=SECRET regard serve MODEL --host 0.0.0.0 --allow-host translate.example.org""",
)
@click.argument("models", type=PATH, nargs=-1)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="Port; 0: any free port.")
@click.option(
    "--api-key",
    "keys",
    multiple=True,
    envvar=KEYS_VARIABLE,
    callback=_reject_empty_keys,
    show_envvar=True,
    help="Key for the APIs; repeatable. The variable may hold several, separated by spaces; `ps` does not show it.",
)
@click.option("--allow-host", "allowed_hosts", multiple=True, help="Host name that requests may use, or *; repeatable.")
@click.option(
    "--allow-origin",
    "allowed_origins",
    multiple=True,
    help="Origin of pages that may call the APIs, such as https://example.org, or *; repeatable.",
)
@click.option(
    "--trust-proxy",
    "trusted_proxies",
    multiple=True,
    metavar="ADDRESS",
    help="Address or network of a proxy whose X-Forwarded-For and -Proto headers are used; repeatable.",
)
@click.option("--run", "runs", type=PATH, multiple=True, help="Run to show while it trains; repeatable.")
@click.option("--gold", type=PATH, metavar="PREFIX", help="Test set with links: PREFIX.en, PREFIX.ko, PREFIX.align.")
@click.option("--report", type=PATH, metavar="FILE", help="Output of `regard compare --report FILE`.")
@engine_option
@quantization_option
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Batches decoded at once.")
@click.option(
    "--limit", "limits", multiple=True, metavar="NAME=NUMBER", help="Change a limit, such as rate=0; repeatable."
)
def command(limits: tuple[str, ...], **settings: Any) -> None:
    """Serve MODELS over HTTP: the page, and APIs for existing clients of LibreTranslate, DeepL and others.

    MODELS are directories such as runs/NAME/model, runs, folders of runs, or names of models that come with regard
    (`regard info` lists them). Without MODELS and --run, all that come with regard are served. The server listens on
    this machine only, unless --host is given.
    SIGTERM, SIGHUP and Ctrl-C finish the admitted requests, then stop.
    """
    from regard.server.settings import ServerSettings
    from regard.server.start import serve

    gold = settings["gold"]
    for path in [gold and gold.with_name(f"{gold.name}.align"), settings["report"], *settings["runs"]]:
        if path and not path.exists():
            warn(f"{path} does not exist yet; it is used as soon as it does")
    if not settings["models"] and not settings["runs"]:
        settings["models"] = tuple(map(Path, pretrained.names()))
    host = settings["host"]
    is_loopback = host in ("localhost", "::1") or host.startswith("127.")
    if not settings["keys"] and not is_loopback:
        warn(f"other machines can reach {host}, and no key is required. Set one with --api-key.")
    settings["engine"] = settings["engine"] or "auto"
    code = serve(
        ServerSettings(limits=parse_limits(limits), **settings), on_start=lambda address: echo(f"regard: {address}")
    )
    click.get_current_context().exit(code)


def parse_limits(changes: tuple[str, ...]) -> "Limits":
    """The default limits with changes of the form NAME=NUMBER."""
    from regard.server.limits import Limits

    types: dict[str, type] = {field.name: type(field.default) for field in dataclasses.fields(Limits)}
    changed: dict[str, Any] = {}
    for change in changes:
        name, _, value = change.partition("=")
        if name not in types:
            raise RegardError(f"--limit {change}: there is no limit {name!r}. Choose one of {', '.join(types)}.")
        try:
            number = types[name](value if value.isascii() else "")
        except (ValueError, OverflowError):
            raise RegardError(f"--limit {change}: {value!r} is not a number. Write {name}=NUMBER.") from None
        lowest = 0 if name == "rate" else 1 if isinstance(number, int) else 0.001  # a rate of 0 is no limit
        if not lowest <= number < 1e12:
            raise RegardError(f"--limit {change}: {name} must be at least {lowest} and below 1e12. Change the number.")
        changed[name] = number
    return Limits(**changed)
