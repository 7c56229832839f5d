"""Both backends of the page answer the same: what a server sends, and what a file holds."""

import json
import shutil
import subprocess
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import numpy as np
import pytest
from starlette.responses import Response

from regard.inference.traced_caption import TracedCaption, caption_summary
from regard.plotting.html_data import caption_page_data, trace_page_data
from regard.plotting.run_data import LEVELS_16_BIT, ProbeSnapshot, RunData, run_page_data
from regard.server.api.traces import AlignmentResponse
from regard.server.endpoint import floats_response, json_response
from regard.tracing.alignment import HeadSelection, WordAlignment, trace_alignment
from regard.tracing.trace import Trace
from tests.support.traces import ADDITIVE, GENERAL, LEARNED, ROTARY, TRANSFORMER, caption_trace, trace_of

SCRIPT = Path(__file__).with_name("contract.js")
RUN = "a run"


def recorded(answer: Response) -> dict[str, Any]:
    """A response of the server as JSON."""
    return {"headers": dict(answer.headers), "body": b64encode(bytes(answer.body)).decode()}


def trace_answers(trace: Trace, identity: str) -> dict[str, Any]:
    """Every answer of a server about a trace, by method and path."""
    answers: dict[str, Response] = {}
    for layer, described in enumerate(trace.layers):
        for head in [*range(described.heads), "mean"]:
            path = f"GET traces/{identity}/weights?{urlencode({'layer': layer, 'head': head})}"
            answers[path] = floats_response(trace.weights(layer, None if head == "mean" else int(head)))
        for head in range(described.heads):
            for query in (0, len(trace.labels(layer)[0]) - 1):
                place = {"layer": layer, "head": head, "query": query}
                answers[f"GET traces/{identity}/arithmetic?{urlencode(place)}"] = json_response(
                    trace.arithmetic(**place)
                )
                more = place | {"fc1_row": 1, "fc2_row": 2}
                answers[f"GET traces/{identity}/arithmetic?{urlencode(more)}"] = json_response(trace.arithmetic(**more))
    if trace.layers_with_role("encoder-self"):
        answers[f"GET traces/{identity}/rollout"] = floats_response(trace.rollout())
    if cross := trace.layers_with_role("cross"):
        for layer in [*range(len(cross)), "mean"]:
            for at in ("output", "input"):
                query = urlencode({"layer": layer, "head": "mean", "at": at})
                words = trace_alignment(trace, HeadSelection(None if layer == "mean" else int(layer), None, at))
                answers[f"GET traces/{identity}/alignment?{query}"] = json_response(alignment_response(words))
    return {path: recorded(answer) for path, answer in answers.items()}


def alignment_response(words: WordAlignment) -> AlignmentResponse:
    names = {"source_words": words.source_words, "target_words": words.target_words}
    return AlignmentResponse(**names, weights=words.weights.tolist(), links=sorted(words.links))


def of_trace(name: str) -> dict[str, Any]:
    trace = trace_of(name)
    data = trace_page_data(trace, name=name)
    answers = trace_answers(trace, "embedded")
    answers["GET models"] = recorded(json_response({"models": data["models"]}))
    answers["POST traces"] = recorded(json_response(data["trace"]))
    return {"data": data, "answers": answers}


def of_picture() -> dict[str, Any]:
    described = TracedCaption.from_trace(caption_trace())
    record = caption_summary(described, identity="0", model="small")
    event = f"event: done\ndata: {msgspec.json.encode(record).decode()}\n\n"
    stream = recorded(Response(event, media_type="text/event-stream"))
    data = caption_page_data([described], name="small")
    return {"data": data, "answers": trace_answers(caption_trace(), "0") | {"POST captions/stream": stream}}


def of_run() -> dict[str, Any]:
    """A run with one probe of one layer, saved at two steps; weights are such as 16 bits hold."""
    levels = {step: np.random.default_rng(step).integers(0, LEVELS_16_BIT + 1, (2, 3, 4)) for step in (5, 9)}
    maps = {step: whole / LEVELS_16_BIT for step, whole in levels.items()}
    described = {"steps": [5, 9], "labels": [{"source": ["a"], "target": ["b"]}], "targets": ["b"], "layers": []}
    record = {"name": RUN, "kind": "transformer", "steps": 9, "step": 9, "state": "done", "model": None}
    events = [{"event": "progress", "step": 5, "loss": 1.5}, {"event": "probe", "step": 5}]
    data = run_page_data(RunData(record, events, [5, 9], lambda step: ProbeSnapshot(described, [[maps[step]]]), []))
    answers = {
        "GET runs": json_response({"runs": [record]}),
        "GET runs/a%20run/events?after=0": json_response({"events": events, "next": 2}),
        "GET runs/a%20run/probes?step=5": json_response(described),
    }
    for step, layer in maps.items():
        answers[f"GET runs/a%20run/probes/{step}/0/0?head=1"] = floats_response(layer[1].astype(np.float32))
        answers[f"GET runs/a%20run/probes/{step}/0/0?head=mean"] = floats_response(
            layer.mean(axis=0).astype(np.float32)
        )
    return {"data": data, "answers": {path: recorded(answer) for path, answer in answers.items()}}


CASES = {name: lambda name=name: of_trace(name) for name in (TRANSFORMER, ROTARY, LEARNED, ADDITIVE, GENERAL)}


@pytest.mark.parametrize("case", [*CASES, "picture", "run"])
def test_a_server_and_a_file_answer_the_same(case: str, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed here")
    fixture = {"picture": of_picture, "run": of_run, **CASES}[case]()
    path = tmp_path / "fixture.json"
    path.write_bytes(msgspec.json.encode(fixture))
    command = [node, "--disable-warning=ExperimentalWarning", SCRIPT, path]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert json.loads(ended.stdout)["compared"] == len(fixture["answers"])
