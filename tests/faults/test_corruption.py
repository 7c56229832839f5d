"""A damaged checkpoint or bundle is never taken for a whole one: the file is named, and the one before it serves."""

import random
import shutil
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from regard.bundle import load_bundle
from regard.errors import RegardError
from regard.files import MANIFEST_NAME as MANIFEST
from regard.training.checkpoint import Checkpoint, latest_valid_checkpoint, list_checkpoints, load_checkpoint
from tests.support.small_run import run_to_the_end, small_config, write_pairs

SECONDS = 120  # a load that believes a broken length does not end; a busy machine does
PLACES = 2_000  # of the tensors
Load = Callable[[], object]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with checkpoints of steps 4 and 8, and a bundle; every test leaves it as it was."""
    directory = tmp_path_factory.mktemp("corruption")
    write_pairs(directory)
    config = small_config(directory, steps=8, validate_every=8, ema_decay=0.9)
    run_to_the_end(config, directory / "run")
    return directory / "run"


def newest(run: Path) -> Path:
    return list_checkpoints(run / "checkpoints")[-1]


def header_size(path: Path) -> int:
    """Of a safetensors file: eight bytes that tell the length of the JSON after them."""
    return 8 + int(struct.unpack("<Q", path.read_bytes()[:8])[0])


def metadata(directory: Path) -> list[tuple[Path, range]]:
    """Every file that is not numbers, and the headers of those that are."""
    return [
        (path, range(header_size(path) if path.suffix == ".safetensors" else path.stat().st_size))
        for path in sorted(directory.iterdir())
    ]


def flips(path: Path, offsets: list[int]) -> Iterator[int]:
    """Flips one bit at each offset in turn, and puts the file back after each."""
    whole = path.read_bytes()
    with path.open("r+b", buffering=0) as file:
        for offset in offsets:
            for content in (whole[offset] ^ (1 << offset % 8), whole[offset]):
                file.seek(offset)
                file.write(bytes([content]))
                if content != whole[offset]:
                    yield offset
    assert path.read_bytes() == whole


def complaint(load: Load) -> str:
    """The message of the error that loading ends with, soon."""
    begun = time.monotonic()
    with pytest.raises(RegardError) as caught:
        load()
    assert time.monotonic() - begun < SECONDS
    return str(caught.value)


def names(path: Path, message: str) -> bool:
    """Whether a message names a file: by its path, or by its directory and its own name."""
    return str(path) in message or (str(path.parent) in message and path.name in message)


@pytest.mark.parametrize("what", ["checkpoint", "bundle"])
def test_bit_flip_in_any_metadata_byte_is_named(run: Path, what: str) -> None:
    directory = newest(run) if what == "checkpoint" else run / "model"
    load: Load = (lambda: load_checkpoint(directory)) if what == "checkpoint" else (lambda: load_bundle(directory))
    flipped = 0
    for path, offsets in metadata(directory):
        for offset in flips(path, list(offsets)):
            message = complaint(load)
            assert names(path, message), (path.name, offset, message)
            flipped += 1
    assert flipped > 2_000
    load()


@pytest.mark.parametrize("what", ["checkpoint", "bundle"])
def test_a_flipped_bit_in_the_tensors_is_named(run: Path, what: str) -> None:
    directory = newest(run) if what == "checkpoint" else run / "model"
    load: Load = (lambda: load_checkpoint(directory)) if what == "checkpoint" else (lambda: load_bundle(directory))
    files = sorted(directory.glob("*.safetensors"))
    chance = random.Random(5)
    for path in files:
        numbers = range(header_size(path), path.stat().st_size)
        for _ in flips(path, [chance.choice(numbers) for _ in range(PLACES // len(files) + 1)]):
            assert names(path, complaint(load))
    load()


def test_previous_checkpoint_replaces_a_damaged_one_with_warning(run: Path) -> None:
    before = load_checkpoint(list_checkpoints(run / "checkpoints")[-2])
    chance = random.Random(6)
    for path in sorted(newest(run).iterdir()):
        for _ in flips(path, [chance.randrange(path.stat().st_size) for _ in range(10)]):
            found, passed_over = latest_valid_checkpoint(run / "checkpoints")
            assert found is not None
            assert same(found, before)
            assert len(passed_over) == 1
            assert names(path, passed_over[0])


def same(one: Checkpoint, other: Checkpoint) -> bool:
    parts = [(one.weights, other.weights), (one.optimizer, other.optimizer), (one.ema, other.ema)]
    return one.state == other.state and all(
        left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)
        for left, right in parts
    )


@pytest.mark.parametrize("what", ["checkpoint", "bundle"])
def test_truncated_lengthened_and_missing_files_are_named(run: Path, what: str, tmp_path: Path) -> None:
    original = newest(run) if what == "checkpoint" else run / "model"
    directory = tmp_path / original.name
    shutil.copytree(original, directory)
    load: Load = (lambda: load_checkpoint(directory)) if what == "checkpoint" else (lambda: load_bundle(directory))
    for path in sorted(directory.iterdir()):
        whole = path.read_bytes()
        for content in (b"", whole[:1], whole[: len(whole) // 2], whole[:-1], whole + b"\0"):
            path.write_bytes(content)
            if content.strip() != whole.strip():  # a manifest may end in a newline or not
                assert names(path, complaint(load)), (path.name, len(content))
        path.unlink()
        assert names(path, complaint(load))
        path.write_bytes(whole)
    load()


def test_files_from_outside_are_named(run: Path, tmp_path: Path) -> None:
    older, directory = list_checkpoints(run / "checkpoints")[-2], tmp_path / newest(run).name
    shutil.copytree(newest(run), directory)
    for path in sorted(directory.iterdir()):
        others = [older / path.name, directory / "ema.safetensors", run / "model" / "model.safetensors"]
        whole = path.read_bytes()
        for other in others:
            if other.read_bytes() != whole:
                shutil.copyfile(other, path)
                message = complaint(lambda: load_checkpoint(directory))
                assert str(directory) in message
                assert MANIFEST in message
                path.write_bytes(whole)
    load_checkpoint(directory)


def test_checkpoint_under_a_wrong_name_is_named(run: Path, tmp_path: Path) -> None:
    shutil.copytree(list_checkpoints(run / "checkpoints")[-2], tmp_path / "step-00000099")
    assert "trainer_state.json is of step 4" in complaint(lambda: load_checkpoint(tmp_path / "step-00000099"))


def test_bundle_and_checkpoint_are_not_interchangeable(run: Path) -> None:
    assert "is a model of version 1" in complaint(lambda: load_checkpoint(run / "model"))
    assert "is a checkpoint of version 1" in complaint(lambda: load_bundle(newest(run)))


def test_checkpoint_of_another_model_is_refused_by_name(run: Path, tmp_path: Path) -> None:
    write_pairs(tmp_path)
    stack = {"layers": 1, "width": 8, "heads": 2, "ffn_width": 24}
    other = small_config(tmp_path, model={"kind": "transformer", "encoder": stack, "decoder": stack}, steps=2)
    shutil.copytree(run / "checkpoints", tmp_path / "run" / "checkpoints")
    message = complaint(lambda: run_to_the_end(other, tmp_path / "run", resume=True))
    assert f"{tmp_path / 'run' / 'checkpoints' / 'step-00000008'} does not fit the model" in message
