"""Pairs cut into tokens by several processes at once, in the order of the files.

Every finished part is kept on disk until the whole is done, so that a run which is killed here goes on where it was.
Processes are spawned, not forked, and each holds no end of a pipe but its own: when the parent is killed they see it
and end, and none of them keeps the run's lock.
"""

import multiprocessing
import os
import signal
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain, islice
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue

import msgspec

from regard.config import DataConfig
from regard.data.packed import PackedPairs, pack, without_duplicates
from regard.data.readers import PairBlock
from regard.errors import RegardError
from regard.tokens import Tokenizer

_CHECKSUM = 4  # bytes before a part's content


class Cutting(msgspec.Struct, frozen=True):
    """All that decides what becomes of a pair: the bytes of both vocabularies, the filters, and what is held out."""

    source: bytes
    target: bytes
    data: DataConfig
    held_out: list[int] = []  # hashes of pairs
    one_sided: bool = False  # text of one language: sources are empty


class Part(msgspec.Struct, frozen=True):
    """A block of pairs to cut, and the path where it is left when it is cut."""

    path: str
    block: PairBlock


Cut = Callable[[PairBlock], PackedPairs]
Finish = Callable[[Part], None]  # has the part cut and left at its path


def tokenised(blocks: Iterable[PairBlock], cutting: Cutting, *, parts: Path, processes: int) -> Iterator[PackedPairs]:
    """The pairs that pass the filters, the same whatever the number of processes; `parts` holds what is done.

    The name of `parts` must tell the cutting: what is found there is taken as done.
    """
    packed = _packed(iter(blocks), cutting, parts, processes)
    return without_duplicates(packed) if cutting.data.deduplicate else packed


def _packed(blocks: Iterator[PairBlock], cutting: Cutting, parts: Path, processes: int) -> Iterator[PackedPairs]:
    beginning = list(islice(blocks, 2))
    if len(beginning) < 2:  # so little that neither processes nor parts are worth their while
        yield from map(_cutter(cutting), beginning)
        return
    parts.mkdir(parents=True, exist_ok=True)
    numbered = (Part(str(parts / f"{index:08d}"), block) for index, block in enumerate(chain(beginning, blocks)))
    if processes == 1:
        finish = partial(_finish, cut=_cutter(cutting))
        yield from (_finished(part, finish) for part in numbered)
    else:
        yield from _by_team(numbered, cutting, processes)


def _by_team(numbered: Iterator[Part], cutting: Cutting, processes: int) -> Iterator[PackedPairs]:
    """The parts in their order, while later ones are under way; the threads do little but wait for processes."""
    # One more than asked for, which are the cores: each waits in turn while its next block is sent. Twice as many
    # threads: while one takes a part from the disk, another keeps its process busy.
    members = processes + 1
    with _team(cutting, members) as finish, ThreadPoolExecutor(2 * members) as threads:
        waiting: deque[Future[PackedPairs]] = deque()
        try:
            for part in numbered:
                waiting.append(threads.submit(_finished, part, finish))
                if len(waiting) > 2 * members:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            threads.shutdown(cancel_futures=True)


def _finished(part: Part, finish: Finish) -> PackedPairs:
    finish(part)
    content = memoryview(Path(part.path).read_bytes())
    return msgspec.msgpack.decode(content[_CHECKSUM:], type=PackedPairs)


def _finish(part: Part, cut: Cut) -> None:
    """Cut a part and leave it for whoever takes it, unless an earlier run has done so."""
    with suppress(OSError):
        content = memoryview(Path(part.path).read_bytes())
        if _checksum(part.block, content[_CHECKSUM:]) == content[:_CHECKSUM]:
            return
    content = memoryview(msgspec.msgpack.encode(cut(part.block)))
    # Not flushed to the disk: what a power cut takes away fails the check, and is cut again.
    staging = Path(f"{part.path}.new-{os.getpid()}")
    try:
        with staging.open("wb", buffering=0) as file:
            file.write(_checksum(part.block, content))
            file.write(content)
        staging.replace(part.path)
    except OSError as error:
        reason = f"{part.path} cannot be written: {error.strerror} ({len(content):,} bytes)"
        raise RegardError(f"{reason}. Make room, then try again: what is done is kept.") from None


def _checksum(block: PairBlock, content: memoryview) -> bytes:
    """Of what was cut and what came of it: a part that is torn, or that was cut from other pairs, is not taken."""
    checksum = zlib.crc32(content, zlib.crc32(block.targets, zlib.crc32(block.sources)))
    return checksum.to_bytes(_CHECKSUM, "little")


def _cutter(cutting: Cutting) -> Cut:
    source, target = Tokenizer.from_bytes(cutting.source), Tokenizer.from_bytes(cutting.target)

    def cut(block: PairBlock) -> PackedPairs:
        sources, targets = block.texts()
        rows = source.encode_rows(sources), target.encode_rows(targets)
        return pack(block, *rows, cutting.data, held_out=cutting.held_out, one_sided=cutting.one_sided)

    return cut


@contextmanager
def _team(cutting: Cutting, processes: int) -> Iterator[Finish]:
    """A function that any thread may call: it has the work done by a process that is free."""
    free: SimpleQueue[Connection] = SimpleQueue()
    members = [_hire() for _ in range(processes)]

    def finish(part: Part) -> None:
        connection = free.get()
        try:
            with _alive():
                connection.send_bytes(msgspec.msgpack.encode(part))
                problem = connection.recv_bytes().decode()
        finally:
            free.put(connection)
        if problem:
            raise RegardError(problem)

    try:
        for connection, _ in members:
            with _alive():
                connection.send_bytes(msgspec.msgpack.encode(cutting))
            free.put(connection)
        yield finish
    finally:
        for connection, process in members:
            connection.close()
            process.join()


def _hire() -> tuple[Connection, multiprocessing.context.SpawnProcess]:
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    # The vocabularies are sent later: a process that dies before it takes large arguments blocks its parent for ever.
    process = spawning.Process(target=_work, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    return ours, process


@contextmanager
def _alive() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError):
        raise RegardError(
            "a process that cuts text into tokens has died, perhaps because memory ran out. Try again: what is done is "
            'kept. (A script of your own must do its work under `if __name__ == "__main__":`.)'
        ) from None


def _work(connection: Connection) -> None:
    """The life of a spawned process: a cutting, then parts to finish, each answered, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the parent ends us
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        cut = _cutter(msgspec.msgpack.decode(connection.recv_bytes(), type=Cutting))
        while True:
            connection.send_bytes(_problem(msgspec.msgpack.decode(connection.recv_bytes(), type=Part), cut).encode())


def _problem(part: Part, cut: Cut) -> str:
    """Finish a part; returns what is wrong with it, or nothing."""
    try:
        _finish(part, cut)
    except RegardError as error:
        return str(error)
    return ""
