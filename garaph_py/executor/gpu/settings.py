"""`Settings`, the part of a run's plan that says how the run uses a GPU."""

from __future__ import annotations

from dataclasses import dataclass

from ..modes import COPIED

GIVEN, HUB = "given", "hub"
"""Ways in which a GPU may number vertices: by the user's numbers, or in hub order (`order.Order`)."""
STREAMS = 4
"""Streamed pages that may be in flight at once, by default."""


@dataclass(frozen=True)
class Settings:
    """How to use the GPU.

    Attributes
    ----------
    memory : int or None
        Bytes of the GPU's memory to use; None for a share of what is free (`memory_plan.FREE_SHARE`).
    streams : int
        Streamed pages that may be in flight at once.
    gather : {"auto", "replicated", "segmented", "packed"}
    replication : {"custom", "calibrated"} or int
        How ``"replicated"`` chooses the number of copies of each accumulator: ``"custom"`` by Garaph's equation 2,
        ``"calibrated"`` by a measurement. An int is the number itself.
    page_edges : int or None
        Bound on a page's edges; None if the plan chooses it.
    deterministic : bool
        Whether the pages must be the same in every run. The memory used then does not depend on how much is free
        (`memory_plan.DETERMINISTIC_SHARE`), unless too little is free.
    iterations : int or None
        Bound on the run's iterations, within which packing the edges must pay for itself; None if there is none.
    threads : int or None
        CPU threads that pack edges; None for one per available core.
    transfer : str
        How the edges of streamed pages get to the GPU: a name in `transfer.TRANSFERS`.
    zero_copy : bool
        A run that needs few of the edges reads those that do not fit from host memory (`mapped.MappedEdges`).
    order : {"given", "hub", "auto"}
        How the GPU numbers vertices where it may choose (`order.may_order`): ``"auto"`` makes the hub order once it
        pays, ``"hub"`` at once.
    components : bool
        The run finds connected components.
    pushes : bool
        Iterations may push, so a directed graph's out-edges are worth room, and so are sums to push deltas to.
    chains : bool
        The GPU may do several supersteps without the host: nobody looks at the state in between.
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
    zero_copy: bool = False
    order: str = GIVEN
    components: bool = False
    pushes: bool = False
    chains: bool = False
