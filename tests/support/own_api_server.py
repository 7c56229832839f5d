"""A server for the tests of the own API: a run with its model, gold links, and a comparison of two models."""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from benchmarks.http_load import Served, serving
from benchmarks.serving import PATIENT, Load

from tests.support.toy_language import WORDS


@dataclass(frozen=True)
class OwnApiServer:
    """The server, and the directory of the run that it serves."""

    server: Served
    run: Path

    def get(self, path: str, **query: object) -> httpx.Response:
        """The answer to a GET below /api/v1."""
        return httpx.get(f"{self.server.url}/api/v1/{path}", params=query, timeout=60)  # type: ignore[arg-type]

    def post(self, path: str, **asked: object) -> httpx.Response:
        """The answer to a POST below /api/v1."""
        return httpx.post(f"{self.server.url}/api/v1/{path}", json=asked, timeout=60)

    def trace(self, text: str = "one red cat", **asked: object) -> dict[str, Any]:
        """A new trace."""
        answer: dict[str, Any] = self.post("traces", model="there", text=text, **asked).json()
        return answer

    @property
    def load(self) -> Load:
        return Load(self.server, toy_sentence)


def toy_sentence(chance: random.Random) -> str:
    """Words of the toy language."""
    return " ".join(chance.choices(list(WORDS), k=chance.randint(2, 6)))


def quality_of(sources: list[str], references: list[str]) -> dict[str, Any]:
    """A report as `regard compare --report` writes it."""
    scores = [{"name": "BLEU", "value": 50.0, "low": 40.0, "high": 60.0, "signature": "s"}]
    lengths = [
        {"low": low, "high": high, "count": sum(low <= len(one.split()) <= high for one in sources), "score": 50.0}
        for low, high in ((1, 3), (4, 10))
    ]
    speeds = {"decoding_seconds": 2.4, "sentences_per_second": 10.0, "tokens_per_second": 50.0}
    sizes = {"sentences": len(sources), "parameters": 100, "disk_bytes": 400}
    figures: dict[str, Any] = {"kind": "transformer", "scores": scores, "lengths": lengths, **speeds, **sizes}
    models = [{"model": name, **figures, "outputs": [f"{name} {one}" for one in sources]} for name in ("there", "else")]
    models[0]["alignment"] = {"layer": 2, "head": None, "at": "input", "aer": 0.125, "precision": 0.9, "recall": 0.9}
    return {"models": models, "sources": sources, "references": references}


@contextmanager
def own_api_server(directory: Path, output: Path, *options: str) -> Iterator[OwnApiServer]:
    """Run the server over the toy models until the block ends."""
    sources, references = ((directory / f"test.{code}").read_text().splitlines() for code in ("en", "ko"))
    (output / "evaluation.json").write_text(json.dumps(quality_of(sources, references)))
    limits = [part for limit in ("rate=0", *PATIENT) for part in ("--limit", limit)]
    files = ["--gold", str(directory / "test"), "--report", str(output / "evaluation.json")]
    models = [directory / "there", directory / "back" / "model"]
    with serving(models, output / "log", *files, *limits, *options) as server:
        yield OwnApiServer(server, directory / "there")
