"""A corpus tokenised by several processes at once, in the order of the files.

Every finished part stays on disk until the whole corpus is done, so a run that was killed here continues where it was.
Processes are spawned, not forked: they inherit no file of the parent, in particular not the lock of the run. When the
parent is killed, they exit.
"""

import multiprocessing
import os
import signal
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path

import msgspec

from regard.config import DataConfig
from regard.data.pair_readers.text import PairBlock
from regard.data.token_store import PackedPairs, drop_duplicates, pack
from regard.errors import RegardError
from regard.tokenization.tokenizer import Tokenizer

JOB_FILE = "job"  # beside the parts
_CHECKSUM_BYTES = 4  # before the content of a part


class TokenizeJob(msgspec.Struct, frozen=True):
    """Everything that decides the result for a pair: both tokenizer models, the filters, and the pairs held out."""

    source: bytes
    target: bytes
    data: DataConfig
    held_out: list[int] = []  # hashes of pairs
    monolingual: bool = False  # the sources are empty, or labels, which are kept as text


TokenizeBlock = Callable[[PairBlock], PackedPairs]


def tokenize_corpus(
    blocks: Iterable[PairBlock], job: TokenizeJob, *, parts: Path, processes: int
) -> Iterator[PackedPairs]:
    """The pairs that pass the filters, the same for any number of processes.

    Finished parts are kept in `parts`. Its name must identify the job, because parts found there are used.
    """
    packed = _tokenize_parts(iter(blocks), job, parts, processes)
    return drop_duplicates(packed) if job.data.deduplicate else packed


def _tokenize_parts(
    blocks: Iterator[PairBlock], job: TokenizeJob, parts: Path, processes: int
) -> Iterator[PackedPairs]:
    beginning = list(islice(blocks, 2))
    if len(beginning) < 2:  # too little for processes and parts
        yield from map(_block_tokenizer(job), beginning)
        return
    parts.mkdir(parents=True, exist_ok=True)
    numbered = ((parts / f"{index:08d}", block) for index, block in enumerate(chain(beginning, blocks)))
    if processes == 1:
        tokenize = _block_tokenizer(job)
        for path, block in numbered:
            _finish_part(path, block, tokenize)
            yield _read_part(path)
    else:
        yield from _tokenize_in_processes(numbered, job, parts / JOB_FILE, processes)


def _tokenize_in_processes(
    numbered: Iterator[tuple[Path, PairBlock]], job: TokenizeJob, job_file: Path, processes: int
) -> Iterator[PackedPairs]:
    """The parts in order, while later ones are in progress; at most two per process, which bounds the memory."""
    # A file, not an argument: a process that dies before it reads large arguments blocks its parent forever.
    job_file.write_bytes(msgspec.msgpack.encode(job))
    executor = ProcessPoolExecutor(
        processes, multiprocessing.get_context("spawn"), initializer=_start_worker, initargs=(job_file,)
    )
    pending: deque[tuple[Path, Future[None]]] = deque()
    try:
        for path, block in numbered:
            pending.append((path, executor.submit(_work, path, block)))
            if len(pending) > 2 * processes:
                yield _wait_for_part(*pending.popleft())
        while pending:
            yield _wait_for_part(*pending.popleft())
    except BrokenProcessPool:
        raise RegardError(
            "a process that tokenises text has died, possibly because memory ran out. Retry: finished parts are kept. "
            '(A script must do its work under `if __name__ == "__main__":`.)'
        ) from None
    finally:
        executor.shutdown(cancel_futures=True)


def _wait_for_part(path: Path, finished: Future[None]) -> PackedPairs:
    finished.result()
    return _read_part(path)


def _read_part(path: Path) -> PackedPairs:
    content = memoryview(path.read_bytes())
    return msgspec.msgpack.decode(content[_CHECKSUM_BYTES:], type=PackedPairs)


def _finish_part(path: Path, block: PairBlock, tokenize: TokenizeBlock) -> None:
    """Tokenise a block and write the part, unless an earlier run has done it."""
    with suppress(OSError):
        content = memoryview(path.read_bytes())
        if _checksum(block, content[_CHECKSUM_BYTES:]) == content[:_CHECKSUM_BYTES]:
            return
    content = memoryview(msgspec.msgpack.encode(tokenize(block)))
    # Not synced: a part that a power failure damages fails the checksum and is tokenised again.
    staging = Path(f"{path}.new-{os.getpid()}")
    try:
        with staging.open("wb", buffering=0) as file:
            file.write(_checksum(block, content))
            file.write(content)
        staging.replace(path)
    except OSError as error:
        reason = f"{path} cannot be written: {error.strerror} ({len(content):,} bytes)"
        raise RegardError(f"{reason}. Free some space and retry: finished parts are kept.") from None


def _checksum(block: PairBlock, content: memoryview) -> bytes:
    """Over the pairs and the result: a part that is incomplete, or made from other pairs, is not used."""
    checksum = zlib.crc32(content, zlib.crc32(block.targets, zlib.crc32(block.sources)))
    return checksum.to_bytes(_CHECKSUM_BYTES, "little")


def _block_tokenizer(job: TokenizeJob) -> TokenizeBlock:
    source, target = Tokenizer.from_bytes(job.source), Tokenizer.from_bytes(job.target)

    def tokenize(block: PairBlock) -> PackedPairs:
        sources, targets = block.texts()
        source_ids = [b""] * len(sources) if job.monolingual else source.encode_to_bytes(sources)
        rows = source_ids, target.encode_to_bytes(targets)
        return pack(block, *rows, job.data, held_out=job.held_out, monolingual=job.monolingual)

    return tokenize


# --- in a spawned process --------------------------------------------------------------------------------------------

_tokenize: TokenizeBlock


def _start_worker(job_file: Path) -> None:
    global _tokenize  # noqa: PLW0603  (the executor gives an initializer no other place)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the parent shuts the others down
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    _tokenize = _block_tokenizer(msgspec.msgpack.decode(job_file.read_bytes(), type=TokenizeJob))


def _exit_with_parent() -> None:
    """Each worker holds both ends of the executor's queue, so it would never see that the parent was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(path: Path, block: PairBlock) -> None:
    _finish_part(path, block, _tokenize)
