"""Translate files on a Ray cluster: Ray Data runs a task for each part of a file and returns the results in order.

A task is stateless, so that Ray repeats it on another machine if its worker dies; a worker process keeps its model for
later tasks. The model and the input files must have the same paths on every machine. Only the process that started the
run writes the outputs, so that everything about saving and continuing is in `translate_files`.

A gzip file is one part, because it can only be read from its start: give several.
"""

import logging
import os
from collections.abc import Iterable, Iterator
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from regard.config import DecodingConfig
from regard.data.text_lines import LineRange, lines_between, numbered_lines, split_lines
from regard.errors import RegardError
from regard.inference.interface import EngineName
from regard.inference.open import load
from regard.inference.translate_files import Chunks, FileTask, OutputFormat, TranslatedChunk, translate_chunks
from regard.inference.translator import CHUNK_LINES, Translator
from regard.interop.ctranslate2 import Quantization

PART_LINES = 4 * CHUNK_LINES  # of one task: some seconds of work
INSTALL_HINT = "pip install 'regard[ray]'"


class RayJob(msgspec.Struct, frozen=True):
    """What every worker needs to translate."""

    model: Path
    engine: EngineName
    quantization: Quantization | None
    config: DecodingConfig
    wanted: OutputFormat


class FilePart(msgspec.Struct, frozen=True):
    """Lines of a file that one task translates: those between two bytes, or for gzip all after `done`."""

    file: int
    path: str
    done: int  # lines before them
    start: int = 0
    stop: int = -1
    is_last: bool = True


class PartResult(msgspec.Struct, frozen=True):
    """A translated chunk of a part; None: the file is complete."""

    file: int
    done: int  # lines before it
    chunk: TranslatedChunk | None


def ray_chunks(tasks: list[FileTask], job: RayJob, address: str) -> Chunks:
    """Chunks translated by the cluster at this address ("local": one that is started here), in order."""
    _connect(address)
    results: Iterator[PartResult] | None = None

    def chunks(index: int, done: int) -> Iterator[TranslatedChunk]:
        nonlocal results
        results = results or _translate_parts(list(_file_parts(tasks, index, done)), job)
        for result in results:  # one stream for all files
            if (result.file, result.done) != (index, done):
                break
            if result.chunk is None:
                return
            yield result.chunk
            done += result.chunk.lines
        raise RuntimeError(f"Ray did not return what follows line {done} of {tasks[index].source}")

    return chunks


def _connect(address: str) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    try:
        import ray
        import ray.data
    except ImportError:
        raise RegardError(f"Ray is not installed. Install it with: {INSTALL_HINT}") from None
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    if not ray.is_initialized():
        try:
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, include_dashboard=False)
        except Exception as error:  # Ray raises plain exceptions, such as for a node that does not start in time
            reason = (str(error).strip() or "no reason given").splitlines()[0]
            raise RegardError(f"no Ray cluster can be reached at {address}: {reason} Start one: ray start") from None


def _file_parts(tasks: list[FileTask], first: int, done: int) -> Iterator[FilePart]:
    """Every part from line `done` of file `first` on."""
    for index, task in enumerate(tasks[first:], start=first):
        path, name = task.source.absolute(), str(task.source.absolute())
        if path.suffix.lower() == ".gz":
            yield FilePart(index, name, done)
        else:
            parts = list(split_lines(path, PART_LINES, done=done))
            for part in parts:
                yield FilePart(index, name, part.done, part.start, part.stop, is_last=part is parts[-1])
            if not parts:
                yield FilePart(index, name, done, 0, 0)
        done = 0


def _translate_parts(parts: list[FilePart], job: RayJob) -> Iterator[PartResult]:
    import ray.data
    from ray.exceptions import RayError

    rows = [{"part": msgspec.msgpack.encode(part)} for part in parts]
    dataset = ray.data.from_items(rows, override_num_blocks=len(rows))
    translated = dataset.map_batches(partial(_translate_part, job=job), batch_size=1, num_cpus=1)
    try:
        for row in translated.iter_rows():
            yield msgspec.msgpack.decode(row["result"], type=PartResult)
    except RayError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, RegardError):
            cause = cause.__cause__
        raise cause or error from None


def _translate_part(batch: dict[str, Any], job: RayJob) -> Iterator[dict[str, Any]]:
    """What a worker does: the results of one part, a chunk at a time."""
    part = msgspec.msgpack.decode(batch["part"][0], type=FilePart)
    if part.stop < 0:
        lines: Iterable[str] = (line for _, line in islice(numbered_lines(Path(part.path)), part.done, None))
    else:
        lines = lines_between(LineRange(Path(part.path), part.done, part.start, part.stop)) if part.stop else []
    done, translator = part.done, _open(job.model, job.engine, job.quantization, job.wanted.alignments)
    for chunk in translate_chunks(translator, lines, job.config, job.wanted, done=done):
        yield _row(PartResult(part.file, done, chunk))
        done += chunk.lines
    if part.is_last:
        yield _row(PartResult(part.file, done, None))


def _row(result: PartResult) -> dict[str, Any]:
    return {"result": np.array([msgspec.msgpack.encode(result)], dtype=object)}


@cache
def _open(model: Path, engine: EngineName, quantization: Quantization | None, with_weights: bool) -> Translator:
    """The model of this worker process, which later tasks use again."""
    return load(model, task="translation", engine=engine, quantization=quantization, with_weights=with_weights)
