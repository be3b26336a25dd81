"""Raw or packed: what suits the machine's memory, where nobody says."""

from __future__ import annotations

import logging

import psutil

from ..errors import GraphError, ParameterError
from ..graph.graph import ENCODINGS, PACKED, RAW, Graph
from ..sizes import parse_bytes, show_bytes

log = logging.getLogger("garaph_py")

AUTO = "auto"
RUN_SHARE = 0.8
"""Of the memory that is available, what a graph's arrays may take: a run needs a quarter of them more."""


def check_encoding(encoding: str) -> str:
    if encoding not in (AUTO, *ENCODINGS):
        raise ParameterError(f"encoding={encoding!r}: choose from {', '.join((AUTO, *ENCODINGS))}")
    return encoding


def encoding_to_save(encoding: str, raw_bytes: int) -> str:
    """`encoding`, or for ``"auto"`` packed where the raw arrays take more than half of the machine's memory."""
    if check_encoding(encoding) != AUTO:
        return encoding
    return PACKED if 2 * raw_bytes > psutil.virtual_memory().total else RAW


def memory_limit(memory: int | str | None) -> int:
    """Bytes that a graph's arrays may take: as said, or four fifths of what is available now."""
    return int(psutil.virtual_memory().available * RUN_SHARE) if memory is None else parse_bytes(memory, "memory")


def encoding_to_open(encoding: str, name: object, raw_bytes: int, limit: int) -> str:
    """`encoding`, or for ``"auto"`` packed where the raw arrays exceed `limit`, which is then logged."""
    if check_encoding(encoding) != AUTO:
        return encoding
    if raw_bytes <= limit:
        return RAW
    raw, may = show_bytes(raw_bytes), show_bytes(limit)
    log.warning("%s: its arrays take %s raw, and %s may be used: packed in memory", name, raw, may)
    return PACKED


def check_fits(name: object, how: str, needed: int, limit: int) -> None:
    if needed > limit:
        problem = f"{how} its arrays take {show_bytes(needed)}, and {show_bytes(limit)} of memory may be used"
        raise GraphError(f"{name}: {problem}; allow more (memory), or use a machine with more")


def fitted(graph: Graph, name: object, limit: int, threads: int | None) -> Graph:
    """`graph`, made of what is at `name`, packed if it has to be to fit `limit` bytes.

    Raises
    ------
    GraphError
        If it does not fit packed, either.
    """
    if graph.encoding == RAW and encoding_to_open(AUTO, name, graph.nbytes, limit) == PACKED:
        graph = graph.packed(threads)
        check_fits(name, PACKED, graph.nbytes, limit)
    return graph
