"""A set of 64-bit hashes that stays small: 10 million of them take 134 MB, where Python's own set takes about 1 GB."""

from array import array
from hashlib import blake2b

from regard.spelling import composed


def hash_of(source: bytes, target: bytes) -> int:
    """A 64-bit hash of a pair of lines, never zero; in 10 million any two agree with a chance of 3 in a million."""
    digest = blake2b(source + b"\n" + target, digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


def plain(line: bytes) -> bytes:
    """The line as it is compared with others: composed, and without white space around it."""
    return line.strip() if line.isascii() else composed(line.decode("utf-8")).strip().encode("utf-8")


class SeenHashes:
    """Open addressing in a table that is at most two thirds full: 12 to 24 bytes a hash, 36 while it grows."""

    def __init__(self) -> None:
        self._slots = array("Q", [0]) * 1024  # a power of two; zero is a free slot
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, value: int) -> bool:
        """Put the hash in; returns whether it is new."""
        slot = self._find(value)
        if self._slots[slot] == value:
            return False
        self._slots[slot] = value
        self._count += 1
        if 3 * self._count > 2 * len(self._slots):
            self._grow()
        return True

    def _find(self, value: int) -> int:
        slots, last = self._slots, len(self._slots) - 1
        slot = value & last
        while slots[slot] not in (0, value):
            slot = (slot + 1) & last
        return slot

    def _grow(self) -> None:
        full = self._slots
        self._slots = array("Q", [0]) * (2 * len(full))
        for value in full:
            if value:
                self._slots[self._find(value)] = value
