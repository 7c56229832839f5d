"""A run as data: every map while they fit, then fewer, the ends always among them, and what is missing is told."""

from base64 import b64decode
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from regard.plotting import run_data
from regard.plotting.run_data import LEVELS_8_BIT, LEVELS_16_BIT, ProbeSnapshot, RunData, run_page_data

STEPS, PROBES, LAYERS, SHAPE = 40, 4, 2, (2, 5, 6)


def maps_at(step: int) -> list[list[NDArray[np.float32]]]:
    numbers = np.random.default_rng(step)
    return [[numbers.dirichlet(np.ones(6), (2, 5)).astype(np.float32) for _ in range(LAYERS)] for _ in range(PROBES)]


def story(*, steps: int = STEPS, state: str = "ended", progress: int = 10) -> RunData:
    described = {"steps": [], "labels": [*range(PROBES)], "targets": [*range(PROBES)], "layers": [0, 1]}
    events = [{"event": "progress", "step": step} for step in range(progress)]
    events += [{"event": kind, "step": step} for step in range(steps) for kind in ("probe", "checkpoint")]
    record = {"name": "run", "kind": "transformer", "state": state}
    return RunData(record, events, [*range(steps)], lambda step: ProbeSnapshot(described, maps_at(step)), [])


def read(array: dict[str, Any]) -> NDArray[np.float64]:
    kind = "<u2" if array["levels"] == LEVELS_16_BIT else "u1"
    return np.frombuffer(b64decode(array["data"]), kind).reshape(array["shape"]) / array["levels"]


def test_small_run_is_complete_and_nearly_exact() -> None:
    run = run_page_data(story())["run"]
    assert run["omitted"] is None
    assert [*map(int, run["maps"])] == [*range(STEPS)]
    for step, probes in run["maps"].items():
        for probe, expected in zip(probes, maps_at(int(step)), strict=True):
            for layer, weights in zip(probe, expected, strict=True):
                np.testing.assert_allclose(read(layer), weights, atol=0.51 / LEVELS_16_BIT)
    assert len(run["probes"]) == 1  # the same at every step, told once
    assert {event["event"] for event in run["events"]} == {"progress", "probe"}


@pytest.mark.parametrize(("share", "probes"), [(0.9, PROBES), (0.4, PROBES), (0.1, 1)])
def test_large_run_is_thinned_with_a_notice(monkeypatch: pytest.MonkeyPatch, share: float, probes: int) -> None:
    whole = STEPS * PROBES * LAYERS * int(np.prod(SHAPE))
    monkeypatch.setattr(run_data, "MAX_MAP_BYTES", int(share * whole))
    run = run_page_data(story())["run"]
    steps = [*map(int, run["maps"])]
    assert (steps[0], steps[-1]) == (0, STEPS - 1)
    assert run["omitted"] == {"steps": len(steps), "of_steps": STEPS, "probes": probes, "of_probes": PROBES}
    kept = [layer for one in run["maps"].values() for probe in one for layer in probe]
    assert sum(len(b64decode(one["data"])) for one in kept) <= share * whole
    assert {one["levels"] for one in kept} == {LEVELS_8_BIT}
    np.testing.assert_allclose(read(run["maps"]["0"][0][1]), maps_at(0)[0][1], atol=0.51 / LEVELS_8_BIT)
    assert [event["step"] for event in run["events"] if event["event"] == "probe"] == steps
    assert all(len(one["labels"]) == len(one["targets"]) == probes for one in run["probes"])


def test_long_curve_keeps_its_ends() -> None:
    run = run_page_data(story(steps=0, progress=5000))["run"]
    steps = [event["step"] for event in run["events"]]
    assert len(steps) == run_data.MAX_PROGRESS_EVENTS
    assert (steps[0], steps[-1]) == (0, 4999)
    assert run["maps"] == {}


def test_run_in_progress_does_not_continue_in_file() -> None:
    assert run_page_data(story(state="training"))["run"]["record"]["state"] == "stopped"
