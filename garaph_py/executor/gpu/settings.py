"""How to use a GPU: what `garaph_py.run` was asked for, checked."""

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
        Budget in bytes; by default `memory_plan.FREE_SHARE` of what is free.
    streams : int
    gather : {"auto", "replicated", "segmented", "packed"}
    replication : {"custom", "calibrated"} or int
        For ``"replicated"``: equation 2, measured, or a fixed factor.
    page_edges : int or None
        Bound on a page's edges.
    deterministic : bool
        The budget, and so the pages, must not depend on how much memory is free (`memory_plan.DETERMINISTIC_SHARE`).
    iterations : int or None
        How many there will be at most: packing has to pay within them.
    threads : int or None
        Of the CPU, for packing.
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
