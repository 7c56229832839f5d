"""Files that nobody would write, read for two minutes by each reader; prints the numbers of cases and of wrong ones.

    .venv/bin/python -m benchmarks.fuzz                              # every target
    .venv/bin/python -m benchmarks.fuzz bundles toml --seconds 10
    .venv/bin/python -m benchmarks.fuzz readers --case 4711          # one case again, with its traceback

A case is a function of its target and its number. It is wrong if the reader raises anything but a `RegardError`, takes
more than 5 seconds, needs more than 500 MB, ends the process, or reads something else than a simple reference does.
The target `requests` is benchmarks.fuzz_requests with a small model.
"""

import argparse
import gzip
import hashlib
import json
import multiprocessing
import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from io import BytesIO
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch

from regard.bundle import BUNDLE_FILES, load_bundle, named_tensors
from regard.config import Config
from regard.data.captions import read_caption_json, read_caption_jsonl, read_captioned, read_captions_file
from regard.data.conll import read_tagged_words
from regard.data.idx import read_idx
from regard.data.images import load_image
from regard.data.labelled_examples import read_labelled_file, read_labelled_images
from regard.data.pair_readers import read_pairs
from regard.data.text_lines import read_lines
from regard.documents import FORMATS, Segment, XmlTagRules, read_document, read_xml
from regard.errors import RegardError
from regard.files import MANIFEST_NAME, MODEL, MODEL_VERSION, read_manifest, verify_files
from regard.inference.open import load
from regard.inference.translator import Translator
from regard.interop.ctranslate2 import export_ctranslate2
from regard.metrics.alignment import parse_alignments
from tests.support.hostile_files import rewrite_hashes, write_small_bundle

MAX_SECONDS, MAX_MEGABYTES = 5.0, 500
Case = Callable[[random.Random, Path], None]

# --- mutations -------------------------------------------------------------------------------------------------------

NUMBERS = [b"-1", b"0", b"1e999", b"nan", b"inf", b"65536", b"4294967296", b"9223372036854775808", b"9" * 5000, b"1.5"]
PIECES = [
    *NUMBERS, b"\0", b"\r", b"\r\n", b"\n", b"\t", b"\xff", b"\xc3", b"\xef\xbb\xbf", "\u2028".encode(), "가".encode(),
    b'"', b"'", b'"""', b"'''", b"\\", b"[", b"]", b"[[", b"{", b"}", b"=", b".", b"#", b"<", b">", b"&", b"<!--",
    b"<![CDATA[", b"&#xD800;", b"msgid ", b'msgstr ""', b"-->", b"%s", b"../", b"\\ud800", b"null", b"true", b"-",
]  # fmt: skip


def mutate(content: bytes, chance: random.Random) -> bytes:
    """The content with a few bytes changed, inserted, removed, repeated or replaced by troublesome ones."""
    data = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 4, 16])):
        at = chance.randrange(len(data) + 1)
        width = min(len(data) - at, chance.choice([1, 2, 8, 64, 1024]))
        match chance.randrange(7):
            case 0 if width:
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                data[at:at] = chance.choice(PIECES) * chance.choice([1, 1, 2, 1000])
            case 2:
                del data[at : at + width]
            case 3:
                data[at:at] = data[at : at + width] * chance.choice([1, 2, 300])
            case 4:
                data[at : at + width] = chance.randbytes(width)
            case 5:
                del data[at:]
            case 6:
                numbers = list(re.finditer(rb"[0-9]+", data))
                if numbers:
                    number = chance.choice(numbers)
                    data[slice(*number.span())] = chance.choice(NUMBERS)
    return bytes(data)


# --- targets ---------------------------------------------------------------------------------------------------------


@cache
def small_bundle_files() -> dict[str, bytes]:
    """The files of a bundle, made once: making it takes longer than a case."""
    with tempfile.TemporaryDirectory() as directory:
        return {path.name: path.read_bytes() for path in write_small_bundle(Path(directory) / "model").iterdir()}


def copy_small_bundle(directory: Path) -> Path:
    """A whole bundle in a directory."""
    for name, content in small_bundle_files().items():
        (directory / name).write_bytes(content)
    return directory


def fuzz_bundles(chance: random.Random, directory: Path) -> None:
    """A bundle with one file changed, and hashes that fit: what is loaded has the numbers of the file."""
    model = copy_small_bundle(directory)
    name = chance.choice(BUNDLE_FILES)
    path = model / name
    content = path.read_bytes()
    if name.endswith(".safetensors") and chance.random() < 0.7:  # the header alone, with a length that fits
        end = 8 + struct.unpack("<Q", content[:8])[0]
        header = mutate(content[8:end], chance)
        content = struct.pack("<Q", len(header)) + header + content[end:]
    else:
        content = mutate(content, chance)
    path.write_bytes(content)
    rewrite_hashes(model)
    bundle = load_bundle(model)
    weights = (model / "model.safetensors").read_bytes()
    end = 8 + struct.unpack("<Q", weights[:8])[0]
    for name, entry in json.loads(weights[8:end]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, stop = entry["data_offsets"]
            expected = np.frombuffer(weights[end + begin : end + stop], np.float32).reshape(entry["shape"])
            np.testing.assert_array_equal(named_tensors(bundle.model)[name].numpy(), expected)
    translations = Translator(bundle).translate(["ba be bi", ""])
    assert len(translations) == 2, "lines in are not lines out"


@cache
def small_export_files() -> dict[str, bytes]:
    """The files of an export for CTranslate2, made once."""
    with tempfile.TemporaryDirectory() as directory:
        model, out = write_small_bundle(Path(directory) / "model"), Path(directory) / "export"
        export_ctranslate2(load_bundle(model), out, quantization="float32")
        return {path.name: path.read_bytes() for path in out.iterdir()}


def fuzz_exports(chance: random.Random, directory: Path) -> None:
    """An export with a few bytes of one file changed, and hashes that fit: as many lines out as in."""
    for name, content in small_export_files().items():
        (directory / name).write_bytes(content)
    path = directory / chance.choice(sorted({*small_export_files()} - {MANIFEST_NAME}) + ["model.bin"] * 6)
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 1, 2, 8])):
        at, width = chance.randrange(len(data)), chance.choice([1, 2, 4])
        data[at : at + width] = chance.choice([bytes(width), b"\xff" * width, chance.randbytes(width)])
    path.write_bytes(bytes(data) if chance.random() < 0.8 else mutate(path.read_bytes(), chance))
    rewrite_hashes(directory)
    assert len(load(directory, engine="ctranslate2").translate(["ba be bi", ""])) == 2, "lines in are not lines out"


def fuzz_toml(chance: random.Random, directory: Path) -> None:
    """A recipe: what is read is the same config after it is written and read again."""
    recipe = chance.choice(sorted(Path("recipes").glob("*.toml"))).read_bytes()
    path = directory / "recipe.toml"
    path.write_bytes(mutate(recipe, chance))
    config = Config.load(path)
    assert Config.from_toml(config.to_toml()) == config, "the config differs after it was written"


def fuzz_manifests(chance: random.Random, directory: Path) -> None:
    """The manifest of a bundle: what is accepted lists files of the directory with their hashes."""
    model = copy_small_bundle(directory)
    path = model / MANIFEST_NAME
    path.write_bytes(mutate(path.read_bytes(), chance))
    load_bundle(model)
    verify_files(model, MODEL, MODEL_VERSION)
    for name, digest in read_manifest(model, MODEL, MODEL_VERSION).files.items():
        assert hashlib.sha256((model / name).read_bytes()).hexdigest() == digest, "a file has another hash"


TSV = "one\tone\nthe cat\t고양이\n\t\na\tb\n" * 3
PAIR_FILES = {
    ".tsv": TSV,
    ".csv": 'id,English,"Korean"\n1,"the cat, or ""it""",고양이\n2,"two\nlines",가\n\n' * 3,
    ".jsonl": '{"source": "a b", "target": "가"}\n{"source": "c", "target": "d", "more": [1]}\n' * 3,
    ".po": '# x\nmsgid ""\nmsgstr ""\n"Language: ko\\n"\n\n#, fuzzy\nmsgctxt "m"\nmsgid "Open %s"\nmsgstr "열기 %s"\n'
    '\nmsgid "one"\nmsgid_plural "many"\nmsgstr[0] "가"\n',
    ".tmx": '<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx version="1.4"><header srclang="en"/><body>'
    '<tu><tuv xml:lang="en"><seg>A <bpt i="1">b</bpt> cat</seg></tuv><tuv xml:lang="ko"><seg>가</seg></tuv></tu>'
    "</body></tmx>",
}


def fuzz_readers(chance: random.Random, directory: Path) -> None:
    """Text files, some compressed: the lines are those between newlines, and a pair has two sides on one line each."""
    suffix = chance.choice([".txt", ".align", *PAIR_FILES])
    content = mutate(PAIR_FILES.get(suffix, TSV if suffix == ".txt" else "0-0 1p2\n\n1-1\n").encode(), chance)
    packed = gzip.compress(content, mtime=0)
    if is_compressed := chance.random() < 0.3:
        suffix += ".gz"
        packed = packed if chance.random() < 0.7 else mutate(packed, chance)
    path = directory / f"text{suffix}"
    path.write_bytes(packed if is_compressed else content)
    lines = list(read_lines(path))
    if packed == gzip.compress(content, mtime=0) and b"\r" not in content:
        text = content.removeprefix(b"\xef\xbb\xbf").decode()
        assert lines == text.removesuffix("\n").split("\n")[: len(lines)], "a line differs"
        assert len(lines) >= text.count("\n"), "a line is missing"
    if suffix.startswith(".align"):
        parse_alignments(iter(lines), origin="links")
    elif not suffix.startswith(".txt"):
        for pair in read_pairs([path], languages=["en", "ko"]):
            assert "\n" not in pair.source + pair.target, "a side of a pair has two lines"


def fuzz_parallel(chance: random.Random, directory: Path) -> None:
    """A source and a target file, one of them changed: a pair for each line, or an error."""
    contents = [b"one\ntwo\nthree\n", "하나\n둘\n셋\n".encode()]
    changed = chance.randrange(2)
    contents[changed] = mutate(contents[changed] * chance.choice([1, 1, 3000]), chance)
    paths = [directory / name for name in ("source", "target")]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    lines = [list(read_lines(path)) for path in paths]
    pairs = [pair[:2] for pair in read_pairs(paths)]
    assert pairs == list(zip(*lines, strict=True)), "the pairs are not line by line"


CAPTIONS = 'image,caption\na.jpg, a dog\nb.jpg,"a cat, or ""it"""\n'
COCO = '{"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": [{"image_id": 1, "caption": "a dog"}]}'
KARPATHY = '{"images": [{"filename": "a.jpg", "filepath": "x", "split": "val", "sentences": [{"raw": "a dog"}]}]}'
CAPTION_LINES = '{"image": "a.jpg", "captions": ["a dog", "it"], "split": "val"}\n{"image": "b.jpg", "caption": "가"}\n'
LABELS = '{"%s": "a.png", "label": 1}\n\n{"%s": "가", "label": "x"}\n'
CONLLU = "# global.columns = FORM UPOS ROLE\na\tDET\t_\ncat\tNOUN\tsubject\n\n가\tNOUN\t_\n"
Sample = tuple[str, str, Callable[[Path], object]]  # the ending of a file, its content, and what reads it
TABLES: list[Sample] = [
    (".csv", CAPTIONS, lambda path: list(read_captions_file(path))),
    (".txt", CAPTIONS, read_captioned),
    (".txt", "a.jpg#0\ta dog\nb.jpg#1\t가\n" * 3, lambda path: list(read_captions_file(path))),
    (".json", COCO, lambda path: list(read_caption_json(path))),
    (".json", KARPATHY, lambda path: list(read_caption_json(path))),
    (".jsonl", CAPTION_LINES, lambda path: list(read_caption_jsonl(path))),
    (".tsv", "text\tlabel\na b\tx\n\n가\ty\n", lambda path: list(read_labelled_file(path, "text"))),
    (".tsv", "a.png\tx\nb.png\ty\n", read_labelled_images),
    (".csv", 'id;text;label\n1;"a;b";x\n2;"a\nb";y\n', lambda path: list(read_labelled_file(path, "text"))),
    (".jsonl", LABELS.replace("%s", "text"), lambda path: list(read_labelled_file(path, "text"))),
    (".jsonl", LABELS.replace("%s", "image"), lambda path: list(read_labelled_file(path, "image"))),
    (".conll", CONLLU, read_tagged_words),
    (".conllu", "1\ta\ta\tDET\t_\t_\t2\tdet\t_\t_\n1.1\tb\tb\t_\t_\t_\t_\t_\t_\t_\n\n", read_tagged_words),
    ("-idx3", "\0\0\b\3\0\0\0\2\0\0\0\1\0\0\0\2abcd", read_idx),
]


def fuzz_tables(chance: random.Random, directory: Path) -> None:
    """Captions, labels, tagged words and IDX files; names of images that no folder has are an error."""
    suffix, text, read = chance.choice(TABLES)
    path = directory / f"table{suffix}"
    path.write_bytes(mutate(text.encode(), chance))
    read(path)


def fuzz_image_folders(chance: random.Random, directory: Path) -> None:
    """A folder for each class, with names that nobody would choose: an image is read once, under its folder's name."""
    expected = set[tuple[str, str]]()
    for _ in range(chance.randrange(4)):
        label = mutate(chance.choice([b"cat", b" dog", b".hidden", "가".encode()]), chance)[:200]
        folder = directory / os.fsdecode(label.replace(b"/", b"").replace(b"\0", b"") or b"x")
        with suppress(OSError):  # the name is "..", or was made before
            folder.mkdir()
            for name in chance.sample(["a.png", "b.JPG", "c.txt", "d", ".png", "e.png "], chance.randrange(6)):
                (folder / name).write_bytes(b"")
                if Path(name).suffix.lower() in (".png", ".jpg") and not folder.name.startswith("."):
                    expected.add((str(folder / name), folder.name))
    found = [(str(one.image), one.captions[0]) for one in read_labelled_images(directory)]
    assert sorted(found) == sorted(expected), "an image is missing or has another label"


DOCUMENTS = {
    ".txt": "Hello. Mr. Kim is here! 안녕하세요. \n\nNew paragraph?",
    ".html": '<p class="a">I <b>see</b> &amp; <a href="x>y">you</a><br>again.</p><script>a<b</script><!-- c -->',
    ".srt": "1\n00:00:01,000 --> 00:00:02,000\n<i>Hello</i>\n- you\n\n2\n00:01:00,5 --> 00:02:00,5\n{\\an8}Bye.\n",
    ".po": PAIR_FILES[".po"] + '\nmsgid "Open <b>%s</b> now"\nmsgstr ""\n',
}


def fuzz_documents(chance: random.Random, _directory: Path) -> None:
    """Documents: the parts of a template, joined, are the document to the last character."""
    suffix = chance.choice(sorted(FORMATS))
    content = mutate(DOCUMENTS[suffix if suffix != ".htm" else ".html"].encode(), chance)
    template = read_document(f"a{suffix}", content)
    if suffix != ".po":  # of a catalogue the missing translations are new
        joined = "".join(piece.raw if isinstance(piece, Segment) else piece for piece in template)
        assert joined == content.decode(), "the template is not the document"
    text = content.decode()
    tags = XmlTagRules(ignore=frozenset({"b"}), outline_detection=chance.random() < 0.5)
    assert "".join(piece.raw if isinstance(piece, Segment) else piece for piece in read_xml(text, tags)) == text


def fuzz_images(chance: random.Random, _directory: Path) -> None:
    """Images of every format: a square of the size that was asked for."""
    from PIL import Image

    mode, size = chance.choice(["RGB", "L", "P", "1", "RGBA", "LA", "CMYK", "I;16"]), (chance.randrange(1, 40), 17)
    buffer = BytesIO()
    try:
        Image.new(mode, size, chance.randrange(2)).save(
            buffer, format=chance.choice(["PNG", "JPEG", "GIF", "TIFF", "BMP"])
        )
    except (OSError, ValueError, TypeError):
        return  # the format does not have this mode
    pixels = load_image(mutate(buffer.getvalue(), chance), size=8)
    assert (pixels.shape, pixels.dtype) == ((3, 8, 8), np.uint8), "it is not the square that was asked for"


TARGETS: dict[str, Case] = {
    "bundles": fuzz_bundles,
    "exports": fuzz_exports,
    "toml": fuzz_toml,
    "manifests": fuzz_manifests,
    "readers": fuzz_readers,
    "parallel": fuzz_parallel,
    "tables": fuzz_tables,
    "folders": fuzz_image_folders,
    "documents": fuzz_documents,
    "images": fuzz_images,
}

# --- running ---------------------------------------------------------------------------------------------------------


class TookTooLongError(Exception):
    """A case ran for more than MAX_SECONDS."""


def run_case(target: str, number: int) -> None:
    """Run one case; anything that it raises is wrong."""
    with tempfile.TemporaryDirectory() as directory:
        try:
            TARGETS[target](random.Random(f"{target}:{number}"), Path(directory))
        except RegardError as error:
            if not str(error).strip() or len(str(error)) > 20_000:
                raise AssertionError(f"the error has {len(str(error)):,} characters") from None


def run_cases(target: str, first: int, seconds: float, results: Connection) -> None:
    """Run cases one after another, and send the number of each before it, and its problem after it."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TookTooLongError(f"it took more than {MAX_SECONDS} s")

    signal.signal(signal.SIGVTALRM, stop)  # CPU time: on a busy machine a case may wait
    torch.set_num_threads(1)
    number, until = first, time.monotonic() + seconds
    while time.monotonic() < until:
        results.send((number, None))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        signal.setitimer(signal.ITIMER_VIRTUAL, MAX_SECONDS)
        try:
            run_case(target, number)
            growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) // 1024
            problem = f"it needed {growth} MB" if growth > MAX_MEGABYTES else ""
        except Exception as error:
            problem = "".join(traceback.format_exception_only(error)).strip()[:500]
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        results.send((number, problem))
        number += 1


def fuzz(target: str, seconds: float, first: int = 0) -> tuple[int, dict[int, str]]:
    """The number of cases, and the wrong ones with their problems; a case may end its process or never return."""
    context, wrong, number, until = (
        multiprocessing.get_context("spawn"),
        dict[int, str](),
        first,
        time.monotonic() + seconds,
    )
    while time.monotonic() < until:
        reading, writing = context.Pipe(duplex=False)
        process = context.Process(target=run_cases, args=(target, number, until - time.monotonic(), writing))
        process.start()
        writing.close()
        problem: str | None = None
        try:
            while reading.poll(60 + 4 * MAX_SECONDS):  # the first case waits for the import of torch
                number, problem = reading.recv()
                if problem:
                    wrong[number] = problem
            wrong[number] = "it did not return"
            process.kill()
        except EOFError:
            process.join()
            if process.exitcode:
                wrong[number] = f"it ended the process with code {process.exitcode}"
        process.join()
        number += 1
    return number - first, wrong


def main() -> None:
    """Fuzz the chosen targets, one after another."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"{', '.join([*TARGETS, 'requests'])} [default: all]"
    )
    parser.add_argument("--seconds", type=float, default=120.0, help="for each target")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--case", type=int, help="run this case alone")
    arguments = parser.parse_args()
    if arguments.case is not None:
        for target in arguments.targets:
            run_case(target, arguments.case)
        return
    all_wrong = 0
    for target in arguments.targets or [*TARGETS, "requests"]:
        if target == "requests":
            all_wrong += fuzz_requests(arguments.seconds)
            continue
        cases, wrong = fuzz(target, arguments.seconds, arguments.first)
        print(f"{target:<10} {cases:>8,} cases {len(wrong):>4} wrong", flush=True)
        for number, problem in list(wrong.items())[:10]:
            print(f"    case {number}: {problem}", flush=True)
        all_wrong += len(wrong)
    sys.exit(1 if all_wrong else 0)


def fuzz_requests(seconds: float) -> int:
    """Fuzz a server with a small model; the number of wrong cases."""
    with tempfile.TemporaryDirectory() as directory:
        model = write_small_bundle(Path(directory) / "model")
        command = [sys.executable, "-m", "benchmarks.fuzz_requests", str(model), "--seconds", str(seconds)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    result: dict[str, Any] = json.loads(ended.stdout or '{"cases": 0, "wrong": 1}')
    print(f"{'requests':<10} {result['cases']:>8,} cases {result['wrong']:>4} wrong\n{ended.stderr[-2000:]}".rstrip())
    return int(result["wrong"])


if __name__ == "__main__":
    main()
