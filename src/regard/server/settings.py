"""The options of `regard serve`, and what can be checked of them before torch is imported."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regard.inference.interface import EngineName
from regard.interop.ctranslate2 import Quantization
from regard.server.auth import ApiKeys, HostPolicy
from regard.server.limits import Limits
from regard.training.model_locations import ModelLocation, find_models


@dataclass(frozen=True)
class ServerSettings:
    """The options of `regard serve`."""

    models: Sequence[Path] = ()
    runs: Sequence[Path] = ()
    engine: EngineName = "auto"
    quantization: Quantization | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    keys: Sequence[str] = ()
    allowed_hosts: Sequence[str] = ()
    allowed_origins: Sequence[str] = ()
    trusted_proxies: Sequence[str] = ()
    gold: Path | None = None
    report: Path | None = None
    limits: Limits = field(default_factory=Limits)
    workers: int = 1


@dataclass(frozen=True)
class ServerParts:
    """What the settings stand for."""

    settings: ServerSettings
    models: list[ModelLocation]
    keys: ApiKeys
    host_policy: HostPolicy

    @classmethod
    def of(cls, settings: ServerSettings) -> "ServerParts":
        """The parts of a server with these settings; raises for wrong settings, before the port is opened."""
        return cls(
            settings,
            find_models(settings.models, settings.runs),
            ApiKeys(settings.keys),
            HostPolicy.from_options(settings.host, hosts=settings.allowed_hosts, origins=settings.allowed_origins),
        )
