"""The traces that were asked for lately, kept while there is room for them."""

import secrets
from collections import OrderedDict

from regard.serve.refusals import Refusal
from regard.translation.around import arrays_in
from regard.translation.trace import Trace

ROOM = 256 * 2**20  # bytes


class Traces:
    """Traces by id; the one not asked for longest goes first."""

    def __init__(self, room: int = ROOM) -> None:
        self.room = room
        self.bytes = 0
        self._kept: OrderedDict[str, tuple[Trace, int]] = OrderedDict()

    def keep(self, trace: Trace) -> str:
        """The id that the trace has from now on."""
        identity, size = secrets.token_urlsafe(12), bytes_of(trace)
        self._kept[identity] = (trace, size)
        self.bytes += size
        while self.bytes > self.room and len(self._kept) > 1:
            self.bytes -= self._kept.popitem(last=False)[1][1]
        return identity

    def get(self, identity: str) -> Trace:
        """The trace of that id."""
        if identity not in self._kept:
            raise Refusal(404, "trace_gone", "That trace is no longer kept. Ask for it again.")
        self._kept.move_to_end(identity)
        return self._kept[identity][0]


def bytes_of(trace: Trace) -> int:
    """How much memory the trace's own arrays take; the model's matrices are shared."""
    return sum(array.nbytes for array in arrays_in([*trace.numbers, *trace.blocks, trace.spoken]))
