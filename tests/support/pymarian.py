"""pymarian, Marian's own engine, in a virtual environment of its own, because its wheel has 604 MB:

python -m venv build/pymarian && build/pymarian/bin/pip install pymarian==1.12.42
"""

import json
import os
import subprocess
from pathlib import Path

from tests.support.bergamot import SECONDS, Translated

PYTHON = Path(os.environ.get("REGARD_PYMARIAN", Path(__file__).parents[2] / "build/pymarian/bin/python"))
INSTALL = "python -m venv build/pymarian && build/pymarian/bin/pip install pymarian==1.12.42"
SCRIPT = """
import json, sys, time
from pymarian import Translator
job = json.load(sys.stdin)
translator = Translator(**job["options"])
seconds = []
for _ in range(job["repetitions"]):
    start = time.perf_counter()
    texts = translator.translate(job["texts"])
    seconds.append(time.perf_counter() - start)
print(json.dumps([texts, seconds]))
"""


def is_installed() -> bool:
    return PYTHON.exists()


def translate_with_pymarian(directory: Path, texts: list[str], *, repetitions: int = 1) -> Translated:
    """Greedy, on one thread, by the numbers of the model's file."""
    [model] = directory.glob("model*.bin")
    vocabularies = [str(path) for path in sorted(directory.glob("*.spm"))]  # srcvocab before trgvocab
    options = {"models": str(model), "vocabs": [vocabularies[0], vocabularies[-1]], "beam_size": 1, "quiet": True}
    options |= {"cpu_threads": 1, "mini_batch": 64, "maxi_batch": 100, "maxi_batch_sort": "src", "allow_unk": True}
    options |= {"max_length_factor": 2.0}
    job = {"options": options, "texts": texts, "repetitions": repetitions}
    command = [str(PYTHON), "-c", SCRIPT]
    done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(f"pymarian failed: {done.stderr[-2000:]}")
    return Translated(*json.loads(done.stdout.splitlines()[-1]))
