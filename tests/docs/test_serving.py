"""docs/serving.md lists the limits and metrics of the server."""

import re
from dataclasses import asdict
from pathlib import Path

from regard.server.limits import Limits
from regard.server.monitoring import Metrics

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")


def test_every_limit_is_listed_with_its_default() -> None:
    listed = {name: float(value) for name, value in re.findall(r"^\| `(\w+)` \| (\d+) \|", PAGE, re.MULTILINE)}
    assert listed == asdict(Limits())


def test_every_metric_is_listed() -> None:
    collected = Metrics().registry.collect()
    names = {f"{one.name}_total" if one.type == "counter" else one.name for one in collected}
    assert set(re.findall(r"`(regard_\w+)`", PAGE)) == names
