"""Pairs cut into tokens by several processes at once, in the order of the files.

Every finished part is kept on disk until the whole is done, so that a run which is killed here goes on where it was.
Processes are spawned, not forked, and each holds no end of a pipe but its own: when the parent is killed they see it
and end, and none of them keeps the run's lock.
"""

import hashlib
import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import chain, islice
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue

import msgspec

from regard.config import DataConfig
from regard.data.packed import PackedPairs, Texts, pack, without_duplicates
from regard.data.readers import Pair
from regard.errors import RegardError
from regard.staged import staged_file
from regard.tokens import Tokenizer

PAIRS_OF_A_PART = 4_000  # several parts are under way at once, in several copies: larger ones would show in memory
TEXT_OF_A_PART = 2**22  # characters; lines may be long
_DIGEST = hashlib.sha256().digest_size
Cut = Callable[[Texts], bytes]  # to packed pairs, encoded


class Cutting(msgspec.Struct, frozen=True):
    """All that decides what becomes of a pair: the bytes of both vocabularies, and the filters."""

    source: bytes
    target: bytes
    data: DataConfig


def tokenised(pairs: Iterable[Pair], cutting: Cutting, *, parts: Path, processes: int) -> Iterator[PackedPairs]:
    """The pairs that pass the filters, the same whatever the number of processes; `parts` holds what is done.

    The name of `parts` must tell the pairs and the cutting: what is found there is taken as done.
    """
    blocks = _blocks(pairs, cutting, parts, processes)
    return without_duplicates(blocks) if cutting.data.deduplicate else blocks


def _blocks(pairs: Iterable[Pair], cutting: Cutting, parts: Path, processes: int) -> Iterator[PackedPairs]:
    remaining = _chunks(pairs)
    beginning = list(islice(remaining, 2))
    if len(beginning) < 2:  # so little that neither processes nor parts are worth their while
        yield from (_decoded(_cutter(cutting)(chunk)) for chunk in beginning)
        return
    parts.mkdir(parents=True, exist_ok=True)
    numbered = ((parts / f"{index:08d}", chunk) for index, chunk in enumerate(chain(beginning, remaining)))
    if processes == 1:
        cut = _cutter(cutting)
        yield from (_decoded(_part(path, chunk, cut)) for path, chunk in numbered)
    else:
        yield from map(_decoded, _by_team(numbered, cutting, processes))


def _by_team(numbered: Iterator[tuple[Path, Texts]], cutting: Cutting, processes: int) -> Iterator[bytes]:
    """The parts in their order, while later ones are under way; the threads do nothing but wait for processes."""
    # Twice as many threads as processes: while one waits for the disk, another keeps its process busy.
    with _team(cutting, processes) as cut, ThreadPoolExecutor(2 * processes) as threads:
        waiting: deque[Future[bytes]] = deque()
        try:
            for path, chunk in numbered:
                waiting.append(threads.submit(_part, path, chunk, cut))
                if len(waiting) > 2 * processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            threads.shutdown(cancel_futures=True)


def _chunks(pairs: Iterable[Pair]) -> Iterator[Texts]:
    """Texts in groups whose borders depend on nothing but the pairs."""
    chunk: Texts = []
    size = 0
    for source, target, _ in pairs:
        chunk.append((source, target))
        size += len(source) + len(target)
        if len(chunk) == PAIRS_OF_A_PART or size >= TEXT_OF_A_PART:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _part(path: Path, chunk: Texts, cut: Cut) -> bytes:
    """A chunk's packed pairs: as an earlier run left them, or cut now and left for a later one."""
    with suppress(FileNotFoundError):
        content = path.read_bytes()
        if hashlib.sha256(content[_DIGEST:]).digest() == content[:_DIGEST]:
            return content[_DIGEST:]
    packed = cut(chunk)
    try:
        with staged_file(path) as file:
            file.write(hashlib.sha256(packed).digest() + packed)
    except OSError as error:
        reason = f"{path} cannot be written: {error.strerror} ({len(packed):,} bytes)"
        raise RegardError(f"{reason}. Make room, then try again: what is done is kept.") from None
    return packed


def _decoded(packed: bytes) -> PackedPairs:
    return msgspec.msgpack.decode(packed, type=PackedPairs)


def _cutter(cutting: Cutting) -> Cut:
    source, target = Tokenizer.from_bytes(cutting.source), Tokenizer.from_bytes(cutting.target)

    def cut(chunk: Texts) -> bytes:
        source_ids = source.encode_all([text for text, _ in chunk])
        target_ids = target.encode_all([text for _, text in chunk])
        return msgspec.msgpack.encode(pack(chunk, source_ids, target_ids, cutting.data))

    return cut


@contextmanager
def _team(cutting: Cutting, processes: int) -> Iterator[Cut]:
    """A function that any thread may call: it has the work done by a process that is free."""
    free: SimpleQueue[Connection] = SimpleQueue()
    members = [_hire() for _ in range(processes)]

    def cut(chunk: Texts) -> bytes:
        connection = free.get()
        try:
            with _alive():
                connection.send_bytes(msgspec.msgpack.encode(chunk))
                return connection.recv_bytes()
        finally:
            free.put(connection)

    try:
        for connection, _ in members:
            with _alive():
                connection.send_bytes(msgspec.msgpack.encode(cutting))
            free.put(connection)
        yield cut
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
    """The life of a spawned process: a cutting, then chunks in, packed pairs out, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the parent ends us
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        cut = _cutter(msgspec.msgpack.decode(connection.recv_bytes(), type=Cutting))
        while True:
            connection.send_bytes(cut(msgspec.msgpack.decode(connection.recv_bytes(), type=Texts)))
