"""A bundle that someone made to exhaust or to confuse this machine is refused soon, with an error for its reader."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from regard.bundle import load_bundle
from regard.errors import RegardError
from regard.inference.open import load
from regard.interop.ctranslate2 import export_ctranslate2
from tests.support.hostile_files import (
    BUNDLES,
    NOT_FILES,
    Attack,
    bounded,
    link_to_itself,
    link_to_zeros,
    make_fifo,
    manifest_with_file,
    replaced,
    sparse_file,
    write_small_bundle,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_bundle(tmp_path_factory.mktemp("whole") / "model")


def test_a_whole_bundle_is_loaded(whole: Path) -> None:
    with bounded():
        assert load_bundle(whole).num_parameters > 0


@pytest.mark.parametrize("name", BUNDLES)
def test_a_hostile_bundle_is_refused(name: str, whole: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "model"
    shutil.copytree(whole, hostile)
    BUNDLES[name](hostile)
    for open_model in (load_bundle, load):
        with bounded(), pytest.raises(RegardError) as problem:
            open_model(hostile)
        assert len(str(problem.value)) < 20_000


@pytest.mark.parametrize("name", ["source.spm", "target.spm", "words.bin"])
def test_a_broken_vocabulary_is_named(name: str, whole: Path, tmp_path: Path) -> None:
    """Its hash is right, as in a bundle that was written so."""
    hostile = tmp_path / "model"
    shutil.copytree(whole, hostile)
    manifest_with_file(name)(hostile)
    replaced(name, b"x")(hostile)
    with pytest.raises(RegardError, match=str(hostile)):
        load_bundle(hostile)


def test_every_word_may_be_known(whole: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "model"
    shutil.copytree(whole, hostile)
    manifest_with_file("words.bin")(hostile)
    numbers = np.arange(1 << 24, dtype=">u4").view(np.uint8).reshape(-1, 4)[:, 1:]
    replaced("words.bin", numbers.tobytes())(hostile)
    with bounded():
        assert load_bundle(hostile).unknown_words("anything at all") == []


@pytest.fixture(scope="module")
def whole_export(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("ctranslate2")
    exported = tmp_path_factory.mktemp("export") / "export"
    export_ctranslate2(load_bundle(whole), exported, quantization="float32")
    return exported


@pytest.mark.parametrize("attack", [sparse_file, make_fifo, link_to_zeros, link_to_itself])
@pytest.mark.parametrize("name", ["manifest.json", "model.bin", "config.json", "export.json", "source.spm", "more.bin"])
def test_a_hostile_export_is_refused(name: str, attack: Attack, whole_export: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "export"
    shutil.copytree(whole_export, hostile)
    if not (hostile / name).exists():
        manifest_with_file(name)(hostile)
    (hostile / name).unlink(missing_ok=True)
    attack(hostile / name)
    with bounded(), pytest.raises(RegardError):
        load(hostile)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("model.bin", b"alignment_layer\0\0\2\2\0\0\0\xff", b"alignment_layer\0\0\2\2\0\0\0\0"),
        ("model.bin", b"num_heads\0\0\2\2\0\0\0\2", b"num_heads\0\0\2\2\0\0\0\3"),
        ("model.bin", b"decoder/embeddings/weight\0", b"decoder/embeddings/weighs\0"),
        ("model.bin", b"TransformerSpec\0", b"TransformersSpec"),
        ("model.bin", b"ffn/linear_0/weight\0\2\x0c", b"ffn/linear_0/weight\0\2\x0d"),
        ("config.json", b"decoder_start", b"deboder_start"),
        ("config.json", b'"add_source_bos": false', b'"add_source_bos": 0'),
        ("shared_vocabulary.json", b'"<s>"', b'"<s>", "<s>"'),
    ],
)
def test_an_export_that_does_not_fit_is_refused(
    name: str, before: bytes, after: bytes, whole_export: Path, tmp_path: Path
) -> None:
    """CTranslate2 itself ends the process with some of them."""
    hostile = tmp_path / "export"
    shutil.copytree(whole_export, hostile)
    content = (hostile / name).read_bytes()
    assert before in content
    replaced(name, content.replace(before, after))(hostile)
    with bounded(), pytest.raises(RegardError):
        load(hostile).translate(["ba be"])


@pytest.mark.parametrize("kind", NOT_FILES)
def test_the_cache_of_engines_is_no_trap(kind: str, whole: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(whole, model, ignore=shutil.ignore_patterns("engines"))
    (model / "engines").mkdir()
    NOT_FILES[kind](model / "engines" / "ctranslate2-float32")
    with bounded():
        assert load(model, task="translation").translate(["ba be"])


def test_a_folder_of_many_files_is_opened(whole: Path, tmp_path: Path) -> None:
    crowded = tmp_path / "model"
    shutil.copytree(whole, crowded)
    for number in range(20_000):
        (crowded / f"{number}.bin").touch()
    with bounded():
        load(crowded)


@pytest.mark.parametrize("cache", ["/dev/null/x", "/proc/x", "/" + "x" * 300, "nothing"], ids=lambda path: path[:9])
def test_a_model_is_opened_whatever_the_cache_is(cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    if cache == "nothing":
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", "/dev/null")
    assert load("world-en-ko", task="translation").translate(["the man"])
