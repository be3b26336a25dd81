"""What happened, as small typed records: progress bars, traces and callbacks listen; nobody decides by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Step:
    """Progress of a step that is not an iteration: reading, building, writing, compiling.

    Attributes
    ----------
    name : str
        What is being done, for a person.
    done, total : int
        Progress in `unit`; `total` is 0 while it is not known. The step has ended when ``done == total > 0``.
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
        Direction, as in `Iteration`.
    device : {"cpu", "gpu", "both"}
        Who processed them; ``"both"`` where it is not known page by page.
    transfer : {"resident", "copied"} or None
        How their edges reached a GPU: they stay in its memory, or were copied there; None on the CPU.
    pages, edges : int
        How many pages, and edges visited in them.
    """

    mode: str
    device: str
    transfer: str | None
    pages: int
    edges: int


@dataclass(frozen=True)
class Iteration:
    """One finished iteration, that is one pass over all pages (Garaph section 2.2).

    Attributes
    ----------
    number : int
        From 0.
    mode : str
        ``"pull"`` or ``"notify-pull"`` (section 4.2); with ``engine="auto"`` also ``"push"`` or ``"pull-tiled"``.
    f : float
        Estimated share of the vertices to update: out-degrees of the active vertices over all edges.
    active : int
        Vertices active when the iteration began.
    edges : int
        In-edges gathered plus out-edges followed, to notify or to push.
    pages, pages_skipped : int
        Pages processed, and pages with nobody to update.
    seconds : float
        Wall time.
    device : str
        ``"cpu"``, ``"gpu"`` or ``"both"``.
    to_device, from_device : int
        Bytes copied to the GPU's memory and back. Edges that were copied ahead count where they are first used.
    started : float
        Seconds after the run began.
    why : str
        Why this mode.
    alpha : float or None
        T_CPU / T_GPU as expected (equation 3), in runs of both: below 1 the CPU works alone.
    from_disk : int
        Bytes read from disks.
    groups : tuple of PageGroup
        The pages by direction, processor and transfer.
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

    @property
    def edges_per_second(self) -> float:
        return self.edges / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that has been made: it outlasts the process and a loss of power.

    Attributes
    ----------
    iterations : int
        Done by then.
    nbytes : int
    seconds : float
        What it took.
    """

    iterations: int
    nbytes: int
    seconds: float


class Span(NamedTuple):
    """Something that took a while, in a trace.

    Attributes
    ----------
    track : str
        Who did it: ``"cpu 0"``, ``"stream 1"``, ``"copy to device"``, ``"disk nvme0"``, ... One thing at a time.
    name : str
        What was done.
    start, end : int
        Nanoseconds of ``time.perf_counter_ns``.
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
    """The listener of those who do not want to know."""
