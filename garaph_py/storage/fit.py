"""Raw or packed: what suits the machine's memory, where nobody says."""

from __future__ import annotations

import logging
from dataclasses import replace

from ..codec.arrays import PACKED, RAW
from ..codec.codecs import ENCODINGS
from ..errors import GraphError, ParameterError
from ..graph.graph import Graph
from ..system.memory import available_memory, total_memory
from ..system.sizes import parse_bytes, show_bytes

log = logging.getLogger("garaph_py")

AUTO = "auto"
GRAPH_SHARE = 0.8
"""Of the memory that is available, what a graph's arrays may take: a run needs a quarter of them more."""
RUN_BYTES = 37
"""Of a vertex, what most runs keep beside: two values of sixteen bytes, four sets of vertices, and for a GPU a rank."""


def check_encoding(encoding: str) -> str:
    if encoding not in (AUTO, *ENCODINGS):
        raise ParameterError(f"encoding={encoding!r}: choose from {', '.join((AUTO, *ENCODINGS))}")
    return encoding


def encoding_to_save(encoding: str, raw_bytes: int) -> str:
    """`encoding`, or for ``"auto"`` packed where the raw arrays take more than half of the machine's memory."""
    if check_encoding(encoding) != AUTO:
        return encoding
    return PACKED if 2 * raw_bytes > total_memory() else RAW


def memory_limit(memory: int | str | None) -> int:
    """Bytes that a graph's arrays may take: as said, or four fifths of what is available now."""
    return int(available_memory() * GRAPH_SHARE) if memory is None else parse_bytes(memory, "memory")


def encoding_to_open(encoding: str, raw_bytes: int, limit: int) -> str:
    """`encoding`, or for ``"auto"`` packed where the raw arrays exceed `limit`."""
    if check_encoding(encoding) != AUTO:
        return encoding
    return RAW if raw_bytes <= limit else PACKED


PACKED_HERE, ON_DISK = "packed in memory", "edges stay on disk"


def tell(name: object, what: str, raw_bytes: int, limit: int, beside: int = 0) -> None:
    """Log `what` was done, which nobody asked for, since arrays and `beside` exceed `limit`; all in bytes."""
    runs = f", what runs keep of vertices up to {show_bytes(beside)}" if beside else ""
    raw, may = show_bytes(raw_bytes), show_bytes(limit)
    log.warning("%s: its arrays take %s raw%s, and %s may be used: %s", name, raw, runs, may, what)


class TooLargeError(GraphError):
    """A graph's arrays do not fit the memory that they may take."""


def check_fits(name: object, how: str, nbytes: int, limit: int, more: bool = False) -> None:
    """Raise `TooLargeError` if `nbytes`, or `more` than these, are above `limit`."""
    if nbytes > limit:
        take = f"take {'at least ' if more else ''}{show_bytes(nbytes, up=True)}"
        problem = f"{how} its arrays {take}, and {show_bytes(limit)} of memory may be used"
        raise TooLargeError(f"{name}: {problem}; allow more (memory, --memory), or use a machine with more")


def bytes_held(graph: Graph) -> int:
    """Bytes of the graph's arrays, ids among them."""
    return graph.nbytes + graph.ids.nbytes


def check_run(graph: Graph, needed: int, takes: str, otherwise: str) -> None:
    """Raise `GraphError` if a graph in memory may not take the `needed` bytes that it does with a run.

    It says what `takes` them, with how much memory the graph can be opened and has them, and what to do `otherwise`.
    """
    if graph.memory is None or needed <= graph.memory:
        return
    raw = graph.raw_bytes + graph.ids.nbytes + RUN_BYTES * graph.n
    if needed >= raw:  # with so much it will no longer be packed
        needed += max(graph.raw_bytes - graph.nbytes, 0)
    raise GraphError(
        f"{takes} for graph and vertices, and may take {show_bytes(graph.memory)}; allow {show_bytes(needed, up=True)} "
        f"when the graph is opened (memory, --memory), or {otherwise}"
    )


def fitted(graph: Graph, name: object, encoding: str, limit: int, threads: int | None) -> Graph:
    """`graph`, made of what is at `name`, in `encoding`; for ``"auto"`` packed if it has to be to fit `limit` bytes.

    Raises
    ------
    GraphError
        If it does not fit.
    """
    raw_bytes = bytes_held(graph) + graph.bytes_to_reverse
    packs = graph.encoding == RAW and encoding_to_open(encoding, raw_bytes, limit) == PACKED
    if packs:
        graph = graph.packed(threads)
    check_fits(name, graph.encoding, bytes_held(graph), limit)
    if packs and encoding == AUTO:
        tell(name, PACKED_HERE, raw_bytes, limit)
    return replace(graph, memory=limit)
