"""Push on the GPU: the vertices of the frontier update their out-neighbours.

In an undirected graph the in-edges of a vertex are also its out-edges; of a directed graph, the GPU has both
(out_edges.py). The frontier is listed in a queue, whose edge lists the GPU's warps share. If the host need not see the
state in between, several supersteps are launched at once (chain.py).

If the edges of the pages do not adjoin each other, or are still arriving, each page has a launch, over those lists of
the queue that are in the page. If edges are on disk, only pages that the GPU has are pushed from in this way, and the
host writes all other lists to an edge list (listed_edges.py). If they are in host memory, it does so where a decision
says that this is cheaper than reading them there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy.typing as npt

from ...graph.vertex_set import VertexSet
from ...pages.layout import Page
from ..decision import PageDecision
from ..modes import COMPACTED, GPU, PUSH, RESIDENT, ZERO_COPY
from ..results import PageResult
from ..state import State
from .edges import page_bytes
from .launch import decoding
from .launches import Launches
from .listed_edges import ListedEdges
from .push_cost import far_bytes

Array = npt.NDArray[Any]


class Lists(NamedTuple):
    """The edge lists of all vertices, for kernels that push from them.

    Attributes
    ----------
    task : ndarray
        The kernels' argument.
    stream : pycuda.driver.Stream
        For the kernels.
    way : str
        How the edges reach the GPU.
    copied : int
        Bytes that have just been copied to the GPU for them.
    read : float
        Bytes that kernels read in host memory for each edge that they follow, on the average; of several GPUs, for each
        that all of them follow.
    """

    task: Array
    stream: Any
    way: str
    copied: int = 0
    read: float = 0.0

    def moved(self, edges: int) -> int:
        """Bytes that go over the link to the GPU if kernels follow so many edges."""
        return self.copied + int(edges * self.read)


def push_values(launches: Launches, state: State) -> PageResult:
    """Push from the frontier in one superstep: new values replace the old ones. The context must be current."""
    way, moved = push_along(launches, state, "push_queue")
    return result_of(launches.read_tallies(), state.active_edges, way, moved)


def push_along(launches: Launches, state: State, kernel: str) -> tuple[str, int]:
    """Launch a kernel that pushes along the out-edges of the active vertices: along the lists of all, or page by page.

    Returns how the edges reach the GPU, and the bytes that went over the link for them.
    """
    listed = launches.placed.listed if launches.placed.on_disk or launches.placed.compacts else None
    lists = None if launches.placed.compacts else lists_of(launches)
    if lists is not None:
        list_frontier(launches, lists.stream, lists.task)
        launches.launcher.on_all(decoding(kernel, lists.task), lists.stream, lists.task)
        return lists.way, lists.moved(state.active_edges)
    every, pages = launches.tasks.of_all(), launches.pages
    if listed is not None:
        every["context"]["copies_by_vertex"] = 1
        pages = pages_to_use(launches, listed)
    list_frontier(launches, None, every)

    def push_page(page: Page, stream: Any, task: Array) -> None:
        task["page"]["listed"] = every["page"]["tally"]
        task["context"]["copies_by_vertex"] = every["context"]["copies_by_vertex"]
        launches.launcher.on_all(decoding(kernel, task), stream, task)

    moved = sum(launches.on_each(pages, push_page).values()) if pages else 0
    if listed is None or len(pages) == len(launches.pages):
        return RESIDENT, moved
    before = launches.source.bytes_read
    moved += listed.push(outside(state.frontier, pages), every)
    listed.read += launches.source.bytes_read - before
    return COMPACTED if moved else RESIDENT, moved


def pages_to_use(launches: Launches, listed: ListedEdges) -> list[Page]:
    """The pages that a push uses on the GPU: those that are there, or all that may stay there, once reading lists has
    cost as much as reading those that are missing."""
    if launches.placed.is_directed:
        return []
    staying, layout = launches.placed.residency.here, launches.placed.edges.arrays
    missing = {page for page in staying if not launches.streams.buffers.has(page)}
    if sum(page_bytes(page, layout) for page in missing) <= listed.read:
        return staying
    return [page for page in staying if page not in missing]


def outside(vertices: VertexSet, pages: list[Page]) -> VertexSet:
    """The `vertices` that are in none of the `pages`."""
    vertices.tighten()
    if not pages:
        return vertices
    found = VertexSet(vertices.bits.copy(), vertices.blocks.copy())
    for page in pages:
        found.bits[page.words] = 0
    found.mark()
    return found


def list_frontier(launches: Launches, stream: Any, task: Array) -> None:
    """Launch the kernel that writes the active vertices to the queue, with a thread for each word of their bitmap."""
    launches.launcher.on_threads("list_frontier", -(-launches.arrays.n // 32), stream, task)


def lists_of(launches: Launches) -> Lists | None:
    """The lists of all vertices' out-edges; None if they have to be read page by page."""
    placed = launches.placed
    share = placed.residency.edges / max(placed.numbering.arrays.m, 1)
    out_edges, read = placed.out_edges, far_bytes(placed) * share
    if out_edges is not None:
        copied = launches.fill_out_edges()
        task = out_edges.task(launches.tasks.of_all())
        return Lists(task, launches.streams.compute[0], out_edges.way, copied, read)
    whole = launches.within_reach()
    if whole is None or placed.is_directed:
        return None
    page, buffer = whole
    return Lists(launches.tasks.of(page, buffer), buffer.stream, ZERO_COPY if buffer.rest else RESIDENT, read=read)


def result_of(tallies: Array, edges: int, way: str = RESIDENT, moved: int = 0) -> PageResult:
    """The result of a superstep that followed `edges` out-edges, from the pages' tallies; `way` is how these edges
    reached the GPU, with `moved` bytes over the link."""
    active, active_edges = int(tallies["active"].sum()), int(tallies["active_edges"].sum())
    how = PageDecision(PUSH, GPU, way)
    return PageResult(edges, active, active_edges, active, None, to_device=moved, how=how)
