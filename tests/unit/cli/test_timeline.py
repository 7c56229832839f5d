"""The attention timeline of a real run: even at first, and at its end what `regard align` reads."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file

from regard.metrics.alignment import alignment_error_rate, links_from_attention, pieces_to_words
from regard.models.interface import role_of
from regard.tokenization.text import group_into_words
from regard.training.events import EventLog, Validated
from regard.training.validation import ATTENTION_FILE, LABELS_FILE
from tests.support.commands import Regard

Maps = dict[str, NDArray[np.float32]]  # of one probe: the layers in which the target looks at the source


def probes_at(run: Path, step: int) -> list[tuple[list[str], list[str], Maps]]:
    """Source pieces, target pieces and maps of each probe."""
    place = run / "probes" / f"step-{step:08d}"
    labels = json.loads((place / LABELS_FILE).read_text())
    tensors = load_file(place / ATTENTION_FILE)
    found = []
    for index, label in enumerate(labels):
        own = {name.partition("/")[2]: map_ for name, map_ in tensors.items() if name.startswith(f"{index}/")}
        crossing = {name: map_.astype(np.float32) for name, map_ in own.items() if role_of(name) == "cross"}
        found.append((label["source"][:-1], label["target"][1:], crossing))
    return found


def evenness(weights: NDArray[np.float32]) -> float:
    """The mean entropy of the rows as a share of the largest there can be: 1 for rows that look everywhere alike."""
    entropy = -(weights * np.log(np.maximum(weights, 1e-9))).sum(axis=-1)
    return float(entropy.mean() / math.log(weights.shape[-1]))


def test_first_maps_are_uniform_and_later_ones_not(transformer: Path) -> None:
    steps = sorted(int(path.name.removeprefix("step-")) for path in (transformer / "probes").iterdir())
    first, last = (
        [evenness(map_) for *_, maps in probes_at(transformer, step) for map_ in maps.values()]
        for step in (steps[0], steps[-1])
    )
    assert min(first) > 0.9
    assert min(last) < 0.75 < min(first)


def test_last_map_errs_as_regard_align_prints(transformer: Path, regard: Regard, tmp_path: Path) -> None:
    validated = [event for event in EventLog(transformer / "events.jsonl").read() if isinstance(event, Validated)]
    best = max(event.step for event in validated if event.is_best)  # the model that regard align is given
    probes = probes_at(transformer, best)
    sides = [
        ["".join(pieces).replace("▁", " ").strip() for pieces in side]
        for side in zip(*((s, t) for s, t, _ in probes), strict=True)
    ]
    gold = [{(place, place) for place in range(len(source.split()))} for source in sides[0]]
    for suffix, lines in (
        ("en", sides[0]),
        ("ko", sides[1]),
        ("align", [" ".join(f"{i}-{j}" for i, j in sorted(one)) for one in gold]),
    ):
        (tmp_path / f"probes.{suffix}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for layer, name in enumerate(probes[0][2]):
        for head in range(len(probes[0][2][name])):
            links = [
                links_from_attention(
                    pieces_to_words(maps[name][head][: len(target)], group_into_words(source), group_into_words(target))
                )
                for source, target, maps in probes
            ]
            files = [
                f"--{side}={tmp_path / f'probes.{suffix}'}"
                for side, suffix in (("source", "en"), ("target", "ko"), ("gold", "align"))
            ]
            result = json.loads(
                regard(
                    "align",
                    transformer / "model",
                    *files,
                    "--layer",
                    layer + 1,
                    "--head",
                    head + 1,
                    "--json",
                    "--output",
                    tmp_path / "out",
                ).out
            )
            assert alignment_error_rate(links, gold, gold).aer == pytest.approx(result["score"]["aer"])
