"""`Settings`, the part of a run's plan that says how the run uses a GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..modes import COPIED
from ..partitions import PartitionCounts, TransferTask
from .parts import Part

GIVEN, HUB = "given", "hub"
"""Ways in which a GPU may number vertices: by the user's numbers, or in hub order (`order.Order`)."""
STREAMS = 4
"""Streamed pages that may be in flight at once, by default."""


MANAGED = "unified"
"""How edges reach a GPU: they are in unified memory, whose pages the driver moves."""
VERTICES, QUEUE, SHARED, SHADOWS, PARTITIONS = "vertices", "queue", "shared", "shadows", "partitions"
"""How threads divide lists: all vertices are looked at, each by a warp or a thread; a warp takes a vertex of the queue;
warps share the queue's short lists; a thread takes a shadow vertex; as with the first two, partition by partition."""
PREFETCH, ACCESSED_BY, PREFERRED, READ_MOSTLY = "prefetch", "accessed by", "preferred location", "read mostly"
"""Hints to the driver about unified memory."""
BY_PRIORITY = "by priority"
"""Grus's Algorithm 1, instead of these hints."""


@dataclass(frozen=True, kw_only=True)
class PartitionPush:
    """How a run transfers lists partition by partition (push_partitions.py).

    Attributes
    ----------
    plan : callable
        ``plan(counts)`` gives the tasks of a superstep.
    ways : tuple of str
        The transfers that these may have.
    nbytes : int
        Bytes of a partition's edges at most.
    combined : int
        Most partitions that one task copies.
    recomputes : bool
        What is copied is processed twice, in asynchronous runs.
    overlaps : bool
        Copies go on while kernels run.
    looks_at_all : bool
        Kernels look at all vertices of what is copied.
    keeps : bool
        The partitions that are needed most stay in the GPU's memory.
    in_turn : bool
        Deltas are applied after each task.
    """

    plan: Callable[[PartitionCounts], list[TransferTask]]
    ways: tuple[str, ...]
    nbytes: int
    combined: int
    recomputes: bool
    overlaps: bool
    looks_at_all: bool
    keeps: bool = False
    in_turn: bool = False


@dataclass(frozen=True, kw_only=True)
class ListPush:
    """How a run that only pushes reads the lists of out-edges.

    Attributes
    ----------
    where : {"resident", "zero-copy", "unified"}
        How they reach the GPU.
    division : {"vertices", "queue", "shared", "shadows", "partitions"}
        How threads divide them.
    thread_each : bool
        With ``"vertices"``: a thread has a list, not a warp.
    splits : bool
        A list of many edges is split into pieces, with a warp each (`header.PIECE`).
    aligns : bool
        A warp begins at a multiple of 128 bytes.
    element_bytes : {4, 8}
        Bytes of a target.
    degree_limit : int
        With ``"shadows"``: most edges of a shadow vertex.
    prefetches : bool
        With ``"shadows"``: threads fetch their neighbours to shared memory first.
    byte_map : bool
        Pushes mark what they change in a map of bytes, without atomics.
    hints : tuple of str
        Hints to the driver about unified memory.
    taus : (float, float)
        With ``"by priority"``: the part of the free memory that is filled with edges if not all fit, in a run that one
        vertex begins, and in another.
    partitions : PartitionPush, optional
        With ``"partitions"``: how these reach the GPU.
    """

    where: str
    division: str
    thread_each: bool = False
    splits: bool = False
    aligns: bool = False
    element_bytes: int = 4
    degree_limit: int = 1
    prefetches: bool = False
    byte_map: bool = False
    hints: tuple[str, ...] = ()
    taus: tuple[float, float] = (1.0, 1.0)
    partitions: PartitionPush | None = None


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
    every_edge : bool
        A vertex gathers along all its in-edges, also where `done` would end the gather.
    all_vertices : bool
        For this number, and the vertices of a shard, those without in-edges count too. They never do in
        ``"calibrated"``.
    work_items : bool
        ``"replicated"`` divides a shard of many edges among several blocks. Otherwise each shard has one block.
    page_edges : int or None
        Bound on a page's edges; None if the plan chooses it.
    deterministic : bool
        Whether the pages must be the same in every run. The memory used then does not depend on how much is free
        (`memory_plan.DETERMINISTIC_SHARE`), unless too little is free.
    iterations : int or None
        Bound on the run's iterations, within which packing the edges must pay for itself; None if there is none.
    threads : int or None
        CPU threads that pack edges; None for one per available core.
    offsets : bool
        Edges come with the 16-bit offsets of their destinations, for ``"replicated"`` over raw edges in memory.
    keep : bool
        Edges that fit stay in the GPU's memory. Otherwise every iteration copies all pages.
    two_threads : bool
        One thread transmits streamed pages, another launches their kernels. Otherwise one does both.
    transfer : str
        How the edges of streamed pages get to the GPU: a name in `transfer.TRANSFERS`.
    zero_copy : bool
        A run that needs few of the edges, or whose graph is small, reads those that do not fit from host memory
        (`mapped.MappedEdges`).
    page_by_page : bool
        Each iteration says for single pages whether they are copied or read from host memory.
    order : {"given", "hub", "auto"}
        How the GPU numbers vertices where it may choose (`order.may_order`): ``"auto"`` makes the hub order once it
        pays, ``"hub"`` at once.
    components : bool
        The run finds connected components.
    pushes : bool
        Iterations may push, so a directed graph's out-edges are worth room, and so are sums to push deltas to.
    chains : bool
        The GPU may do several supersteps without the host: nobody looks at the state in between.
    pushes_if_cheaper : bool
        A relaxation that may push does so wherever a pull costs more; no CPU takes pages of pulls.
    lists : ListPush or None
        Every iteration pushes along lists of out-edges, in this way.
    part : Part or None
        The vertices whose in-edges this GPU has, if several share the graph.
    gpus : int
        How many share it.
    fetch : bool
        The host gets the answer at the end of the run. Otherwise it may stay on the GPU.
    """

    memory: int | None = None
    streams: int = STREAMS
    gather: str = "auto"
    replication: str | int = "custom"
    every_edge: bool = False
    all_vertices: bool = False
    work_items: bool = True
    page_edges: int | None = None
    deterministic: bool = False
    iterations: int | None = None
    threads: int | None = None
    offsets: bool = False
    keep: bool = True
    two_threads: bool = False
    transfer: str = COPIED
    zero_copy: bool = False
    page_by_page: bool = False
    order: str = GIVEN
    components: bool = False
    pushes: bool = False
    chains: bool = False
    pushes_if_cheaper: bool = False
    lists: ListPush | None = None
    part: Part | None = None
    gpus: int = 1
    fetch: bool = True

    def of_part(self, part: Part, gpus: int = 1) -> Settings:
        """The same for one of the `gpus` that share the graph: it uses no mode that needs all edges."""
        return replace(
            self, part=part, gpus=gpus, order=GIVEN, components=self.components and gpus > 1,
            pushes=self.pushes and gpus > 1, chains=False, fetch=True,
            page_by_page=False,
        )  # fmt: skip
