"""The workload of a simulation: a program, the sizes of a graph, and the number of active vertices per iteration."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from ..codec.arrays import RAW
from ..executor.cpu.nearby import NEARBY, SHARE, has_nearby_sources
from ..executor.gpu.memory_plan import array_sizes, reported_bytes, tally_bytes
from ..executor.gpu.parts import Part
from ..executor.gpu.pinned import OWN_PAGES
from ..executor.gpu.residency import VERTICES, Residency, pages_if_resident, plan, plan_to_copy
from ..executor.gpu.settings import STREAMS
from ..executor.gpu.task import TALLY
from ..executor.gpu.task import layout as struct
from ..executor.modes import NOTIFY_PULL, PULL, PUSH
from ..executor.partitions import EDGE_BYTES, PartitionCounts
from ..graph import Graph
from ..graph.build import from_numbered_edges
from ..graph.shape import Shape
from ..pages.layout import Page, cut
from ..pages.layout import layout as lay_out
from ..program import BoundProgram, VertexProgram, bind
from ..program.functions import partial_dtype
from ..program.narrow import may_narrow, narrowed

Array = npt.NDArray[Any]

MAX_RUNS = 1_000_000
"""Maximum number of runs of vertices that describe a graph that is not in memory; pages are cut between runs. Like real
graphs, the model should end in a smaller page; so this is not a power of two, as the bounds of pages are."""
ACTIVE_BITS = 1
"""Bits per vertex that the GPU sends back in addition to the value: whether the vertex is active."""


@dataclass(frozen=True)
class Traits:
    """The facts about a program that the scheduler and the models of processors depend on.

    Attributes
    ----------
    name : str
    value_bytes, edge_value_bytes : int
        Bytes of a vertex's value, and of an edge value if the program reads edge values.
    updates_all_vertices : bool
        Every iteration updates every vertex.
    is_relaxation : bool
        The program may push.
    synchronous : bool
        New values become visible in the next iteration.
    has_buckets : bool
        If the CPU works alone, changed vertices stay pending until their bucket is opened.
    ends_early : bool
        The program's `done` ends a vertex's gather.
    ends_late : bool
        It does so only after several active in-neighbours (`BoundProgram.ends_late`).
    tiles : bool
        Its edges may be gathered by tiles.
    pushes_deltas : bool
        Active vertices may push what their changes add to sums (`BoundProgram.pushes_deltas`).
    prepares : bool
        Its `prepare` rewrites values before each iteration.
    """

    name: str
    value_bytes: int
    edge_value_bytes: int = 0
    updates_all_vertices: bool = False
    is_relaxation: bool = False
    synchronous: bool = True
    has_buckets: bool = False
    ends_early: bool = False
    ends_late: bool = False
    tiles: bool = False
    pushes_deltas: bool = False
    prepares: bool = False

    @classmethod
    def of(cls, bound: BoundProgram, synchronous: bool) -> Traits:
        """The traits of a bound program."""
        has_buckets = bound.is_relaxation and "priority" in bound.arguments and not synchronous
        total = bound.total is not None
        return cls(
            bound.name, bound.value.itemsize, bound.edge_value_bytes, total, bound.is_relaxation, synchronous,
            has_buckets, "done" in bound.arguments, bound.ends_late, synchronous and bound.tiles, bound.pushes_deltas,
            "prepare" in bound.arguments,
        )  # fmt: skip


@dataclass(frozen=True)
class Activity:
    """The active vertices at the beginning of an iteration.

    Attributes
    ----------
    active, active_edges : int
        Number of active vertices, and the sum of their out-degrees.
    gathered : int or None
        In-edges of the vertices that the active ones notify. None if unknown; `active_edges` is then the estimate
        (Garaph section 4.2).
    visited : int or None
        Edges that a pull visits, if the program's `done` ends gathers. None if unknown.
    reached : int
        How many vertices have been active in the iterations before, each time counted.
    counts : PartitionCounts or None
        What each partition has of the active vertices; None if unknown.
    followed : int or None
        Edges that a push follows: fewer than `active_edges` if vertices wait for their bucket. None if unknown.
    waited : int
        Waiting vertices that are looked at to open the next bucket, in a chain; 0 if unknown.
    activated : int
        Vertices that the iteration activates; 0 if unknown.
    reached_edges : int
        The sum of the out-degrees of the vertices in `reached`.
    """

    active: int
    active_edges: int
    gathered: int | None = None
    visited: int | None = None
    reached: int = 0
    counts: PartitionCounts | None = None
    followed: int | None = None
    waited: int = 0
    activated: int = 0
    reached_edges: int = 0


@dataclass(frozen=True)
class Workload:
    """A program over a graph.

    Attributes
    ----------
    traits : Traits
    vertices, edges : int
    offsets : ndarray of int64, shape (k + 1,)
        Edges before each of k runs of vertices of equal length. These are the CSC offsets if k equals `vertices`.
    activities : tuple of Activity
        One for each iteration.
    edge_bytes : float
        Bytes per edge on the link and on disks.
    vertex_bytes : float
        Bytes per vertex in the GPU's memory, for everything but edges.
    on_disks : bool
        The edges are on disks.
    pushes : bool
        The CPU may push: out-edges have the values that the program reads (`GraphArrays.has_valued_out_edges`).
    keep : bool
        Pages that fit stay in the GPU's and in the host's memory; otherwise every iteration copies and reads all pages.
    page_edges : int or None
        Upper bound on a page's edges; by default the planner's bound.
    kernels : tuple of ndarray, or None
        How the GPU's time per edge varies over the graph: ascending numbers of edges from 0 to `edges`, and for each,
        the number of edges of average cost that take as long. None if all edges cost the same.
    known_shape : Shape or None
        The shape of the graph's lists; None if the graph is not at hand.
    known_nearby : bool or None
        Whether sources are nearby (`executor.cpu.nearby`), so that pulls do not prefetch values; None if not known.
    directed : bool
        The out-edges of a vertex are not its in-edges, too.
    """

    traits: Traits
    vertices: int
    edges: int
    offsets: Array
    activities: tuple[Activity, ...]
    edge_bytes: float
    vertex_bytes: float
    on_disks: bool = False
    keep: bool = True
    page_edges: int | None = None
    pushes: bool = True
    kernels: tuple[Array, Array] | None = None
    known_shape: Shape | None = None
    known_nearby: bool | None = None
    directed: bool = True

    @cached_property
    def shape(self) -> Shape:
        """The shape of the graph's lists; that of a random graph of its size if it is not known."""
        return self.known_shape or Shape.expected(self.vertices, self.edges)

    @property
    def nearby(self) -> bool:
        """Whether sources are nearby; as in a random graph of its size if that is not known."""
        if self.known_nearby is None:
            return 1 - max(1 - NEARBY / max(self.vertices, 1), 0.0) ** 2 >= SHARE
        return self.known_nearby

    @property
    def vertex_data(self) -> int:
        """Bytes of the vertex values, which gathers access at random."""
        return self.vertices * self.traits.value_bytes

    @property
    def graph_bytes(self) -> int:
        """Bytes of the vertex values, of the offsets of one direction, and of its edges, without compression."""
        return self.vertex_data + 8 * self.vertices + (4 + self.traits.edge_value_bytes) * self.edges

    @property
    def back_bytes(self) -> float:
        """Bytes per vertex that the GPU sends back."""
        return self.traits.value_bytes + ACTIVE_BITS / 8

    @property
    def is_pinned(self) -> bool:
        """Whether the GPU copies edges from pinned memory (`executor.gpu.pinned`)."""
        return self.on_disks or self.edges * min(EDGE_BYTES, self.traits.edge_value_bytes or EDGE_BYTES) >= OWN_PAGES

    @property
    def fixed(self) -> int:
        """Bytes of the GPU's memory for everything but edges."""
        return int(self.vertices * self.vertex_bytes)

    def gpu_edges(self, page: Page) -> float:
        """The GPU's cost of a page, as a number of edges of average cost."""
        if self.kernels is None:
            return page.edges
        before, after = np.interp([page.first_edge, page.last_edge], *self.kernels)
        return float(after - before)

    def pages(self) -> list[Page]:
        """The pages of a CPU that works alone."""
        return self._pages_of_vertices(lay_out(self.offsets, self.page_edges))

    def residency(self, room: int, keep: bool = True, part: Part | None = None) -> Residency:
        """The pages of a GPU, and which of them are resident, if `room` bytes of its memory are left for edges.

        No page is resident unless both `keep` and the workload's own say so. `part` is the GPU's part of the `offsets`,
        if there are several.

        Raises
        ------
        DeviceMemoryError
            If a page does not fit in the GPU's memory.
        """
        given = self.offsets, UniformEdges(self.edge_bytes), self.fixed, self.fixed + room, STREAMS, self.page_edges
        if keep and self.keep:
            planned = plan(*given, pages_if_resident(self.traits.updates_all_vertices), part)
        else:
            planned = plan_to_copy(*given, part)
        return replace(planned, pages=self._pages_of_vertices(planned.pages))

    def split(self, page: Page, edges: int) -> tuple[Page | None, Page]:
        """Cut a page in two; the second part has about `edges` edges. See `pages.layout.cut`."""
        if len(self.offsets) == self.vertices + 1:
            return cut(self.offsets, page, edges, VERTICES)
        share = (page.last_edge - edges - page.first_edge) / max(page.edges, 1)
        vertex = page.first_vertex + int(share * page.vertices)
        if vertex <= page.first_vertex:
            return None, page
        edge = page.last_edge - edges
        return replace(page, last_vertex=vertex, last_edge=edge), replace(page, first_vertex=vertex, first_edge=edge)

    def _pages_of_vertices(self, pages: list[Page]) -> list[Page]:
        """Convert the bounds of pages from numbers of runs to numbers of vertices."""
        runs = len(self.offsets) - 1
        if runs == self.vertices:
            return pages
        return [replace(
            page, first_vertex=page.first_vertex * self.vertices // runs,
            last_vertex=page.last_vertex * self.vertices // runs,
        ) for page in pages]  # fmt: skip

    @cached_property
    def notified_share(self) -> tuple[Array, Array]:
        """The known shares of gathered edges: ascending shares f of active edges, and for each, the share gathered."""
        known = sorted(
            (one.active_edges / self.edges, one.gathered / self.edges)
            for one in self.activities
            if one.gathered is not None and self.edges
        )
        columns = np.array(known, float).reshape(-1, 2)
        return columns[:, 0], columns[:, 1]

    def gathered(self, activity: Activity) -> int:
        """In-edges of the vertices that the active ones notify."""
        if activity.gathered is not None:
            return activity.gathered
        shares, gathered = self.notified_share
        if len(shares):
            return int(np.interp(activity.active_edges / max(self.edges, 1), shares, gathered) * self.edges)
        return min(activity.active_edges, self.edges)


@dataclass(frozen=True)
class UniformEdges:
    """An `EdgeLayout` with the same number of bytes for every edge."""

    encoding: ClassVar[str] = RAW

    width: float

    def sizes(self, page: Page) -> list[int]:
        return [int(page.edges * self.width)]

    def write_args(self, args: Array, page: Page, addresses: list[int]) -> None:
        raise NotImplementedError("nothing is launched in a simulation")


@lru_cache(maxsize=64)
def even_offsets(vertices: int, edges: int) -> Array:
    """The offsets of at most `MAX_RUNS` runs in a graph whose sizes alone are known.

    Assumes that all vertices have about the same number of edges.
    """
    runs = min(max(vertices, 1), MAX_RUNS)
    numbers = np.arange(runs + 1, dtype=np.int64)
    offsets: Array = numbers * (edges // runs) + numbers * (edges % runs) // runs
    offsets.setflags(write=False)  # callers share it
    return offsets


def bind_for_types(program: VertexProgram, weighted: bool) -> BoundProgram:
    """Bind a program to a graph of two vertices, 0 and 1, which is enough to determine its types."""
    ends = np.array([0, 1]), np.array([1, 0])
    graph = from_numbered_edges(*ends, 2, np.ones(2, np.int32) if weighted else None, directed=False)
    return bind(program, graph)


def device_bytes(bound: BoundProgram, vertices: int, edges: int, directed: bool, synchronous: bool) -> float:
    """Bytes per vertex in the GPU's memory for everything but edges, as `executor.gpu.memory_plan` counts them.

    Assumes that every vertex has in-edges, that no thread block has copies of sums, and that values of 64 bits that
    may be stored in 32 are.
    """
    unknown = SimpleNamespace(derived=())
    given = SimpleNamespace(n=vertices, m=edges, directed=directed, on_disk=False, encoding=RAW, _arrays=unknown)
    graph = cast(Any, given)
    bound = narrowed(bound) if may_narrow(bound, graph) else bound
    arrays = array_sizes(bound, graph, vertices, synchronous)
    others = reported_bytes(bound, vertices) + tally_bytes(vertices, struct(TALLY, Partial=partial_dtype(bound.total)))
    return (sum(arrays.values()) + others) / max(vertices, 1)


@dataclass(frozen=True)
class Layout:
    """Where edges are, and their size; see `Workload` for the attributes. None means the size in this package."""

    edge_bytes: float | None = None
    vertex_bytes: float | None = None
    on_disks: bool = False
    keep: bool = True
    page_edges: int | None = None


def workload_of(
    bound: BoundProgram, graph: Graph | tuple[int, int], activities: Sequence[Activity], *, synchronous: bool,
    directed: bool = True, layout: Layout = Layout(),
) -> Workload:  # fmt: skip
    """The workload of a program over a graph, or over a graph with the given numbers of vertices and edges.

    `directed` applies to the second case only.
    """
    shape = nearby = None
    if isinstance(graph, Graph):
        vertices, edges, offsets, directed = graph.n, graph.m, graph._arrays.in_edges.offsets, graph.directed
        shape, nearby = Shape.of(graph._arrays.in_edges), has_nearby_sources(graph._arrays)
    else:
        (vertices, edges), offsets = graph, even_offsets(*graph)
    traits = Traits.of(bound, synchronous)
    edge_bytes, vertex_bytes = layout.edge_bytes, layout.vertex_bytes
    if edge_bytes is None:
        edge_bytes = 4.0 + traits.edge_value_bytes
    if vertex_bytes is None:
        vertex_bytes = device_bytes(bound, vertices, edges, directed, synchronous)
    return Workload(
        traits, vertices, edges, offsets, tuple(activities), edge_bytes, vertex_bytes, layout.on_disks, layout.keep,
        layout.page_edges, known_shape=shape, known_nearby=nearby, directed=directed,
    )  # fmt: skip


def activities_of(rows: Iterable[Mapping[str, Any]], edges: int) -> list[Activity]:
    """The activities of a run, from the ``f``, ``active``, ``mode`` and visited ``edges`` of its iterations."""
    found: list[Activity] = []
    for row in rows:
        followed = round(row["f"] * edges)
        notified = row["mode"] == NOTIFY_PULL and row["edges"] >= followed
        gathered = row["edges"] - followed if notified else None
        visited, pushed = (row["edges"] if row["mode"] == mode else None for mode in (PULL, PUSH))
        counts = row.get("partitions")
        waited = row.get("waited") or 0  # earlier versions did not write it
        found.append(Activity(row["active"], followed, gathered, visited, 0, counts, pushed, waited))
    return in_order(found)


def in_order(activities: Iterable[Activity]) -> list[Activity]:
    """The same activities, each of which knows which vertices were active before, and how many it activates."""
    own, found, reached, edges = list(activities), [], 0, 0
    for activity, later in itertools.zip_longest(own, own[1:]):
        activated = 0 if later is None else later.active
        found.append(replace(activity, reached=reached, activated=activated, reached_edges=edges))
        reached, edges = reached + activity.active, edges + activity.active_edges
    return found


def scaled(activities: Iterable[Activity], vertices: float, edges: float) -> list[Activity]:
    """Scale activities to a graph with `vertices` times as many vertices and `edges` times as many edges."""
    return [
        Activity(
            max(round(one.active * vertices), min(one.active, 1)),
            round(one.active_edges * edges),
            None if one.gathered is None else round(one.gathered * edges),
            None if one.visited is None else round(one.visited * edges),
            round(one.reached * vertices),
            followed=None if one.followed is None else round(one.followed * edges),
            waited=round(one.waited * vertices),
            activated=round(one.activated * vertices),
            reached_edges=round(one.reached_edges * edges),
        )
        for one in activities
    ]
