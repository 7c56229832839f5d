"""The OpenAPI document: complete, valid, and kept by the server, whatever schemathesis makes up."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from regard.server.app import build_app, build_service
from regard.server.lifecycle import Lifecycle
from regard.server.settings import ServerParts, ServerSettings
from tests.support.api_server import make_models
from tests.support.own_api_server import OwnApiServer
from tests.support.shared_results import build_once


def test_every_route_is_described(tmp_path_factory: pytest.TempPathFactory, own_api: OwnApiServer) -> None:
    directory, _ = build_once(tmp_path_factory, "translators", make_models)

    async def routes() -> set[str]:
        parts = ServerParts.of(ServerSettings(models=[directory / "there"]))
        found = build_app(parts, Lifecycle(build_service(parts))).app.routes  # type: ignore[attr-defined]
        return {route.path.replace(":number", "") for route in found}

    described = set(own_api.get("openapi.json").json()["paths"])
    page = {"/", "/page/{name}"}
    assert asyncio.run(routes()) - page == described


def test_schemathesis_finds_no_violation_with_all_its_checks(own_api: OwnApiServer) -> None:
    here, tool = Path(__file__).parent, Path(sys.executable).with_name("st")
    options = [
        "--checks=all",
        "--max-response-time=600",
        "--max-examples=3",
        "--phases=examples,coverage,fuzzing",
        "--seed=1",
        "--no-color",
    ]
    ended = subprocess.run(
        [
            tool,
            "--config-file",
            here / "schemathesis.toml",
            "run",
            f"{own_api.server.url}/api/v1/openapi.json",
            *options,
        ],
        capture_output=True,
        text=True,
        cwd=own_api.server.log.parent,
        check=False,
        timeout=900,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "traceback" not in own_api.server.log.read_text()
