"""An image store: built once, continued after a kill, repaired where damaged, never confused with another."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from regard.data.image_store import (
    BLOCK_ROWS,
    BLOCKS,
    HEADER,
    VALUES,
    FeatureExtractor,
    ImageStore,
    build_image_store,
)
from regard.data.images import load_image
from regard.errors import RegardError
from tests.support.commands import started

COUNT = 2 * BLOCK_ROWS + 3
SIZE = 5


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("images")
    chance = np.random.default_rng(0)
    paths = [folder / f"{index}.png" for index in range(COUNT)]
    for path in paths:
        Image.fromarray(chance.integers(0, 256, (7, 11, 3), dtype=np.uint8)).save(path)
    return paths


class Counting:
    """A network that counts how many images it was shown."""

    def __init__(self, factor: float = 1.0) -> None:
        self.shown = 0
        self.factor = factor

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        self.shown += len(pixels)
        return np.float32(self.factor) * pixels.reshape(len(pixels), 3, -1).mean(2)

    def features(self, identity: str = "weights") -> FeatureExtractor:
        return FeatureExtractor(self, identity)


def rows(store: ImageStore) -> NDArray[np.generic]:
    return store.take(range(len(store)))


def test_stored_row_equals_the_opened_image(tmp_path: Path, images: list[Path]) -> None:
    store = build_image_store(tmp_path / "store", images, size=SIZE)
    assert (len(store), store.shape) == (COUNT, (3, SIZE, SIZE))
    for index in (0, BLOCK_ROWS, COUNT - 1):
        assert (store[index] == load_image(images[index], size=SIZE)).all()
    taken = store.take([4, 1, 4])
    assert taken.dtype == np.uint8
    assert (taken == np.stack([store[4], store[1], store[4]])).all()


@pytest.mark.parametrize("precision", ["float16", "float32"])
def test_features_equal_the_network_output(tmp_path: Path, images: list[Path], precision: str) -> None:
    network = Counting()
    store = build_image_store(tmp_path / "s", images, size=SIZE, features=FeatureExtractor(network, "a", precision))  # type: ignore[arg-type]
    expected = network(np.stack([load_image(path, size=SIZE) for path in images])).astype(precision)
    assert rows(store).dtype == np.dtype(precision)
    assert (rows(store) == expected).all()


def test_finished_store_opens_without_computing(tmp_path: Path, images: list[Path]) -> None:
    first = build_image_store(tmp_path / "store", images, size=SIZE, features=Counting().features())
    network = Counting()
    progress: list[tuple[int, int]] = []
    again = build_image_store(
        tmp_path / "store",
        images,
        size=SIZE,
        features=network.features(),
        progress=lambda *result: progress.append(result),
    )
    assert network.shown == 0
    assert progress == [(COUNT, COUNT)]
    assert (rows(first) == rows(again)).all()


def test_progress_is_reported_after_every_block(tmp_path: Path, images: list[Path]) -> None:
    result: list[tuple[int, int]] = []
    build_image_store(tmp_path / "store", images, size=SIZE, progress=lambda *news: result.append(news))
    assert result == [(done, COUNT) for done in (0, BLOCK_ROWS, 2 * BLOCK_ROWS, COUNT)]


def test_anything_that_changes_the_rows_makes_another_store(tmp_path: Path, images: list[Path]) -> None:
    made = build_image_store(tmp_path / "store", images[:3], size=SIZE, features=Counting().features())
    marks = {made.fingerprint}
    network = Counting(2.0)
    for which, size, identity in [(3, SIZE, "other weights"), (2, SIZE, "weights"), (3, SIZE + 1, "weights")]:
        marks.add(
            build_image_store(
                tmp_path / "store", images[:which], size=size, features=network.features(identity)
            ).fingerprint
        )
    marks.add(build_image_store(tmp_path / "store", images[:3], size=SIZE).fingerprint)
    assert len(marks) == 5
    assert network.shown >= 3 + 2 + 3


def test_a_changed_image_is_computed_again(tmp_path: Path, images: list[Path]) -> None:
    path = tmp_path / "one.png"
    path.write_bytes(images[0].read_bytes())
    before = rows(build_image_store(tmp_path / "store", [path], size=SIZE)).copy()
    path.write_bytes(images[1].read_bytes())
    after = rows(build_image_store(tmp_path / "store", [path], size=SIZE))
    assert (before != after).any()


# --- faults ----------------------------------------------------------------------------------------------------------


class StopHereError(Exception):
    """Stands for anything that stops a run."""


def stop_at(wanted: int) -> Callable[[int, int], None]:
    def progress(done: int, _of: int) -> None:
        if done == wanted:
            raise StopHereError

    return progress


def test_stopped_run_continues_where_it_was(tmp_path: Path, images: list[Path]) -> None:
    whole = rows(build_image_store(tmp_path / "whole", images, size=SIZE, features=Counting().features()))
    with pytest.raises(StopHereError):
        build_image_store(
            tmp_path / "store",
            images,
            size=SIZE,
            features=Counting().features(),
            progress=stop_at(BLOCK_ROWS),
        )
    network = Counting()
    store = build_image_store(tmp_path / "store", images, size=SIZE, features=network.features())
    assert network.shown == COUNT - BLOCK_ROWS
    assert (rows(store) == whole).all()


@pytest.mark.parametrize("file", [VALUES, BLOCKS, HEADER])
@pytest.mark.parametrize("damage", ["flip first", "flip last", "cut", "empty", "longer", "gone"])
def test_damaged_blocks_are_computed_again(tmp_path: Path, images: list[Path], file: str, damage: str) -> None:
    whole = rows(build_image_store(tmp_path / "store", images, size=SIZE)).copy()
    path = tmp_path / "store" / file
    content = path.read_bytes()
    changed = {
        "flip first": bytes([content[0] ^ 1]) + content[1:],
        "flip last": content[:-2] + bytes([content[-2] ^ 1]) + content[-1:],
        "cut": content[:-3],
        "empty": b"",
        "longer": content + b"\0",
    }
    if damage == "gone":
        path.unlink()
        if file == HEADER:  # without it nothing says that the directory is a store
            with pytest.raises(RegardError, match="not an image store"):
                build_image_store(tmp_path / "store", images, size=SIZE)
            return
    else:
        path.write_bytes(changed[damage])
    store = build_image_store(tmp_path / "store", images, size=SIZE)
    assert (rows(store) == whole).all()
    assert (tmp_path / "store" / VALUES).stat().st_size == whole.nbytes


def test_only_blocks_after_damage_are_recomputed(tmp_path: Path, images: list[Path]) -> None:
    build_image_store(tmp_path / "store", images, size=SIZE, features=Counting().features())
    values = tmp_path / "store" / VALUES
    content = bytearray(values.read_bytes())
    content[BLOCK_ROWS * 3 * 2 + 1] ^= 1  # a byte of the second block
    values.write_bytes(content)
    network = Counting()
    build_image_store(tmp_path / "store", images, size=SIZE, features=network.features())
    assert network.shown == COUNT - BLOCK_ROWS


PROGRAM = """
import os, resource, signal, sys
from pathlib import Path
from regard.data.image_store import build_image_store
from regard.errors import RegardError
store, *images = map(Path, sys.argv[1:])
"""


def run(script: str, store: Path, images: list[Path]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM + script, str(store), *map(str, images)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
def test_killed_process_keeps_its_finished_blocks(tmp_path: Path, images: list[Path]) -> None:
    killed = run(
        f"""
def die(done, of):
    if done == {2 * BLOCK_ROWS}:
        os.kill(os.getpid(), signal.SIGKILL)
build_image_store(store, images, size={SIZE}, progress=die)
""",
        tmp_path / "store",
        images,
    )
    assert killed.returncode == -signal.SIGKILL
    result: list[int] = []
    store = build_image_store(tmp_path / "store", images, size=SIZE, progress=lambda done, _: result.append(done))
    assert result == [2 * BLOCK_ROWS, COUNT]
    assert (store[COUNT - 1] == load_image(images[-1], size=SIZE)).all()


@pytest.mark.slow
def test_second_process_waits_and_reuses_the_store(tmp_path: Path, images: list[Path]) -> None:
    script = f"""
def halt(done, of):
    if done == {BLOCK_ROWS}:
        print("one block", flush=True)
        sys.stdin.readline()
build_image_store(store, images, size={SIZE}, progress=halt)
"""
    command = [sys.executable, "-c", PROGRAM + script, str(tmp_path / "store"), *map(str, images)]
    result: list[int] = []
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdin is not None
        assert first.stdout is not None
        assert first.stdout.readline() == "one block\n"

        def tell(done: int, _of: int) -> None:
            if not result:
                print(file=first.stdin, flush=True)
            result.append(done)

        store = build_image_store(tmp_path / "store", images, size=SIZE, progress=tell)
        assert first.wait(60) == 0
    assert result[0] == BLOCK_ROWS  # as far as the other was
    assert result[-1] == COUNT
    assert all((store[index] == load_image(path, size=SIZE)).all() for index, path in enumerate(images))


@pytest.mark.slow
def test_full_disk_error_names_path_and_bytes(tmp_path: Path, images: list[Path]) -> None:
    ended = run(
        f"""
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, 3_000))
try:
    build_image_store(store, images, size={SIZE})
except RegardError as error:
    print(error)
""",
        tmp_path / "store",
        images,
    )
    assert ended.stderr == ""
    assert "store cannot be written: File too large (" in ended.stdout
    assert len(build_image_store(tmp_path / "store", images, size=SIZE)) == COUNT


def test_foreign_directory_is_never_replaced(tmp_path: Path, images: list[Path]) -> None:
    (tmp_path / "thesis").write_text("years of work")
    for place in (tmp_path, tmp_path / "thesis"):
        with pytest.raises(RegardError, match="is not an image store"):
            build_image_store(place, images[:1], size=SIZE)
    assert os.listdir(tmp_path) == ["thesis"]


def test_a_damaged_image_is_named(tmp_path: Path, images: list[Path]) -> None:
    bad = tmp_path / "bad.png"
    bad.write_bytes(images[0].read_bytes()[:60])
    with pytest.raises(RegardError, match=r"bad\.png is damaged"):
        build_image_store(tmp_path / "store", [*images[:2], bad], size=SIZE)


def test_half_precision_overflow_is_an_error(tmp_path: Path, images: list[Path]) -> None:
    network = Counting(1e9)
    with pytest.raises(RegardError, match="float16 cannot represent"), np.errstate(over="ignore"):
        build_image_store(tmp_path / "store", images[:2], size=SIZE, features=network.features())


def test_no_images_are_no_store(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="no images"):
        build_image_store(tmp_path / "store", [], size=SIZE)
