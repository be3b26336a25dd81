"""`Settings`: how a run uses a GPU, a part of its plan."""

from __future__ import annotations

from dataclasses import dataclass

from ..modes import COPIED

STREAMS = 4
"""Pages that may be under way on the GPU, where the user does not say."""


@dataclass(frozen=True)
class Settings:
    """How to use the GPU.

    Attributes
    ----------
    memory : int or None
        Bytes of the GPU's memory to use; None for a share of what is free (`memory_plan.FREE_SHARE`).
    streams : int
        Pages that may be under way at once.
    gather : {"auto", "replicated", "segmented", "packed"}
    replication : {"custom", "calibrated"} or int
        Copies of each sum, for ``"replicated"``: by Garaph's equation 2, by a measurement, or so many.
    page_edges : int or None
        Bound on a page's edges, if the user gave one.
    deterministic : bool
        The memory, and so the pages, must not depend on what is free (`memory_plan.DETERMINISTIC_SHARE`).
    iterations : int or None
        The most iterations that there will be, within which packing the edges has to pay; None if nothing bounds them.
    threads : int or None
        Threads of the CPU that pack edges; None for every core that this process may use.
    transfer : str
        How edges that do not stay on the GPU get there: a name in `transfer.TRANSFERS`.
    """

    memory: int | None = None
    streams: int = STREAMS
    gather: str = "auto"
    replication: str | int = "custom"
    page_edges: int | None = None
    deterministic: bool = False
    iterations: int | None = None
    threads: int | None = None
    transfer: str = COPIED
