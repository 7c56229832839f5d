"""docs/serving.md, and its Korean version, list the limits and metrics of the server."""

import re
from dataclasses import asdict
from pathlib import Path

import pytest

from regard.server.limits import Limits
from regard.server.monitoring import Metrics

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(params=["serving.md", "serving.ko.md"])
def page(request: pytest.FixtureRequest) -> str:
    return (DOCS / request.param).read_text(encoding="utf-8")


def test_every_limit_is_listed_with_its_default(page: str) -> None:
    listed = {name: float(value) for name, value in re.findall(r"^\| `(\w+)` \| (\d+) \|", page, re.MULTILINE)}
    assert listed == asdict(Limits())


def test_every_metric_is_listed(page: str) -> None:
    collected = Metrics().registry.collect()
    names = {f"{one.name}_total" if one.type == "counter" else one.name for one in collected}
    assert set(re.findall(r"`(regard_\w+)`", page)) == names
