"""Running `regard serve`."""

import dataclasses
from typing import Any

from regard.cli.running.telling import tell, warn
from regard.errors import RegardError
from regard.serve.app import Settings, serve
from regard.serve.limits import Limits


def run_server(limits: tuple[str, ...], **settings: Any) -> int:
    """Serve until stopped; the exit code."""
    gold, quality = settings["gold"], settings["quality"]
    for path in [gold and gold.with_name(f"{gold.name}.align"), quality]:
        if path and not path.exists():
            warn(f"{path} is not there yet; it is read as soon as it is")
    for run in settings["runs"]:
        if not run.exists():
            warn(f"{run} is not there yet; it is shown as soon as it is")
    if not settings["models"] and not settings["runs"]:
        warn("no MODEL was given: the page shows the worked example and positions, and nothing can be translated")
    if not settings["keys"] and not _is_this_machine(settings["host"]):
        warn(f"{settings['host']} can be reached from elsewhere, and no key is asked for. Give one with --api-key.")
    return serve(Settings(limits=limits_with(limits), **settings), on_start=lambda address: tell(f"regard: {address}"))


def _is_this_machine(host: str) -> bool:
    return host == "localhost" or host == "::1" or host.startswith("127.")


def limits_with(changes: tuple[str, ...]) -> Limits:
    """The default limits, some of them changed by NAME=NUMBER."""
    kinds: dict[str, type] = {field.name: type(field.default) for field in dataclasses.fields(Limits)}
    changed: dict[str, Any] = {}
    for change in changes:
        name, _, value = change.partition("=")
        if name not in kinds:
            raise RegardError(f"--limit {change}: there is no limit {name!r}; there are {', '.join(kinds)}.")
        try:
            number = kinds[name](value)
        except (ValueError, OverflowError):
            raise RegardError(f"--limit {change}: {value!r} is not a number. Write {name}=NUMBER.") from None
        _check_bounds(name, number, change)
        changed[name] = number
    return Limits(**changed)


def _check_bounds(name: str, number: float, change: str) -> None:
    """Refuse a limit that would let nobody in; a rate of 0 is none."""
    lowest = 0 if name == "rate" else 1 if isinstance(number, int) else 0.001
    if not lowest <= number < 1e12:
        raise RegardError(f"--limit {change}: {name} must be at least {lowest}, and below 1e12. Choose another number.")
