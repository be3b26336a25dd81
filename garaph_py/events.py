"""Records of what has happened, for progress bars, traces and callbacks. No part of a run decides by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Step:
    """Progress of a step that is not an iteration, such as reading, building, writing or compiling.

    Attributes
    ----------
    name : str
        The step, in words for people.
    done, total : int
        The progress in `unit`. `total` is 0 while it is not known. The step has ended when ``done == total > 0``.
    unit : str
        ``"bytes"``, ``"edges"``, ``"functions"`` or ``"measurements"``.
    """

    name: str
    done: int
    total: int
    unit: str = "bytes"


class PageGroup(NamedTuple):
    """The pages of an iteration that were processed in the same way.

    Attributes
    ----------
    mode : str
        The direction, as in `Iteration`.
    device : {"cpu", "gpu", "both"}
        The processor; ``"both"`` if it is not known page by page.
    transfer : {"resident", "copied", "compacted", "zero-copy", "unified"} or None
        How their edges reached a GPU: they stay in its memory, were copied there, whole or those of active vertices
        alone, were read from host memory, or are in unified memory. None on the CPU.
    pages, edges : int
        The number of pages, and of edges visited in them.
    """

    mode: str
    device: str
    transfer: str | None
    pages: int
    edges: int

    @property
    def way(self) -> str:
        """How the edges reached a GPU, or otherwise the processor."""
        return self.transfer or self.device


class Iteration(NamedTuple):
    """A finished iteration, which is one pass over all pages (Garaph, section 2.2).

    Attributes
    ----------
    number : int
        The iteration's number, from 0.
    mode : str
        ``"pull"`` or ``"notify-pull"`` (section 4.2); with ``engine="auto"`` also ``"push"``, ``"pull-tiled"`` or
        ``"components"``.
    f : float
        The out-edges of the active vertices, divided by all edges.
    active : int
        The number of vertices that were active when the iteration began.
    edges : int
        The number of in-edges gathered, plus the out-edges followed to notify or to push.
    pages, pages_skipped : int
        The numbers of pages that were processed, and of pages without a vertex to update.
    seconds : float
        The wall time, without compiling.
    device : str
        ``"cpu"``, ``"gpu"`` or ``"both"``.
    to_device, from_device : int
        Bytes copied to the GPU's memory, and back. Edges that were copied in an earlier iteration count in the one that
        first uses them.
    started : float
        When the iteration began, in seconds after the run did.
    why : str
        Why this mode was chosen.
    alpha : float or None
        In runs on CPU and GPU, the expected T_CPU / T_GPU (equation 3). Below 1 the CPU works alone.
    from_disk : int
        Bytes read from disks.
    groups : tuple of PageGroup
        The pages by direction, processor and transfer.
    compile_seconds : float
        The wall time that the iteration spent compiling, apart from `seconds`.
    partitions : object or None
        If the engine chose how the edges of each partition reach the GPU (``"hytgraph"``): what it knew of them, as
        arrays `edges`, `active_vertices`, `active_edges` and `requests`, and the bytes of an edge, `edge_bytes`.
    waited : int
        In a superstep of several that the CPU did in one call, with priorities: the vertices that waited for later
        buckets and were looked at, to open the next one.
    sent : int
        Bytes of values that the workers of a cluster sent to one another after it.
    """

    number: int
    mode: str
    f: float
    active: int
    edges: int
    pages: int
    pages_skipped: int
    seconds: float
    device: str = "cpu"
    to_device: int = 0
    from_device: int = 0
    started: float = 0.0
    why: str = ""
    alpha: float | None = None
    from_disk: int = 0
    groups: tuple[PageGroup, ...] = ()
    compile_seconds: float = 0.0
    partitions: Any = None
    waited: int = 0
    sent: int = 0

    @property
    def ended(self) -> float:
        """When the iteration ended, in seconds after the run began."""
        return self.started + self.compile_seconds + self.seconds

    @property
    def edges_per_second(self) -> float:
        """`edges` divided by `seconds`."""
        return self.edges / self.seconds if self.seconds > 0 else 0.0

    @property
    def ways(self) -> dict[str, int]:
        """The pages that were processed in each way (`PageGroup.way`)."""
        pages: dict[str, int] = {}
        for group in self.groups:
            pages[group.way] = pages.get(group.way, 0) + group.pages
        return pages

    def row(self) -> dict[str, Any]:
        """The iteration as a row of a table: everything but the groups of pages."""
        return {name: getattr(self, name) for name in COLUMNS}


COLUMNS = (
    "number", "mode", "f", "active", "edges", "pages", "pages_skipped", "seconds", "edges_per_second", "device",
    "to_device", "from_device", "from_disk", "alpha", "started", "compile_seconds", "waited", "sent", "why",
)  # fmt: skip
"""The columns of a table of iterations, in order."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that has been written. It survives the end of the process, and a loss of power.

    Attributes
    ----------
    iterations : int
        The number of iterations that the run had done.
    nbytes : int
        The checkpoint's size in bytes.
    seconds : float
        The time it took.
    """

    iterations: int
    nbytes: int
    seconds: float


class Span(NamedTuple):
    """A piece of work in a trace.

    Attributes
    ----------
    track : str
        What did it: ``"cpu 0"``, ``"stream 1"``, ``"copy to device"``, ``"disk nvme0"``, ... The spans of a track do
        not overlap.
    name : str
        What was done.
    start, end : int
        When it started and ended, in nanoseconds of ``time.perf_counter_ns``.
    details : mapping
        Numbers to show with it, such as ``page`` and ``edges``.
    """

    track: str
    name: str
    start: int
    end: int
    details: Mapping[str, Any]


Event = Step | Iteration | Checkpoint
Listener = Callable[[Event], None]


def ignore(event: Event) -> None:
    """A listener that does nothing: the default."""
