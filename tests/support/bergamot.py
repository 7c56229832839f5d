"""Bergamot, Firefox's translation engine, in Node: its wasm translates lines with a model in Marian's format."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

TOOLS = Path(__file__).parents[2] / "benchmarks" / "bergamot_node"
INSTALL = f"npm install --prefix {TOOLS.relative_to(TOOLS.parents[1])} --no-package-lock"
SECONDS = 450


class Translated(NamedTuple):
    """The outputs, and the seconds of each repetition without loading."""

    texts: list[str]
    seconds: list[float]


def is_installed() -> bool:
    return shutil.which("node") is not None and (TOOLS / "node_modules").exists()


def translate_with_bergamot(
    directory: Path, texts: list[str], *, precision: str, repetitions: int = 1, shortlist: Path | None = None
) -> Translated:
    """One line is one sentence, as for us. `precision` is Marian's gemm-precision; it never leaves out <unk>."""
    [model] = directory.glob("model*.bin")
    job: dict[str, Any] = {
        "model": str(model),
        "vocabs": [str(path) for path in sorted(directory.glob("*.spm"))],  # srcvocab before trgvocab
        "shortlist": str(shortlist) if shortlist else None,
        "config": {"ssplit-mode": "sentence", "gemm-precision": precision, "allow-unk": "true"},
        "texts": texts,
        "repetitions": repetitions,
    }
    command = ["node", str(TOOLS / "translate.mjs")]
    done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(f"Bergamot failed: {done.stderr[-2000:]}")
    result = json.loads(done.stdout)
    return Translated(result["texts"], result["seconds"])
