"""Decides how a graph fits the memory that it may take: raw, packed, or with its edges on disk."""

from __future__ import annotations

import logging

from ..codec.arrays import PACKED, RAW
from ..codec.codecs import ENCODINGS
from ..errors import GraphError, ParameterError
from ..graph.graph import Graph
from ..system.memory import available_memory, total_memory
from ..system.sizes import parse_bytes, show_bytes

log = logging.getLogger("garaph_py")

AUTO = "auto"
GRAPH_SHARE = 0.8
"""Share of the available memory that a graph's arrays may take by default. A run takes about a quarter more."""
SMALL_SHARE = 0.5
"""Share of the default limit up to which a graph needs no bound: arrays that runs derive from it take no more than the
graph itself."""
RUN_BYTES = 37
"""Bytes per vertex that most runs take beside the graph: two values of 16 bytes, four vertex sets (4 bits), and for a
GPU a rank of 4 bytes."""


def check_encoding(encoding: str) -> str:
    """Return `encoding` if it is a known one; otherwise raise `ParameterError`."""
    if encoding not in (AUTO, *ENCODINGS):
        raise ParameterError(f"encoding={encoding!r}: choose from {', '.join((AUTO, *ENCODINGS))}")
    return encoding


def encoding_to_save(encoding: str, raw_bytes: int) -> str:
    """The encoding to save with; ``"auto"`` becomes packed if the raw arrays exceed half of the machine's memory."""
    if check_encoding(encoding) != AUTO:
        return encoding
    return PACKED if 2 * raw_bytes > total_memory() else RAW


def memory_limit(memory: int | str | None) -> int:
    """Bytes that a graph's arrays may take: `memory`, or by default `GRAPH_SHARE` of the available memory."""
    return int(available_memory() * GRAPH_SHARE) if memory is None else parse_bytes(memory, "memory")


def unbounded(graph: Graph, limit: int) -> Graph:
    """A graph in memory without a bound, if the user gave none and its raw arrays are small beside `limit`.

    A run over a graph without a bound may keep what it makes for later runs (`Graph.memory`).
    """
    is_small = not graph.on_disk and graph._arrays.raw_bytes + graph.ids.nbytes <= SMALL_SHARE * limit
    return graph._replace(memory=None) if is_small else graph


def encoding_to_open(encoding: str, raw_bytes: int, limit: int) -> str:
    """The encoding to open with; ``"auto"`` becomes packed if the raw arrays take more than `limit` bytes."""
    if check_encoding(encoding) != AUTO:
        return encoding
    return RAW if raw_bytes <= limit else PACKED


PACKED_HERE, ON_DISK = "packed in memory", "edges stay on disk"


def log_fallback(name: object, what: str, raw_bytes: int, limit: int, beside: int = 0) -> None:
    """Log `what` was done instead of loading raw arrays, because `raw_bytes` exceed `limit`.

    `beside` is the number of bytes that runs take for vertices.
    """
    runs = f" and a run up to {show_bytes(beside)} for vertices" if beside else ""
    raw, may = show_bytes(raw_bytes), show_bytes(limit)
    log.warning("%s: its arrays take %s raw%s, but only %s may be used: %s", name, raw, runs, may, what)


class TooLargeError(GraphError):
    """A graph's arrays do not fit the memory that they may take."""


def check_fits(name: object, how: str, nbytes: int, limit: int, more: bool = False) -> None:
    """Raise `TooLargeError` if a graph's arrays exceed `limit`. They take `nbytes`; at least that if `more`."""
    if nbytes > limit:
        take = f"take {'at least ' if more else ''}{show_bytes(nbytes, up=True)}"
        problem = f"its {how} arrays {take}, but only {show_bytes(limit)} of memory may be used"
        raise TooLargeError(f"{name}: {problem}; allow more (memory, --memory), or use a machine with more")


def bytes_held(graph: Graph) -> int:
    """Bytes of the graph's arrays, including ids."""
    return graph.nbytes + graph.ids.nbytes


def check_run(graph: Graph, needed: int, takes: str, otherwise: str) -> None:
    """Raise `GraphError` if a graph in memory and a run over it need more bytes than they may take.

    Parameters
    ----------
    graph : Graph
    needed : int
        Bytes that graph and run need together.
    takes : str
        The beginning of the message: what takes how many bytes.
    otherwise : str
        The end of the message: what to do instead of allowing more memory.
    """
    if graph.memory is None or needed <= graph.memory:
        return
    raw = graph._arrays.raw_bytes + graph.ids.nbytes + RUN_BYTES * graph.n
    if needed >= raw:  # with that much memory, `open` will not pack the graph
        needed += max(graph._arrays.raw_bytes - graph.nbytes, 0)
    raise GraphError(
        f"{takes} for graph and vertices, and may take {show_bytes(graph.memory)}; allow {show_bytes(needed, up=True)} "
        f"when the graph is opened (memory, --memory), or {otherwise}"
    )


def fitted(graph: Graph, name: object, encoding: str, limit: int, threads: int | None) -> Graph:
    """The graph in an encoding in which it fits `limit` bytes; ``"auto"`` packs it only if that is necessary.

    `name` is the file or directory from which it was read, for messages.

    Raises
    ------
    GraphError
        If it does not fit.
    """
    raw_bytes = bytes_held(graph) + graph._arrays.bytes_to_reverse
    packs = graph.encoding == RAW and encoding_to_open(encoding, raw_bytes, limit) == PACKED
    if packs:
        graph = graph.packed(threads)
    check_fits(name, graph.encoding, bytes_held(graph), limit)
    if packs and encoding == AUTO:
        log_fallback(name, PACKED_HERE, raw_bytes, limit)
    return graph._replace(memory=limit)
