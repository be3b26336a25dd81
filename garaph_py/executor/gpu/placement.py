"""Decides how a run uses a device's memory: the numbering of vertices, the codec of edges, and the pages."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...codec.arrays import PACKED, RAW
from ...errors import DeviceMemoryError
from ...graph import Graph
from ...graph.adjacency import Adjacency
from ...native.threads import ThreadPool
from ...pages.layout import Page, layout
from ...pages.provider import SourceFactory
from ...program import BoundProgram
from ...system.sizes import show_bytes
from ..edge_list import edges_of_buffer
from ..modes import RESIDENT
from ..partitions import EDGE_BYTES
from ..protocol import Notifier
from .choice import Choice, as_given, choose, packed_lists_bytes, packed_on_cpu, packs_out_edges
from .device import failing
from .device_graph import DeviceGraph
from .edge_lists import EdgeLists, pinning_refused
from .edges import page_bytes
from .gather import AUTO, REPLICATED, UNTIL_DONE, kind_of
from .launch import Launcher
from .listed_edges import ListedEdges
from .mapped import MappedEdges
from .mapped_records import MappedRecords
from .memory_plan import (
    DeviceMemoryPlan,
    array_sizes,
    can_push,
    has_lists,
    plan_exchange,
    reserve,
    with_hints,
    with_list_arrays,
)
from .numbering import Numbering
from .other_in_edges import OtherInEdges
from .out_edges import OutEdges
from .packing import STAGING_BYTES
from .page_uses import PageUses
from .placed import Placement, resident_contents
from .ranks import RUN
from .reorder import HubEdges
from .residency import VERTICES, Residency, pages_if_resident, plan_to_copy
from .settings import BY_PRIORITY, MANAGED, SHARED, ListPush, Settings

Array = npt.NDArray[Any]

HINT_SHARE = 1 / 4
"""Largest share of the memory for edges that hints may take. Where a hint is right, its 4 bytes save a read in host
memory; a list that is resident instead takes its edges' bytes, 128 on average in an R-MAT graph with 32 a vertex."""

FEW_BYTES = 1 << 23
"""A graph is small if its in-edges take at most this many bytes. A kernel reads these over the link in 0.16 ms (51
GB/s). If pages are copied instead, each costs the host's thread some 0.05 ms (docs/decisions/gpu.md)."""


class Placer:
    """Makes placements for one run.

    Parameters
    ----------
    bound : BoundProgram
    graph : Graph
    settings : Settings
    kept : DeviceGraph
    hub : HubEdges
    launcher : Launcher
    host : Notifier or None
        Writes edge lists.
    """

    def __init__(
        self, bound: BoundProgram, graph: Graph, settings: Settings, kept: DeviceGraph, hub: HubEdges,
        launcher: Launcher, host: Notifier | None,
    ) -> None:  # fmt: skip
        self._bound, self._graph, self._settings = bound, graph, settings
        self._kept, self._hub, self._launcher, self._host = kept, hub, launcher, host
        self._listed = None
        if host is not None and graph.on_disk and settings.pushes and has_lists(bound, graph):
            self._listed = ListedEdges(host, bound, edges_of_buffer(graph.m, True), launcher, kept)
        if settings.lists is None or settings.lists.where != MANAGED:
            kept.lists.free_managed()  # which take the device's memory beside what this run plans
        self._given = Numbering(graph._arrays, kept.ranks(graph._arrays, settings.threads))

    def place(self, sources: SourceFactory, synchronous: bool, budget: int) -> Placement:
        """Choose the numbering and the codec, lay out the pages, and decide which of them are resident.

        Raises
        ------
        DeviceMemoryError
            If the graph's vertices and one page need more than `budget`.
        """
        if self._settings.lists is not None:
            return self._along_lists(self._settings.lists, synchronous, budget)
        found = self._in_hub_order(sources, synchronous, budget)
        if found is not None:
            return found
        if self._settings.part is not None:
            return self._part(sources, synchronous, budget)
        if self._bound.pushes_deltas and self._settings.pushes:
            found = self._with_sums(sources, budget)
        found = found or self._by_lists(sources, synchronous, budget)
        found = found or self._as_given(self._memory(self._given, synchronous, budget), sources)
        return self._page_by_page(found)

    def _page_by_page(self, found: Placement) -> Placement:
        """The placement with the pages that are streamed in host memory too, if iterations may read single ones there:
        offsets of destinations come by copies only."""
        settings = self._settings
        if not settings.page_by_page or settings.offsets or found.is_resident or found.on_disk:
            return found
        return found._replace(by_page=self._mapped("in-edges", found.edges.edges))

    def room(self, synchronous: bool, budget: int) -> int:
        """Edges for which a budget has room, beside what the run needs for vertices. If the run may push over a
        directed graph, an edge takes twice its bytes. Room for `RUN` edges stays free at both ends, because pages have
        whole runs of so many."""
        bound, graph = self._bound, self._graph
        width = as_given(graph._arrays, bound.edge_value_bytes > 0).arrays.width
        width *= 1 + (graph.directed and self._settings.pushes and has_lists(bound, graph))
        return max(int((budget - self._memory(self._given, synchronous, budget).fixed) / width) - 2 * RUN, 0)

    def _part(self, sources: SourceFactory, synchronous: bool, budget: int) -> Placement:
        """The placement of one part of a graph; without trees of components if GPUs cannot exchange these."""
        if self._settings.components:
            with suppress(DeviceMemoryError):
                found = self._with_lists(sources, synchronous, budget)
                if found.exchange is not None and found.is_resident:
                    return found
            self._settings = replace(self._settings, components=False)
        return self._with_lists(sources, synchronous, budget)

    def _with_lists(self, sources: SourceFactory, synchronous: bool, budget: int) -> Placement:
        """The placement of one part of a graph, with memory to exchange what pushes change if there is room."""
        memory = self._memory(self._given, synchronous, budget)
        found = self._within_all(self._as_given(memory, sources))
        return self._with_exchange(found, memory, sources, synchronous)

    def _along_lists(self, how: ListPush, synchronous: bool, budget: int) -> Placement:
        """The placement of a run that only pushes along lists. What looks for parents reads in-edges in host memory."""
        bound, graph, given = self._bound, self._graph, self._given
        lists = EdgeLists(how, bound, graph._arrays, self._kept, self._settings.threads)
        memory = self._memory(given, synchronous, budget, deltas=bound.pushes_deltas, by_runs=False, lists=how)
        memory = lists.fitted(memory, self._launcher.layouts)
        fixed = memory.fixed + (lists.nbytes if how.where == RESIDENT else 0)
        grows = how.where == MANAGED and BY_PRIORITY not in how.hints
        if fixed + grows * lists.nbytes > budget:
            raise DeviceMemoryError(
                f"the lists take {show_bytes(lists.nbytes, up=True)} of GPU memory and the vertices "
                f"{show_bytes(memory.fixed, up=True)}, but the run may use {show_bytes(budget)}; allow more with "
                "gpu_memory, or use engine='emogi' or engine='auto'"
            )
        mapped = None
        if bound.finds_parents or how.division == SHARED:
            with lists.timed("pin"):
                mapped = self._mapped("in-edges", graph._arrays.in_edges)
            if mapped is None:
                raise pinning_refused(graph._arrays.in_edges.edge_bytes)
        edges = as_given(graph._arrays, bound.edge_value_bytes > 0)
        residency = Residency(layout(given.ranks.offsets, max(graph.m, 1), VERTICES), 0, 0, 0, fixed)
        return Placement(given, memory, edges, residency, mapped, mapped is not None, lists=lists)

    def _in_hub_order(self, sources: SourceFactory, synchronous: bool, budget: int) -> Placement | None:
        """The placement of edges that are on the device in hub order; None if they are not, or do not fit."""
        if not self._hub.are_there:
            return None
        numbering = self._hub.numbering
        try:
            memory = self._memory(numbering, synchronous, budget)
            edges = as_given(self._graph._arrays, self._bound.edge_value_bytes > 0)
            found = Placement(
                numbering, memory, edges, self._residency(numbering, memory, edges, sources, self._settings.streams)
            )
        except DeviceMemoryError:
            return None
        return found if found.has_all_raw else None

    def _with_sums(self, sources: SourceFactory, budget: int) -> Placement | None:
        """The placement with the sum of every vertex, to which deltas are pushed along lists here or in host memory.

        None if there is no room for the sums, or if some lists can be read nowhere.
        """
        if not has_lists(self._bound, self._graph):
            return None
        try:
            found = self._as_given(self._memory(self._given, True, budget, deltas=True), sources)
        except DeviceMemoryError:
            return None
        return found if found.reaches_all else None

    def _by_lists(self, sources: SourceFactory, synchronous: bool, budget: int) -> Placement | None:
        """The placement of a run that needs few of the edges: kernels read those that do not fit from host memory.

        Kernels of a search take edges by lists only, so nothing has to say where destinations begin among all edges.
        There is no such placement for a run that needs nearly all edges (to copy them is faster), for components of a
        graph whose edges all fit, and where edges that do not fit cannot be mapped.
        """
        bound, graph, settings, given = self._bound, self._graph, self._settings, self._given
        edges = as_given(graph._arrays, bound.edge_value_bytes > 0)
        ends_early = kind_of(bound, settings, edges.arrays.encoding, synchronous) == UNTIL_DONE
        if not self._may_read_in_place or not (ends_early or settings.components):
            return None
        memory = self._memory(given, synchronous, budget, by_runs=settings.components)
        residency = self._residency(given, memory, edges, sources, 0)
        if residency.resident == len(residency.pages):
            return None if settings.components else Placement(given, memory, edges, residency)
        mapped = self._mapped("in-edges", graph._arrays.in_edges)
        if mapped is None:
            return None
        hinted = with_hints(memory, graph.n)
        if ends_early and not bound.reads_edge_values and hinted.arrays["hints"] <= HINT_SHARE * memory.left:
            memory, residency = hinted, self._residency(given, hinted, edges, sources, 0)
        uses, residency = self._by_use(memory, edges, residency)
        found = Placement(given, memory, edges, residency, mapped, True, uses=uses)
        return self._with_edge_lists(found) if can_push(bound, graph) else found

    @property
    def _may_read_in_place(self) -> bool:
        """Whether all kernels may read in host memory what is not resident: edges are there, and pages may stay."""
        settings = self._settings
        return settings.zero_copy and settings.keep and not settings.page_by_page and not self._graph.on_disk

    def _by_use(self, memory: DeviceMemoryPlan, edges: Choice, found: Residency) -> tuple[PageUses, Residency]:
        """Make the pages resident that are read most. In a deterministic run this depends on the graph only."""
        bounds = [page.first_vertex for page in found.pages] + [self._graph.n]
        make = partial(PageUses, len(found.pages))
        uses = make() if self._settings.deterministic else self._kept.lists.mapped(("pages", *bounds), make)
        ranks, kept = self._given.ranks.before(bounds).astype(np.int64), self._kept
        last = found if uses.numbers is None else found.moved_to(uses.numbers, edges.arrays)
        are_there = all(kept.holds(name, what) for name, what in resident_contents(edges, last).items())
        return uses, uses.choose(found, edges.arrays, memory.left, ranks[1:] - ranks[:-1], are_there)

    def _mapped(self, name: str, edges: Adjacency) -> MappedEdges | None:
        """The graph's `edges` of this name in host memory; None if they cannot be mapped."""
        with self._kept.device, failing(self._kept.device.driver):
            return self._kept.mapped(name, edges, self._bound.edge_value_bytes > 0)

    def _as_given(self, memory: DeviceMemoryPlan, sources: SourceFactory) -> Placement:
        """The placement in the user's numbering: of a small graph in place, of a directed one with packed out-edges if
        these make room."""
        found = self._in_place(memory, sources)
        if found is not None:
            return found
        arrays, kept, left = self._graph._arrays, self._kept, memory.left
        measure = partial(kept.measure, arrays, self._launcher, memory.budget)
        if self._needs_out_edges(memory) and self._settings.part is None:
            instead = self._instead_of_in_edges(memory, sources)
            if instead is not None:
                return instead
            each, threads = self._bound.edge_value_bytes, self._settings.threads
            within = partial(self._chosen, measure)
            packed = packed_lists_bytes(arrays, each, left, kept.far_runs, measure, within, threads)
            found = self._within(memory, sources, within(left - packed)) if packed else None
            if found is not None and found.out_edges is not None and found.out_edges.way == RESIDENT:
                return found
        return self._within(memory, sources, self._chosen(measure, left))

    def _instead_of_in_edges(self, memory: DeviceMemoryPlan, sources: SourceFactory) -> Placement | None:
        """The placement with all out-edges in the device's memory in place of the in-edges, which pulls would stream.

        Where raw edges fit in one direction only, a relaxation takes less time if every iteration pushes than if most
        of them push along lists in host memory (docs/results/gpu.md). What finds parents needs the in-edges in each
        call; what shares pages with the CPU, in each iteration; policies of users, where they pull. None if any of this
        is not so.
        """
        bound, settings, arrays = self._bound, self._settings, self._graph._arrays
        raw_bytes = arrays.m * (EDGE_BYTES + bound.edge_value_bytes)
        fits_once = raw_bytes <= memory.left < 2 * raw_bytes
        only_pushes = settings.pushes_if_cheaper and can_push(bound, self._graph) and not bound.finds_parents
        if not (fits_once and only_pushes) or arrays.encoding != RAW or settings.gather == PACKED:
            return None
        out = OutEdges(bound, arrays.out_edges, self._kept, self._launcher, settings.threads)
        edges = as_given(arrays, bound.edge_value_bytes > 0)
        less = replace(memory, reserved=memory.reserved + out.nbytes)
        with suppress(DeviceMemoryError):
            found = self._residency(self._given, less, edges, sources, settings.streams)
            # Pages are streamed only once, to order values: it does not matter that they may be small.
            return Placement(self._given, less, edges, replace(found, is_short=False), out_edges=out)
        return None

    def _chosen(self, measure: Callable[[], tuple[Array, float]], left: int) -> Choice:
        """The codec of in-edges that have `left` bytes (`choose`)."""
        settings = self._settings
        return choose(
            self._graph._arrays, self._bound.edge_value_bytes, settings.gather, self._room_for_all(left), measure,
            settings.iterations, settings.threads,
        )  # fmt: skip

    def _within(self, memory: DeviceMemoryPlan, sources: SourceFactory, edges: Choice) -> Placement:
        """The same with in-edges in this codec."""
        graph, settings, given = self._graph, self._settings, self._given
        edges = edges.with_offsets() if settings.offsets else edges
        residency = self._residency(given, memory, edges, sources, settings.streams)
        if edges.packs and residency.resident < len(residency.pages):  # padding took the last bytes
            edges = packed_on_cpu(graph._arrays, self._bound.edge_value_bytes > 0, settings.threads)
            residency = self._residency(given, memory, edges, sources, settings.streams)
        found = Placement(given, memory, edges, residency)
        if graph.on_disk:
            may_push = sources.has_lists and (self._bound.is_relaxation or found.keeps_sums)
            return found._replace(listed=self._listed if may_push else None)
        if graph.directed:
            return self._with_out_edges(found, sources)
        pushes = can_push(self._bound, graph) or found.keeps_sums
        may_map = settings.zero_copy and pushes and not found.is_resident
        return self._with_mapped(found, sources) if may_map else found

    def _with_mapped(self, found: Placement, sources: SourceFactory) -> Placement:
        """A placement in an undirected graph, with lists in host memory: packed ones if pages are."""
        found, mapped = self._with_records(found, sources, "in-edges", found.edges.edges, self._graph._arrays.in_edges)
        return found if mapped is None else self._with_edge_lists(found._replace(mapped=mapped))

    def _in_place(self, memory: DeviceMemoryPlan, sources: SourceFactory) -> Placement | None:
        """The placement of a small undirected graph: kernels read the edges that do not fit from host memory.

        None if the graph is not such a one, if all edges fit as they are, if the user asks for packed ones, or if they
        cannot be mapped.
        """
        bound, graph, settings, into = self._bound, self._graph, self._settings, self._graph._arrays.in_edges
        pushes = can_push(bound, graph) or "kept_sums" in memory.arrays
        would_pack = settings.gather == PACKED and graph.encoding == RAW
        if not (self._may_read_in_place and pushes) or graph.directed or would_pack or settings.part is not None:
            return None
        if sum(array.nbytes for array in into.arrays(bound.reads_edge_values)) > FEW_BYTES:
            return None
        edges = as_given(graph._arrays, bound.edge_value_bytes > 0)
        residency = self._residency(self._given, memory, edges, sources, 0)
        if residency.resident == len(residency.pages):
            return None
        mapped = self._mapped("in-edges", into)
        found = Placement(self._given, memory, edges, residency, mapped, True)
        return None if mapped is None else self._with_edge_lists(found)

    def _with_records(
        self, found: Placement, sources: SourceFactory, name: str, edges: Adjacency, given: Adjacency
    ) -> tuple[Placement, MappedEdges | None]:
        """The placement with the records of `edges`, if these are packed, and the edges in host memory; None if they
        cannot be mapped.

        They are the `given` ones if the device's memory has no room for the records, or if fewer pages of a graph
        could then stay that all could without.
        """
        mapped = self._mapped(name, edges)
        records = None if mapped is None else MappedRecords(mapped, self._kept, self._settings.threads)
        if records is None or not records.contents:
            return found, mapped
        memory = replace(found.memory, reserved=found.memory.reserved + records.nbytes)
        with suppress(DeviceMemoryError):
            residency = self._residency(self._given, memory, found.edges, sources, self._settings.streams)
            with_records = found._replace(memory=memory, residency=residency, records=records)
            if with_records.is_resident or not found.is_resident:
                return with_records, records.mapped
        return found, self._mapped(name, given)

    def _within_all(self, found: Placement) -> Placement:
        """The placement of one part of a graph within all edges, if an earlier run has left these on the device."""
        graph, arrays, residency = self._graph, found.edges.arrays, found.residency
        whole = Page(0, 0, graph.n, 0, graph.m)
        regions = arrays.regions([whole])
        more = sum(region.nbytes for region in regions) - sum(page_bytes(page, arrays) for page in residency.here)
        is_here = residency.resident == len(residency.pages) > 0 and more <= found.room
        if not is_here or not all(self._kept.holds(region.name, region.what) for region in regions):
            return found
        return found._replace(residency=replace(residency, used=residency.used + more, within=whole))

    def _with_exchange(
        self, found: Placement, memory: DeviceMemoryPlan, sources: SourceFactory, synchronous: bool
    ) -> Placement:
        """A placement of one part of a graph, with memory for the exchange if several GPUs may push (exchange.py) or
        find components (exchange_trees.py).

        Streamed pages leave no room for it; then fewer pages stay, as far as `memory` allows. Out-edges that leave none
        are read in host memory.
        """
        exchanges = self._settings.pushes or self._settings.components
        if not (exchanges and found.reaches_all and can_push(self._bound, self._graph)):
            return found
        others, size = self._settings.gpus - 1, self._bound.value.itemsize
        room = plan_exchange(self._graph.n, size, others, synchronous, found.room)
        if room is not None:
            return found.beside(room.nbytes, exchange=room) or found
        left = memory.left // 4
        if found.is_resident:
            left = 0 if found.out_edges is None else found.room + found.out_edges.nbytes
        room = plan_exchange(self._graph.n, size, others, synchronous, left)
        if room is None:
            return found
        with suppress(DeviceMemoryError):
            less = replace(memory, reserved=memory.reserved + room.nbytes)
            fewer = self._as_given(less, sources)
            return fewer._replace(exchange=room) if fewer.reaches_all else found
        return found

    def _room_for_all(self, left: int) -> int:
        """Bytes in which all edges would fit as well as those of the GPU's part fit in `left`."""
        part, offsets, m = self._settings.part, self._given.ranks.offsets, self._graph.m
        edges = m if part is None else int(offsets[part.last] - offsets[part.first])
        return left if edges == m else int(left * m / max(edges, 1))

    def _with_out_edges(self, found: Placement, sources: SourceFactory) -> Placement:
        """A placement in a directed graph, with the out-edges if iterations may push.

        They are in the device's memory if there is room for them beside all in-edges, else mapped. Unless the device
        can order their values, which takes raw edges, the host must have these if the program reads them: to make them
        there takes longer than many pulls.
        """
        bound, settings, arrays = self._bound, self._settings, self._graph._arrays
        if not self._needs_out_edges(found.memory):
            return found
        others = None if settings.part is None else OtherInEdges(settings.part, arrays.in_edges)
        make = partial(
            OutEdges, bound, kept=self._kept, launcher=self._launcher, threads=settings.threads, others=others
        )
        placed = with_room(found, make(arrays.out_edges)) if found.has_all_raw else None
        if placed is not None or (bound.reads_edge_values and arrays.bytes_to_reverse):
            return placed or found
        if not (found.is_resident or settings.zero_copy):
            return found
        valued = bound.reads_edge_values
        with ThreadPool(settings.threads) as pool:
            edges = given = arrays.valued_out_edges(pool) if valued else arrays.out_edges
            if packs_out_edges(arrays, valued, found.edges):
                edges = arrays.packed_out_edges(valued, pool)
        if found.is_resident and edges.encoding == PACKED:
            placed = with_room(found, make(edges))
        if placed is not None or not settings.zero_copy:
            return placed or found
        found, mapped = self._with_records(found, sources, "out-edges", edges, given)
        if mapped is None:
            return found
        self._kept.far_runs += others is None and found.is_resident and mapped.layout.encoding == RAW
        return self._with_edge_lists(found._replace(out_edges=make(edges, mapped=mapped)))

    def _with_edge_lists(self, found: Placement) -> Placement:
        """The placement with memory for edge lists that the host may write from lists in its memory, if there is
        room. Neither rows nor parts of several GPUs are pushed along edge lists."""
        if self._host is None or not self._settings.pushes or self._bound.columns or self._settings.part is not None:
            return found
        edges = edges_of_buffer(self._graph.m, False)
        listed = ListedEdges(self._host, self._bound, edges, self._launcher, self._kept)
        placed = found.beside(listed.nbytes, listed=listed) if listed.fits(found.room) else None
        return placed or found

    def _needs_out_edges(self, memory: DeviceMemoryPlan) -> bool:
        """Whether iterations of this plan may push in a directed graph in memory."""
        graph, settings = self._graph, self._settings
        may_push = "kept_sums" in memory.arrays or can_push(self._bound, graph)
        return settings.pushes and graph.directed and not graph.on_disk and may_push

    def _memory(
        self, numbering: Numbering, synchronous: bool, budget: int, deltas: bool = False, by_runs: bool = True,
        lists: ListPush | None = None,
    ) -> DeviceMemoryPlan:  # fmt: skip
        bound, graph, ranks = self._bound, self._graph, numbering.ranks
        arrays = array_sizes(bound, graph, ranks.count, synchronous, self._settings.components, deltas, by_runs)
        if lists is not None:
            arrays = with_list_arrays(arrays, lists, graph.n, graph.m, bound.is_relaxation)
        if numbering.order is not None:
            arrays["positions"] = 4 * graph.n
        replicates = by_runs and self._settings.gather in (AUTO, REPLICATED)
        counted = graph.n if self._settings.all_vertices else ranks.count
        needed = reserve(bound, graph, ranks, self._launcher, counted if replicates else None)
        needed += 0 if self._listed is None else self._listed.nbytes
        return DeviceMemoryPlan(budget, arrays, needed)

    def _residency(
        self, numbering: Numbering, memory: DeviceMemoryPlan, edges: Choice, sources: SourceFactory, streams: int
    ) -> Residency:
        page_edges, arrays = self._settings.page_edges or sources.page_edges, edges.arrays
        offsets, staging = numbering.ranks.offsets, STAGING_BYTES * edges.packs
        if not self._settings.keep:
            return plan_to_copy(
                offsets, arrays, memory.fixed + staging, memory.budget, streams, page_edges, self._settings.part
            )
        pages = pages_if_resident(self._bound.updates_all_vertices)
        return memory.residency(offsets, arrays, staging, streams, page_edges, pages, self._settings.part)


def with_room(found: Placement, out: OutEdges) -> Placement | None:
    """The placement with the out-edges in the device's memory; None if there is no room for them."""
    return found.beside(out.nbytes, out_edges=out)
